"""The best items of many users out of scores in any form, and which items may be among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.data.ratings import Half
from tastemix.errors import ParameterError

AT_ONCE = 4_000_000
"""Scores held at a time, which bounds the working memory."""

Allowed = NDArray[np.uint8]


def best_items(
    block: Callable[[Indices], NDArray[Any]], user: Indices, seen: Half, allowed: Allowed, n: int
) -> Indices:
    """(users, n) item numbers, best first, of those allowed and not seen; −1 for no more.

    block gives the scores of some users for every item. Equal scores go to the lower number.
    """
    items = len(allowed)
    best = np.full((len(user), n), -1, np.int32)
    rows = max(1, AT_ONCE // items)
    for first in range(0, len(user), rows):
        some = user[first : first + rows]
        scores = np.array(block(some), np.float32)
        here, counts = _entries(seen, some)
        scores[np.repeat(np.arange(len(some)), counts), here] = -np.inf
        scores[:, allowed == 0] = -np.inf
        best[first : first + rows, : min(n, items)] = _top(scores, min(n, items))
    return best


def _top(scores: NDArray[np.float32], n: int) -> NDArray[Any]:
    """Columns of the n largest entries of every row, the largest first, ties to the left."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    found = np.take_along_axis(scores, order, axis=1)
    return np.where(np.isneginf(found), -1, order)


def _entries(half: Half, rows: Indices) -> tuple[Indices, Any]:
    """The indices of these rows end to end, and how many each has."""
    counts = half.counts[rows]
    offset = np.repeat(half.pointers[rows] - (np.cumsum(counts) - counts), counts)
    return half.indices[np.arange(counts.sum()) + offset], counts


def left_out(users: Ids, items: Ids, asked: Indices, seen: Any) -> Half:
    """The items that users are not shown, by number: the same for all asked, or a mapping."""
    if not isinstance(seen, Mapping):
        seen = dict.fromkeys(users.take(asked).to_pylist(), seen)
    pointers = np.zeros(len(users) + 1, np.int64)
    numbers = {users.number(user): _known(items, listed) for user, listed in seen.items()}
    for number, listed in numbers.items():
        pointers[number + 1] = len(listed)
    np.cumsum(pointers, out=pointers)
    ordered = [numbers[number] for number in sorted(numbers)]
    indices = np.concatenate([np.empty(0, np.int32), *ordered]).astype(np.int32)
    return Half(pointers, indices, np.zeros(len(indices), np.float32))


def allowed_items(items: Ids, allow: Any, deny: Any) -> Allowed:
    """Which items may be shown: all or only those of `allow`, without those of `deny`."""
    allowed = np.full(len(items), allow is None, np.uint8)
    if allow is not None:
        allowed[_known(items, allow)] = 1
    if deny is not None:
        allowed[_known(items, deny)] = 0
    return allowed


def _known(items: Ids, listed: Any) -> Indices:
    """The numbers of those items that are known: the others cannot be recommended anyway."""
    if isinstance(listed, str | bytes):
        raise ParameterError(f"expected a list of items, not the single one {listed!r}")
    numbers = items.find(list(listed))
    return np.unique(numbers[numbers >= 0])
