"""Tastes as people see them: numbered by how much they add, named, and on one scale."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
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
from tastemix.model.factors import AT_ONCE, Factors, Floats, Population, sizes

SHRINKAGE = 10.0
"""Ratings with which a row counts half: rows with few ratings are less certain."""
NAMED_BY = 3
"""Items, or attributes, in a name."""
TYPICAL = 15
"""Items whose attributes name a taste."""
COMMON, OFTENER, LEADING = 0.4, 1.75, 0.5
"""An attribute names a taste if so large a share of its typical items has it, if that is so many
times the share among all ratings, and if this or another one of them has the leading share."""
BETWEEN = " · "


@dataclass(frozen=True, eq=False)
class Numbering:
    """What the numbers and the scale of tastes follow from: of a model that rows were folded into,
    for those rows when they are without it."""

    users: Floats
    """By coordinate: the mean weight of the users."""
    items: Floats
    """By coordinate: the mean weight of the items, by their ratings."""
    order: NDArray[np.intp]
    """The places of the tastes among the factors, the taste that adds most first."""

    @staticmethod
    def of(factors: Factors, counts: NDArray[np.int64]) -> Numbering:
        """The numbering of factors whose items have so many ratings."""
        people = np.full(len(factors.users), 1 / max(len(factors.users), 1))
        users = sizes(factors.users, people)
        items = sizes(factors.items, counts / max(int(counts.sum()), 1))
        order = np.argsort(-factors.by_taste(users * items), kind="stable")
        return Numbering(users, items, order)

    def over(self, rank: int) -> Numbering:
        """With coordinates besides, which belong to no taste."""
        more = (0, rank - len(self.users))
        return replace(self, users=np.pad(self.users, more), items=np.pad(self.items, more))


@dataclass(frozen=True, eq=False)
class Tastes:
    """The tastes of factors. Arrays by taste are in the order of their numbers, from 1.

    Weights are shown on one scale: a user's is what the taste adds for them on average, relative to
    the mean user, who has weight 1 in every taste; an item's is what the taste adds to it for that
    mean user. In a taste of one coordinate their product is what it adds.
    """

    factors: Factors
    items: Population
    ratings: Ratings | None
    labels: Items | None = None
    """Titles and words of the items, by number."""
    known: Numbering | None = None
    """That of the model that these rows were folded into."""

    @cached_property
    def numbering(self) -> Numbering:
        """What keeps the numbers and the scale when the users or the items are others."""
        if self.known is not None:
            return self.known.over(self.factors.rank)
        return Numbering.of(self.factors, self.items.count)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """For each taste in the order of the factors: its place here, from 0."""
        return np.argsort(self.numbering.order)

    def by_taste(self, values: NDArray[Any]) -> Floats:
        """Entries by coordinate (the last axis), such as products, added up by taste."""
        return self.factors.by_taste(values)[..., self.numbering.order]

    def of(self, factors: Factors) -> Tastes:
        """The same tastes for rows that were folded into these."""
        return (
            self
            if factors is self.factors
            else replace(self, factors=factors, known=self.numbering)
        )

    @property
    def item_units(self) -> Floats:
        """What an entry of an item adds for the mean user, by coordinate."""
        return self.numbering.users

    @cached_property
    def user_units(self) -> Floats:
        """What an entry of a user counts in the weight of its taste, by coordinate."""
        users, items = self.numbering.users, self.numbering.items
        items = np.where(self._whole(users * items) > 0, items, 1.0)  # else the users alone tell
        whole = self._whole(users * items)
        return items / np.where(whole > 0, whole, 1.0)

    def _whole(self, values: Floats) -> Floats:
        """For each coordinate the sum of its taste; 0 for an offset."""
        return np.append(self.factors.by_taste(values), 0.0)[self.factors.taste_of]

    @cached_property
    def adds(self) -> Floats:
        """What each taste adds for the mean user, the mean over items by their ratings."""
        return self.by_taste(self.numbering.users * self.numbering.items)

    def user_weights(self, row: NDArray[np.float32]) -> Floats:
        """The weights of a row of users, by taste; someone new has coordinates besides."""
        return self.by_taste(row[: self.factors.rank] * self.user_units)

    def item_weights(self, rows: NDArray[np.float32]) -> Floats:
        """(items, tastes): the weights of rows of items, new ones among them."""
        return self.by_taste(rows[:, : self.factors.rank] * self.item_units)

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
        found = np.empty((len(items), self.factors.taste_count))
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
            found[first:last] = self.by_taste(added)
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
            gain, most = {}, 0.0
            for code, times in here.items():
                share, usual = times / len(top), max(every[code], 1 / total)
                if share >= COMMON and share >= OFTENER * usual:
                    gain[words.word(code)] = share * log(share / usual)
                    most = max(most, share)
            best = sorted(gain, key=lambda word: (-gain[word], word))
            found.append(best[:NAMED_BY] if most >= LEADING else [])
        return found


def trust(counts: NDArray[np.int64]) -> Floats:
    """The weight of rows with so many ratings, from 0 to 1."""
    return counts / (counts + SHRINKAGE)


def check(n: int) -> None:
    """Raise an error if no entries are asked for."""
    checks.whole("n", n)
