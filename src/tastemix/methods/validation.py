"""How good lists are, on a part of the ratings that was held back: for settings found from data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings
from tastemix.engine.start import drawn
from tastemix.model.factors import Scores
from tastemix.model.links import in_stars
from tastemix.model.topn import best_items, chosen

SEED, SHARE = 2, 0.1
"""Which ratings are held back, and the share of them."""
LIKED = 4.0
"""Stars of an item that is worth being on a list."""
LENGTH = 10
MOST_SCORES, FEWEST_USERS = 1 << 23, 500
"""Scores of the users that are judged, for all items; with many items, users."""


class Validation:
    """Ratings to learn from, and lists judged by the liked ones among those held back."""

    def __init__(self, ratings: Ratings) -> None:
        taken = drawn(len(ratings), SEED, SHARE)
        liked = in_stars(ratings.by_user.values, ratings.scale) >= LIKED
        self.learning = ratings.subset(~taken)
        held = ratings.subset(taken & liked).by_user
        there = np.flatnonzero(held.counts).astype(np.int32)
        most = max(FEWEST_USERS, MOST_SCORES // len(ratings.items))
        if len(there) > most:
            there = there[np.linspace(0, len(there) - 1, most).astype(np.int64)]
        if len(self.learning) == 0:
            there = there[:0]
        self.users: Indices = there
        """Those with a liked item among what was held back, as many as are judged; none where
        nothing is left to learn from."""
        self._items = len(ratings.items)
        self._seen = chosen(self.learning.by_user, there)
        self._liked = _keys(chosen(held, there), self._items)

    def hits(self, scores: Scores) -> int:
        """The liked items in the lists of the users."""
        return self._hits(scores.best(self.users, self._seen, None, self._length))

    def hits_of(self, block: NDArray[np.float32]) -> int:
        """As `hits`, for scores of the users for all items."""
        every = np.arange(len(self.users), dtype=np.int32)
        return self._hits(best_items(block.__getitem__, every, self._seen, None, self._length))

    @property
    def _length(self) -> int:
        return min(LENGTH, self._items)

    def _hits(self, lists: Indices) -> int:
        user = np.arange(len(lists), dtype=np.int64)[:, None] * self._items
        return int(np.isin((user + lists)[lists >= 0], self._liked).sum())


def _keys(half: Half, items: int) -> NDArray[np.int64]:
    """A number for every pair."""
    first, last = half.pointers[0], half.pointers[-1]
    return half.rows.astype(np.int64) * items + half.indices[first:last]
