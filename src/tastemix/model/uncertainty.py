"""How far a prediction may be off, taste of the day included: a variance for every pair.

Some people rate as predicted and some do not, some items divide opinion, few ratings tell little,
and there is less room at the ends of the scale. The logarithm of the variance is linear in those;
the coefficients make ratings that a fit has not seen most likely.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import draws
from tastemix.data.ids import Indices
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.base import Side
from tastemix.model.factors import Floats, Scores

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]

COEFFICIENTS = 7
UNSEEN = 0.1
"""The share of the ratings that the trial fit does not see."""
SHRINKAGE = 8.0
"""Average residuals that a user or an item starts with: a few are easily extreme."""
CAUTION = 10.0
"""Imagined ratings that speak for the same variance everywhere."""


@dataclass(frozen=True, eq=False)
class Noise:
    """log variance = coefficients · (1, place, place², user, log count, item, log count).

    users, items: the log of each one's mean squared residual in training, relative to all.
    """

    coefficients: tuple[float, ...]
    users: Floats
    items: Floats

    def std(self, user: Indices, item: Indices, counts: Counts, place: Floats) -> Floats:
        """The standard deviation of each pair's rating around its prediction; −1 is anyone.

        counts: the training ratings of every user and of every item. place: see `placed`.
        """
        features = _features((self.users, self.items), counts, (user, item), place)
        return np.exp(0.5 * _bounded(features @ self.coefficients))

    def rows(self, side: Side, numbers: Indices) -> Noise:
        """With these rows of one side; −1 is someone new, who is average."""
        old: Floats = getattr(self, side)
        changed: dict[str, Any] = {side: np.where(numbers < 0, 0.0, old[numbers])}
        return dataclasses.replace(self, **changed)


def placed(prediction: Floats, scale: Scale) -> Floats:
    """Where on the scale a prediction lies, from 0 to 1."""
    low, high = scale
    return (prediction.clip(low, high) - low) / max(high - low, 1e-12)


def estimate(ratings: Ratings, scores: Scores, trial: Callable[[Ratings], Scores]) -> Noise:
    """The noise around these scores, by the errors of a trial fit on ratings it does not see."""
    unseen = draws.words(0, (len(ratings),)) < np.uint64(int(UNSEEN * 2**64))
    if unseen.all() or not unseen.any():
        unseen = np.arange(len(ratings)) == 0
    seen, later = ratings.subset(~unseen), ratings.subset(unseen)
    half = later.by_user
    pairs = half.rows, half.indices
    found = trial(seen) if len(seen) else scores
    prediction = found.pairs(*pairs).clip(*ratings.scale)
    counts = seen.by_user.counts, seen.by_item.counts
    features = _features(_spreads(seen, found), counts, pairs, placed(prediction, ratings.scale))
    coefficients = _fitted(features, (half.values - prediction) ** 2)
    return Noise(tuple(map(float, coefficients)), *_spreads(ratings, scores))


def _spreads(ratings: Ratings, scores: Scores) -> tuple[Floats, Floats]:
    half = ratings.by_user
    rows = half.rows
    squared = (scores.pairs(rows, half.indices).clip(*ratings.scale) - half.values) ** 2
    overall = max(float(squared.mean()), 1e-12) if len(squared) else 1.0
    logs = []
    for numbers, ids in ((rows, ratings.users), (half.indices, ratings.items)):
        sums = np.bincount(numbers, squared, len(ids)) + SHRINKAGE * overall
        counts = np.bincount(numbers, minlength=len(ids)) + SHRINKAGE
        logs.append(np.log(sums / counts / overall))
    return logs[0], logs[1]


def _features(
    logs: tuple[Floats, Floats], counts: Counts, pairs: tuple[Indices, Indices], place: Floats
) -> Floats:
    columns = [np.ones(len(place)), place, place**2]
    for log, count, number in zip(logs, counts, pairs, strict=True):
        columns += [np.append(log, 0.0)[number], np.append(np.log1p(count), 0.0)[number]]
    return np.stack(columns, axis=1)


def _fitted(features: Floats, squared: Floats) -> Floats:
    """The coefficients that make the squared errors most likely, by Newton's method (convex)."""
    constant = np.log(max(float(squared.mean()), 1e-12))
    b = np.zeros(features.shape[1])
    b[0] = constant
    ridge = np.full(len(b), CAUTION)
    ridge[0] = 1e-6

    def loss(b: Floats) -> float:
        log_variance = _bounded(features @ b)
        fit = (log_variance + squared * np.exp(-log_variance)).sum()
        return float(0.5 * (fit + ridge[1:] @ b[1:] ** 2))

    for _ in range(50):
        ratio = squared * np.exp(-_bounded(features @ b))
        slope = 0.5 * features.T @ (1 - ratio) + ridge * np.append(0.0, b[1:])
        curvature = 0.5 * (features * ratio[:, None]).T @ features + np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while loss(b - size * step) > loss(b) and size > 1e-6:
            size /= 2
        b = b - size * step
        if np.abs(size * step).max() < 1e-9:
            break
    return b


def _bounded(log_variance: Floats) -> Floats:
    return log_variance.clip(-40, 40)
