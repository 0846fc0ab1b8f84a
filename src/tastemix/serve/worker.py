"""A process that answers: an event loop on a socket that others may listen on, too."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable
from email.utils import formatdate

import uvicorn
import uvloop
from uvicorn.server import ServerState

from tastemix.serve.app import Service
from tastemix.serve.protocol import Protocol

BACKLOG = 2048
TICK = 0.1
"""Seconds between looks at the clock, the log and what is left to do."""
LINGER = 3.0
"""Seconds that an idle connection is kept when the worker is to end: a request may be coming."""


def run(service: Service, listening: socket.socket, ready: Callable[[], None], life: int) -> None:
    """Answer until SIGTERM, then until the requests that were begun are answered.

    ready: called when the first request can come. life: a pipe that ends when the parent does, and
    then the worker ends, too.
    """
    uvloop.run(_run(service, listening, ready, life))


async def _run(
    service: Service, listening: socket.socket, ready: Callable[[], None], life: int
) -> None:
    loop, state, stop = asyncio.get_running_loop(), ServerState(), asyncio.Event()
    limits = service.limits
    config = uvicorn.Config(
        service,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=int(limits.idle),
    )
    config.load()

    class Bounded(Protocol):
        pass

    Bounded.limits = limits
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(life, stop.set)
    server = await loop.create_server(
        lambda: Bounded(config, state, {}), sock=listening, backlog=BACKLOG
    )
    ready()
    while not stop.is_set():
        _tick(service, state)
        try:
            await asyncio.wait_for(stop.wait(), TICK)
        except TimeoutError:
            continue
    loop.remove_reader(life)
    Bounded.draining = service.draining = True
    server.close()
    await _drain(service, state)


async def _drain(service: Service, state: ServerState) -> None:
    """Wait for the connections to end; idle ones are closed after a moment."""
    began = time.monotonic()
    await asyncio.sleep(TICK / 5)  # What was accepted just now is among them only later.
    for connection in list(state.connections):
        if isinstance(connection, Protocol):
            connection.answer_last()
    while state.connections and (waited := time.monotonic() - began) < 3 * service.limits.seconds:
        if waited > LINGER:
            for connection in list(state.connections):
                if isinstance(connection, Protocol) and connection.idle():
                    connection.transport.close()
        _tick(service, state)
        await asyncio.sleep(TICK / 5)
    service.log.write()


def _tick(service: Service, state: ServerState) -> None:
    state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
    service.log.write()
