"""Offsets that drift: an Ornstein–Uhlenbeck process of every user, or item, over its own times.

Its mean given the errors of the ratings solves a tridiagonal system, which is what a Kalman filter
and smoother would give. A time without a rating is asked for by a weight of zero: between ratings
the offset is interpolated, and after the last one it is carried forward and goes to zero. The first
half of the solution, in the order of time, is the filter: the mean given earlier ratings alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky_banded, solve_banded, solveh_banded

import tastemix as tm

DAY = 86400.0
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Drift:
    """How far offsets of a side go, as variance over that of the noise, and in how many days.

    With `filtered`, test ratings are predicted from earlier ones alone.
    """

    side: str
    variance: float
    days: float
    filtered: bool = False


def drifted(
    train: tm.Ratings, error: Array, parts: list[Array], drifts: tuple[Drift, ...], test: Any
) -> tuple[list[Array], Array]:
    """The offsets of each drift at the times of train, and their sum at the times of test.

    One drift after the other, each given the rest.
    """
    parts, asked = list(parts), np.zeros(0 if test is None else len(test), np.float32)
    for at, drift in enumerate(drifts):
        left = error - sum(part for other, part in enumerate(parts) if other != at)
        found = smoothed(drift, train, left, test)
        parts[at], asked = found[: len(train)], asked + found[len(train) :]
    return parts, asked


def smoothed(drift: Drift, train: tm.Ratings, error: Array, test: Any) -> Array:
    """The mean of the process at the times of train and, after them, of test."""
    parts = [train] if test is None else [train, test]
    row = np.concatenate([getattr(p.by_user, ROWS[drift.side]) for p in parts])
    time = np.concatenate([np.asarray(p.timestamp, np.float64) for p in parts])
    weight = np.arange(len(row)) < len(train)
    seen = np.concatenate([error, np.zeros(len(row) - len(train))])
    order = np.lexsort((weight, time, row))  # what is asked for before ratings of the same second
    row, time = row[order], time[order]
    gap = np.maximum(np.diff(time), 1.0) / (drift.days * DAY)
    stay = np.where(row[1:] == row[:-1], np.exp(-gap), 0.0)
    share = 1 / (1 - stay**2) / drift.variance
    diagonal = np.full(len(row), 1 / drift.variance) + weight[order]
    diagonal[1:] += share * stay**2
    diagonal[:-1] += share * stay**2
    bands = np.zeros((2, len(row)))
    bands[0, 1:], bands[1] = -share * stay, diagonal
    found = np.empty(len(row), np.float32)
    found[order] = solveh_banded(bands, seen[order], check_finite=False)
    if drift.filtered and test is not None:
        ahead = np.append(share * stay**2, 0)
        found[order] = np.where(weight[order], found[order], earlier(bands, seen[order], ahead))
    return found


def earlier(bands: Array, seen: Array, ahead: Array) -> Array:
    """The mean at every place given those before it; `ahead` is what the next one adds to A_ii."""
    factor = cholesky_banded(bands, check_finite=False)
    lower = np.vstack([factor[1], np.append(factor[0, 1:], 0)])
    known = solve_banded((1, 0), lower, seen, check_finite=False)
    return factor[1] * known / (factor[1] ** 2 - ahead)


ROWS = {"users": "rows", "items": "indices"}
