"""Choosing a method and its settings for some ratings.

A share of the ratings is put aside and plays no part in the choice: the RMSE that is reported is
on it. Candidates are fitted to most of the rest and compared by RMSE on what remains: first a
coarse list, then settings beside the best one, until they gain little. A climb was preferred to a
sampler: RMSE is flat near the best settings, and a dozen fits find them.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa

from tastemix import checks
from tastemix import methods as known
from tastemix.data import splits
from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation.fitting import EngineChoice, fitted
from tastemix.evaluation.metrics import rmse
from tastemix.methods import default_method
from tastemix.methods.averaged import Averaged
from tastemix.model.model import Model

RANK_SHARES = (0.25, 0.5)
"""Ranks at which the paper's methods are tried, as shares of ANMF's rank."""
BESIDE = {"rank": (0.7, 1.4), "l1": (0.5, 2.0), "l2": (0.5, 2.0), "shrinkage": (0.5, 2.0)}
"""Settings tried beside the best one's, as shares of them."""
ROUNDS = 2
"""Of trying beside the best."""
LEAST_GAIN = 0.001
"""Share of the RMSE that a round must gain for another one to follow."""


@dataclass(frozen=True)
class Trial:
    """A candidate, the RMSE of its predictions for the validation part, and the seconds it took."""

    method: Any
    rmse: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Search:
    """What was tried, the best method, and its RMSE on ratings that played no part."""

    method: Any
    """The best candidate, as it was tried: fit it to all ratings."""
    rmse: float
    """Of the best method on the ratings put aside."""
    baseline_rmse: float
    """Of `Baseline` on the same ratings."""
    trials: tuple[Trial, ...]

    @property
    def table(self) -> pa.Table:
        """method, settings (JSON), rmse, seconds: a row per trial, the best first."""
        return pa.Table.from_pylist(
            [
                {
                    "method": type(trial.method).__name__,
                    "settings": json.dumps(_settings(trial.method), default=str),
                    "rmse": trial.rmse,
                    "seconds": trial.seconds,
                }
                for trial in sorted(self.trials, key=lambda trial: trial.rmse)
            ]
        )


OnTrial = Callable[[Trial], bool | None]
"""Called with each trial; True ends the search."""


def search(
    ratings: Ratings,
    methods: Iterable[Any] | None = None,
    *,
    share: float = 0.1,
    seed: int = 0,
    engine: EngineChoice = None,
    on_trial: OnTrial | None = None,
) -> Search:
    """The best of the methods by RMSE, or of `candidates` and settings beside the best of them.

    methods: candidates of yours, tried as they are.
    share: of the ratings that is put aside, and of the rest that candidates are compared on.
    seed: of the split, and of the start of `candidates`.
    on_trial: called with each Trial; return True to stop.
    """
    share = checks.number("share", share, 0.01, 0.5)
    if len(ratings) * share < 2:
        raise ParameterError(
            f"{len(ratings)} ratings are too few to put {share:g} of them aside: "
            f"give {math.ceil(2 / share)} or more"
        )
    given = None if methods is None else list(methods)
    if given == []:
        raise ParameterError("there is no method to try: give at least one")
    learning, test = splits.holdout(ratings, share, seed)
    train, validation = splits.holdout(learning, share, seed + 1)
    trials: list[Trial] = []
    for method in candidates(ratings, seed) if given is None else given:
        if _try(method, trials, train, validation, engine, on_trial):
            break
    else:
        if given is None:
            _climb(trials, train, validation, engine, on_trial)
    best = _best(trials).method
    return Search(
        best,
        _error(fitted(_predicting(best), learning, engine), test),
        _error(known.Baseline().fit(learning), test),
        tuple(trials),
    )


def candidates(ratings: Ratings, seed: int = 0) -> list[Any]:
    """What is tried first: Baseline, our own method, RNMF and MIXD at two ranks.

    These ranks grow with the ratings, as those of ANMF do.
    """
    own, largest = default_method(), known.ANMF().tuned_for(ratings).rank
    ranks = sorted({max(1, round(largest * share)) for share in RANK_SHARES})
    return [
        known.Baseline(),
        replace(own, rank=own.usual_rank(ratings), seed=seed),
        *(make(rank, seed=seed) for rank in ranks for make in (known.RNMF, known.MIXD)),
    ]


def beside(method: Any) -> Iterator[Any]:
    """The method with one setting changed, for those in BESIDE that it has."""
    settings = _settings(method)
    for name, shares in BESIDE.items():
        if settings.get(name) is not None:
            for share in shares:
                value = settings[name] * share
                changed = max(1, round(value)) if name == "rank" else _rounded(value)
                yield replace(method, **{name: changed})


def _climb(trials: list[Trial], *options: Any) -> None:
    """Try what is beside the best until a round gains little."""
    for _ in range(ROUNDS):
        best = _best(trials)
        for method in beside(best.method):
            tried = any(trial.method == method for trial in trials)
            if not tried and _try(method, trials, *options):
                return
        if _best(trials).rmse > (1 - LEAST_GAIN) * best.rmse:
            return


def _try(
    method: Any,
    trials: list[Trial],
    train: Ratings,
    validation: Ratings,
    engine: EngineChoice,
    on_trial: OnTrial | None,
) -> bool:
    """Add a trial; whether it should be the last."""
    began = time.perf_counter()
    error = _error(fitted(_predicting(method), train, engine), validation)
    trials.append(Trial(method, error, time.perf_counter() - began))
    return on_trial is not None and bool(on_trial(trials[-1]))


def _best(trials: list[Trial]) -> Trial:
    return min(trials, key=lambda trial: trial.rmse)


def _predicting(method: Any) -> Any:
    """The method without what only orders recommendations: its predictions are the same."""
    if isinstance(method, Averaged):
        method = replace(cast(Any, method), ranking=0)
    return method


def _error(model: Model, part: Ratings) -> float:
    half = part.by_user
    return rmse(half.values, model.predict_numbers(half.rows, half.indices))


def _settings(method: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(method) or isinstance(method, type):
        return {}
    return {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}


def _rounded(value: float) -> float:
    """Three digits are enough of a setting that is searched by factors of two."""
    return float(f"{value:.3g}")
