"""The uncertainty of predictions: the variance of a rating around its prediction, for every pair.

It depends on how well other ratings of the user and of the item are predicted, on how many there
are, and on where the prediction lies on the scale. The logarithm of the variance is linear in
these; the coefficients are fitted by maximum likelihood to ratings that a trial fit has not seen.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Scale, Side
from tastemix.engine.base import Errors, Placed, Session, Spread
from tastemix.engine.sides import Pair
from tastemix.model.factors import Factors, Floats

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]

COEFFICIENTS = 7
SHRINKAGE = 8.0
"""Average residuals added to those of each user and item, which may be few."""
MOST_JUDGED = 30_000
"""Ratings that the coefficients are fitted to."""
SMALL = 1e-6
"""A step of all coefficients that ends the search for them."""
CAUTION = 10.0
"""The ridge on all coefficients but the first, towards the same variance everywhere."""


@dataclass(frozen=True, eq=False)
class Noise:
    """log variance = coefficients · (1, place, place², user, log count, item, log count).

    users, items: the log of each one's mean squared residual in training, relative to all.
    """

    coefficients: tuple[float, ...]
    users: Floats
    items: Floats

    def std(self, user: Indices, item: Indices, counts: Counts, place: Floats) -> Floats:
        """The standard deviation of each pair's rating around its prediction; −1 is an average one.

        counts: the training ratings of every user and of every item. place: see `placed_on`.
        """
        features = _features((self.users, self.items), counts, (user, item), place)
        return np.exp(0.5 * _bounded(features @ self.coefficients))

    def stretched(self, unit: float) -> Noise:
        """For ratings that are so many times as long."""
        first, *others = self.coefficients
        return dataclasses.replace(self, coefficients=(first + 2 * math.log(unit), *others))

    def side(self, side: Side) -> Floats:
        """The shares of one side."""
        return self.users if side == "users" else self.items

    def rows(self, side: Side, numbers: Indices) -> Noise:
        """With these rows of one side; −1 is a new one, which is average."""
        old = self.side(side)
        changed: dict[str, Any] = {side: np.where(numbers < 0, 0.0, old[numbers])}
        return dataclasses.replace(self, **changed)


def placed_on(prediction: Floats, scale: Scale) -> Floats:
    """Where on the scale a prediction lies, from 0 to 1."""
    low, high = scale
    return (prediction.clip(low, high) - low) / max(high - low, 1e-12)


def estimate(
    placed: Placed, factors: Factors, scale: Scale, seen: Placed, unseen: Any, trial: Factors
) -> Noise:
    """The variance around the predictions of factors, from the errors of a trial fit to the ratings
    `seen` on those it has not seen.
    """
    session = opened(seen, trial)
    found = session.errors(unseen)
    some = slice(None, None, max(1, -(-len(found.truth) // MOST_JUDGED)))
    found = Errors(found.user[some], found.item[some], found.truth[some], found.prediction[some])
    prediction = found.prediction.clip(*scale)
    spreads = session.spread("users"), session.spread("items")
    counts = spreads[0].counts, spreads[1].counts
    pairs = found.user, found.item
    features = _features(_shares(*spreads), counts, pairs, placed_on(prediction, scale))
    coefficients = _fitted(features, (found.truth - prediction) ** 2)
    whole = opened(placed, factors)
    return Noise(
        tuple(map(float, coefficients)), *_shares(whole.spread("users"), whole.spread("items"))
    )


def opened(placed: Placed, factors: Factors) -> Session:
    """A session that holds factors, or the mean of several products, to ask about their errors."""
    pair = Pair(factors.users / np.float32(factors.members), factors.items)
    return placed.open(pair, shift=factors.shift)


def _shares(users: Spread, items: Spread) -> tuple[Floats, Floats]:
    """The log of each one's mean squared error, relative to all."""
    overall = max(float(users.squared.sum()) / max(int(users.counts.sum()), 1), 1e-12)
    logs = [
        np.log((side.squared + SHRINKAGE * overall) / (side.counts + SHRINKAGE) / overall)
        for side in (users, items)
    ]
    return logs[0], logs[1]


def _features(
    logs: tuple[Floats, Floats], counts: Counts, pairs: tuple[Indices, Indices], place: Floats
) -> Floats:
    found = np.empty((len(place), COEFFICIENTS))
    found[:, 0], found[:, 1], found[:, 2] = 1.0, place, place * place
    for at, log, count, number in zip((3, 5), logs, counts, pairs, strict=True):
        found[:, at], found[:, at + 1] = log[number], np.log1p(count[number])
        found[number < 0, at : at + 2] = 0.0
    return found


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

    lowest = loss(b)
    for _ in range(50):
        ratio = squared * np.exp(-_bounded(features @ b))
        slope = 0.5 * features.T @ (1 - ratio) + ridge * np.append(0.0, b[1:])
        curvature = 0.5 * np.einsum("jr,js->rs", features * ratio[:, None], features)
        curvature += np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        while (found := loss(b - step)) > lowest and np.abs(step).max() > SMALL:
            step /= 2
        b, lowest = b - step, found
        if np.abs(step).max() <= SMALL:
            break
    return b


def _bounded(log_variance: Floats) -> Floats:
    return log_variance.clip(-40, 40)
