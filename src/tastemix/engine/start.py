"""What is drawn at random wherever the rows live: initial factors, and what a split takes away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import checks, draws
from tastemix.data.ratings import Side
from tastemix.engine.sides import Held, Matrix, Pair


def with_offsets(rows: Matrix, side: Side, offset: float = 0.0) -> Matrix:
    """Two more coordinates, a user's and an item's offset: each meets a held column of ones."""
    rank = rows.shape[1]
    wide = np.full((len(rows), rank + 2), offset, np.float32)
    wide[:, :rank] = rows
    wide[:, held_offsets(rank).of(side)] = 1
    return wide


def held_offsets(rank: int) -> Held:
    """The columns of ones beside `rank` tastes: a user's meets the item's offset."""
    return Held(users=(rank + 1,), items=(rank,))


@dataclass(frozen=True)
class RandomStart:
    """Users uniform on (0, size), items at `level`: items move first.

    With offsets there are two more coordinates, a user's and an item's offset: each starts at
    `offset` and meets a held column of ones.
    """

    rank: int
    seed: int = 0
    offsets: bool = False
    size: float = 1.0
    level: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        checks.whole("rank", self.rank)
        checks.seed(self.seed)

    @property
    def held(self) -> Held:
        """The coordinates that stay at one."""
        return held_offsets(self.rank) if self.offsets else Held()

    def users(self, first: int, last: int) -> Matrix:
        """The rows of users `first` to `last`, drawn from the bit generator itself: the same on any
        machine and wherever the other rows are.
        """
        raw = draws.words(self.seed, (last - first, self.rank), skip=first * self.rank)
        rows: Matrix = self.sized(raw)
        return self._widened(rows, "users")

    def sized(self, raw: Any) -> Any:
        """Random words as numbers on (0, size), in an array of any library."""
        drawn = ((raw >> np.uint64(41)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
        return drawn * np.float32(self.size) if self.size != 1 else drawn

    def items(self, first: int, last: int) -> Matrix:
        """The rows of items `first` to `last`."""
        level = np.full((last - first, self.rank), self.level, np.float32)
        return self._widened(level, "items")

    def pair(self, users: int, items: int) -> Pair:
        """Both factors, whole."""
        return Pair(self.users(0, users), self.items(0, items))

    def _widened(self, rows: Matrix, side: Side) -> Matrix:
        return with_offsets(rows, side, self.offset) if self.offsets else rows


Start = RandomStart | Pair


DRAWN_AT_ONCE = 2**22


def drawn(count: int, seed: int, share: float) -> NDArray[np.bool_]:
    """Which of `count` ratings a split takes away: at least one, and not all of them."""
    taken: NDArray[np.bool_] = draws.words(seed, count) < below(share)
    if count and (taken.all() or not taken.any()):
        taken = np.arange(count) == 0
    return taken


def drawn_at(places: NDArray[np.int64], seed: int, share: float) -> NDArray[np.bool_]:
    """Which of the ratings at these places, in ascending order, a split takes away of very many."""
    found = np.empty(len(places), np.bool_)
    last = int(places[-1]) + 1 if len(places) else 0
    for first in range(0, last, DRAWN_AT_ONCE):
        here = slice(*np.searchsorted(places, (first, first + DRAWN_AT_ONCE)))
        words = draws.words(seed, min(DRAWN_AT_ONCE, last - first), skip=first)
        found[here] = words[places[here] - first] < below(share)
    return found


def below(share: float) -> np.uint64:
    """What such a share of all words is below."""
    return np.uint64(int(share * 2**64))
