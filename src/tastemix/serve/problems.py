"""Refusals: a status and one sentence, as application/problem+json."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from tastemix.serve.shapes import Problem

Headers = list[tuple[bytes, bytes]]
TYPE, JSON = b"application/problem+json", b"application/json"
CLOSE = b"connection", b"close"
LONGEST = 300
"""Letters of a sentence: ids in it may be long."""


class Refused(Exception):  # noqa: N818 - said of the request
    """A request that is not answered."""

    def __init__(self, status: int, sentence: str, headers: Headers | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or []

    def body(self) -> bytes:
        """The problem as JSON."""
        detail = self.sentence
        if len(detail) > LONGEST:
            detail = f"{detail[:LONGEST]}…"
        detail = detail.encode("utf-8", "replace").decode()
        return msgspec.json.encode(Problem(HTTPStatus(self.status).phrase, self.status, detail))


def busy(status: int, sentence: str, seconds: int = 1) -> Refused:
    """A refusal of what may be asked again in some seconds."""
    return Refused(status, sentence, [(b"retry-after", b"%d" % seconds)])


def refused_method(allowed: Sequence[str]) -> Refused:
    """The refusal of a method where only these are taken."""
    if "GET" in allowed:
        allowed = [*allowed, "HEAD"]
    listed = ", ".join(sorted(allowed))
    return Refused(405, f"this path takes {listed}", [(b"allow", listed.encode())])
