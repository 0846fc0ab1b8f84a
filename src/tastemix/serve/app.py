"""The service as an ASGI application: checks, routes, refusals and counts."""

from __future__ import annotations

import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from tastemix.errors import TastemixError
from tastemix.serve import openapi, pages
from tastemix.serve.asked import Call
from tastemix.serve.bodies import Bodies, Receive
from tastemix.serve.counts import Counts
from tastemix.serve.guard import Guard
from tastemix.serve.limits import Limits
from tastemix.serve.logs import Log
from tastemix.serve.matching import Matching, query_of
from tastemix.serve.prepared import Prepared
from tastemix.serve.problems import JSON, TYPE, Headers, Refused, busy, refused_method
from tastemix.serve.routes import PREFIX, table

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

API = PREFIX.encode() + b"/"
SAFE: Headers = [(b"x-content-type-options", b"nosniff")]
PAGE: Headers = [
    *SAFE,
    (b"content-security-policy", pages.POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
    (b"vary", b"accept-encoding"),
]
OTHERS = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "page", "other")
"""What is counted beside the routes of the API."""
PAGE_AT, OTHER_AT = -2, -1
READS = ("GET", "HEAD")


class Reply(NamedTuple):
    """An answer, ready to be sent."""

    status: int
    headers: Headers
    body: bytes
    counted: int
    """The number of its route among those that are counted."""


def counted(limits: Limits) -> list[str]:
    """What requests are counted by."""
    return [*dict.fromkeys(PREFIX + route.path for route in table(limits)), *OTHERS]


