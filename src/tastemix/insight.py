"""What factors say in words a person can check: parts of a prediction, tastes, neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.engine.base import Held, Matrix
from tastemix.errors import ParameterError
from tastemix.ids import Ids, Indices

SHRINKAGE = 10.0
"""Ratings an item needs before its weight in a taste counts half: a few are easily extreme."""
EXAMPLES = 3
"""Rated items that stand for a taste in an explanation."""
BASELINE = "baseline"


def parts(
    w: Matrix, h: Matrix, shift: float, held: Held, rated: Indices, items: Matrix, ids: Ids
) -> pa.Table:
    """Taste by taste: the user's weight, the item's weight and their product, the largest first.

    The values add up to the raw prediction. What no taste adds (the shift of the scale, offsets) is
    one `baseline` part. `because` names items the user rated that weigh most in the taste.
    """
    user, item = w.astype(np.float64), h.astype(np.float64)
    value = user * item
    offset = np.zeros(len(w), bool)
    offset[[*held.users, *held.items]] = True
    tastes = [r for r in np.argsort(-np.abs(value), kind="stable") if not offset[r]]
    rows = [
        {
            "part": f"taste {r + 1}",
            "user_weight": user[r],
            "item_weight": item[r],
            "value": value[r],
            "because": _examples(items[rated, r] * w[r], rated, ids),
        }
        for r in tastes
    ]
    base = shift + float(value[offset].sum())
    if offset.any() or shift != 0:
        rows.insert(0, {"part": BASELINE, "value": base, "because": []})
    schema = [("part", pa.string())]
    schema += [(name, pa.float64()) for name in ("user_weight", "item_weight", "value")]
    return pa.Table.from_pylist(rows, pa.schema([*schema, ("because", pa.list_(ids.values.type))]))


def top_of_tastes(
    items: Matrix, counts: NDArray[np.int64], ids: Ids, held: Held, n: int
) -> pa.Table:
    """The items with the largest weight in every taste, shrunk where few ratings speak for it."""
    _check(n)
    trusted = counts / (counts + SHRINKAGE)
    columns = tastes_of(items.shape[1], held)
    order = {r: np.argsort(-items[:, r] * trusted, kind="stable")[:n] for r in columns}
    return pa.table(
        {
            "taste": pa.array([r + 1 for r in columns for _ in order[r]], pa.int32()),
            "item": ids.take(np.array([i for r in columns for i in order[r]], np.int32)),
            "weight": pa.array([items[i, r] for r in columns for i in order[r]], pa.float64()),
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


def tastes_of(rank: int, held: Held) -> list[int]:
    """The coordinates that are tastes, not offsets."""
    return [r for r in range(rank) if r not in (*held.users, *held.items)]


def _check(n: int) -> None:
    if n < 1:
        raise ParameterError(f"n is {n}: ask for 1 or more")


def _examples(weight: NDArray[np.float32], rated: Indices, ids: Ids) -> Sequence[object]:
    order = np.argsort(-weight, kind="stable")[:EXAMPLES]
    return [ids[rated[at]] for at in order if weight[at] > 0]
