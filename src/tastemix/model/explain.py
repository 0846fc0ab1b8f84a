"""What factors say in words a person can check: parts of a prediction, tastes, neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.engine.base import Matrix
from tastemix.errors import ParameterError
from tastemix.model.factors import Factors

SHRINKAGE = 10.0
"""Ratings an item needs before its weight in a taste counts half: a few are easily extreme."""
EXAMPLES = 3
"""Rated items that stand for a taste in an explanation."""
BASELINE = "baseline"


def parts(factors: Factors, u: int, i: int, rated: Indices, ids: Ids) -> pa.Table:
    """Taste by taste: the user's weight, the item's weight and their product, the largest first.

    The values add up to the raw prediction. What no taste adds (the shift of the scale, offsets) is
    one `baseline` part. A taste of several members has the mean of their values and weights.
    `because` names items the user rated that weigh most in the taste.
    """
    user, item = factors.users[u].astype(np.float64), factors.items[i].astype(np.float64)
    groups = tastes_by_member(factors)
    values = (user * item)[groups].sum(axis=1) / factors.members
    rows = [
        {
            "part": f"taste {number + 1}",
            "user_weight": user[groups[number]].mean(),
            "item_weight": item[groups[number]].mean(),
            "value": values[number],
            "because": _examples(
                factors.items[np.ix_(rated, groups[number])] @ factors.users[u, groups[number]],
                rated,
                ids,
            ),
        }
        for number in np.argsort(-np.abs(values), kind="stable")
    ]
    offsets = [*factors.held.users, *factors.held.items]
    base = factors.shift + float((user * item)[offsets].sum() / factors.members)
    if offsets or factors.shift != 0:
        rows.insert(0, {"part": BASELINE, "value": base, "because": []})
    schema = [("part", pa.string())]
    schema += [(name, pa.float64()) for name in ("user_weight", "item_weight", "value")]
    return pa.Table.from_pylist(rows, pa.schema([*schema, ("because", pa.list_(ids.values.type))]))


def top_of_tastes(factors: Factors, counts: NDArray[np.int64], ids: Ids, n: int) -> pa.Table:
    """The items with the largest weight in every taste, shrunk where few ratings speak for it."""
    _check(n)
    trusted = counts / (counts + SHRINKAGE)
    weight = factors.items[:, tastes_by_member(factors)].mean(axis=2)
    top = np.argsort(-weight * trusted[:, None], axis=0, kind="stable")[:n].T
    taste = np.repeat(np.arange(len(top), dtype=np.int32), top.shape[1])
    item = top.ravel().astype(np.int32)
    return pa.table(
        {
            "taste": taste + 1,
            "item": ids.take(item),
            "weight": weight[item, taste].astype(np.float64),
        }
    )


def neighbours(rows: Matrix, number: int, n: int) -> tuple[Indices, NDArray[np.float64]]:
    """The n rows with the most similar direction (cosine), and how similar; not the row itself."""
    _check(n)
    length = np.linalg.norm(rows, axis=1)
    cosine = (rows @ rows[number]) / np.maximum(length * length[number], np.finfo(np.float32).tiny)
    cosine[number] = -np.inf
    best = np.argsort(-cosine, kind="stable")[: min(n, len(rows) - 1)].astype(np.int32)
    return best, cosine[best].astype(np.float64)


def tastes_of(factors: Factors) -> NDArray[np.intp]:
    """The coordinates that are tastes, not offsets."""
    return np.setdiff1d(np.arange(factors.rank), [*factors.held.users, *factors.held.items])


def tastes_by_member(factors: Factors) -> NDArray[np.intp]:
    """(tastes, members): where each taste is in every member."""
    return tastes_of(factors).reshape(factors.members, -1).T


def aligned(first: Factors, other: Factors) -> Factors:
    """The other with its tastes in the places of those of the first that are most like them."""
    from scipy.optimize import linear_sum_assignment

    tastes = tastes_of(first)
    one, two = (
        f.items[:, tastes] / np.maximum(np.linalg.norm(f.items[:, tastes], axis=0), 1e-30)
        for f in (first, other)
    )
    order = np.arange(first.rank)
    order[tastes] = tastes[linear_sum_assignment(one.T @ two, maximize=True)[1]]
    users, items = (np.ascontiguousarray(rows[:, order]) for rows in (other.users, other.items))
    return replace(other, users=users, items=items)


def _check(n: int) -> None:
    if n < 1:
        raise ParameterError(f"n is {n}: ask for 1 or more")


def _examples(weight: NDArray[np.float32], rated: Indices, ids: Ids) -> Sequence[object]:
    order = np.argsort(-weight, kind="stable")[:EXAMPLES]
    return [ids[rated[at]] for at in order if weight[at] > 0]
