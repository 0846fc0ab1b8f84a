"""The bodies of requests, read within bounds of size, time and number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

from tastemix.serve.asked import Route
from tastemix.serve.limits import Limits
from tastemix.serve.problems import CLOSE, JSON, Headers, Refused, busy

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Bodies:
    """Reads bodies as the types of their routes."""

    def __init__(self, routes: Sequence[Route], limits: Limits) -> None:
        self._limits, self._reading = limits, 0
        self._decoders = {
            route.path: msgspec.json.Decoder(route.takes)
            for route in routes
            if route.takes is not None
        }

    async def read(self, route: Route, headers: Headers, receive: Receive) -> Any:
        """The body that a route takes; None where it takes none."""
        if route.takes is None:
            return None
        most, content = self._limits.body, b""
        for name, value in headers:
            if name == b"content-type":
                content = value
            elif name == b"content-length" and int(value) > most:
                raise _too_large(most)
            elif name == b"content-encoding" and value.lower() != b"identity":
                raise Refused(415, "the body is compressed: send it as it is", [CLOSE])
        if content.partition(b";")[0].strip().lower() != JSON:
            raise Refused(415, "send JSON, and content-type: application/json", [CLOSE])
        if self._reading >= self._limits.requests:
            raise busy(429, "too many requests are being read: ask again in a second")
        self._reading += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                data = await _read(receive, most)
        except TimeoutError:
            raise Refused(408, "the body did not arrive in time", [CLOSE]) from None
        finally:
            self._reading -= 1
        try:
            return self._decoders[route.path].decode(data)
        except msgspec.ValidationError as error:
            raise Refused(422, f"the body is not as described: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from None


async def _read(receive: Receive, most: int) -> bytes:
    data = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the body ended early")
        data += bytes(message.get("body", b""))
        if len(data) > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return data


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body has more than {most:,} bytes: send less at once", [CLOSE])
