"""Named steps from ratings to ratings: what is done to published data before it is used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.data.ratings import Ratings
from tastemix.errors import DataError, ParameterError

STARS = (1.0, 5.0)


def to_stars(ratings: Ratings) -> Ratings:
    """Ratings of any scale as whole stars: rint(1 + 4 (r − low)/(high − low)).

    For Jester's −10 to 10 that is rint((r + 10)/5 + 1), which the paper's Jester tables need. A
    rating half-way between two stars goes to the even one.
    """
    low, high = ratings.scale
    half = ratings.by_user
    stars = np.rint((half.values.astype(np.float64) - low) / ((high - low) / 4) + 1)
    return Ratings.from_numbers(
        *(ratings.users, ratings.items, half.rows, half.indices, stars, STARS, ratings.timestamp),
        dated=ratings.dated,
        source_row=ratings.source_row,
    )


def at_least(ratings: Ratings, users: int = 5, items: int = 2) -> Ratings:
    """Only users with `users` ratings or more and items with `items` or more.

    Dropping an item can leave a user with too few, so both are dropped in turns until everyone
    left has enough: the one largest set that keeps the promise. The rest leave the id space.
    """
    for name, least in (("users", users), ("items", items)):
        if least < 0:
            raise ParameterError(f"{name} is {least}: it must be 0 or more")
    user, item = ratings.by_user.rows, ratings.by_user.indices
    keep = np.arange(len(ratings))
    while True:
        enough = _often(user[keep], users) & _often(item[keep], items)
        if enough.all():
            break
        keep = keep[enough]
    if len(keep) == 0:
        raise DataError(
            f"no ratings are left of users with at least {users} and items with at least {items} "
            "ratings: lower these limits"
        )
    return _only(ratings, keep)


def _often(numbers: NDArray[np.int32], least: int) -> NDArray[np.bool_]:
    """Which entries carry a number that occurs at least so many times."""
    enough: NDArray[np.bool_] = np.bincount(numbers, minlength=1)[numbers] >= least
    return enough


def _only(ratings: Ratings, entries: NDArray[np.intp]) -> Ratings:
    """These entries over the users and items they speak of."""
    half = ratings.by_user
    users, user = _renumbered(ratings.users, half.rows[entries])
    items, item = _renumbered(ratings.items, half.indices[entries])
    when, row = (
        None if column is None else column[entries]
        for column in (ratings.timestamp, ratings.source_row)
    )
    return Ratings.from_numbers(
        *(users, items, user, item, half.values[entries], ratings.scale, when),
        dated=ratings.dated,
        source_row=row,
    )


def _renumbered(ids: Ids, numbers: Indices) -> tuple[Ids, NDArray[np.intp]]:
    """The ids that occur, and the numbers they have among themselves."""
    kept, among = np.unique(numbers, return_inverse=True)
    return Ids(ids.take(kept), ids.what), among
