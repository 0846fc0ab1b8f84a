"""Fits on a cluster that loses a worker, ten times, or its scheduler. Used by `cluster.py`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import tastemix as tm
from tastemix.engine.dask import Dask

KILLS, EVERY, STEPS, RANK = 10, 3, 30, 20


@contextmanager
def served(folder: Path) -> Iterator[tuple[Any, int]]:
    """A client of a scheduler and two workers in processes of their own; the scheduler's number."""
    where = folder / "scheduler.json"
    where.unlink(missing_ok=True)

    def begun(what: str, *options: str) -> Any:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
        command += ["--scheduler-file", str(where), *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    scheduler = begun("scheduler", "--port", "0")
    workers = [begun("worker", "--nthreads", "1", "--nanny") for _ in range(2)]
    client = distributed.Client(scheduler_file=str(where), timeout=30)
    try:
        client.wait_for_workers(2, timeout=60)
        yield client, scheduler.pid
    finally:
        client.close(timeout=1)
        for process in (scheduler, *workers):
            process.terminate()
            process.wait()


class Watched:
    """What happens in a fit: steps, and how many half-steps were done again."""

    def __init__(self) -> None:
        self.repeated = self.step = 0

    def __call__(self, step: Any, session: Any) -> None:
        self.repeated, self.step = session.repeated, step.number


def lost_worker(ratings: tm.Ratings, method: Any, near: Any, usual: float) -> Any:
    """A fit one worker of which is killed at a random moment of a random step."""
    draw, watched = random.Random(), Watched()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        victim = draw.choice(sorted(client.run(os.getpid).values()))
        after, late = draw.randrange(1, STEPS - 1), draw.uniform(0, usual / STEPS)

        def kill() -> None:
            while watched.step < after:
                time.sleep(0.001)
            time.sleep(late)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        began = time.perf_counter()
        far = method.fit(ratings, engine=Dask(client, every=EVERY), on_step=watched)
        seconds = time.perf_counter() - began
        killer.join()
    return {
        "killed_after_step": after,
        "seconds": round(seconds, 2),
        "repeated_half_steps": watched.repeated,
        "same_bits": same(far, near),
    }


def lost_scheduler(ratings: tm.Ratings, method: Any, near: Any, folder: Path) -> Any:
    """A fit whose scheduler is killed, and the same call on another cluster."""
    shelf = folder / "checkpoint"
    watched, again = Watched(), []

    def end(step: Any, session: Any) -> None:
        if step.number == STEPS // 2 + 1:
            os.kill(scheduler, signal.SIGKILL)

    message = ""
    with served(folder) as (client, scheduler):
        try:
            method.fit(ratings, engine=Dask(client, checkpoint=shelf, every=EVERY), on_step=end)
        except tm.errors.EngineError as error:
            message = str(error)
    with served(folder) as (client, _):
        from tastemix.engine.session import BlockSession

        half_step = BlockSession.half_step

        def counted(*arguments: Any, **options: Any) -> Any:
            again.append(arguments[1])
            return half_step(*arguments, **options)

        BlockSession.half_step = counted  # type: ignore[method-assign]
        engine = Dask(client, checkpoint=shelf, every=EVERY)
        try:
            far = method.fit(ratings, engine=engine, on_step=watched)
        finally:
            BlockSession.half_step = half_step  # type: ignore[method-assign]
    return {
        "killed_after_step": STEPS // 2 + 1,
        "said_that_it_does_not_answer": "does not answer: start a cluster" in message,
        "half_steps_of_the_second_call": len(again),
        "same_bits": same(far, near),
    }


def same(far: Any, near: Any) -> bool:
    """Whether two models have the same factors."""
    one, other = far.factors, near.factors
    return np.array_equal(one.users, other.users) and np.array_equal(one.items, other.items)


def fits_that_lose(ratings: tm.Ratings, folder: Path) -> dict[str, Any]:
    """All of them."""
    method = tm.RNMF(RANK, steps=STEPS)
    near = method.fit(ratings)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        began = time.perf_counter()
        method.fit(ratings, engine=Dask(client, every=EVERY))
        usual = time.perf_counter() - began
    found = []
    for _ in range(KILLS):
        found.append(lost_worker(ratings, method, near, usual))
        print(found[-1], flush=True)
    scheduler = lost_scheduler(ratings, method, near, folder)
    print(scheduler, flush=True)
    about = {"ratings": len(ratings), "rank": RANK, "steps": STEPS, "every": EVERY}
    return {**about, "workers": found, "scheduler": scheduler}


def sentences(found: dict[str, Any]) -> list[str]:
    """What happened."""
    kills, lost, most = found["workers"], found["scheduler"], 2 * found["every"]
    repeated = ", ".join(str(run["repeated_half_steps"]) for run in kills)
    steps = ", ".join(str(run["killed_after_step"]) for run in kills)
    bits = "in all of them" if all(run["same_bits"] for run in (*kills, lost)) else "not always"
    return [
        f"{len(kills)} fits of RNMF to {found['ratings']:,} ratings on two workers, "
        f"{found['steps']} steps at rank {found['rank']}, checkpoints every {found['every']}: one "
        f"worker killed after step {steps}. All finished, and repeated {repeated} half-steps, of "
        f"at most {most}. The scheduler killed after step {lost['killed_after_step']}: the same "
        f"call on another cluster took {lost['half_steps_of_the_second_call']} half-steps of "
        f"{2 * found['steps']}. The bits of a fit here: {bits}.",
    ]
