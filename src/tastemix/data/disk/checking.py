"""What a folder of ratings holds, held to what ratings are. Its checksums tell damage alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tastemix.data.halves import Coded, Half
from tastemix.data.ratings import Ratings
from tastemix.errors import DataError

AT_ONCE = 2**22
"""Entries that are looked at together."""
_LARGEST = float(np.finfo(np.float32).max)


def check(ratings: Ratings) -> None:
    """Raise an error unless both halves are of these users and items, and in order."""
    low, high = ratings.scale
    if not -_LARGEST <= low <= high <= _LARGEST:
        raise DataError(f"its scale is {ratings.scale}: the lower end must come first")
    users, items = len(ratings.users), len(ratings.items)
    for half, what, rows, columns in (
        (ratings.by_user, "users", users, items),
        (ratings.by_item, "items", items, users),
    ):
        _check_pointers(half, what, rows)
        for first in range(0, len(half.indices), AT_ONCE):
            _check_entries(half, what, slice(first, first + AT_ONCE), columns, ratings.scale)
        _check_order(half, what)
    if len(ratings.by_user.indices) != len(ratings.by_item.indices):
        raise DataError("its halves have different numbers of ratings")


def _check_pointers(half: Half, what: str, rows: int) -> None:
    pointers = half.pointers
    if len(pointers) != rows + 1 or pointers[0] != 0 or pointers[-1] != len(half.indices):
        raise DataError(f"the pointers of its {what} do not begin or end where they should")
    for first in range(0, rows, AT_ONCE):
        if (np.diff(pointers[first : first + AT_ONCE + 1]) < 0).any():
            raise DataError(f"the pointers of its {what} are not in order")


def _check_entries(
    half: Half, what: str, here: slice, columns: int, scale: tuple[float, float]
) -> None:
    indices, values = half.indices[here], half.stored[here]
    if indices.min() < 0 or indices.max() >= columns:
        raise DataError(f"a rating of its {what} is of something that is not there")
    # As 32-bit floats, as which ratings were compared when they were written.
    low, high = np.float32(scale[0]), np.float32(scale[1])
    if not (values.min() >= low and values.max() <= high):  # false for a NaN
        kind = "code or value" if isinstance(half.stored, Coded) else "value"
        raise DataError(f"a {kind} of its {what} is not on the scale {scale}")


def _check_order(half: Half, what: str) -> None:
    """The indices of each row ascend: where they do not, a row begins."""
    begins = half.pointers[1:-1]
    for first, last in pairwise([*range(1, len(half.indices), AT_ONCE), len(half.indices)]):
        here = half.indices[first - 1 : last]
        falls = first + np.flatnonzero(here[1:] <= here[:-1])
        place = np.searchsorted(begins, falls)
        if len(falls) and (len(begins) == 0 or (begins[place % len(begins)] != falls).any()):
            raise DataError(f"the ratings of one of its {what} are not in order, each once")
