"""Csv files as streams for Arrow: bounded in memory, with delimiters of a single byte."""

from __future__ import annotations

import atexit
import io
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tastemix.data import memory
from tastemix.data.dialect import SEPARATOR

_LEAST_ROW = 6  # bytes: three of one digit, two commas and the end
_BYTES_A_ROW = 32 + memory.BYTES_A_ROW  # besides its text


def opener(
    file: Path, compression: str | None, max_memory: int | None, delimiter: str = ","
) -> Callable[[], Any]:
    """What opens a file for Arrow, which refuses it once it takes too much memory."""
    size = file.stat().st_size
    allowed = memory.most(max_memory, size)
    # Not counted: a file that would not take too much even if its rows were as short as can be.
    counted = compression is not None or size * (1 + _BYTES_A_ROW // _LEAST_ROW) > allowed
    long = delimiter.encode() if len(delimiter.encode()) > 1 else b""

    def opened() -> Any:
        stream: Any = pa.input_stream(file, compression=compression)
        if counted or long:
            stream = _Counted(stream, file, allowed)
        if long:
            stream = _Shortened(stream, long)
        return pa.PythonFile(stream, "r") if counted or long else stream

    return opened


_PATIENCE = 2.0
"""Seconds that the end of a process waits for Arrow."""
_OPEN: weakref.WeakSet[_Counted] = weakref.WeakSet()


@atexit.register
def _end_reading() -> None:
    """Arrow reads ahead in threads of its own, also after an error. They must not be in Python when
    the interpreter ends, which would abort the process.
    """
    open_now = list(_OPEN)
    while open_now:
        open_now.pop().end()
    until = time.monotonic() + _PATIENCE
    while len(_OPEN) and time.monotonic() < until:  # Arrow lets go of a stream when it is done.
        time.sleep(0.001)


class _Counted(io.RawIOBase):
    """A stream that is refused once its rows would take more memory than they may."""

    def __init__(self, stream: Any, file: Path, allowed: int) -> None:
        self._stream, self._file, self._allowed = stream, file, allowed
        self._bytes = self._lines = 0
        self._reading, self._ended = threading.Lock(), False
        _OPEN.add(self)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._reading:
            return b"" if self._ended else self._counted(size)

    def end(self) -> None:
        """Wait for a read under way, and let there be no other."""
        self._ended = True
        with self._reading:
            pass

    def _counted(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self._bytes += len(data)
        self._lines += max(data.count(b"\n"), data.count(b"\r"))
        taken = self._bytes + self._lines * _BYTES_A_ROW
        memory.refuse_more(taken, self._allowed, self._file)
        return data


class _Shortened(io.RawIOBase):
    """A stream whose delimiter of several bytes is one of a single byte, as Arrow needs it."""

    def __init__(self, stream: Any, delimiter: bytes) -> None:
        self._stream, self._delimiter, self._rest = stream, delimiter, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        # No more than was asked for may be returned.
        while more := self._stream.read(size if size < 0 else max(size - len(self._rest), 1)):
            *whole, last = (self._rest + more).split(self._delimiter)
            # Its end may be the beginning of a delimiter.
            starts = range(len(self._delimiter) - 1, 0, -1)
            kept = next((n for n in starts if last.endswith(self._delimiter[:n])), 0)
            self._rest = last[len(last) - kept :]
            if data := SEPARATOR.encode().join([*whole, last[: len(last) - kept]]):
                return data
        data, self._rest = self._rest, b""
        return data
