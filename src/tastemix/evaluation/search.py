"""Choosing a method and a rank for someone's ratings, within a budget of seconds.

A tenth of the ratings is put aside and never looked at by the choice. Candidates are fitted to most
of the rest and compared by RMSE on what remains: first a coarse grid, cheap ranks first, then ranks
beside the best. The figure that is reported comes from the tenth. A plain grid was preferred to a
sampler: with one continuous curve per method, flat near its best, fifteen fits find it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tastemix import methods
from tastemix.data import splits
from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation.metrics import rmse
from tastemix.methods import anmf
from tastemix.model.model import Model

RANKS = (2, 5, 10, 20)
BESIDE = (0.7, 1.4)
"""Ranks tried beside the best one, as shares of it."""
METHODS: tuple[Callable[[int], Any], ...] = (
    methods.MIXD,
    methods.RNMF,
    methods.PRD,
    methods.MIXR,
    anmf.ANMF,
)


@dataclass(frozen=True)
class Trial:
    """A candidate and the RMSE of its predictions for the validation part."""

    method: Any
    rmse: float
    seconds: float


@dataclass(frozen=True)
class Choice:
    """What was tried, what was chosen, and its RMSE on ratings the choice never saw."""

    trials: tuple[Trial, ...]
    method: Any
    test_rmse: float
    baseline_rmse: float
    """Of means and offsets alone, on the same ratings."""


def search(
    ratings: Ratings,
    budget: float = 60.0,
    seed: int = 0,
    on_trial: Callable[[Trial], None] | None = None,
) -> Choice:
    """The best candidate found within `budget` seconds; at least one is tried."""
    if not budget > 0:
        raise ParameterError(f"budget is {budget}: give a number of seconds above 0")
    if len(ratings) < 20:
        raise ParameterError(f"{len(ratings)} ratings are too few to choose by: give 20 or more")
    learning, test = splits.holdout(ratings, 0.1, seed)
    train, validation = splits.holdout(learning, 0.2, seed + 1)
    trials: list[Trial] = []
    began = time.perf_counter()

    def try_all(candidates: Iterator[Any]) -> None:
        for method in candidates:
            if trials and time.perf_counter() - began > budget:
                return
            trials.append(_tried(method, train, validation))
            if on_trial is not None:
                on_trial(trials[-1])

    try_all(make(rank) for rank in RANKS for make in METHODS)
    best = min(trials, key=lambda trial: trial.rmse).method
    finer = {max(1, round(best.rank * share)) for share in BESIDE} - set(RANKS)
    try_all(type(best)(rank) for rank in sorted(finer))
    best = min(trials, key=lambda trial: trial.rmse).method
    return Choice(
        tuple(trials),
        best,
        _error(best.fit(learning), test),
        _error(methods.Baseline().fit(learning), test),
    )


def _tried(method: Any, train: Ratings, validation: Ratings) -> Trial:
    began = time.perf_counter()
    error = _error(method.fit(train), validation)
    return Trial(method, error, time.perf_counter() - began)


def _error(model: Model, part: Ratings) -> float:
    half = part.by_user
    predicted = model.predict_numbers(half.rows, half.indices)
    return rmse(half.values.astype(np.float64), predicted) if len(part) else math.nan
