"""Explanations: the parts of a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices
from tastemix.data.items import Items
from tastemix.engine import scoring
from tastemix.model.factors import Factors
from tastemix.model.tastes import Tastes

EXAMPLES = 3
"""Rated items that are named for a taste in an explanation."""
BASELINE = "baseline"
POPULARITY = "popularity"
RATED = "rated "
"""Before the id of an item, in the name of its part."""
COLUMNS = ("part", "user_weight", "item_weight", "value", "because", "name")


def parts(
    factors: Factors,
    u: int,
    i: int,
    rated: Indices,
    ids: Ids,
    tastes: Tastes,
    names: Sequence[str],
) -> pa.Table:
    """Taste by taste: the user's weight, the item's weight and their product, the largest first.

    The values add up to the raw prediction. What no taste adds (the shift of the scale, offsets) is
    one `baseline` part. In a taste of several coordinates or members the item's weight is that for
    this user, so that weight times weight is the value. `because` names the rated items to which
    the taste adds most.
    """
    held, tastes = factors.held, tastes.of(factors)
    baseline = bool(held.users or held.items or factors.shift != 0)
    order, user, item, value, examples, ends = scoring.parts(
        *(factors.users[u], factors.items, i, rated, factors.members),
        *(factors.taste_of, tastes.user_units, tastes.item_units, factors.taste_count),
        *(factors.shift, baseline, EXAMPLES),
    )
    known, shown = _parts(len(order)), tastes.numbers[order].tolist()
    columns = [
        pa.array([BASELINE] * baseline + [known[taste] for taste in shown], pa.string()),
        *(pa.array(column, from_pandas=True) for column in (user, item, value)),
        pa.ListArray.from_arrays(pa.array(ends), ids.take(examples)),
        pa.array([BASELINE] * baseline + [names[taste] for taste in shown], pa.string()),
    ]
    return pa.Table.from_arrays(columns, names=COLUMNS)


def scaled(table: pa.Table, weight: float) -> pa.Table:
    """Parts that count this much: the user's weights and the values are multiplied."""
    for name in ("user_weight", "value"):
        wide = pc.multiply(table[name], weight)
        table = table.set_column(table.column_names.index(name), name, wide)
    return table


def of_rated(
    found: Sequence[tuple[int, float, float]], ids: Ids, shown: Callable[[int], str]
) -> pa.Table:
    """A part for each rated item, from its number, the user's weight and the item's."""
    numbers = [number for number, _, _ in found]
    named = ids.take(np.array(numbers, np.int32))
    names = [str(value) for value in named.to_pylist()]
    user, item = (np.array([part[at] for part in found], np.float64) for at in (1, 2))
    columns = [
        pa.array([RATED + name for name in names], pa.string()),
        *map(pa.array, (user, item, user * item)),
        pa.ListArray.from_arrays(pa.array(np.arange(len(found) + 1, dtype=np.int32)), named),
        pa.array([shown(number) for number in numbers], pa.string()),
    ]
    return pa.Table.from_arrays(columns, names=COLUMNS)


def popular(user: float, item: float, ids: Ids) -> pa.Table:
    """The part that everyone's ratings of an item add."""
    nobody = ids.take(np.empty(0, np.int32))
    columns = [
        pa.array([POPULARITY]),
        *(pa.array([value]) for value in (user, item, user * item)),
        pa.ListArray.from_arrays(pa.array([0, 0], pa.int32()), nobody),
        pa.array([POPULARITY]),
    ]
    return pa.Table.from_arrays(columns, names=COLUMNS)


def titled(table: pa.Table, labels: Items) -> pa.Table:
    """Parts with another column, `titles`, of the items in `because`."""
    because = table["because"].combine_chunks()
    titles = labels.column(labels.ids.find(because.flatten()))
    return table.append_column("titles", pa.ListArray.from_arrays(because.offsets, titles))


def sorted_parts(table: pa.Table) -> pa.Table:
    """The largest first; of equal ones the earlier."""
    order = np.argsort(-table["value"].to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


@cache
def _parts(tastes: int) -> list[str]:
    return [f"taste {number}" for number in range(1, tastes + 1)]


def tastes_of(factors: Factors) -> NDArray[np.intp]:
    """The coordinates that belong to tastes, not offsets."""
    return factors.coordinates.T.ravel()


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
