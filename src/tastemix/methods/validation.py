"""How good lists are, on a part of the ratings that was held back: for settings found from data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings
from tastemix.engine.start import drawn, drawn_at
from tastemix.model.factors import Scores
from tastemix.model.links import in_stars
from tastemix.model.topn import chosen

SEED, SHARE, MOST_HELD = 0, 0.1, 2_000_000
"""Which ratings are held back, the share of them, and how many at most."""
MOST_LEARNT = 20_000_000
"""Beyond so many, lists are learnt from the ratings of every so manieth user."""
LIKED = 4.0
"""Stars of an item that is worth being on a list."""
LENGTH = 10
ENOUGH_USERS, MOST_SCORES, AT_ONCE = 1500, 1 << 23, 1 << 22
"""Users that are judged, or more while their scores for all items are so few; scores held at a
time."""


class Validation:
    """Ratings to learn from, and lists judged by the liked ones among those held back."""

    def __init__(self, ratings: Ratings) -> None:
        left, held = _parted(ratings)
        liked = in_stars(ratings.by_user.stored[held], ratings.scale) >= LIKED
        self.learning = ratings.subset(left)
        self._held = ratings.subset(held[liked]).by_user
        there = np.flatnonzero(self._held.counts).astype(np.int32)
        most = max(ENOUGH_USERS, MOST_SCORES // len(ratings.items))
        if len(there) > most:
            there = there[np.linspace(0, len(there) - 1, most).astype(np.int64)]
        if len(self.learning) == 0:
            there = there[:0]
        self.users: Indices = there
        """Those with a liked item among what was held back, as many as are judged; none where
        nothing is left to learn from."""
        self._items = len(ratings.items)

    def chunks(self) -> Iterator[tuple[Indices, Half]]:
        """Some of the users at a time, with the items they have seen."""
        for some in np.array_split(self.users, -(-len(self.users) * self._items // AT_ONCE)):
            yield some, chosen(self.learning.by_user, some)

    def liked(self, users: Indices, items: Indices) -> NDArray[np.bool_]:
        """Which items (a row for each of these users) are liked ones that were held back."""
        held = chosen(self._held, users)
        key = held.rows.astype(np.int64) * self._items
        key += held.indices[held.pointers[0] : held.pointers[-1]]
        row = np.arange(len(users), dtype=np.int64)[:, None] * self._items
        return np.isin(row + items, key) & (items >= 0)

    def hits(self, scores: Scores) -> int:
        """The liked items in the lists of the users."""
        length = min(LENGTH, self._items)
        return sum(
            int(self.liked(some, scores.best(some, seen, None, length)).sum())
            for some, seen in self.chunks()
        )


def share_of(count: int) -> float:
    """The share of so many ratings that is held back."""
    return min(SHARE, MOST_HELD / max(count, 1))


def _parted(ratings: Ratings) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """What is learnt from, of all users or of some, and what is held back of their ratings."""
    count, pointers = len(ratings), ratings.by_user.pointers
    every = -(-count // MOST_LEARNT)
    if every <= 1:
        taken = drawn(count, SEED, share_of(count))
        return ~taken, np.flatnonzero(taken)
    some = range(0, len(ratings.users), every)
    entries = np.concatenate([np.arange(pointers[at], pointers[at + 1]) for at in some])
    taken = drawn_at(entries, SEED, share_of(count))
    return entries[~taken], entries[taken]
