"""Scores for pairs of dense numbers, above all the product of two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tastemix import _native
from tastemix.engine.base import Held, Matrix
from tastemix.ids import Ids, Indices
from tastemix.ratings import Half
from tastemix.topn import Allowed

Floats = NDArray[np.float64]


class Scores(Protocol):
    """A raw prediction for every pair of dense numbers."""

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """The prediction of each pair."""
        ...

    def block(self, user: Indices) -> NDArray[Any]:
        """The predictions of these users for every item."""
        ...

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """(users, n) items with the highest predictions, of those allowed (by item) and not seen.

        The best first, equal ones by number, −1 where there are no more.
        """
        ...


@dataclass(frozen=True, eq=False)
class Factors:
    """b_ui = shift + w_u · h_i."""

    users: Matrix
    items: Matrix
    shift: float = 0.0
    held: Held = Held()
    """Coordinates that were held at one, so that the other side's entry there is an offset."""

    @property
    def rank(self) -> int:
        """The length of a row."""
        return int(self.users.shape[1])

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        return _native.pair_products(self.users, self.items, user, item) + self.shift

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        return self.users[user] @ self.items.T + np.float32(self.shift)

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return _native.top_items(
            self.users, self.items, user, seen.pointers, seen.indices, allowed, n
        )

    def largest(self, at_once: int = 4_000_000) -> float:
        """The largest prediction over all pairs, a block of users at a time."""
        blocks = min(-(-len(self.users) * len(self.items) // at_once), len(self.users))
        everyone = np.arange(len(self.users), dtype=np.int32)
        return max(float(self.block(some).max()) for some in np.array_split(everyone, blocks))


@dataclass(frozen=True, eq=False)
class Population:
    """One side of a model: who is in it, and the mean (NaN if none) and number of their ratings."""

    ids: Ids
    mean: Floats
    count: NDArray[np.int64]

    @staticmethod
    def of(ids: Ids, half: Half) -> Population:
        """The population of one side of the ratings."""
        mean = np.full(len(ids), np.nan)
        rated = half.counts > 0
        if rated.any():
            sums = np.add.reduceat(half.values, half.pointers[:-1][rated], dtype=np.float64)
            mean[rated] = sums / half.counts[rated]
        return Population(ids, mean, half.counts)
