"""The best items of many users out of scores in any form, and which items may be among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ids import Ids, Indices
from tastemix.data.ratings import Half
from tastemix.engine import scoring
from tastemix.errors import ParameterError

AT_ONCE = 4_000_000
"""Scores held at a time, which bounds the working memory."""

Allowed = NDArray[np.uint8] | None
"""By item, 1 where it may be shown; None: all may."""

_NO_VALUES = np.empty(0, np.float32)


def best_items(
    block: Callable[[Indices], NDArray[Any]], user: Indices, seen: Half, allowed: Allowed, n: int
) -> Indices:
    """(users, n) item numbers, best first, of those allowed and not seen; −1 for no more.

    block gives the scores of some users for every item; seen has a row for each of the users.
    Equal scores go to the lower number.
    """
    best = np.full((len(user), n), -1, np.int32)
    one = block(user[:1])
    rows = max(1, AT_ONCE // max(1, one.shape[1]))
    for first in range(0, len(user), rows):
        some = user[first : first + rows]
        scores = np.ascontiguousarray(one if len(user) == 1 else block(some), np.float32)
        here = seen.pointers[first : first + len(some) + 1]
        best[first : first + rows] = scoring.best_items(scores, here, seen.indices, allowed, n)
    return best


def scores_of(
    pairs: Callable[[Indices, Indices], NDArray[np.float64]], user: Indices, best: Indices
) -> NDArray[np.float64]:
    """(users, n) the scores of these lists; NaN where there are no more."""
    there = best >= 0
    found = np.full(best.shape, np.nan)
    found[there] = pairs(np.repeat(user, there.sum(axis=1)), best[there])
    return found


def chosen(half: Half, rows: Indices) -> Half:
    """These rows of a half; rows that follow one another are not copied."""
    if len(rows) and (len(rows) == 1 or (np.diff(rows) == 1).all()):
        pointers = half.pointers[rows[0] : rows[-1] + 2]
        here = slice(pointers[0], pointers[-1])
        return Half(pointers - pointers[0], half.indices[here], half.stored[here])
    begin, end = half.pointers[rows], half.pointers[rows + 1]
    pointers = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - begin)])
    there = np.repeat(begin - pointers[:-1], end - begin) + np.arange(pointers[-1])
    return Half(pointers, half.indices[there], half.stored[there])


def left_out(users: Ids, items: Ids, asked: Indices, seen: Any) -> Half:
    """The items that each user asked for is not shown: the same for all, or by a mapping."""
    if isinstance(seen, Mapping):
        listed = {users.number(user): _known(items, some) for user, some in seen.items()}
        rows = [listed.get(number, np.empty(0, np.int32)) for number in asked.tolist()]
    else:
        rows = [_known(items, seen)] * len(asked)
    pointers = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=pointers[1:])
    return Half(pointers, np.concatenate([np.empty(0, np.int32), *rows]), _NO_VALUES)


def allowed_items(items: Ids, allow: Any, deny: Any) -> Allowed:
    """Which items may be shown: all or only those of `allow`, without those of `deny`."""
    if allow is None and deny is None:
        return None
    allowed = np.full(len(items), allow is None, np.uint8)
    if allow is not None:
        allowed[_known(items, allow)] = 1
    if deny is not None:
        allowed[_known(items, deny)] = 0
    return allowed


def _known(items: Ids, listed: Any) -> Indices:
    """The numbers of those items that are known: the others cannot be recommended anyway."""
    if isinstance(listed, str | bytes):
        raise ParameterError(
            f"expected a list of items, not {listed!r}: put a single item in a list"
        )
    try:
        numbers = items.find(list(listed))
    except TypeError:
        raise ParameterError(
            f"expected a list of items, not {checks.shown(listed)}: give their ids in a list"
        ) from None
    return np.unique(numbers[numbers >= 0])
