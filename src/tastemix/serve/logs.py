"""The access log: lines of text or JSON, written some at a time."""

from __future__ import annotations

import json
import os
import time
from typing import Literal

Style = Literal["text", "json", "off"]
MOST = 1000
"""Lines that are kept before they are written at once."""


class Log:
    """Lines about requests. Ids are left out: the route's path stands for what was asked."""

    def __init__(self, style: Style, *, ids: bool = False, to: int = 1) -> None:
        self.on = style != "off"
        self._json, self.ids, self._to = style == "json", ids, to
        self._lines: list[tuple[float, str, str, str, int, int, float]] = []

    def add(
        self, client: str, method: str, path: str, status: int, size: int, seconds: float
    ) -> None:
        """Note an answer."""
        self._lines.append((time.time(), client, method, path, status, size, seconds))
        if len(self._lines) >= MOST:
            self.write()

    def write(self) -> None:
        """Write the lines that were noted."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        data = "".join(map(self._as_json if self._json else _as_text, lines)).encode(
            errors="backslashreplace"
        )
        while data:
            try:
                data = data[os.write(self._to, data) :]
            except OSError:
                return  # Nobody reads it: answers go on.

    def _as_json(self, line: tuple[float, str, str, str, int, int, float]) -> str:
        at, client, method, path, status, size, seconds = line
        said = {"time": _time(at), "client": client, "method": method, "path": path}
        return json.dumps({**said, "status": status, "bytes": size, "ms": _ms(seconds)}) + "\n"


def _as_text(line: tuple[float, str, str, str, int, int, float]) -> str:
    at, client, method, path, status, size, seconds = line
    shown = path if path.isprintable() else ascii(path)[1:-1]
    return f"{_time(at)} {client} {method} {shown} {status} {size} {_ms(seconds)}ms\n"


def _time(at: float) -> str:
    whole = int(at)
    return (
        f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((at - whole) * 1000):03}Z"
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
