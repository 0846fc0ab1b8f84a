"""Splits of ratings into a part to learn from and a part to be judged on.

Every part keeps all users and items: someone without a training rating is an empty row. What is
drawn at random is drawn from the bit generator's raw output, so a seed gives the same parts on any
machine and NumPy version, and in whatever order the rows of the table came.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix import draws
from tastemix.data.ratings import Ratings
from tastemix.data.reading import Times
from tastemix.errors import DataError, ParameterError

Positions = NDArray[np.int64]
Cut = float | str | date | np.datetime64


class Split(NamedTuple):
    """Two disjoint parts that together are all ratings."""

    train: Ratings
    test: Ratings


def holdout(ratings: Ratings, share: float = 0.2, seed: int = 0) -> Split:
    """A share of the ratings, drawn at random, to test on."""
    _check_share(share)
    return _split(ratings, _shuffled(len(ratings), seed)[: round(share * len(ratings))])


def folds(ratings: Ratings, count: int = 5, seed: int = 0) -> Iterator[Split]:
    """Each rating in the test part of one of `count` splits, sizes within one of each other."""
    return (fold(ratings, number, count, seed) for number in range(_checked(count, ratings)))


def fold(ratings: Ratings, number: int, count: int = 5, seed: int = 0) -> Split:
    """The split of `folds` with this number, from 0."""
    if not 0 <= number < _checked(count, ratings):
        raise ParameterError(f"fold is {number}: with {count} folds it is one of 0 to {count - 1}")
    order = _shuffled(len(ratings), seed)
    edges = [len(order) * edge // count for edge in (number, number + 1)]
    return _split(ratings, order[edges[0] : edges[1]])


def leave_out(ratings: Ratings, count: int = 1, seed: int = 0) -> Split:
    """`count` ratings of every user who has more than that, drawn at random, to test on."""
    if count < 1:
        raise ParameterError(f"count is {count}: leave out 1 rating or more of each user")
    key = draws.words(seed, len(ratings))
    order = np.lexsort((key, ratings.by_user.rows))
    place, size = _places(ratings)
    return _split(ratings, order[(place < count) & (size > count)])


def temporal(ratings: Ratings, share: float = 0.2, *, cut: Cut | None = None) -> Split:
    """Each user's newest share of ratings (rounded down) or, with `cut`, all at or after that time.

    cut: a date (a datetime, or text such as "2016-01-01") where the timestamps are dates, else a
        number as they are. Dates without a time zone are taken for UTC.
    Of two ratings at the same time, the one in the later row of the table is newer.
    """
    if ratings.timestamp is None or ratings.source_row is None:
        raise DataError("these ratings have no timestamps: name their column with timestamp=")
    if cut is not None:
        test = np.flatnonzero(ratings.timestamp >= _instant(cut, ratings.timestamp, ratings.dated))
        if len(test) in (0, len(ratings)):
            raise ParameterError(
                f"cut is {cut}, but the times run from {_shown(ratings.timestamp.min(), ratings)} "
                f"to {_shown(ratings.timestamp.max(), ratings)}: choose a time between them"
            )
        return _split(ratings, test)
    _check_share(share)
    order = np.lexsort((ratings.source_row, ratings.timestamp, ratings.by_user.rows))
    place, size = _places(ratings)
    newest = np.floor(share * size + 1e-9)  # .29 of 100 is 29, whatever binary makes of .29
    return _split(ratings, order[place >= size - newest])


def _instant(cut: Any, times: Times, dated: bool) -> Any:
    """A time in the unit of the timestamps."""
    if isinstance(cut, int | float | np.number):
        return cut
    if not dated:
        raise ParameterError(
            f"cut is {cut!r}, but these timestamps are numbers of an unknown unit: give a number "
            f"like theirs, such as {times[0]}, or convert the column to dates first"
        )
    try:
        when = datetime.fromisoformat(cut) if isinstance(cut, str) else cut
        if isinstance(when, datetime) and when.tzinfo is not None:
            when = when.astimezone(UTC).replace(tzinfo=None)
        instant = np.datetime64(when, "us")
    except (TypeError, ValueError):
        instant = np.datetime64("NaT")
    if np.isnat(instant):
        raise ParameterError(
            f"cut is {cut!r}: give a date, such as '2016-01-01', or microseconds since 1970"
        )
    return int(instant.astype(np.int64))


def _shown(time: np.int64, ratings: Ratings) -> str:
    return str(np.datetime64(int(time), "us").item() if ratings.dated else time)


def _shuffled(count: int, seed: int) -> Positions:
    """0..count−1 in an order that only the seed decides."""
    return np.argsort(draws.words(seed, count), kind="stable")


def _split(ratings: Ratings, test: Positions) -> Split:
    chosen = np.zeros(len(ratings), bool)
    chosen[test] = True
    return Split(ratings.subset(~chosen), ratings.subset(chosen))


def _places(ratings: Ratings) -> tuple[Positions, Any]:
    """Every entry's place in its user's row, and that row's length."""
    size = np.repeat(ratings.by_user.counts, ratings.by_user.counts)
    first = np.repeat(ratings.by_user.pointers[:-1], ratings.by_user.counts)
    return np.arange(len(ratings)) - first, size


def _checked(count: int, ratings: Ratings) -> int:
    if not 2 <= count <= len(ratings):
        raise ParameterError(
            f"folds is {count}: it must be at least 2 and at most the {len(ratings):,} ratings"
        )
    return count


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise ParameterError(f"share is {share}: it must lie between 0 and 1")
