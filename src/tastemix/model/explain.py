"""Explanations: the parts of a prediction, and the items of a taste."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.engine import scoring
from tastemix.errors import ParameterError
from tastemix.model.factors import Factors, Floats

SHRINKAGE = 10.0
"""Ratings with which a row counts half: rows with few ratings are less certain."""
EXAMPLES = 3
"""Rated items that are named for a taste in an explanation."""
BASELINE = "baseline"
COLUMNS = ("part", "user_weight", "item_weight", "value", "because")


def parts(factors: Factors, u: int, i: int, rated: Indices, ids: Ids) -> pa.Table:
    """Taste by taste: the user's weight, the item's weight and their product, the largest first.

    The values add up to the raw prediction. What no taste adds (the shift of the scale, offsets) is
    one `baseline` part. A taste of several members has the mean of their values and of the user's
    weights, and the mean of the item's weights in proportion to the user's, so that weight times
    weight is the value. `because` names the rated items with the largest weight in the taste.
    """
    held = factors.held
    baseline = bool(held.users or held.items or factors.shift != 0)
    order, *columns, examples, ends = scoring.parts(
        *(factors.users[u], factors.items, i, rated, factors.members),
        *(factors.tastes[:, 0], factors.shift, baseline, EXAMPLES),
    )
    known = _names(len(order))
    names = [BASELINE] * baseline + [known[taste] for taste in order.tolist()]
    weights = [pa.array(column, from_pandas=True) for column in columns]
    because = pa.ListArray.from_arrays(pa.array(ends), ids.take(examples))
    return pa.Table.from_arrays([pa.array(names, pa.string()), *weights, because], names=COLUMNS)


@cache
def _names(tastes: int) -> list[str]:
    return [f"taste {number}" for number in range(1, tastes + 1)]


def top_of_tastes(factors: Factors, counts: NDArray[np.int64], ids: Ids, n: int) -> pa.Table:
    """The items with the largest weight in every taste; those of few ratings are shrunk."""
    check(n)
    weight = factors.items[:, factors.tastes].mean(axis=2, dtype=np.float64)
    weight *= trust(counts)[:, None]
    top = np.argsort(-weight, axis=0, kind="stable")[:n].T
    taste = np.repeat(np.arange(len(top), dtype=np.int32), top.shape[1])
    item = top.ravel().astype(np.int32)
    return pa.table({"taste": taste + 1, "item": ids.take(item), "weight": weight[item, taste]})


def trust(counts: NDArray[np.int64]) -> Floats:
    """The weight of rows with so many ratings, from 0 to 1."""
    return counts / (counts + SHRINKAGE)


def tastes_of(factors: Factors) -> NDArray[np.intp]:
    """The coordinates that are tastes, not offsets."""
    return factors.tastes.T.ravel()


def aligned(first: Factors, other: Factors) -> Factors:
    """The other factors, with their tastes in the order of the most similar ones of the first."""
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


def check(n: int) -> None:
    """Raise an error if no entries are asked for."""
    if n < 1:
        raise ParameterError(f"n is {n}: it must be 1 or more")
