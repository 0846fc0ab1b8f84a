"""Many methods on many splits, judged by every metric, in one tidy table."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data import splits
from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation.fitting import EngineChoice, fitted
from tastemix.evaluation.judging import Judge
from tastemix.evaluation.metrics.facts import lower_is_better
from tastemix.methods import Method


@dataclass(frozen=True, eq=False)
class Results:
    """What `cross_validate` found."""

    table: pa.Table
    """method, parameters (JSON), fold, metric, value, seconds of the fit; a row per value."""
    failures: dict[str, str]
    """Methods that raised, with their error; they are not in the table."""
    test_share: float
    """The mean size of a test part over that of its training part."""

    def _repr_html_(self) -> str:
        from tastemix.plot import cards

        return cards.of_results(self)

    def plot(self, metric: str = "rmse") -> Any:
        """A figure: one metric of every method, the best first, with its spread over the folds."""
        from tastemix import plot

        return plot.figures("of_tables").of_results(self, metric)

    def methods(self) -> list[str]:
        """The names of the methods, in the order they were given."""
        return list(dict.fromkeys(self.table["method"].to_pylist()))

    def values(self, method: str, metric: str) -> NDArray[np.float64]:
        """One metric of one method, fold by fold."""
        rows = zip(*(self.table[c].to_pylist() for c in ("method", "metric", "value")), strict=True)
        found = [value for name, what, value in rows if (name, what) == (method, metric)]
        if not found:
            raise ParameterError(
                f"there is no {metric!r} of {method!r}: methods are {', '.join(self.methods())}; "
                f"metrics are {', '.join(self._metrics())}"
            )
        return np.array(found)

    def summary(self) -> pa.Table:
        """A row per method: mean and standard deviation of every metric, and of the seconds."""
        return pa.Table.from_pylist([self._summary_of(method) for method in self.methods()])

    def compare(self, one: str, other: str, metric: str = "rmse") -> dict[str, float]:
        """The paired difference one − other over the folds: its mean, standard error and p-value.

        The p-value is that of a paired t-test with the variance corrected for folds that share
        training ratings (Nadeau and Bengio, 2003).
        """
        from scipy.stats import t

        difference = self.values(one, metric) - self.values(other, metric)
        count = len(difference)
        mean = float(difference.mean())
        if count < 2:
            return {"difference": mean, "standard_error": math.nan, "p_value": math.nan}
        # 1/k for the mean of k splits, and the size of a test part over that of its training part.
        error = math.sqrt(float(difference.var(ddof=1)) * (1 / count + self.test_share))
        p = float(mean == 0) if error == 0 else float(2 * t.sf(abs(mean) / error, count - 1))
        return {"difference": mean, "standard_error": error, "p_value": p}

    def spearman(self) -> pa.Table:
        """How the metrics agree on the order of all (method, fold): Spearman's ρ, better first."""
        names = self._metrics()
        columns = {
            name: np.concatenate([self.values(m, name) for m in self.methods()]) for name in names
        }
        return spearman(columns)

    def _metrics(self) -> list[str]:
        return list(dict.fromkeys(self.table["metric"].to_pylist()))

    def _summary_of(self, method: str) -> dict[str, Any]:
        rows = [row for row in self.table.to_pylist() if row["method"] == method]
        seconds = {row["fold"]: row["seconds"] for row in rows}
        summary: dict[str, Any] = {
            "method": method,
            "seconds": float(np.mean(list(seconds.values()))),
        }
        for name in self._metrics():
            values = [row["value"] for row in rows if row["metric"] == name]
            summary[name] = float(np.mean(values))
            summary[f"{name}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return summary


OnProgress = Callable[[int, int, str, float], None]
"""Called with the fits done, the fits in all, the method and the seconds that are likely left."""


def cross_validate(
    methods: Iterable[Method],
    ratings: Ratings,
    folds: int | Iterable[splits.Split] = 5,
    *,
    seed: int = 0,
    relevant: float | None = None,
    predicted: float | None = None,
    at: int = 10,
    raw: bool = False,
    catalogue: bool = False,
    engine: EngineChoice = None,
    on_progress: OnProgress | None = None,
) -> Results:
    """Fit every method to every training part and judge it on the test part.

    folds: a number of folds over the ratings, or splits of your own.
    relevant, predicted, at: as in `metrics.evaluate`. raw, catalogue: as in `Judge`.
    engine: where methods that take one are fitted.
    A method that raises is left out of the table and named in `failures`.
    """
    named = _named(list(methods))
    judge = Judge(relevant, predicted, at, raw, catalogue)
    own = _splits(folds) if isinstance(folds, Iterable) else None
    count = checks.whole("folds", folds, least=2) if own is None else len(own)
    parts = splits.folds(ratings, count, seed) if own is None else iter(own)
    total = len(named) * count
    shares = []
    rows: list[dict[str, Any]] = []
    failures: dict[str, str] = {}
    began, done = time.perf_counter(), 0
    for number, (train, test) in enumerate(parts):
        shares.append(len(test) / max(len(train), 1))
        for name, method in named.items():
            if name not in failures:
                try:
                    rows += _judged(name, method, number, (train, test), judge, engine)
                except Exception as error:  # one method must not take the others down
                    failures[name] = f"{type(error).__name__}: {error}"
            done += 1
            if on_progress is not None:
                left = (time.perf_counter() - began) / done * (total - done)
                on_progress(done, total, name, left)
    rows = [row for row in rows if row["method"] not in failures]
    share = sum(shares) / max(len(shares), 1)
    return Results(pa.Table.from_pylist(rows, _SCHEMA), failures, share)


def spearman(columns: dict[str, NDArray[np.float64]]) -> pa.Table:
    """Spearman's ρ between columns of metric values, each turned so that larger is better.

    Ties share their mean rank; a column that does not vary correlates with nothing (NaN).
    """
    from scipy.stats import rankdata

    ranks = [
        rankdata(-column if lower_is_better(name) else column) for name, column in columns.items()
    ]
    with np.errstate(invalid="ignore"):
        matrix = np.corrcoef(ranks) if len(ranks) > 1 else np.ones((1, 1))
    table: dict[str, Any] = {"metric": list(columns)}
    table.update({name: matrix[:, number] for number, name in enumerate(columns)})
    return pa.table(table)


_SCHEMA = pa.schema(
    [
        ("method", pa.string()),
        ("parameters", pa.string()),
        ("fold", pa.int32()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("seconds", pa.float64()),
    ]
)


def _splits(given: Iterable[Any]) -> list[tuple[Ratings, Ratings]]:
    """Splits of the user's own."""
    own = list(given)
    if not own:
        raise ParameterError("there are no folds: give a number of them, or pairs of ratings")
    for number, pair in enumerate(own):
        parts = pair if isinstance(pair, tuple | list) else ()
        if len(parts) != 2 or not all(isinstance(part, Ratings) for part in parts):
            raise ParameterError(
                f"folds[{number}] is {checks.shown(pair)}: give a number of folds, or pairs of "
                "ratings to train on and to test"
            )
    return own


def _named(methods: list[Method]) -> dict[str, Method]:
    """Methods by a short name, told apart by their parameters where names repeat."""
    if not methods:
        raise ParameterError("there is no method to compare: give at least one")
    short = [type(method).__name__ for method in methods]
    names = [
        name if short.count(name) == 1 else str(method)
        for name, method in zip(short, methods, strict=True)
    ]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{name} is given twice: change a parameter or leave one out")
    return dict(zip(names, methods, strict=True))


def _judged(
    name: str,
    method: Method,
    fold: int,
    split: tuple[Ratings, Ratings],
    judge: Judge,
    engine: EngineChoice,
) -> list[dict[str, Any]]:
    """A row of the table for every metric of one fit."""
    train, test = split
    began = time.perf_counter()
    model = fitted(method, train, engine)
    seconds = time.perf_counter() - began
    half = test.by_user
    unclipped = model.predict_numbers(
        half.rows, half.indices, clip=False, fallback=None if judge.raw else "mean"
    )
    about = json.dumps(dict(model.parameters), default=str)
    common = {"method": name, "parameters": about, "fold": fold, "seconds": seconds}
    found = judge(model.ordering, train, test, unclipped)
    return [{**common, "metric": metric, "value": value} for metric, value in found.items()]
