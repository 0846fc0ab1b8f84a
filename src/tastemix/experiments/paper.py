"""The figures the paper prints, beside which ours are shown."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import methods as m
from tastemix.evaluation.metrics.facts import NINE
from tastemix.experiments.settings import NAMED, RANDOM

DATASETS = ("ml-1m", "ml-10m", "jester", "finefoods")


def _rows(table: str) -> list[dict[str, str]]:
    text = (files("tastemix.experiments") / "paper" / f"table-{table}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def comparison(dataset: str) -> dict[str, dict[str, float]]:
    """Method → its nine metrics in the paper's comparison of one data set; empty if it has none."""
    if dataset not in DATASETS:
        return {}
    return {row["method"]: {name: float(row[name]) for name in NINE} for row in _rows(dataset)}


def compared_methods(dataset: str) -> dict[str, Any]:
    """The methods of that comparison at the ranks and steps it prints."""
    return {row["method"]: _method(row) for row in _rows(dataset)}


def _method(row: dict[str, str]) -> Any:
    if row["method"] == RANDOM:
        return m.Random()
    return NAMED[row["method"]](int(row["rank"]), int(row["steps"] or 0))


def facts(dataset: str) -> dict[str, str]:
    """The paper's line on one data set; empty if it has none."""
    return next((row for row in _rows("datasets") if row["dataset"] == dataset), {})


def best_ranks(dataset: str) -> dict[str, int]:
    """Method → the best rank the paper found; empty if it has none."""
    row = next((row for row in _rows("best-rank") if row["dataset"] == dataset), {})
    return {name: int(rank) for name, rank in row.items() if name != "dataset"}


def correlation() -> NDArray[np.float64]:
    """Spearman's ρ between the nine metrics on ML-1M."""
    return np.array([[float(row[name]) for name in NINE] for row in _rows("spearman-ml-1m")]) / 100
