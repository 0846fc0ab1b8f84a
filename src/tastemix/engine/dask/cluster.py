"""The client's side of a cluster: who is there, tasks pinned to workers, and what may get lost."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker, get_client
from distributed.comm.core import CommClosedError

import tastemix
from tastemix.data.columns import first_line
from tastemix.errors import EngineError

POLL = 2.0
"""Seconds after which it is asked whether the workers that are waited for are still there."""
PATIENCE = 60.0
"""Seconds to wait for a worker when none is left."""
TRIES = 20
"""How often the same work is tried while workers get lost."""
NO_MEMORY = "a worker has no memory left for its block: add workers, or give them more memory"
T = TypeVar("T")


class LostWorkerError(Exception):
    """A worker with blocks is gone; what it held is made anew. It may say what told so."""


class LostSchedulerError(EngineError):
    """The scheduler is gone, and with it every task."""


_UNREACHED = CommClosedError, ConnectionError, TimeoutError
_GONE = LostWorkerError, CancelledError, *_UNREACHED
"""What is said where a worker was lost."""


class Cluster:
    """The workers of a client."""

    def __init__(self, client: Client | None = None) -> None:
        if client is None:
            try:
                client = get_client()
            except ValueError:
                raise EngineError(
                    "engine 'dask' needs a client: make one with distributed.Client(…) first, or "
                    "pass tm.engines.Dask(client)"
                ) from None
        if client.asynchronous:
            raise EngineError(
                "the client is asynchronous: make one with distributed.Client(…, "
                "asynchronous=False)"
            )
        self.client = client
        self.greeted: set[str] = set()

    def workers(self) -> list[str]:
        """The addresses of the workers that are there, all of one kind."""
        there = self._alive()
        new = [address for address in there if address not in self.greeted]
        if new:
            self._greet(there)
        return there

    def wait_for_workers(self) -> list[str]:
        """Likewise, at least one."""
        if not (there := self.workers()):
            try:
                self.client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise EngineError(
                    f"the cluster has had no worker for {PATIENCE:.0f} s: start workers and run "
                    "the same call again"
                ) from None
            there = self.workers()
        return there

    def memory(self, address: str) -> int:
        """The bytes that a worker may take; 0 if there is no limit."""
        workers = self._asked(lambda: self.client.scheduler_info(n_workers=-1))["workers"]
        return int(workers.get(address, {}).get("memory_limit") or 0)

    def submit(self, address: str, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A task for this worker and no other, which is never stolen or shared."""
        here = {"workers": [address], "allow_other_workers": False, "pure": False}
        return self._asked(lambda: self.client.submit(task, *arguments, **here))

    def share(self, task: Callable[..., Any], pieces: Sequence[Any]) -> list[Future[Any]]:
        """A task for each piece, for any worker."""
        self.wait_for_workers()
        return self._asked(lambda: self.client.map(task, pieces, pure=False))

    def end(self, futures: Sequence[Future[Any]], last: Callable[[], Any]) -> None:
        """Let go of tasks, and have all workers do this afterwards if they are still there."""
        with suppress(EngineError):
            self.give_up(futures)
            self._asked(lambda: self.client.run(last, on_error="ignore"))

    def ask(
        self, task: Callable[..., Any], about: Any, workers: Iterable[str], beside: set[str]
    ) -> dict[str, Any]:
        """What a coroutine gives on each of these workers, which is run outside of Dask's tasks.

        beside: other workers that it needs.
        """
        asked_of = sorted(workers)
        needed = beside.union(asked_of)

        async def asked() -> Any:
            answers = asyncio.ensure_future(
                self.client.run(task, about, workers=asked_of, on_error="return")
            )
            while not (await asyncio.wait([answers], timeout=POLL))[0]:
                there = self.client.nthreads()  # type: ignore[no-untyped-call]
                if not needed <= set(await there):
                    answers.cancel()
                    raise LostWorkerError
            return answers.result()

        found: dict[str, Any] = self._asked(
            lambda: self.client.sync(asked)  # type: ignore[no-untyped-call]
        )
        errors = [error for error in found.values() if isinstance(error, BaseException)]
        if errors or sorted(found) != asked_of:
            there = needed <= set(self._alive())
            gone = [error for error in errors if _says_gone(error, there)]
            if gone or sorted(found) != asked_of:
                raise _lost(*gone)
            raise _own(errors[0])
        return found

    def results(self, futures: Sequence[Future[Any]], owners: Iterable[str]) -> list[Any]:
        """What the tasks gave, if the workers that they need live on."""
        needed = set(owners)
        return [self._result(future, needed) for future in futures]

    def _result(self, future: Future[Any], needed: set[str]) -> Any:
        while True:
            ended = future.status == "error"
            try:
                return future.result(timeout=POLL)
            except (KilledWorker, LostWorkerError):
                raise LostWorkerError from None
            except (CancelledError, OSError, UnboundLocalError) as error:
                # (The last is what a client raises when it loses its scheduler while it waits.)
                if isinstance(error, TimeoutError) and not ended:
                    if needed <= set(self.wait_for_workers()):
                        continue  # it is only not done yet
                    raise LostWorkerError from None
                if future.status == "error" and not (needed and isinstance(error, _GONE)):
                    raise _own(error) from None
                self._alive()
                raise _lost(error) from None
            except MemoryError as error:
                raise _own(error) from None

    def persist(self, work: Callable[[], T], lost: Callable[[], object] = lambda: None) -> T:
        """What some work gives, tried again after workers were lost, once that is made up for."""
        for number in range(TRIES):
            try:
                return work()
            except LostWorkerError as error:
                last = error
            time.sleep(min(0.1 * 2**number, POLL) if number else 0.0)
            lost()
        said = f" (the last time: {first_line(last)})" if str(last) else ""
        raise EngineError(
            f"workers were lost {TRIES} times over the same work{said}: give them more memory, or "
            "start others, and run the same call again"
        )

    def _alive(self) -> list[str]:
        return sorted(self._asked(lambda: self.client.nthreads()))  # type: ignore[no-untyped-call]

    def give_up(self, futures: Sequence[Future[Any]]) -> None:
        """Let go of tasks that wait for what is lost."""
        self._asked(lambda: self.client.cancel(futures, force=True))  # type: ignore[no-untyped-call]

    def _asked(self, question: Callable[[], T]) -> T:
        """The scheduler's answer."""
        try:
            if self.client.status in ("closed", "closing"):
                raise CommClosedError("closed")
            return question()
        except (CommClosedError, OSError, TimeoutError, CancelledError, RuntimeError, NameError):
            address = self.client.scheduler.address if self.client.scheduler else "its address"
            raise LostSchedulerError(
                f"the scheduler at {address} does not answer: start a cluster and run the same "
                "call again, which goes on from its checkpoint if it was given one"
            ) from None

    def _greet(self, there: Sequence[str]) -> None:
        """Refuse workers that would give other bits, or none."""
        own = os.getpid(), socket.gethostname()
        answers = self._asked(
            lambda: self.client.run(_introduction(own), workers=list(there), on_error="return")
        )
        kinds: dict[str, str] = {}
        for address, answer in sorted(answers.items()):
            if isinstance(answer, BaseException):
                raise EngineError(
                    f"worker {address} cannot be used ({type(answer).__name__}: {answer}): "
                    "restart it"
                )
            version, isa = answer
            if version is None:
                raise EngineError(
                    f"worker {address} has no tastemix that can be imported ({isa}): install "
                    f"tastemix {tastemix.__version__} there"
                )
            if version != tastemix.__version__:
                raise EngineError(
                    f"worker {address} has tastemix {version}, and this is "
                    f"{tastemix.__version__}: install the same version everywhere"
                )
            kinds.setdefault(isa, address)
        if len(kinds) > 1:
            (one, here), (other, there_) = list(kinds.items())[:2]
            common = _weakest(kinds)
            raise EngineError(
                f"worker {here} uses {one} and worker {there_} uses {other}, whose results differ "
                f"in their last bits: set TASTEMIX_ISA={common} on all workers"
            )
        self.greeted.update(there)


