"""Our side of the comparison: what is fitted, what is tuned, and what races to a peer's error.

A setting names a method of METHODS and gives its arguments. To add a method, add a line to each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from entries import Entry, Setting, grid

import tastemix as tm


def offsets(rank: int, steps: int, l2: float, l2_per_rating: float, tolerance: float = 1e-3) -> Any:
    """Nonnegative factors with nonnegative offsets of users and items."""
    objective = tm.Objective(l2=l2, l2_per_rating=l2_per_rating, centre="average")
    return tm.ANLS(rank, [tm.Phase(objective, steps, tolerance)], offsets=True)


METHODS: dict[str, Callable[..., Any]] = {
    "RNMF": tm.RNMF,
    "PRD": tm.PRD,
    "MIXD": tm.MIXD,
    "offsets": offsets,
    "ANMF": tm.ANMF,
    "CNMF": tm.CNMF,
    "Baseline": tm.Baseline,
}

FITS = [
    Entry("RNMF(6)", "tastemix", "Ours", {"method": "RNMF", "rank": 6}, nonnegative=True),
    Entry("MIXD(10)", "tastemix", "Ours", {"method": "MIXD", "rank": 10}, nonnegative=True),
    Entry(
        "ANLS offsets",
        "tastemix",
        "Ours",
        {"method": "offsets", "rank": 20, "steps": 25, "l2": 2.5, "l2_per_rating": 0.035},
        grid(
            method=["offsets"],
            rank=[20, 30],
            steps=[25],
            l2=[2.5, 4.0, 6.0],
            l2_per_rating=[0.035],
        ),
        nonnegative=True,
    ),
    Entry(
        "ANMF, 4 members",
        "tastemix",
        "Ours",
        {"method": "ANMF", "members": 4, "ranking": 0},
        nonnegative=True,
        note="ANMF(members=4, ranking=0), predictions alone",
    ),
    Entry(
        "ANMF", "tastemix", "Ours", {"method": "ANMF"}, nonnegative=True, note="what `tm.fit` is"
    ),
]
"""Full fits: the paper's settings, one fit with offsets, and `tm.fit`."""

RACERS: list[Setting] = [
    *grid(method=["RNMF"], rank=[3, 4, 6, 8], steps=[2, 3, 4, 6, 9, 13, 20, 40]),
    *grid(method=["MIXD"], rank=[5, 10, 15, 20], prior_steps=[2, 5, 10], steps=[15, 20, 30, 50]),
    *grid(
        method=["offsets"],
        rank=[3, 5, 8, 12, 20],
        steps=[2, 3, 4, 5, 6, 8, 10, 14, 20],
        l2=[2.5],
        l2_per_rating=[0.035],
    ),
    *grid(method=["ANMF"], rank=[14, 30], members=[2, 3, 4], steps=[10, 14, 20], ranking=[0]),
]
"""Candidates for the shortest fit that is as good as a peer's."""


def method(setting: Setting) -> Any:
    """The method that a setting describes."""
    arguments = dict(setting)
    return METHODS[arguments.pop("method")](**arguments)
