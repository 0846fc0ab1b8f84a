"""Explanations: the parts of a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from tastemix.data.ids import Ids, Indices
from tastemix.data.items import Items
from tastemix.engine import scoring
from tastemix.model.factors import Factors
from tastemix.model.tastes import Tastes

EXAMPLES = 3
"""Rated items that are named for a taste in an explanation."""
Kind = Literal["baseline", "taste", "rated", "popularity"]


class Part(NamedTuple):
    """What a taste, a rated item, everyone's ratings or none of them add: a product of weights."""

    kind: Kind
    number: int | None
    """Of the taste, from 1, or of the rated item."""
    user_weight: float | None
    item_weight: float | None
    value: float
    because: Sequence[int] = ()
    """The rated items with the largest weight in the taste, or the one that this part is of."""


def parts(factors: Factors, u: int, i: int, rated: Indices, tastes: Tastes) -> list[Part]:
    """Taste by taste: the user's weight, the item's weight and their product, the largest first.

    The values add up to the raw prediction. What no taste adds (the shift of the scale, offsets) is
    one `baseline` part. In a taste of several coordinates or members the item's weight is that for
    this user, so that weight times weight is the value.
    """
    held, tastes = factors.held, tastes.of(factors)
    baseline = bool(held.users or held.items or factors.shift != 0)
    order, user, item, value, examples, ends = scoring.parts(
        *(factors.users[u], factors.items, i, rated, factors.members),
        *(factors.taste_of, tastes.user_units, tastes.item_units, factors.taste_count),
        *(factors.shift, baseline, EXAMPLES),
    )
    shown = tastes.numbers[order]
    values, because, bounds = value.tolist(), examples.tolist(), ends.tolist()
    found = [Part("baseline", None, None, None, values[0])] if baseline else []
    weights = zip(user.tolist()[baseline:], item.tolist()[baseline:], strict=True)
    for at, (taste, pair) in enumerate(zip(shown.tolist(), weights, strict=True), int(baseline)):
        here = because[bounds[at] : bounds[at + 1]]
        found.append(Part("taste", taste + 1, *pair, values[at], here))
    return found


def scaled(part: Part, weight: float) -> Part:
    """A part that counts this much: the user's weight and the value are multiplied."""
    user = None if part.user_weight is None else part.user_weight * weight
    return part._replace(user_weight=user, value=part.value * weight)


def table(
    found: Sequence[Part],
    ids: Ids,
    names: Sequence[str],
    shown: Callable[[int], str],
    labels: Items | None,
) -> pa.Table:
    """Parts as a table: part, weights, value, because, name, and titles where there are labels.

    names: of the tastes. shown: what a rated item is called.
    """

    def named(part: Part) -> tuple[str, str]:
        if part.number is None:
            return part.kind, part.kind
        if part.kind == "taste":
            return f"taste {part.number}", names[part.number - 1]
        return f"rated {ids[part.number]}", shown(part.number)

    both = [named(part) for part in found]
    because = np.array([number for part in found for number in part.because], np.int32)
    ends = pa.array(np.cumsum([0, *(len(part.because) for part in found)], dtype=np.int32))
    columns = {
        "part": pa.array([name for name, _ in both], pa.string()),
        "user_weight": pa.array([part.user_weight for part in found], pa.float64()),
        "item_weight": pa.array([part.item_weight for part in found], pa.float64()),
        "value": pa.array([part.value for part in found], pa.float64()),
        "because": pa.ListArray.from_arrays(ends, ids.take(because)),
        "name": pa.array([name for _, name in both], pa.string()),
    }
    if labels is not None:
        columns["titles"] = pa.ListArray.from_arrays(ends, labels.column(because))
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def aligned(first: Factors, other: Factors) -> Factors:
    """The other factors, their coordinates in the order of the most similar ones of the first."""
    from scipy.optimize import linear_sum_assignment

    tastes = first.tasted
    one, two = (
        f.items[:, tastes] / np.maximum(np.linalg.norm(f.items[:, tastes], axis=0), 1e-30)
        for f in (first, other)
    )
    order = np.arange(first.rank)
    order[tastes] = tastes[linear_sum_assignment(one.T @ two, maximize=True)[1]]
    users, items = (np.ascontiguousarray(rows[:, order]) for rows in (other.users, other.items))
    pulls = None if other.pulls is None else other.pulls.columns(order)
    return replace(other, users=users, items=items, pulls=pulls)
