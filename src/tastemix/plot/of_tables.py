"""Figures of ratings and of the results of a comparison."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tastemix.data.inspecting import histogram
from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation.cross_validation import Results
from tastemix.evaluation.metrics.facts import fact, lower_is_better
from tastemix.report.exhibits import Bar, Bars, Block
from tastemix.report.figures import drawn
from tastemix.report.style import look

EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Of the ranges in which ratings per user and per item are counted."""


def of_ratings(ratings: Ratings) -> Figure:
    """How often each rating was given, and how many users and items have how many ratings."""
    values = histogram(ratings.by_user.values)
    blocks = [
        Block([Bar(bar.name, bar.count, f"{bar.count:,}") for bar in values], "ratings"),
        Block(_counts(ratings.by_user.counts), "ratings per user", "#00806a"),
        Block(_counts(ratings.by_item.counts), "ratings per item", "#d55400"),
    ]
    title = f"{len(ratings):,} ratings of {len(ratings.items):,} items by {len(ratings.users):,}"
    return drawn(Bars(f"{title} users", blocks, shared=False))


def of_results(results: Results, metric: str = "rmse") -> Figure:
    """One metric of every method, the best first; the line is the standard deviation over folds."""
    return drawn(compared(results, metric))


def compared(results: Results, metric: str = "rmse") -> Bars:
    """What `of_results` draws."""
    rows = results.summary().to_pylist()
    if not rows or metric not in rows[0]:
        known = [name for name in rows[0] if f"{name}_std" in rows[0]] if rows else []
        raise ParameterError(f"there is no metric {metric!r}: choose one of {', '.join(known)}")
    lower, digits = lower_is_better(metric), fact(metric).digits
    rows = sorted(rows, key=lambda row: row[metric] if lower else -row[metric])
    found = [
        Bar(
            row["method"],
            row[metric],
            f"{row[metric]:.{digits}f}",
            float(np.nan_to_num(row[f"{metric}_std"])),
            look(row["method"]).colour,
        )
        for row in rows
    ]
    better = "lower" if lower else "higher"
    return Bars(fact(metric).label, [Block(found)], f"The best first; {better} is better.")


def _counts(counts: NDArray[np.int64]) -> list[Bar]:
    """How many of the counts are in each range, up to the largest."""
    rows = []
    highest = int(counts.max(initial=0))
    zeros = int(np.count_nonzero(counts == 0))
    if zeros:
        rows.append(Bar("none", zeros, f"{zeros:,}"))
    for low, after in zip(EDGES, (*EDGES[1:], None), strict=True):
        if low > highest:
            break
        inside = counts >= low if after is None else (counts >= low) & (counts < after)
        name = f"{low:,} or more" if after is None else f"{low:,} to {after - 1:,}"
        name = f"{low:,}" if after == low + 1 else name
        if rows or inside.any():
            rows.append(Bar(name, int(inside.sum()), f"{int(inside.sum()):,}"))
    return rows
