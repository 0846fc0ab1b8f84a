"""The best items of many users out of scores in any form, a block of users at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.ids import Indices
from tastemix.ratings import Half

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
