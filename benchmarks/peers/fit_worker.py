"""One entry in one process: tuned on a validation part, then timed and judged.

Job: library, shape, default (a setting), grid (settings), repeats, validation_repeats, and the
files train, test, cut and validation, where train = cut + validation.
"""

from __future__ import annotations

import time
from typing import Any

import libraries
import numpy as np
from isolated import Job, load, serve

ENOUGH = 10.0
"""Seconds of fits after which there are no more repeats."""
TOO_LONG = 40.0
"""A first fit of so many seconds is not repeated at all."""


def clocked(library: Any, data: Any, setting: Job) -> tuple[Any, float]:
    """The model and the seconds of one fit."""
    began = time.perf_counter()
    model = library.fit(data, setting)
    return model, time.perf_counter() - began


def fastest(library: Any, data: Any, setting: Job, repeats: int) -> tuple[Any, float]:
    """The model and the seconds of the fastest of some fits."""
    model, seconds = clocked(library, data, setting)
    spent = best = seconds
    while repeats > 1 and spent < ENOUGH:
        model, seconds = clocked(library, data, setting)
        spent, best, repeats = spent + seconds, min(best, seconds), repeats - 1
    return model, best


def judged(library: Any, model: Any, path: str, mean: float) -> Job:
    """RMSE over all pairs of a file; the mean stands in where the library has no answer."""
    user, item, rating = load(path)
    if not hasattr(library, "predict"):
        return {"rmse": None}
    found = np.asarray(library.predict(model, user, item), np.float64)
    unknown = np.isnan(found)
    found[unknown] = mean
    return {"rmse": float(np.sqrt(np.mean((found - rating) ** 2))), "unknown": int(unknown.sum())}


def measured(library: Any, data: Any, setting: Job, repeats: int, path: str, mean: float) -> Job:
    """Seconds and error of one setting."""
    model, seconds = fastest(library, data, setting, repeats)
    return {"setting": setting, "seconds": seconds, **judged(library, model, path, mean)}


def work(job: Job) -> Job:
    """The default on test; every setting on validation; the best of those, refitted, on test.

    `first` is the first fit of the process, with what the library imports, compiles and starts.
    """
    library = getattr(libraries, job["library"])()
    ratings = load(job["train"])
    mean = float(ratings[2].mean())
    default, repeats = job["default"], job["repeats"]
    train = library.prepare(ratings, job["shape"])
    model, first = clocked(library, train, default)
    found = {"setting": default, "seconds": first, **judged(library, model, job["test"], mean)}
    if first < TOO_LONG:
        found = measured(library, train, default, repeats, job["test"], mean)
        found["seconds"] = min(first, found["seconds"])
    result = {"first": first, "default": found, "validated": [], "tuned": found}
    if not job["grid"]:
        return result
    cut = library.prepare(load(job["cut"]), job["shape"])
    result["validated"] = [
        measured(library, cut, setting, job["validation_repeats"], job["validation"], mean)
        for setting in [default, *job["grid"]]
    ]
    best = min(result["validated"], key=lambda one: one["rmse"])["setting"]
    if best != default:
        train = library.prepare(ratings, job["shape"])  # what prepare keeps is of its last data
        result["tuned"] = measured(library, train, best, repeats, job["test"], mean)
    return result


if __name__ == "__main__":
    serve(work)
