"""Scores for pairs of dense numbers, above all the product of two factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.data.ratings import Half, Ratings, Scale, Side
from tastemix.engine import scoring
from tastemix.engine.base import Engine, Fixed, Session
from tastemix.engine.searching import Scored
from tastemix.engine.sides import SIDES, Held, Matrix, Pair, Pull, Pulls
from tastemix.model.links import Links, Weights, in_stars
from tastemix.model.topn import Allowed, scores_of
from tastemix.training.phase import Phase

Floats = NDArray[np.float64]
AT_ONCE = 1 << 18
"""Ratings widened at a time, which bounds the working memory."""


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

        seen: a row for each of these users, in their order. The best come first, equal ones by
        number, and −1 where there are no more.
        """
        ...

    def best_scored(
        self, user: Indices, seen: Half, allowed: Allowed, n: int
    ) -> tuple[Indices, Floats]:
        """The same, and the predictions; NaN where there are no more."""
        ...


@dataclass(frozen=True, eq=False)
class Factors:
    """b_ui = shift + w_u · h_i / members: one product, or the mean of several, side by side."""

    users: Matrix
    items: Matrix
    shift: float = 0.0
    held: Held = Held()
    """Coordinates that were held at one, so that the other side's entry there is an offset."""
    members: int = 1
    """Products whose mean this is; each has rank / members neighbouring coordinates."""
    pulls: Pulls | None = None
    """What rows were pulled towards, where that is what their choices suggest."""
    groups: tuple[int, ...] | None = None
    """The taste of each coordinate of a member that is no offset, where some share one."""

    @staticmethod
    def of(session: Session, shift: float, held: Held) -> Factors:
        """The factors of a session as they are now."""
        return Factors(*session.factors(), shift, held, pulls=session.pulls())

    @staticmethod
    def mean(members: Sequence[Factors]) -> Factors:
        """The mean of products of one rank: their coordinates side by side."""
        first, width = members[0], members[0].rank
        held = Held(
            *(
                tuple(number * width + r for number in range(len(members)) for r in coordinates)
                for coordinates in first.held
            )
        )
        users = np.hstack([member.users for member in members])
        items = np.hstack([member.items for member in members])
        pulls = None
        if first.pulls is not None:
            both = [[member.pulls.of(side) for member in members if member.pulls] for side in SIDES]
            pulls = Pulls(*map(Pull.joined, both))
        return Factors(users, items, first.shift, held, len(members), pulls, first.groups)

    @cached_property
    def parts(self) -> tuple[Factors, ...]:
        """The members, each by itself."""
        width = self.rank // self.members
        held = Held(*(tuple(r for r in coordinates if r < width) for coordinates in self.held))
        members = []
        for at in range(0, self.rank, width):
            users, items = (
                np.ascontiguousarray(self.side(side)[:, at : at + width]) for side in SIDES
            )
            pulls = None if self.pulls is None else self.pulls.columns(slice(at, at + width))
            members.append(Factors(users, items, self.shift, held, pulls=pulls, groups=self.groups))
        return tuple(members)

    def side(self, side: Side) -> Matrix:
        """The rows of one side."""
        return self.users if side == "users" else self.items

    def average(self, side: Side) -> Matrix:
        """The average row of one side, as a row."""
        return self._average_rows.of(side)

    @cached_property
    def _average_rows(self) -> Pair:
        return Pair(*(mean.astype(np.float32) for mean in self.averages))

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without what is made from them when it is asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _fixed(self) -> dict[tuple[Side, str], Fixed]:
        return {}

    def fixed(self, side: Side, engine: Engine) -> Fixed:
        """The rows of one side, made ready once for rows of the other to be fitted to them."""
        key = side, type(engine).__qualname__
        if key not in self._fixed:
            self._fixed[key] = engine.fix(self.side(side))
        return self._fixed[key]

    @property
    def rank(self) -> int:
        """The length of a row."""
        return int(self.users.shape[1])

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        return self.products(user, item) + self.shift

    def products(self, user: Indices, item: Indices) -> Floats:
        """The same, counted from the shift."""
        found = scoring.pair_products(self.users, self.items, user, item)
        found /= self.members
        return found

    def pairs_or_average(self, user: Indices, item: Indices) -> Floats:
        """As `pairs`; −1 is the average row of its side."""
        new_user, new_item = user < 0, item < 0
        if not (new_user.any() or new_item.any()):
            return self.pairs(user, item)
        average, usual = self.averages
        products = np.full(len(user), average @ usual)
        for new, rows, numbers, other in (
            (new_user & ~new_item, self.items, item, average),
            (new_item & ~new_user, self.users, user, usual),
        ):
            products[new] = _with_row(rows, numbers[new], other)
        result = products / self.members + self.shift
        known = ~(new_user | new_item)
        result[known] = self.pairs(user[known], item[known])
        return result

    @cached_property
    def averages(self) -> tuple[Floats, Floats]:
        """The average row of the users and of the items: what they are pulled towards, if so."""
        if self.pulls is not None:
            return self.pulls.users.mean, self.pulls.items.mean
        return self.users.mean(axis=0, dtype=np.float64), self.items.mean(axis=0, dtype=np.float64)

    @cached_property
    def coordinates(self) -> NDArray[np.int64]:
        """(coordinates of a member, members): all that belong to tastes; the others are offsets."""
        offsets = [*self.held.users, *self.held.items]
        return np.setdiff1d(np.arange(self.rank), offsets).reshape(self.members, -1).T

    @property
    def tasted(self) -> NDArray[np.int64]:
        """The coordinates that belong to tastes, member by member."""
        return self.coordinates.T.ravel()

    @cached_property
    def taste_of(self) -> NDArray[np.int32]:
        """The taste of each coordinate; −1 for an offset."""
        taste = np.full(self.rank, -1, np.int32)
        count = len(self.coordinates)
        own = np.arange(count) if self.groups is None else np.array(self.groups, np.int32)
        taste[self.coordinates] = own[:, None]
        return taste

    @cached_property
    def taste_count(self) -> int:
        """How many tastes there are."""
        return int(self.taste_of.max(initial=-1)) + 1

    def by_taste(self, values: NDArray[Any]) -> Floats:
        """Entries by coordinate (the last axis) added up by taste; the mean over members."""
        return cast(Floats, values @ self._membership)

    @cached_property
    def _membership(self) -> Floats:
        """(rank, tastes): what an entry counts."""
        tastes = np.arange(self.taste_count)
        belongs: Floats = (self.taste_of[:, None] == tastes).astype(np.float64)
        return belongs / self.members

    @cached_property
    def catalogue(self) -> scoring.Catalogue:
        """The items, packed to be searched for the best."""
        return scoring.Catalogue(self.items)

    def for_users(self, rows: Matrix) -> Factors:
        """The same items for other users; what is made of the items alone is not made again."""
        other = replace(self, users=rows, pulls=self._pulls_for("users", rows))
        for made in ("catalogue", "averages", "taste_of", "_membership"):
            other.__dict__[made] = getattr(self, made)
        return other

    def for_items(self, rows: Matrix) -> Factors:
        """The same users for other items."""
        return replace(self, items=rows, pulls=self._pulls_for("items", rows))

    def _pulls_for(self, side: Side, rows: Matrix) -> Pulls | None:
        return None if self.pulls is None else self.pulls.for_rows(side, len(rows))

    def with_averages(self, averages: tuple[Floats, Floats]) -> Factors:
        """The same factors with the average rows of those that rows were folded into."""
        other = replace(self)
        other.__dict__["averages"] = averages
        return other

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        products = self.users[user] @ self.items.T
        return products / np.float32(self.members) + np.float32(self.shift)

    def scored(self, user: Indices) -> Scored:
        """The same for an engine that searches."""
        count, shift = len(self.items), np.float32(self.shift)
        items = self.items / np.float32(self.members)
        return Scored(count, self.users[user], items, np.full(count, shift) if shift else None)

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return self.catalogue.top(self.users, user, seen.pointers, seen.indices, allowed, n)

    def best_scored(
        self, user: Indices, seen: Half, allowed: Allowed, n: int
    ) -> tuple[Indices, Floats]:
        """See Scores.best_scored."""
        best = self.best(user, seen, allowed, n)
        return best, scores_of(self.pairs, user, best)

    def largest(self, at_once: int = 4_000_000) -> float:
        """The largest prediction over all pairs, a block of users at a time."""
        blocks = min(-(-len(self.users) * len(self.items) // at_once), len(self.users))
        everyone = np.arange(len(self.users), dtype=np.int32)
        return max(float(self.block(some).max()) for some in np.array_split(everyone, blocks))


@dataclass(frozen=True, eq=False)
class Head:
    """Factors and the phases that made them; where they order items, what else counts."""

    factors: Factors
    phases: tuple[Phase, ...]
    links: Links | None = None
    weights: Weights = Weights()

    def stretched(self, factors: Factors, unit: float) -> Head:
        """With these factors, whose predictions are so many times as long; scores stay."""
        weights = self.weights._replace(tastes=self.weights.tastes / unit)
        return replace(self, factors=factors, weights=weights)


@dataclass(frozen=True, eq=False)
class Population:
    """One side of a model: who is in it, and the mean (NaN if none) and number of their ratings."""

    ids: Ids
    mean: Floats
    count: NDArray[np.int64]

    @staticmethod
    def of(ids: Ids, half: Half) -> Population:
        """The population of one side of the ratings."""
        if len(ids) == 1 and len(half.indices):
            return Population(ids, np.array([half.mean()]), half.counts)
        mean, counts = np.full(len(ids), np.nan), half.counts
        bounds = np.searchsorted(half.pointers, np.arange(0, len(half.indices), AT_ONCE))
        for first, last in pairwise([*bounds, len(ids)]):
            begin, end = half.pointers[first], half.pointers[last]
            rated = first + np.flatnonzero(counts[first:last])
            if len(rated):
                values = half.stored[begin:end].astype(np.float64)
                mean[rated] = np.add.reduceat(values, half.pointers[rated] - begin) / counts[rated]
        return Population(ids, mean, counts)

    @staticmethod
    def of_items(ratings: Ratings) -> Population:
        """The population of items."""
        sums, counts = ratings.item_sums
        mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return Population(ratings.items, mean, counts)

    def stars(self, scale: Scale) -> NDArray[np.float32]:
        """The sum of each one's ratings, in stars."""
        mean = np.nan_to_num(in_stars(self.mean, scale))
        return (mean * self.count).astype(np.float32)

    def mean_of(self, numbers: Indices) -> Floats:
        """The mean of each one's ratings; NaN where there are none, and for −1."""
        means = self.mean[np.maximum(numbers, 0)]
        means[numbers < 0] = np.nan
        return means


def sizes(rows: Matrix, share: Floats) -> Floats:
    """By coordinate: the absolute entries of rows, in these shares, some rows at a time."""
    total = np.zeros(rows.shape[1])
    at_once = max(1, AT_ONCE // rows.shape[1])
    for at in range(0, len(rows), at_once):
        total += share[at : at + at_once] @ np.abs(rows[at : at + at_once])
    return total


def _with_row(rows: Matrix, numbers: Indices, other: Floats) -> Floats:
    """The product of each of these rows with another one, some rows at a time."""
    at_once = max(1, AT_ONCE // max(1, rows.shape[1]))
    parts = [rows[numbers[at : at + at_once]] @ other for at in range(0, len(numbers), at_once)]
    return np.concatenate([np.empty(0), *parts])
