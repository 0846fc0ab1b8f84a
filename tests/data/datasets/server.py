"""A real http server on this machine, with ranges, whose connections can be made to fail."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What is served and how, and what was asked for."""

    files: dict[str, bytes]
    address: str = ""
    break_after: list[int] = field(default_factory=list)
    """Bytes after which each connection in turn is cut; when used up, none is."""
    stall: threading.Event | None = None
    """Where given, a connection that is to be cut waits for this first."""
    ranges: bool = True
    lengths: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Name and Range header of each request."""

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    site = Site(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, site)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(request: BaseHTTPRequestHandler, site: Site) -> None:
    name, asked = request.path.lstrip("/"), request.headers.get("Range")
    site.asked.append((name, asked))
    body = site.files.get(name)
    if body is None:
        request.send_error(404)
        return
    start = 0
    if asked is not None and site.ranges:
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
        if start >= len(body):
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(body)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(206)
        request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    else:
        request.send_response(200)
    if site.lengths:
        request.send_header("Content-Length", str(len(body) - start))
    request.end_headers()
    send = body[start:]
    if site.break_after:
        send = send[: site.break_after.pop(0)]
        request.wfile.write(send)
        if site.stall is not None:
            site.stall.wait(30)
        request.connection.close()
    else:
        request.wfile.write(send)
