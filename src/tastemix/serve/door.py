"""The end of a listening socket: who still connects is answered, and nobody is cut off."""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import time
from contextlib import suppress

LISTENS = 1.0
"""Seconds that a connection is read from after it was answered. An answer is lost where its
connection is closed before the request was read."""
HANDSHAKE = 0.25
"""Seconds in which connections that were begun are made."""
_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux."""
_NO_SYN = (
    (0x30, 0, 0, 13),  # the flags of a TCP header
    (0x54, 0, 0, 0x12),  # SYN and ACK
    (0x15, 0, 1, 0x02),  # of these SYN alone?
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # take it
)
"""Instructions of a packet filter by which no connection begins, and those begun are made."""


class Door:
    """A listening socket that is to be closed, and what everybody hears who still connects."""

    def __init__(self, listening: socket.socket, answer: bytes) -> None:
        self._listening, self._answer = listening, answer
        self._told: list[tuple[float, socket.socket]] = []

    def tell(self, wait: float) -> None:
        """Answer new connections, and close those that were answered a while ago."""
        select.select([self._listening], [], [], wait)
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                connection.setblocking(False)
                with suppress(OSError):
                    connection.send(self._answer)
                    connection.shutdown(socket.SHUT_WR)
                self._told.append((time.monotonic(), connection))
        self._hear_out()

    def close(self) -> None:
        """Let no connection begin, answer those that were begun, and close the socket.

        A connection that the kernel has made and nobody has accepted is reset when its socket is
        closed, and so there must be none by then.
        """
        _refuse_handshakes(self._listening)
        until = time.monotonic() + HANDSHAKE
        while time.monotonic() < until:
            self.tell(HANDSHAKE / 10)
        self.tell(0)
        self._listening.close()
        while self._told:
            time.sleep(0.02)
            self._hear_out()

    def _hear_out(self) -> None:
        kept = []
        for at, connection in self._told:
            if time.monotonic() - at < LISTENS:
                with suppress(OSError):
                    connection.recv(65536)
                kept.append((at, connection))
            else:
                connection.close()
        self._told = kept


def _refuse_handshakes(listening: socket.socket) -> None:
    """Drop what begins a connection: its sender tries again, when the socket is closed."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _NO_SYN))
    program = struct.pack("HP", len(_NO_SYN), ctypes.addressof(code))
    try:
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    except OSError:  # Not Linux: a connection that is made in the last moment may be reset.
        listening.listen(0)
