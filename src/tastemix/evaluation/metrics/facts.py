"""What is known of every metric: its label, which direction is better, and the digits shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Direction = Literal["high", "low"]


@dataclass(frozen=True)
class Metric:
    """One metric; N in a name or label stands for the length of a list."""

    name: str
    """As `evaluate` calls it; a name that starts with `catalogue_` is over all items."""
    label: str
    """As tables and charts call it."""
    better: Direction | None = "high"
    """Whether high or low values are better; None: neither."""
    digits: int = 3
    """Decimals in a table."""


_KNOWN = {
    metric.name: metric
    for metric in (
        Metric("rmse", "RMSE", "low"),
        Metric("mae", "MAE", "low"),
        Metric("mse", "MSE", "low"),
        Metric("nmae", "NMAE", "low"),
        Metric("cmae", "CMAE", "low"),
        Metric("precision", "Precision"),
        Metric("recall", "Recall"),
        Metric("fallout", "Fallout", "low"),
        Metric("f1", "F1"),
        Metric("accuracy", "Accuracy"),
        Metric("map", "MAP"),
        Metric("auc", "AUC"),
        Metric("ndcg", "NDCG"),
        Metric("precision_at_N", "P@N"),
        Metric("recall_at_N", "R@N"),
        Metric("f1_at_N", "F1@N"),
        Metric("ndcg_at_N", "NDCG@N"),
        Metric("rank_score", "RankScore"),
        Metric("class_score", "ClassScore"),
        Metric("rating_score", "RatingScore"),
        Metric("catalogue_precision_at_N", "P@N"),
        Metric("catalogue_recall_at_N", "R@N"),
        Metric("catalogue_ndcg_at_N", "NDCG@N"),
        Metric("catalogue_coverage", "coverage"),
        Metric("catalogue_median_popularity", "median popularity", None, 1),
    )
}

NINE = ("rmse", "mae", "f1", "accuracy", "map", "auc", "ndcg", "f1_at_10", "ndcg_at_10")
"""The paper's metrics, in the order of its tables."""
SCORES = ("rank_score", "class_score", "rating_score")
"""The paper's cumulative scores."""
CATALOGUE = tuple(
    f"catalogue_{name}"
    for name in ("precision_at_10", "recall_at_10", "ndcg_at_10", "coverage", "median_popularity")
)
"""Metrics of the ten best items of the whole catalogue."""


def fact(name: str) -> Metric:
    """What is known of a metric; one of your own has its name as label, and high is better."""
    general = re.sub(r"_at_\d+$", "_at_N", name)
    if general not in _KNOWN:
        return Metric(name, name)
    known = _KNOWN[general]
    return replace(known, name=name, label=known.label.replace("@N", f"@{name.split('_')[-1]}"))


def lower_is_better(name: str) -> bool:
    """Whether low values of a metric are good ones."""
    return fact(name).better == "low"


def labels(*names: str) -> tuple[str, ...]:
    """The labels of metrics, in order."""
    return tuple(fact(name).label for name in names)


def digits(*names: str) -> dict[str, int]:
    """Label → decimals in a table."""
    return {fact(name).label: fact(name).digits for name in names}


def best(*names: str) -> dict[str, Direction]:
    """Label → better direction, for the metrics that have one."""
    known = [fact(name) for name in names]
    return {metric.label: metric.better for metric in known if metric.better is not None}
