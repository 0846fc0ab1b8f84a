"""A service that runs, and raw requests to it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

STARTED = re.compile(r"http://(\S+):(\d+) answers")
PATIENCE = 60.0


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A `tastemix serve` of its own, on a free port."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def ask(self, path: str, body: Any = None, method: str | None = None, **headers: str) -> Answer:
        """The answer to one request on a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            return asked(connection, path, body, method, **headers)
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What a route of the API answers, which must be 200."""
        answer = self.ask("/api/v1" + path)
        assert answer.status == 200, answer
        return answer.json

    def raw(self, *pieces: bytes, wait: float = 5.0, pause: float = 0.02) -> bytes:
        """What comes back for these bytes, sent one piece after another, until the end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except OSError:
                    break
                if len(pieces) > 1:
                    time.sleep(pause)
            found = b""
            try:
                while part := connection.recv(65536):
                    found += part
            except (TimeoutError, ConnectionResetError):
                pass
            return found

    def children(self) -> list[int]:
        """The process numbers of the workers."""
        listed = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(number) for number in Path(listed).read_text().split()]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)


def asked(
    connection: HTTPConnection, path: str, body: Any = None, method: str | None = None, **more: str
) -> Answer:
    """The answer to one request on this connection."""
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    data = None
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers.setdefault("content-type", "application/json")
    connection.request(method or ("GET" if data is None else "POST"), path, data, headers)
    response: HTTPResponse = connection.getresponse()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, found, response.read())


@contextmanager
def running(*arguments: str | Path, env: dict[str, str] | None = None) -> Iterator[Running]:
    """A service with these options, ended at the end."""
    command = [Path(sys.executable).with_name("tastemix"), "serve", *map(str, arguments)]
    process = subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200", **(env or {})},
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := STARTED.search(line):
                yield Running(process, int(found[2]))
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()  # type: ignore[union-attr]
