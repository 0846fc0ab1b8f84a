"""What is in a table of ratings, and what looks wrong with it; it need not be fit to learn from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tastemix.data.dialect import Column, Told
from tastemix.data.ids import as_arrow, encode
from tastemix.data.plays import oddity
from tastemix.data.reading import as_values, columns_of, load
from tastemix.data.reading_csv import NOTHING_TOLD
from tastemix.errors import DataError

BARS = 12
"""Bars of a histogram, at most: one for each value where they are so few."""
ROBOT = 0.05
"""One user with so large a share of many ratings is pointed out."""
FEW, MANY = 3, 1000


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram: the values from `low` to `high`, and how many there are."""

    low: float
    high: float
    count: int

    @property
    def name(self) -> str:
        """The value, or the range of values."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Inspection:
    """What is in a table of ratings."""

    rows: int
    users: int
    items: int
    pairs: int
    """Different pairs of user and item."""
    density: float
    """The share of all pairs that is known."""
    lowest: float
    highest: float
    mean: float
    per_user: tuple[int, float, int]
    """The fewest, the median and the most pairs of a user."""
    per_item: tuple[int, float, int]
    histogram: tuple[Bar, ...]
    wrong: tuple[str, ...]
    """What looks wrong, a sentence each."""


def inspect(
    data: Any,
    user: Column = "user",
    item: Column = "item",
    rating: Column | None = "rating",
    *,
    missing: float | None = None,
    told: Told = NOTHING_TOLD,
) -> Inspection:
    """What is in a table, or a csv or parquet file, of ratings: see `Inspection`.

    Rows with something missing are counted and left out. rating=None: every row is a play.
    missing: a rating that means that there is none; such rows do not count.
    told: how a csv file is written.
    """
    names = [user, item, rating]
    is_path = isinstance(data, str | os.PathLike)
    columns = load(data, names, None, told) if is_path else columns_of(data, names)
    whole = pa.table(
        {
            name: as_arrow(column)
            for name, column in zip(("user", "item", "rating"), columns, strict=True)
            if column is not None
        }
    )
    if missing is not None and rating is not None:
        whole = whole.filter(pc.fill_null(pc.not_equal(whole["rating"], missing), True))
    if len(whole) == 0:
        raise DataError("there are no ratings: the table has no rows")
    table = _complete(whole)
    missing = len(whole) - len(table)
    if len(table) == 0:
        raise DataError(
            f"in each of the {missing:,} rows something is missing: look at the columns"
        )
    values = as_values(table["rating"]) if rating is not None else np.ones(len(table), np.float32)
    (users, u), (items, i) = encode(table["user"], "user"), encode(table["item"], "item")
    pairs = np.unique(u.astype(np.int64) * len(items) + i)
    by_user = np.bincount(pairs // len(items), minlength=len(users))
    by_item = np.bincount(pairs % len(items), minlength=len(items))
    repeats = len(table) - len(pairs)
    wrong = [
        *_gaps(missing, repeats, len(whole), rating is None),
        *([] if rating is None else _values(values)),
        *_spelling(users.values, "user"),
        *_spelling(items.values, "item"),
        *_people(by_user, by_item, users),
    ]
    return Inspection(
        *(len(whole), len(users), len(items), len(pairs)),
        len(pairs) / (len(users) * len(items)),
        *(float(values.min()), float(values.max()), float(values.mean(dtype=np.float64))),
        *(_spread(by_user), _spread(by_item)),
        histogram(values),
        tuple(wrong),
    )


def histogram(values: Any) -> tuple[Bar, ...]:
    """A bar for each value, or for ranges of the same width where there are many values."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= BARS:
        return tuple(
            Bar(float(value), float(value), int(count))
            for value, count in zip(distinct, counts, strict=True)
        )
    counts, edges = np.histogram(values, BARS)
    return tuple(
        Bar(float(low), float(high), int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )


def _complete(table: pa.Table) -> pa.Table:
    """The rows in which nothing is missing."""
    kept = None
    for column in table.columns:
        there = pc.is_valid(column)
        if pa.types.is_floating(column.type):
            there = pc.and_(there, pc.fill_null(pc.is_finite(column), False))
        kept = there if kept is None else pc.and_(kept, there)
    return table.filter(kept)


def _spread(counts: Any) -> tuple[int, float, int]:
    return int(counts.min()), float(np.median(counts)), int(counts.max())


def _gaps(missing: int, repeats: int, rows: int, plays: bool) -> Iterator[str]:
    if missing:
        yield f"{missing:,} of {rows:,} rows have something missing: drop or fill them"
    if repeats and not plays:
        yield (
            f"{repeats:,} rows repeat a pair of user and item: say what to keep with "
            "duplicates='last' or duplicates='mean', or duplicates='sum' or duplicates='count' for "
            "plays"
        )


def _values(values: Any) -> Iterator[str]:
    odd = oddity(values)
    if odd:
        yield f"{odd}: pass feedback='implicit' if they are plays or clicks"
    distinct = np.unique(values)
    zeros = int(np.count_nonzero(values == 0))
    if 2 < len(distinct) <= 101 and distinct[0] == 0 and not odd:
        steps = np.diff(distinct)
        if zeros > len(values) / len(distinct) * 2 or steps[0] > steps[1:].min():
            yield (
                f"{zeros:,} ratings are 0, far from the others: where 0 stands for no rating, "
                "leave these rows out with missing=0"
            )


def _spelling(ids: pa.Array, what: str) -> Iterator[str]:
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        return
    alike = len(ids) - pc.count_distinct(pc.utf8_lower(pc.utf8_trim_whitespace(ids))).as_py()
    if alike:
        yield f"{alike:,} {what} ids differ from another one only in case or in spaces"


def _people(by_user: Any, by_item: Any, users: Any) -> Iterator[str]:
    for counts, what in ((by_user, "users"), (by_item, "items")):
        few = float(np.mean(counts < FEW))
        if few > 0.5:
            yield f"{few:.0%} of the {what} have fewer than {FEW} ratings: little to learn from"
    total, most = int(by_user.sum()), int(by_user.argmax())
    if total > MANY and len(by_user) > 2 / ROBOT and by_user[most] > ROBOT * total:
        share = by_user[most] / total
        yield f"user {users[most]!r} alone has {share:.0%} of all ratings"
