"""Fits of one library to one part of the ratings, judged on another.

Job: library, settings, shape, scale, and the files train and test. The answer has one row per
setting: test RMSE of clipped predictions, seconds and processor seconds of the fit.
"""

from __future__ import annotations

import time
from typing import Any

import libraries
import numpy as np
from isolated import Job, load, serve


def judged(library: Any, model: Any, job: Job, mean: float) -> Job:
    """The mean stands in where the library has no answer."""
    user, item, rating = load(job["test"])
    found = np.asarray(library.predict(model, user, item), np.float64)
    unknown = np.isnan(found)
    found[unknown] = mean
    error = found.clip(*job["scale"]) - rating
    return {"rmse": float(np.sqrt(np.mean(error**2))), "unknown": int(unknown.sum())}


def work(job: Job) -> Job:
    """Every setting in turn."""
    library = getattr(libraries, job["library"])()
    ratings = load(job["train"])
    mean, rows = float(ratings[2].mean()), []
    for setting in job["settings"]:
        data = library.prepare(ratings, job["shape"])
        began, worked = time.perf_counter(), time.process_time()
        model = library.fit(data, setting)
        spent = {
            "seconds": time.perf_counter() - began,
            "processor": time.process_time() - worked,
        }
        rows.append({"setting": setting, **judged(library, model, job, mean), **spent})
    return {"rows": rows}


if __name__ == "__main__":
    serve(work)
