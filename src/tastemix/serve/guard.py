"""Who may ask: the Host header, the token, and other origins."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Collection
from ipaddress import ip_address

from tastemix.serve.problems import Headers, Refused

OPEN = (b"/healthz", b"/readyz")
"""Paths that need no token."""
CHALLENGE = (b"www-authenticate", b'Basic realm="tastemix", charset="UTF-8"')
REMEMBERED = 64


class Guard:
    """The checks that every request passes.

    A Host that is an address, localhost or a name given is right: a page of someone else's that was
    resolved to this address (DNS rebinding) sends its own name.
    """

    def __init__(
        self,
        hosts: Collection[str] = (),
        token: str | None = None,
        origins: Collection[str] = (),
    ) -> None:
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._token = None if token is None else token.encode()
        self._origins = frozenset(origin.encode() for origin in origins)
        self._right: set[bytes] = set()

    def check(self, headers: Headers, path: bytes) -> None:
        """Refuse a request that may not be answered."""
        host = authorization = None
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    raise Refused(400, "there are two Host headers: send one")
                host = value
            elif name == b"authorization":
                authorization = value
        if host not in self._right:
            self._check_host(host)
        if self._token is not None and path not in OPEN and not self._known(authorization):
            raise Refused(401, "send the token: Authorization: Bearer …", [CHALLENGE])

    def origin(self, headers: Headers) -> Headers:
        """What is said to a page of another origin, if it was named."""
        if self._origins:
            for name, value in headers:
                if name == b"origin" and value in self._origins:
                    return [(b"access-control-allow-origin", value), (b"vary", b"origin")]
        return []

    def _check_host(self, host: bytes | None) -> None:
        if host is None:
            raise Refused(400, "there is no Host header: send one")
        name = host.decode("latin-1").lower()
        bare = name.rpartition("]")[0].removeprefix("[")
        if not bare:
            bare, _, port = name.partition(":")
            if port and not (port.isascii() and port.isdigit()):
                raise Refused(400, "the Host header is not a name with a port")
        if bare not in self._hosts and not _is_address(bare):
            raise Refused(
                421, "this service is not known by that Host: start it with --allow-host NAME"
            )
        if len(self._right) < REMEMBERED:
            self._right.add(host)

    def _known(self, authorization: bytes | None) -> bool:
        """Whether the token is right, as Bearer or as the password of Basic."""
        kind, _, value = (authorization or b"").partition(b" ")
        if kind.lower() == b"basic":
            try:
                value = base64.b64decode(value, validate=True).partition(b":")[2]
            except binascii.Error:
                value = b""
        elif kind.lower() != b"bearer":
            value = b""
        return hmac.compare_digest(value, self._token or b"")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
