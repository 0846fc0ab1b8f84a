"""Baselines: what every method should beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings, Scale
from tastemix.engine.base import Engine
from tastemix.engine.sides import Held
from tastemix.model.factors import Factors, Floats
from tastemix.model.model import Model
from tastemix.model.topn import Allowed, best_items, scores_of


@dataclass(frozen=True)
class Random:
    """A random rating for every pair, rounded to integers: the lowest baseline of every metric."""

    seed: int = 0

    def __post_init__(self) -> None:
        checks.seed(self.seed)

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings: only the scale is used."""
        return Model.of(self, RandomScores(self.seed, ratings.scale, len(ratings.items)), ratings)


@dataclass(frozen=True)
class RandomScores:
    """U[low − 1, high + 1] rounded to integers, a hash of (seed, user, item)."""

    seed: int
    scale: Scale
    items: int

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        pair = np.asarray(user, np.uint64) << np.uint64(32) | np.asarray(item, np.uint64)
        bits = _mixed(pair ^ _mixed(np.array([self.seed + 1], np.uint64)))
        low, high = self.scale
        uniform = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.rint(low - 1 + (high - low + 2) * uniform)

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        return self.pairs(np.asarray(user)[:, None], np.arange(self.items, dtype=np.int32)[None, :])

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return best_items(self.block, user, seen, allowed, n)

    def best_scored(
        self, user: Indices, seen: Half, allowed: Allowed, n: int
    ) -> tuple[Indices, Floats]:
        """See Scores.best_scored."""
        best = self.best(user, seen, allowed, n)
        return best, scores_of(self.pairs, user, best)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True)
class Popular:
    """The number of ratings of an item, the same for all users: a ranking, not a rating."""

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings: count them."""
        counts = ratings.by_item.counts.astype(np.float32)[:, None]
        ones = np.ones((len(ratings.users), 1), np.float32)
        return Model.of(self, Factors(ones, counts), ratings)


@dataclass(frozen=True)
class Baseline:
    """The mean rating plus an offset for the user and one for the item.

    The shrinkage acts like as many additional ratings with offset 0.
    """

    shrinkage: float = 5.0
    sweeps: int = 10

    def __post_init__(self) -> None:
        checks.number("shrinkage", self.shrinkage, least=0)
        checks.whole("sweeps", self.sweeps)

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings, in alternating sweeps over items and users."""
        half = ratings.by_user
        user, item = half.rows, half.indices
        centred = half.values - half.values.mean(dtype=np.float64)
        b_user, b_item = np.zeros(len(ratings.users)), np.zeros(len(ratings.items))
        for _ in range(self.sweeps):
            left = np.bincount(item, centred - b_user[user], len(b_item))
            b_item = left / (ratings.by_item.counts + self.shrinkage)
            left = np.bincount(user, centred - b_item[item], len(b_user))
            b_user = left / (half.counts + self.shrinkage)
        users = np.stack([b_user, np.ones_like(b_user)], axis=1).astype(np.float32)
        items = np.stack([np.ones_like(b_item), b_item], axis=1).astype(np.float32)
        mean = float(half.values.mean(dtype=np.float64))
        return Model.of(self, Factors(users, items, mean, Held(users=(1,), items=(0,))), ratings)
