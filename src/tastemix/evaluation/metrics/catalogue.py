"""Precision, recall and NDCG at N over the whole catalogue, with coverage and popularity.

The ranking metrics order a user's own test items; here the lists are drawn from all the items that
the user has not rated in training, as recommendations are.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tastemix.errors import ParameterError
from tastemix.evaluation.metrics.inputs import refuse_where
from tastemix.evaluation.metrics.order import Ints
from tastemix.evaluation.metrics.ranking import average

BLOCK = 1 << 18
"""Recommendations looked up at a time, which bounds the working memory."""


def evaluate_catalogue(
    recommended: ArrayLike, pointers: ArrayLike, items: ArrayLike, counts: ArrayLike
) -> dict[str, float]:
    """Precision, recall and NDCG at N of recommended lists, with their coverage and popularity.

    recommended  (users, N) item indices, best first, without items rated in training; -1 is none
    pointers     (users + 1,): user u's relevant held-out items are items[pointers[u]:pointers[u+1]]
    items        their item indices, in any order, each at most once per user
    counts       (items of the catalogue,) number of training ratings of each

    precision_at_N, recall_at_N and ndcg_at_N are means over the users with a relevant held-out
    item, nan without any: hits/N (a missing recommendation is a miss), hits/min(N, relevant), and
    the sum of 1/log2(1 + position) over the hits relative to its largest possible value. Coverage
    is the share of catalogue items recommended to anyone; median_popularity is the median training
    count over all recommendations, nan when there are none; both look at all users. The lists come
    sorted, so ties were settled before.
    """
    lists = _integers("recommended", recommended, 2)
    pointer = _integers("pointers", pointers, 1).astype(np.int64)
    held, count = _integers("items", items, 1), _integers("counts", counts, 1)
    _refuse_misfits(lists, pointer, held, count)
    users, n = lists.shape
    relevant = np.diff(pointer)
    discount = 1 / np.log2(np.arange(2, n + 2))
    best = np.append(0, np.cumsum(discount))[np.minimum(relevant, n)]
    hits, gain = np.zeros(users), np.zeros(users)
    shown = np.zeros(len(count), np.int64)
    step = max(BLOCK // n, 1)
    for first in range(0, users, step):
        block = slice(first, min(first + step, users))
        offered = _block(lists[block], len(count), first)
        hit = _hits(offered, pointer[first : block.stop + 1], held, len(count), first)
        hits[block], gain[block] = hit.sum(axis=1), hit @ discount
        shown += np.bincount(offered[offered >= 0], minlength=len(count))

    judged = relevant > 0
    return {
        f"precision_at_{n}": average(hits[judged] / n),
        f"recall_at_{n}": average(hits[judged] / np.minimum(n, relevant[judged])),
        f"ndcg_at_{n}": average(gain[judged] / best[judged]),
        "coverage": float(np.mean(shown > 0)),
        "median_popularity": _repeated_median(count, shown),
    }


def _block(lists: NDArray[Any], catalogue: int, first: int) -> Ints:
    """The lists of a block of users, which start at user `first`, checked."""
    offered = lists.astype(np.int64)
    user, position = np.nonzero((offered < -1) | (offered >= catalogue))
    if user.size:
        raise ParameterError(
            f"recommended[{first + user[0]}, {position[0]}] is {offered[user[0], position[0]]}: "
            f"items are numbered 0 to {catalogue - 1}, and -1 is none"
        )
    ordered = np.sort(offered, axis=1)
    user, position = np.nonzero((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))
    if user.size:
        item = ordered[user[0], position[0]]
        raise ParameterError(
            f"recommended[{first + user[0]}] holds item {item} twice: give it once"
        )
    return offered


def _hits(
    offered: Ints, pointer: Ints, held: NDArray[Any], catalogue: int, first: int
) -> NDArray[np.bool_]:
    """Which recommendations of a block are relevant, looked up as user * catalogue + item."""
    user = np.repeat(np.arange(len(offered)), np.diff(pointer))
    liked = np.sort(user * catalogue + held[pointer[0] : pointer[-1]].astype(np.int64))
    again = np.flatnonzero(liked[1:] == liked[:-1])
    if again.size:
        row, item = divmod(int(liked[again[0]]), catalogue)
        raise ParameterError(f"items holds item {item} twice for user {first + row}: give it once")
    if not liked.size:
        return np.zeros(offered.shape, np.bool_)
    sought = np.arange(len(offered))[:, None] * catalogue + offered
    nearest = liked[np.minimum(np.searchsorted(liked, sought), len(liked) - 1)]
    return np.asarray((nearest == sought) & (offered >= 0))


def _refuse_misfits(
    lists: NDArray[Any], pointer: Ints, held: NDArray[Any], count: NDArray[Any]
) -> None:
    if not lists.size:
        raise ParameterError(f"recommended has shape {lists.shape}: it needs users and N >= 1")
    if not count.size:
        raise ParameterError("counts is empty: give one count per item of the catalogue")
    if len(pointer) != len(lists) + 1:
        raise ParameterError(
            f"pointers has {len(pointer)} values for {len(lists)} users in recommended: "
            "give one more than users"
        )
    if pointer[0] != 0 or pointer[-1] != len(held) or (np.diff(pointer) < 0).any():
        raise ParameterError(
            "pointers does not rise from 0 to the length of items: "
            f"give {len(lists) + 1} values from 0 to {len(held)}"
        )
    outside = (held < 0) | (held >= len(count))
    refuse_where(outside, "items", held, f"items are numbered 0 to {len(count) - 1}")
    refuse_where(np.asarray(count < 0), "counts", count, "a count is at least 0")


def _integers(name: str, values: ArrayLike, dimensions: int) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(values)
    if not array.size:
        array = array.astype(np.int64)
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        what = f"a {array.ndim}-d array of {array.dtype}"
        raise ParameterError(f"{name} is {what}: give a {dimensions}-d array of integers")
    return array


def _repeated_median(value: NDArray[Any], times: Ints) -> float:
    """Median of the values, each repeated so many times; nan when all are repeated 0 times."""
    order = np.argsort(value, kind="stable")
    upto = np.cumsum(times[order])
    total = int(upto[-1])
    if not total:
        return math.nan
    middle = np.searchsorted(upto, [(total - 1) // 2, total // 2], side="right")
    return float(value[order[middle]].mean())
