"""The parent process: it loads models, and forks workers that share what it loaded.

A worker answers from one model for as long as it lives. A new model is loaded here, its workers are
forked, and when they answer the old ones are told to end: no answer mixes two models, and all
workers share one copy. The socket stays open all the while.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tastemix.errors import EngineError, TastemixError
from tastemix.persistence.folder import INDEX
from tastemix.serve import protocol, worker
from tastemix.serve.app import Service, counted
from tastemix.serve.counts import Counts
from tastemix.serve.door import Door
from tastemix.serve.problems import busy

LOOK = 1.0
"""Seconds between looks at the model's folder."""
START = 60.0
"""Seconds in which a worker must begin to answer."""
SETS = 4
"""Sets of workers that may be there at a time: one answers, one begins, the others are ending."""
TOO_OFTEN, WITHIN = 5, 10.0
"""Workers that end by themselves within so many seconds before the service gives up."""
ENDS = {signal.SIGTERM, signal.SIGINT}
ENDING = protocol.as_bytes(busy(503, "the service is ending: ask again in a moment", 2))
Say = Callable[[str], None]


@dataclass
class Worker:
    """A process that answers."""

    pid: int
    slot: int
    ready: int
    """What it writes to when it begins to answer; −1 when it has."""
    began: float = field(default_factory=time.monotonic)


