"""Plays and clicks: tables without ratings, or of counts."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tastemix.data.columns import MissingColumnError
from tastemix.data.halves import Coded
from tastemix.data.ratings import Ratings, as_ratings
from tastemix.data.reading import Values
from tastemix.errors import DataError, RatingError

Feedback = Literal["explicit", "implicit"]
LEAST = 0.75
"""The strength of a play that counts for next to nothing; the strongest has 1."""
MANY, UNEVEN = 100.0, 10.0
"""Whole numbers up to more than this, and so many times their median, are counts."""


def as_plays(data: Any, **options: Any) -> Ratings:
    """Plays, as `as_ratings` reads ratings; without a column of ratings, every row is one play.

    Repeated pairs are added up.
    """
    if isinstance(data, Ratings):
        return as_ratings(data, **options)
    adding = {**options, "duplicates": options.get("duplicates") or "sum"}
    if options.get("rating") is not None or hasattr(data, "tocoo"):
        return as_ratings(data, **adding)
    try:
        return as_ratings(data, **adding)
    except MissingColumnError as error:
        if error.column != "rating":
            raise
    return as_ratings(data, clicks=True, **adding)


def as_rated(data: Any, **options: Any) -> Ratings:
    """Ratings, as `as_ratings`; where they have no column, the way to fit plays is told as well."""
    try:
        return as_ratings(data, **options)
    except MissingColumnError as error:
        if error.column != "rating":
            raise
        way = "if every row is a play or a click, pass feedback='implicit'"
        raise MissingColumnError(f"{error}; {way}", error.column) from None


def strengths(plays: Ratings) -> Ratings:
    """How much each play says, from .75 to 1: with the logarithm of its count; all alike say 1.

    Entries of zero are no plays. The scale is 0 to 1; 0 is what was not played.
    """
    values = plays.by_user.values
    if values.size and float(values.min()) < 0:
        raise RatingError(
            f"a count of plays is {values.min():g}: plays are never negative; for ratings pass "
            "feedback='explicit'"
        )
    some = plays.subset(values > 0)
    counts = some.by_user.values.astype(np.float64)
    strength = np.ones(len(counts))
    if len(counts) and counts.min() < counts.max():
        sizes = np.log1p(counts / np.median(counts))
        strength = LEAST + (1 - LEAST) * sizes / sizes.max()
    half = some.by_user
    return Ratings.from_numbers(
        *(some.users, some.items, half.rows, half.indices, strength, (0.0, 1.0), some.timestamp),
        dated=some.dated,
        source_row=some.source_row,
    )


def refuse_plays(ratings: Ratings, whom: str = "") -> None:
    """Raise an error for ratings that say nothing as ratings: all equal, or counts.

    whom: who else is to get feedback='implicit', as the middle of a sentence.
    """
    stored = ratings.by_user.stored
    if isinstance(stored, Coded):
        values, counts = stored.levels, stored.counts()
        wrong = oddity(values[counts > 0], counts[counts > 0])
    else:
        wrong = oddity(stored)
    if wrong:
        raise DataError(
            f"{wrong}: pass feedback='implicit'{whom} if they are plays or clicks, or "
            "feedback='explicit' if they are ratings"
        )


def oddity(values: Values, counts: NDArray[np.int64] | None = None) -> str:
    """Why these say nothing as ratings, as the beginning of a sentence; empty if they may.

    counts: how often each of the values is there, if not once.
    """
    total = len(values) if counts is None else int(counts.sum())
    if total < 2:
        return ""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"all {total:,} ratings are {low:g}, which tells nobody's taste"
    if high > MANY and low >= 0 and not np.any(values % 1):
        middle = _median(values, counts)
        if high > UNEVEN * max(middle, 1):
            return (
                f"the ratings are whole numbers up to {high:,.0f}, half of them at most "
                f"{middle:,.0f}, as counts are"
            )
    return ""


def _median(values: Values, counts: NDArray[np.int64] | None) -> float:
    if counts is None:
        return float(np.median(values))
    order = np.argsort(values)
    last = np.cumsum(counts[order])
    middle = np.searchsorted(last, ((last[-1] - 1) // 2, last[-1] // 2), side="right")
    return float(values[order][middle].mean())
