"""Explanations: the parts of a prediction, and the items of a taste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
RATED = "rated "
"""Before the id of an item, in the name of its part."""
_NOBODY = np.empty(0, np.int32)
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


def scaled(table: pa.Table, weight: float) -> pa.Table:
    """Parts that count this much: the user's weights and the values are multiplied."""
    for name in ("user_weight", "value"):
        wide = pc.multiply(table[name], weight)
        table = table.set_column(table.column_names.index(name), name, wide)
    return table


def of_rated(found: Sequence[tuple[int, float, float]], ids: Ids) -> pa.Table:
    """A part for each rated item, from its number, the user's weight and the item's."""
    numbers = np.array([number for number, _, _ in found], np.int32)
    named = ids.take(numbers)
    names = [f"{RATED}{value}" for value in named.to_pylist()]
    user, item = (np.array([part[at] for part in found], np.float64) for at in (1, 2))
    because = pa.ListArray.from_arrays(pa.array(np.arange(len(found) + 1, dtype=np.int32)), named)
    columns = [pa.array(names, pa.string()), *map(pa.array, (user, item, user * item)), because]
    return pa.Table.from_arrays(columns, names=COLUMNS)


def part(name: str, user: float, item: float, ids: Ids) -> pa.Table:
    """One part that no rated item stands for."""
    nobody = pa.ListArray.from_arrays(pa.array([0, 0], pa.int32()), ids.take(_NOBODY))
    columns = [pa.array([value]) for value in (name, user, item, user * item)]
    return pa.Table.from_arrays([*columns, nobody], names=COLUMNS)


def sorted_parts(table: pa.Table) -> pa.Table:
    """The largest first; of equal ones the earlier."""
    order = np.argsort(-table["value"].to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


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
