"""A listening socket that is closed while many connect to it."""

from __future__ import annotations

import socket
import threading
import time

from tastemix.serve.door import Door

ANSWER = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
PATIENCE = 20.0


def test_who_connects_while_it_closes_is_answered_or_refused_and_never_cut_off() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listening.setblocking(False)
    answered, broken = [0] * 4, list[str]()

    def connect(thread: int) -> None:
        while True:
            try:
                with socket.create_connection(listening_at, timeout=PATIENCE) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    found = b""
                    while part := connection.recv(4096):
                        found += part
                assert found == ANSWER
                answered[thread] += 1
            except ConnectionRefusedError:
                return
            except (OSError, AssertionError) as error:
                broken.append(repr(error))
                return

    listening_at = listening.getsockname()
    threads = [threading.Thread(target=connect, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    door, until = Door(listening, ANSWER), time.monotonic() + 0.3
    while time.monotonic() < until:
        door.tell(0.01)
    door.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert not broken
    assert all(answered)
