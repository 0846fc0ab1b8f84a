"""HTTP over a connection: uvicorn's protocol, with bounds on heads, time and connections."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tastemix.serve.limits import Limits
from tastemix.serve.problems import TYPE, Refused, busy

MALFORMED = Refused(400, "the request is not valid HTTP/1.1")


class Protocol(HttpToolsProtocol):
    """A connection that ends when its peer sends too much, too slowly or not HTTP.

    The head of a request is counted while it arrives. A timer runs only while a head is incomplete,
    so requests that arrive at once cost none.
    """

    limits = Limits()
    draining = False

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request, or refuse the connection where there are too many."""
        super().connection_made(transport)
        self._size = 0
        self._in_head = True
        self._late: asyncio.TimerHandle | None = None
        self._refusal: Refused | None = None
        if len(self.connections) > self.limits.connections:
            self._end(busy(503, "too many connections: ask again in a second"))
            return
        self._late = self.loop.call_later(self.limits.seconds, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what arrived, and go on waiting where it ends within a head."""
        if self.parser is None or self.transport.is_closing():
            return
        super().data_received(data)
        if not self._in_head:
            self._stop_timer()
        elif not self.transport.is_closing():
            self._size += len(data)
            if self._size > 2 * self.limits.head:
                self._end(self._too_large())
            elif self._late is None:
                self._late = self.loop.call_later(self.limits.seconds, self._too_late)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        self._size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the request's target."""
        self._size += len(url)
        if self._size > self.limits.head:
            self._refusal = Refused(414, f"the URL has more than {self.limits.head:,} bytes")
            raise self._refusal
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._size += len(name) + len(value) + 4
        if self._size > self.limits.head:
            self._refusal = self._too_large()
            raise self._refusal
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer the request; the last one of its connection, if the worker is ending."""
        self._in_head = False
        self._size = 0
        if not self.url.startswith(b"/"):
            self._refusal = Refused(400, "the request's target is not a path")
            raise self._refusal
        super().on_headers_complete()
        if self.draining:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or what was refused while it was read."""
        self._end(self._refusal or MALFORMED)

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, also one whose peer does not read."""
        if not self.transport.is_closing() and self.transport.get_write_buffer_size() == 0:
            self.transport.close()
        else:
            self.transport.abort()

    def answer_last(self) -> None:
        """Say of the answer that is under way that it is the last one of this connection."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._size and (self.cycle is None or self.cycle.response_complete)

    def _too_large(self) -> Refused:
        return Refused(431, f"the headers have more than {self.limits.head:,} bytes")

    def _too_late(self) -> None:
        self._late = None
        if self.transport.is_closing():
            return
        if self._size or (self.cycle is None and self._in_head):
            self._end(Refused(408, "the request did not arrive in time"))

    def _stop_timer(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self, refused: Refused) -> None:
        """Say why and close, unless an answer is being sent on this connection."""
        self._stop_timer()
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(as_bytes(refused))
        if cycle is not None:
            cycle.disconnected = True  # What it would still say has no reader.
        self.transport.close()


def as_bytes(refused: Refused) -> bytes:
    """A refusal as it goes over a connection that then ends."""
    body = refused.body()
    headers = [
        (b"content-type", TYPE),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
        *refused.headers,
    ]
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return STATUS_LINE[refused.status] + lines + b"\r\n" + body
