"""Entries of ratings: checked, ordered by (user, item), each pair once."""

from __future__ import annotations

import math
import warnings
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tastemix.data.halves import ascending, sorted_by_pair
from tastemix.data.ids import Ids, Indices
from tastemix.data.reading import Times, Values
from tastemix.errors import DataError, DuplicateError, ParameterError, RatingError

Duplicates = Literal["refuse", "last", "mean", "sum", "count"]
ADDED_UP = ("sum", "count")
"""These make new values, whose range is not that of the old ones."""
Scale = tuple[float, float]
FEWEST, LEVELS, MANY = 100, 4, 2
"""Ratings, and levels of a scale, without which nothing is said about zeros; and how frequent they
are, compared with any other rating, to be taken for none."""
LEAST_SCALE = 1e-15
"""Of a scale's further end from zero: products of a few such numbers are still 32-bit ones."""


def check_lengths(user: Indices, item: Indices, values: Values, timestamp: Times | None) -> None:
    """Refuse columns of different lengths, or too long to be numbered."""
    for name, column in (("user", user), ("item", item), ("timestamp", timestamp)):
        if column is not None and len(column) != len(values):
            raise DataError(
                f"there are {len(column):,} entries of {name} but {len(values):,} ratings: "
                "pass columns of one length"
            )
    if len(values) >= 2**31:
        raise DataError(f"{len(values):,} ratings are more than the 2,147,483,647 that fit")


def limits(values: Values, scale: Scale | None) -> Scale:
    """The given scale, checked, or the range of the values."""
    if scale is None:
        return _seen(float(values.min()), float(values.max()))
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if isinstance(scale, str) or not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(f"scale is {scale!r}: give two finite numbers, the lower one first")
    with np.errstate(over="ignore"):
        ends = np.array([low, high], np.float32)
    outside = np.flatnonzero((values < ends[0]) | (values > ends[1]))
    if len(outside):
        raise RatingError(
            f"the rating in row {outside[0]} is {values[outside[0]]:g}, outside the scale "
            f"{low:g} to {high:g}: correct it or give a wider scale"
        )
    return _seen(low, high)


def warn_of_hole(values: Values) -> None:
    """Warn where zeros seem to mean that there is no rating.

    They do if the next value is further from them than the others from one another, or if they are
    MANY times as frequent as it.
    """
    if len(values) < FEWEST or values.min() != 0:
        return
    seen, counts = np.unique(values, return_counts=True)
    if not LEVELS < len(seen) < FEWEST:
        return
    apart = seen[1] > 1.5 * np.diff(seen[1:]).max()
    if apart or counts[0] > MANY * counts[1:].max():
        warnings.warn(
            f"{counts[0]:,} of {len(values):,} ratings are 0, and the others {seen[1]:g} to "
            f"{seen[-1]:g}: if a 0 means that there is no rating, pass missing=0; if it is one, "
            f"scale=(0, {seen[-1]:g})",
            stacklevel=4,
        )


def _seen(low: float, high: float) -> Scale:
    """The scale, if 32-bit numbers can tell squares on it from zero."""
    if 0 < max(abs(low), abs(high)) < LEAST_SCALE:
        raise RatingError(
            f"the ratings are on a scale of {low:g} to {high:g}, so small that their squares "
            "vanish: scale them up, to 1 to 5 for instance"
        )
    return low, high


def in_order(
    users: Ids,
    items: Ids,
    user: Indices,
    item: Indices,
    values: Values,
    timestamp: Times | None,
    duplicates: Duplicates,
) -> tuple[Indices, Indices, Values, Indices]:
    """User, item and value of every entry in order, and the row it came from.

    What is in order already is not sorted again. The values are never the caller's own array.
    """
    check_duplicates(duplicates)
    if duplicates == "count":
        values = np.ones_like(values)
    if ascending(user, item):
        return user, item, values.copy(), np.arange(len(values), dtype=np.int32)
    user, item, row = sorted_by_pair(user, item, (len(users), len(items)))
    return settled(users, items, user, item, values, row, timestamp, duplicates)


def check_duplicates(duplicates: Duplicates) -> None:
    """Refuse what is no way to treat a pair that is rated twice."""
    if duplicates not in get_args(Duplicates):
        raise ParameterError(
            f"duplicates is {duplicates!r}: choose 'refuse', 'last', 'mean', 'sum' or 'count'"
        )


def settled(
    users: Ids,
    items: Ids,
    user: Indices,
    item: Indices,
    values: Values,
    row: Indices,
    timestamp: Times | None,
    duplicates: Duplicates,
    *,
    rows_are_known: bool = True,
) -> tuple[Indices, Indices, Values, Indices]:
    """Each pair once, of users and items in order; values and times are those of `row`."""
    repeats = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    if not repeats.any():
        return user, item, values[row], row
    if duplicates == "refuse":
        at = int(repeats.argmax())
        where = f", in rows {row[at]} and {row[at + 1]}" if rows_are_known else ""
        count = f" ({np.count_nonzero(repeats):,} such repeats)" if rows_are_known else ""
        raise DuplicateError(
            f"user {users[user[at]]!r} rated item {items[item[at]]!r} twice{where}{count}: "
            "pass duplicates='last' or duplicates='mean' to keep one, or duplicates='sum' or "
            "duplicates='count' for plays"
        )
    first, last = np.append(True, ~repeats), np.append(~repeats, True)
    if timestamp is not None:
        tied = np.flatnonzero(~(first & last))
        rows = row[tied]
        row[tied] = rows[np.lexsort((timestamp[rows], item[tied], user[tied]))]
    if duplicates == "last":
        return user[last], item[last], values[row[last]], row[last]
    sums, counts = _sums(values[row], first)
    kept = sums / counts if duplicates == "mean" else sums
    return user[last], item[last], kept.astype(np.float32), row[last]


def _sums(
    values: Values, first: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The sum and the length of every run of values; `first` marks where a run begins."""
    starts = np.flatnonzero(first)
    return np.add.reduceat(values, starts, dtype=np.float64), np.diff(
        np.append(starts, len(values))
    )
