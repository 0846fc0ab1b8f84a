"""One whole fit: its seconds, and its processor seconds.

Job: library, setting, shape and the file train.
"""

from __future__ import annotations

import os
import time
from typing import Any

import libraries
import numpy as np
from isolated import Job, load, serve

FEW = 2000
"""Ratings of the fit that comes first and is not counted, for what is imported and started."""


class Whole:
    """`tm.fit` from the bare arrays, in any version of ours."""

    def prepare(self, ratings: Any, shape: Any) -> Any:
        return ratings

    def fit(self, data: Any, setting: Job) -> Any:
        import tastemix as tm

        return tm.fit(tm.Ratings.from_arrays(*data, scale=(1, 5)))


def work(job: Job) -> Job:
    library = Whole() if job["library"] == "Whole" else getattr(libraries, job["library"])()
    ratings = load(job["train"])
    few = tuple(np.array(column[:FEW]) for column in ratings)
    library.fit(library.prepare(few, job["shape"]), job["setting"])
    data = library.prepare(ratings, job["shape"])
    load_before, began, worked = os.getloadavg()[0], time.perf_counter(), time.process_time()
    library.fit(data, job["setting"])
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - worked,
        "load": load_before,
    }


if __name__ == "__main__":
    serve(work)
