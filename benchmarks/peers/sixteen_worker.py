"""One library on many generated ratings: the seconds of its iterations, or its growth in a fit.

Job: what ("iterations" or "growth"), library, setting, train (a file), shape. An iteration, our
step, updates both factors once.
"""

from __future__ import annotations

import time
from typing import Any

import libraries
import numpy as np
from isolated import Growth, Job, load, serve

STEPS, SKIPPED = 7, 2
"""Iterations that are run, and how many of them come before the ones that count."""


def ours(data: Any, setting: Job) -> list[float]:
    """Our steps say themselves what they took."""
    model = libraries.OursOrdered().fit(data, setting | {"steps": STEPS})
    return [step.seconds for step in model.history[SKIPPED:]]


def implicit(data: Any, setting: Job) -> list[float]:
    """implicit reports each iteration to a callback."""
    seconds: list[float] = []

    def note(iteration: int, elapsed: float, loss: float | None) -> None:
        seconds.append(elapsed)

    libraries.ImplicitALS().fit(data, setting | {"iterations": STEPS}, on_step=note)
    return seconds[SKIPPED:]


def cmfrec(data: Any, setting: Job) -> list[float]:
    """cmfrec reports nothing: a fit of many iterations less one of few, divided."""
    bare = setting | {"finalize_chol": False, "precompute_for_predictions": False}

    def seconds(iterations: int) -> float:
        began = time.perf_counter()
        libraries.Cmfrec().fit(data, bare | {"niter": iterations})
        return time.perf_counter() - began

    few, many = (min(seconds(iterations) for _ in range(2)) for iterations in (SKIPPED, STEPS))
    return [(many - few) / (STEPS - SKIPPED)]


CLOCKS = {"OursOrdered": ours, "ImplicitALS": implicit, "Cmfrec": cmfrec}


def work(job: Job) -> Job:
    library = getattr(libraries, job["library"])()
    ratings = load(job["train"])
    few = tuple(column[:2000] for column in ratings)
    library.fit(library.prepare(few, job["shape"]), job["setting"])  # imports, threads, compilers
    data = library.prepare(ratings, job["shape"])
    if job["what"] == "iterations":
        seconds = CLOCKS[job["library"]](data, job["setting"])
        return {"seconds": min(seconds), "median": float(np.median(seconds))}
    if job["library"] != "Ours":
        del ratings
    with Growth() as growth:
        library.fit(data, job["setting"])
    return {"growth": growth.bytes, "before": growth.before}


if __name__ == "__main__":
    serve(work)