class Parent:
    """Keeps workers answering on a socket, from the newest model."""

    def __init__(
        self,
        load: Callable[[int], Service],
        folder: Path,
        listening: socket.socket,
        workers: int,
        say: Say,
        warn: Say,
    ) -> None:
        """load: makes the service of a generation. folder: of the model; watched for new ones."""
        self._load, self._folder, self._listening = load, folder, listening
        self._count, self._say, self._warn = workers, say, warn
        self._workers: list[Worker] = []
        self._leaving: list[Worker] = []
        self._deaths: list[float] = []
        self._asked: set[int] = set()
        self._waits = False
        self._generation = 1
        self._wake = socket.socketpair()
        self._life = os.pipe()

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C, then until the workers have ended."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # One for each connection.
        self._listen_to_signals()
        self._seen = self._identity()
        self._service = self._prepared(self._load(1))
        self._counts = Counts(counted(self._service.limits), SETS * self._count)
        self._start(self._workers)
        if not self._wait_for(self._workers):
            self._kill()
            raise EngineError("no worker began to answer: see its error above")
        name, port = self._listening.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        self._say(f"http://{shown}:{port} answers, in {self._count} process(es)")
        try:
            while not self._asked & ENDS:
                self._wait(LOOK)
                self._reap()
                now = self._identity()
                wanted = signal.SIGHUP in self._asked or now not in (self._seen, None)
                if wanted and self._has_room():
                    self._asked.discard(signal.SIGHUP)
                    self._seen = now
                    self._reload()
        finally:
            self._end()

    def _reload(self) -> None:
        """Change over to the model that is in the folder now; keep the old one if it is none."""
        try:
            service = self._prepared(self._load(self._generation + 1))
        except (TastemixError, OSError) as error:
            self._warn(f"the model was not changed: {error}")
            return
        old, self._service = self._service, service
        new: list[Worker] = []
        self._start(new)
        if not self._wait_for(new):
            self._warn("the model was not changed: its workers did not begin to answer")
            self._service = old
            self._dismiss(new, signal.SIGKILL)
            return
        self._generation += 1
        before, self._workers = self._workers, new
        self._dismiss(before, signal.SIGTERM)
        self._say(f"model {self._generation} answers")

    def _prepared(self, service: Service) -> Service:
        """A service whose parts are made, and are not written to by the collector of a worker."""
        service.known.warm()
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        return service

    def _has_room(self) -> bool:
        """Whether a set of workers can begin beside those that are there; says so once if not."""
        room = len(self._free(self._workers)) >= self._count
        if not room and not self._waits:
            self._warn("the model is changed later: workers of those before are still answering")
        self._waits = not room
        return room

    def _free(self, beginning: list[Worker]) -> list[int]:
        """The slots that no worker counts in: two in one would lose counts."""
        taken = {each.slot for each in (*self._workers, *self._leaving, *beginning)}
        return [slot for slot in range(self._counts.slots) if slot not in taken]

    def _start(self, workers: list[Worker]) -> None:
        """Fork as many of these workers as there should be."""
        for slot in self._free(workers)[: self._count - len(workers)]:
            read, write = os.pipe()
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)  # What is sent to it finds it itself.
            pid = os.fork()
            if pid == 0:
                self._work(slot, write, workers)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            os.close(write)
            workers.append(Worker(pid, slot, read))

    def _work(self, slot: int, ready: int, beginning: list[Worker]) -> None:
        """What a worker does; it does not return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in ENDS:
                signal.signal(number, signal.SIG_DFL)  # As long as it has begun nothing.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._life[1])
            others = {each.ready for each in (*self._workers, *self._leaving, *beginning)}
            for each in others - {-1}:
                os.close(each)
            self._service.count(self._counts, slot)
            worker.run(
                self._service, self._listening, lambda: os.close(_told(ready)), self._life[0]
            )
            code = 0
        finally:
            os._exit(code)

    def _wait_for(self, workers: list[Worker]) -> bool:
        """Whether all of these begin to answer in time."""
        until = time.monotonic() + START
        for each in list(workers):
            left = max(0.0, until - time.monotonic())
            if not select.select([each.ready], [], [], left)[0] or not os.read(each.ready, 1):
                return False
            _close(each)
        return True

    def _wait(self, seconds: float) -> None:
        """Wait for a signal, but no longer than this."""
        if select.select([self._wake[0]], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                self._wake[0].recv(4096)

    def _reap(self) -> None:
        """Put others in the place of workers that have ended by themselves."""
        for each in [one for one in self._leaving if _ended(one)]:
            self._leaving.remove(each)
        dead = [each for each in self._workers if _ended(each)]
        for each in dead:
            self._workers.remove(each)
            self._warn(f"worker {each.pid} ended: another one begins")
        now = time.monotonic()
        self._deaths = [at for at in self._deaths if at > now - WITHIN] + [now] * len(dead)
        if len(self._deaths) > TOO_OFTEN * self._count:
            raise EngineError("workers end as soon as they begin: see their errors above")
        self._start(self._workers)

    def _dismiss(self, workers: list[Worker], number: int) -> None:
        for each in workers:
            with suppress(ProcessLookupError):
                os.kill(each.pid, number)
            self._leaving.append(each)

    def _end(self) -> None:
        """Let the workers answer what they have begun; say to new connections that this ends."""
        self._dismiss(self._workers, signal.SIGTERM)
        self._workers = []
        until = time.monotonic() + 3 * self._service.limits.seconds
        door = Door(self._listening, ENDING)
        while self._leaving:
            door.tell(wait=0.05)
            self._leaving = [each for each in self._leaving if not _ended(each)]
            if time.monotonic() > until:
                self._kill()
        door.close()

    def _kill(self) -> None:
        for each in (*self._workers, *self._leaving):
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)

    def _listen_to_signals(self) -> None:
        for each in self._wake:
            each.setblocking(False)
        signal.set_wakeup_fd(self._wake[1].fileno(), warn_on_full_buffer=False)
        for number in (*ENDS, signal.SIGHUP):
            signal.signal(number, lambda number, _: self._asked.add(number))
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _identity(self) -> tuple[int, int, int] | None:
        """Which file the index of the model is; another one after a save."""
        try:
            found = os.stat(self._folder / INDEX)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def _ended(each: Worker) -> bool:
    """Whether it has ended; then nothing of it is held."""
    with suppress(ChildProcessError):
        if os.waitpid(each.pid, os.WNOHANG)[0] != each.pid:
            return False
    _close(each)
    return True


def _close(each: Worker) -> None:
    """Hear no more of whether it begins to answer."""
    if each.ready >= 0:
        os.close(each.ready)
        each.ready = -1


def _told(ready: int) -> int:
    os.write(ready, b"1")
    return ready
