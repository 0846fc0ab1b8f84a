"""Steps of tastemix on generated ratings: their seconds, their updates, the growth of the process.

Job: millions, spread, ranks, threads (a list), steps, repeats. Result: the sizes, and one row per
method, rank and number of threads.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

import isolated

import generate
import tastemix as tm

USERS, ITEMS, RATINGS = 69_878, 10_677, 10_000_000
"""The shape of MovieLens 10M."""
METHODS = {"RNMF": tm.RNMF, "PRD": tm.PRD}


def of_size(millions: float, spread: int) -> tm.Ratings:
    """Users and items grow with the ratings, and are `spread` times as many."""
    count = round(millions * 1_000_000)
    shape = spread * USERS * count // RATINGS, spread * ITEMS * count // RATINGS
    return tm.Ratings.from_arrays(*generate.triples(count, *shape))


def measure(name: str, ratings: tm.Ratings, rank: int, steps: int, repeats: int) -> dict[str, Any]:
    """A mean step after the first, which starts from zeros: seconds, updates; and the growth.

    A step does the same in each repeat, so its fastest time is the least disturbed one. `cores` is
    processor time over time: well below the number of threads, others had the machine.
    """
    method = METHODS[name](rank, steps=steps)
    with isolated.Growth() as growth:
        fits = [method.fit(ratings).history]
    began, used = time.perf_counter(), time.process_time()
    fits += [method.fit(ratings).history for _ in range(repeats - 1)]
    cores = (time.process_time() - used) / (time.perf_counter() - began)
    seconds = np.min([[step.seconds for step in fit[1:]] for fit in fits], axis=0)
    return {
        "method": name,
        "rank": rank,
        "seconds": float(seconds.mean()),
        "updates": float(np.mean([step.updates for step in fits[0][1:]])),
        "growth": growth.bytes,
        "cores": cores,
    }


def work(job: isolated.Job) -> isolated.Job:
    ratings = of_size(job["millions"], job["spread"])
    size = {"ratings": len(ratings), "users": len(ratings.users), "items": len(ratings.items)}
    tm.RNMF(2, steps=1).fit(ratings.subset(np.arange(1000)))  # the thread pool and its stacks
    rows = []
    for threads in job["threads"]:
        tm.set_threads(threads)
        for rank in job["ranks"]:
            for name in METHODS:
                found = measure(name, ratings, rank, job["steps"], job["repeats"])
                rows.append({**size, "threads": threads, **found})
    return {"rows": rows}


if __name__ == "__main__":
    isolated.serve(work)