class Service:
    """One model's answers to requests."""

    def __init__(
        self,
        known: Prepared,
        limits: Limits | None = None,
        guard: Guard | None = None,
        log: Log | None = None,
        compared: bytes | None = None,
    ) -> None:
        self.known, self.limits = known, limits or Limits()
        self.guard, self.log = guard or Guard(), log or Log("off")
        self.draining = False
        self._routes = table(self.limits)
        self._names = counted(self.limits)
        self.count(Counts(self._names, 1), 0)
        self._matching = Matching(self._routes, self._names)
        self._bodies = Bodies(self._routes, self.limits)
        self._encode = msgspec.json.Encoder().encode
        self._kept: OrderedDict[tuple[bytes, bytes], Reply] = OrderedDict()
        self._kept_bytes = 0
        self._files = pages.load()
        said = openapi.described(self._routes)
        self._said = {
            b"/openapi.json": msgspec.json.encode(said),
            b"/docs": openapi.page(said),
        }
        self._compared = compared

    def count(self, counts: Counts, slot: int) -> None:
        """Count in this slot from now on."""
        self.counts, self._slot = counts, counts.of(slot)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        reply = self._kept.get((scope["raw_path"], scope["query_string"]))
        try:
            if reply is None or scope["method"] not in READS:
                reply = await self._answer(scope, receive)
            else:
                self.guard.check(scope["headers"], scope["raw_path"])
        except Refused as refused:
            reply = _refusal(refused)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            reply = _refusal(Refused(500, "the service failed here: its log says more"))
        headers = reply.headers
        if others := self.guard.origin(scope["headers"]):
            headers = headers + others
        seconds = time.perf_counter() - started
        self._slot.add(reply.counted, reply.status, seconds)  # Who has the answer sees it counted.
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        if self.log.on:
            self._note(scope, reply, seconds)

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        path, method = scope["raw_path"], scope["method"]
        self.guard.check(scope["headers"], path)
        if method == "OPTIONS" and self.guard.origin(scope["headers"]):
            return Reply(204, PREFLIGHT, b"", OTHER_AT)
        if not path.startswith(API):
            return self._beside(path, method, scope["headers"])
        if path == API + b"comparison" and self._compared is not None:
            _only_get(method)
            return Reply(200, _about(JSON, self._compared), self._compared, OTHER_AT)
        matched = self._matching.match(path[len(API) :], method)
        route = matched.route
        try:
            body = await self._bodies.read(route, scope["headers"], receive)
            query = query_of(route, scope["query_string"])
            call = Call(self.known, self.limits, matched.path, query, body)
            content = self._encode(route.answer(call))
        except Refused as refused:
            return _refusal(refused, matched.number)
        except LookupError as error:
            return _refusal(Refused(404, str(error.args[0])), matched.number)
        except TastemixError as error:
            return _refusal(Refused(422, str(error)), matched.number)
        reply = Reply(200, _about(JSON, content), content, matched.number)
        if route.kept:
            self._keep((path, scope["query_string"]), reply)
        return reply

    def _keep(self, key: tuple[bytes, bytes], reply: Reply) -> None:
        """Keep an answer; the oldest ones make room."""
        self._kept[key] = reply
        self._kept_bytes += len(reply.body) + len(key[0]) + len(key[1])
        while len(self._kept) > self.limits.cached or self._kept_bytes > self.limits.cached_bytes:
            oldest, gone = self._kept.popitem(last=False)
            self._kept_bytes -= len(gone.body) + len(oldest[0]) + len(oldest[1])

    def _beside(self, path: bytes, method: str, headers: Headers) -> Reply:
        """Everything that is not the API."""
        name = path.decode("latin-1")
        known = name in OTHERS[:5]
        at = self._names.index(name) if known else PAGE_AT
        if known or method in READS:
            _only_get(method)
        if name == "/healthz":
            return Reply(200, _about(JSON, b"{}"), b"{}", at)
        if name == "/readyz":
            if self.draining:
                return _refusal(busy(503, "the service is ending"), at)
            return Reply(200, _about(JSON, b"{}"), b"{}", at)
        if name == "/metrics":
            text = self.counts.text(self._facts())
            return Reply(200, _about(b"text/plain; version=0.0.4", text), text, at)
        if (said := self._said.get(path)) is not None:
            kind = b"text/html; charset=utf-8" if name == "/docs" else JSON
            return Reply(200, [*_about(kind, said), *PAGE[1:]], said, at)
        file = self._files.get(name)
        first = name[1:].partition("/")[0]
        if file is None and first and first in pages.ROOTS:
            file = self._files.get("/")
        if file is None:
            raise Refused(404, "there is nothing at this path: see /docs")
        _only_get(method)
        return _sent(file, headers)

    def _facts(self) -> dict[str, float]:
        model = self.known.model
        return {
            "model_generation": self.known.generation,
            "model_users": len(model.users.ids),
            "model_items": len(model.items.ids),
        }

    def _note(self, scope: Scope, reply: Reply, seconds: float) -> None:
        client = (scope["client"] or ("-",))[0]
        path = self._names[reply.counted]
        if self.log.ids or path in ("page", "other"):
            path = scope["raw_path"].decode("latin-1") if self.log.ids else path
        self.log.add(client, scope["method"], path, reply.status, len(reply.body), seconds)


PREFLIGHT: Headers = [
    (b"access-control-allow-methods", b"GET, POST, PUT"),
    (b"access-control-allow-headers", b"content-type, authorization"),
    (b"access-control-max-age", b"600"),
]


def _about(kind: bytes, body: bytes) -> Headers:
    return [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *SAFE]


def _refusal(refused: Refused, at: int = OTHER_AT) -> Reply:
    body = refused.body()
    return Reply(refused.status, [*_about(TYPE, body), *refused.headers], body, at)


def _only_get(method: str) -> None:
    if method not in READS:
        raise refused_method(["GET"])


def _sent(file: pages.File, headers: Headers) -> Reply:
    given = dict(headers)
    tagged = [*PAGE, (b"etag", file.tag)]
    if given.get(b"if-none-match") == file.tag:
        return Reply(304, tagged, b"", PAGE_AT)
    body = file.content
    if b"gzip" in given.get(b"accept-encoding", b""):
        body, tagged = file.zipped, [*tagged, (b"content-encoding", b"gzip")]
    length = b"content-length", b"%d" % len(body)
    return Reply(200, [(b"content-type", file.type), length, *tagged], body, PAGE_AT)