def _says_gone(error: BaseException, there: bool) -> bool:
    """Whether it tells of a lost worker; that all are there speaks for a fault of the work."""
    if not isinstance(error, OSError) or isinstance(error, _UNREACHED):
        return isinstance(error, _GONE)
    return not there or error.errno is None  # that of a worker which cannot be reached has none


def _lost(*errors: BaseException) -> LostWorkerError:
    said = [error for error in errors if not isinstance(error, LostWorkerError)]
    return LostWorkerError(*(f"{type(error).__name__}: {error}" for error in said[:1]))


def _own(error: BaseException) -> BaseException:
    """What went wrong with the work itself, in a sentence where a user can do something."""
    if isinstance(error, MemoryError):
        return EngineError(NO_MEMORY)
    if isinstance(error, OSError):
        return EngineError(
            f"a worker cannot read or write its files ({first_line(error)}): give a folder that "
            "all machines see, with room, for checkpoints and for results"
        )
    return error


def _weakest(kinds: Iterable[str]) -> str:
    order = ("plain", "avx2", "avx512")
    return min(kinds, key=lambda kind: order.index(kind) if kind in order else 0)


def _introduction(client: tuple[int, str]) -> Callable[[Any], tuple[str | None, str]]:
    """What a worker is asked first. It travels by value: there may be no tastemix over there."""

    def introduction(dask_worker: Any) -> tuple[str | None, str]:
        try:
            import tastemix.engine._native as native
        except Exception as error:
            return None, str(error).splitlines()[0] if str(error) else type(error).__name__
        import os
        import socket

        import tastemix

        if (os.getpid(), socket.gethostname()) != client:
            native.set_threads(dask_worker.state.nthreads)
        return tastemix.__version__, native.current_isa()

    return introduction
