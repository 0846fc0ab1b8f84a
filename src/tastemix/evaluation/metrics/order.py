"""Grouping test pairs by user and sorting them inside each group, without a loop over users."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tastemix.errors import ParameterError
from tastemix.evaluation.metrics.inputs import Floats, refuse_where

Ints = NDArray[np.int64]
_SIGN = np.int64(-(2**63))


def group_users(user: ArrayLike) -> tuple[NDArray[Any], Ints]:
    """(ids, code): the distinct users in ascending order, and each pair's index into them.

    Integers of small range are counted; anything else is sorted.
    """
    users = np.asarray(user)
    if users.ndim != 1:
        raise ParameterError(f"user has {users.ndim} dimensions: give one id per test pair")
    if not users.size:
        raise ParameterError("user is empty: a metric needs at least one test pair")
    kind = users.dtype.kind
    if kind in "iu":
        low = users.min()
        if int(users.max()) - int(low) < 4 * len(users) + 65536:
            offset = (users - low if kind == "u" else users.astype(np.int64) - low).astype(np.int64)
            present = np.bincount(offset) > 0
            ids = low + np.flatnonzero(present).astype(users.dtype)
            return ids, offset if present.all() else renumber(present)[offset]
    elif kind not in "bSU":
        missing = ~np.isfinite(users) if kind == "f" else users != users
        refuse_where(missing, "user", users, "every pair needs a user id")
    try:
        ids, code = np.unique(users, return_inverse=True)
    except TypeError:
        raise ParameterError("user mixes ids that do not compare: give one type of id") from None
    return ids, code.astype(np.int64, copy=False)


def renumber(kept: NDArray[np.bool_]) -> Ints:
    """New index of every kept entry once the others are dropped."""
    return np.cumsum(kept, dtype=np.int64) - 1


def order_within(group: Ints, value: Floats) -> Ints:
    """Stable order of rows by (group, value), both ascending, in one sort of one 64-bit key.

    The key holds the group in its high bits and the leading bits of the value below them. Only rows
    of a group whose values differ in nothing but the bits cut off are sorted again, in full.
    """
    exact = value.astype(np.float64, copy=False)
    width = max(int(group.max(initial=0)).bit_length(), 1)
    key = group.astype(np.uint64) << np.uint64(64 - width)
    key |= _sortable(exact) >> np.uint64(width)
    order = np.argsort(key, kind="stable")
    key, exact = key[order], exact[order]
    same = key[1:] == key[:-1]
    if np.any(same & (exact[1:] < exact[:-1])):
        rows = in_runs(same)
        order[rows] = order[rows][np.lexsort((exact[rows], key[rows]))]
    return order


def in_runs(same: NDArray[np.bool_]) -> Ints:
    """Rows that equal a neighbour, given whether row i + 1 equals row i."""
    return np.flatnonzero(np.append(same, False) | np.append(False, same))


def shuffle_ties(order: Ints, same: NDArray[np.bool_], truth: Floats, seed: int) -> Ints:
    """`order` with every run of tied rows in seeded random order.

    Tied rows are first put in order of their truth and then shuffled by keys drawn for their
    places, so the outcome is a fair draw that does not depend on the order in which the pairs are
    stored. Keys are raw generator output, the same in every NumPy version.
    """
    rows = in_runs(same)
    run = np.cumsum(np.append(True, ~same), dtype=np.int64)[rows]
    tied = order[rows]
    tied = tied[order_within(run, truth[tied])]
    # 53 bits: the most that a float64 holds exactly.
    key = (np.random.PCG64(seed).random_raw(len(rows)) >> np.uint64(11)).astype(np.float64)
    shuffled = order.copy()
    shuffled[rows] = tied[order_within(run, key)]
    return shuffled


def _sortable(value: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Unsigned integers in the order of the doubles; -0.0 and 0.0 give the same one."""
    bits = (value + 0.0).view(np.int64)
    return (bits ^ ((bits >> 63) | _SIGN)).view(np.uint64)
