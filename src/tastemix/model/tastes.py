"""Tastes as people see them: numbered by how much they add, named, and on one scale."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ids import Indices
from tastemix.data.items import Items
from tastemix.data.ratings import Ratings
from tastemix.data.reading_items import as_attributes
from tastemix.engine.sides import Matrix
from tastemix.model.factors import AT_ONCE, Factors, Floats, Population

SHRINKAGE = 10.0
"""Ratings with which a row counts half: rows with few ratings are less certain."""
NAMED_BY = 3
"""Items, or attributes, in a name."""
TYPICAL = 15
"""Items whose attributes name a taste."""
COMMON, OFTENER = 0.4, 1.5
"""An attribute names a taste if so large a share of its typical items has it, and if that is so
many times the share among all ratings."""
BETWEEN = " · "


@dataclass(frozen=True, eq=False)
class Numbering:
    """What the numbers and the scale of tastes follow from: of a model that rows were folded into,
    for those rows when they are without it."""

    means: Floats
    """By coordinate: the mean weight of the users."""
    order: NDArray[np.intp]
    """The places of the tastes among the factors, the taste that adds most first."""
    adds: Floats
    """In that order: what each taste adds for the mean user."""


@dataclass(frozen=True, eq=False)
class Tastes:
    """The tastes of factors. Arrays by taste are in the order of their numbers, from 1.

    Weights are shown on one scale: a user's relative to the mean user, who has weight 1 in every
    taste, and an item's as what the taste adds to it for that mean user. Their product is what it
    was.
    """

    factors: Factors
    items: Population
    ratings: Ratings | None
    labels: Items | None = None
    """Titles and words of the items, by number."""
    known: Numbering | None = None
    """That of the model that these rows were folded into."""

    @property
    def numbering(self) -> Numbering:
        """What keeps the numbers and the scale when the users or the items are others."""
        return Numbering(self._means, self._order, self.adds)

    @cached_property
    def _means(self) -> Floats:
        """By coordinate: the mean weight of the users."""
        if self.known is not None:
            return self.known.means
        users = self.factors.users
        return _sizes(users, np.full(len(users), 1 / max(len(users), 1)))

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The places of the tastes among the factors, the taste that adds most first."""
        if self.known is not None:
            return self.known.order
        return np.argsort(-self._adds(self.factors.tastes), kind="stable")

    @cached_property
    def _coordinates(self) -> NDArray[np.int64]:
        """(tastes, members): the coordinates of each taste."""
        return self.factors.tastes[self._order]

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """For each taste in the order of the factors: its place here, from 0."""
        return np.argsort(self._order)

    @cached_property
    def units(self) -> Floats:
        """The mean weight of the users in each taste, by which user weights are divided."""
        units: Floats = self._means[self._coordinates].mean(axis=1)
        return np.where(units > 0, units, 1.0)

    @cached_property
    def adds(self) -> Floats:
        """What each taste adds for the mean user, the mean over items by their ratings."""
        if self.known is not None:
            return self.known.adds
        return self._adds(self._coordinates)

    def _adds(self, coordinates: NDArray[np.int64]) -> Floats:
        share = self.items.count / max(int(self.items.count.sum()), 1)
        weight = _sizes(self.factors.items, share) * self._means
        adds: Floats = weight[coordinates].mean(axis=1)
        return adds

    def user_weights(self, row: NDArray[np.float32]) -> Floats:
        """The weights of a row of users, by taste."""
        weights: Floats = row[self._coordinates].mean(axis=1, dtype=np.float64) / self.units
        return weights

    def item_weights(self, rows: NDArray[np.float32]) -> Floats:
        """(items, tastes): the weights of rows of items; in an average, the mean of the members."""
        here = self._coordinates
        weights: Floats = (rows[:, here] * self._means[here]).mean(axis=2)
        return weights

    @cached_property
    def typical(self) -> Floats:
        """(items, tastes): the mean that the taste adds for those who rated the item.

        It is large where the item has much of the taste and the people who rate it do, too. It is
        shrunk by ratings / (ratings + 10). Without the ratings, it is that of the mean user.
        """
        items, counts = self.factors.items, self.items.count
        if self.ratings is None:
            return self.item_weights(items) * trust(counts)[:, None]
        from scipy.sparse import csr_array

        half, users = self.ratings.by_item, self.factors.users
        found = np.empty((len(items), len(self._coordinates)))
        bounds = np.searchsorted(half.pointers, np.arange(0, len(half.indices), AT_ONCE))
        for first, last in pairwise([*np.unique(bounds), len(items)]):
            begin, end = half.pointers[first], half.pointers[last]
            rated = csr_array(
                (
                    np.ones(end - begin, np.float32),
                    half.indices[begin:end],
                    half.pointers[first : last + 1] - begin,
                ),
                shape=(last - first, len(users)),
            )
            added = (rated @ users).astype(np.float64) * items[first:last]
            found[first:last] = added[:, self._coordinates].mean(axis=2)
        return found / (counts + SHRINKAGE)[:, None]

    def top(self, n: int) -> Indices:
        """(tastes, n): the most typical items of every taste."""
        check(n)
        top = np.argsort(-self.typical, axis=0, kind="stable")[:n].T
        return np.ascontiguousarray(top, np.int32)

    def table(self, n: int, attributes: Any = None) -> pa.Table:
        """See Model.tastes."""
        top = self.top(n)
        taste = np.repeat(np.arange(len(top), dtype=np.int32), top.shape[1])
        item = top.ravel()
        weights = self.item_weights(self.factors.items[item])
        names = np.array(self.names(attributes), dtype=object)
        columns = {
            "taste": taste + 1,
            "item": self.items.ids.take(item),
            **({} if self.labels is None else {"title": self.labels.column(item)}),
            "weight": weights[np.arange(len(item)), taste],
            "typical": self.typical[item, taste],
            "name": pa.array(names[taste], pa.string()),
            "adds": self.adds[taste],
        }
        return pa.table(columns)

    def names(self, attributes: Any = None) -> list[str]:
        """A name for each taste: by what its typical items have in common, or by those items."""
        if attributes is None:
            return self._own_names
        return self._named(as_attributes(attributes).over(self.items.ids))

    @cached_property
    def _own_names(self) -> list[str]:
        """The names by the model's own labels."""
        return self._named(self.labels)

    def _named(self, known: Items | None) -> list[str]:
        common = [[] for _ in self._distinctive] if known is None else self._common(known)
        shared = Counter(frozenset(words) for words in common)
        names = []
        for words, items in zip(common, self._distinctive, strict=True):
            titles = [self._shown(item, known) for item in items]
            name = BETWEEN.join(words or titles)
            alone = not words or shared[frozenset(words)] == 1
            names.append(name if alone else f"{name}: {titles[0]}")
        return names

    def _shown(self, item: int, known: Items | None) -> str:
        """An item as it is called: by what is given, else by the model's own labels."""
        for labels in (known, self.labels):
            if labels is not None and labels.titles[item] >= 0:
                return labels.shown(item)
        return str(self.items.ids[item])

    @cached_property
    def _distinctive(self) -> list[list[int]]:
        """The items that name each taste; one that is typical of several names the best of them."""
        top = self.top(TYPICAL)
        best: dict[int, int] = {}
        for taste, items in enumerate(top.tolist()):
            for item in items:
                if self.typical[item, taste] > self.typical[item, best.setdefault(item, taste)]:
                    best[item] = taste
        own = [[i for i in items if best[i] == t] for t, items in enumerate(top.tolist())]
        return [
            (items or all_of)[:NAMED_BY] for items, all_of in zip(own, top.tolist(), strict=True)
        ]

    def _common(self, known: Items) -> list[list[str]]:
        """The words that are over-represented among the typical items of each taste.

        They are ordered by p log(p / q): the share p of these items, and q of all ratings.
        """
        words, count = known.words, self.items.count
        total = max(int(count.sum()), 1)
        every = words.weighed(count) / total
        found = []
        for top in self.top(TYPICAL):
            here = Counter(code for item in top for code in words.row(item).tolist())
            gain = {}
            for code, times in here.items():
                share, usual = times / len(top), max(every[code], 1 / total)
                if share >= COMMON and share >= OFTENER * usual:
                    gain[words.word(code)] = share * log(share / usual)
            found.append(sorted(gain, key=lambda word: (-gain[word], word))[:NAMED_BY])
        return found


def _sizes(rows: Matrix, share: Floats) -> Floats:
    """By coordinate: the absolute entries of rows, in these shares, some rows at a time."""
    total = np.zeros(rows.shape[1])
    at_once = max(1, AT_ONCE // rows.shape[1])
    for at in range(0, len(rows), at_once):
        total += share[at : at + at_once] @ np.abs(rows[at : at + at_once])
    return total


def trust(counts: NDArray[np.int64]) -> Floats:
    """The weight of rows with so many ratings, from 0 to 1."""
    return counts / (counts + SHRINKAGE)


def check(n: int) -> None:
    """Raise an error if no entries are asked for."""
    checks.whole("n", n)
