"""A model as open tables: what is in which column, checked on the way back in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tastemix import store
from tastemix.anls import Step
from tastemix.engine.base import Held, Matrix
from tastemix.errors import DataError, ModelFileError
from tastemix.factors import Factors, Population
from tastemix.ids import Ids
from tastemix.objective import Objective, Phase
from tastemix.ratings import Ratings, Scale


class Pieces(NamedTuple):
    """All that a model of factors is made of."""

    scores: Factors
    users: Population
    items: Population
    scale: Scale
    mean: float
    method: str
    parameters: Mapping[str, Any]
    phases: tuple[Phase, ...]
    history: tuple[Step, ...]
    ratings: Ratings | None


def write(path: str | os.PathLike[str], pieces: Pieces) -> None:
    """Save the pieces as a folder, over an older one if there is one."""
    tables = {
        "users": _population_table(pieces.users, pieces.scores.users),
        "items": _population_table(pieces.items, pieces.scores.items),
    }
    if pieces.ratings is not None:
        tables["ratings"] = pieces.ratings.to_table()
    about = {
        "method": pieces.method,
        "parameters": pieces.parameters,
        "phases": [dataclasses.asdict(phase) for phase in pieces.phases],
        "history": [dataclasses.asdict(step) for step in pieces.history],
        "scale": list(pieces.scale),
        "mean": pieces.mean,
        "shift": pieces.scores.shift,
        "held": pieces.scores.held._asdict(),
        "fingerprint": None if pieces.ratings is None else pieces.ratings.fingerprint,
        "made_with": _versions(),
    }
    store.write(path, tables, about)


def read(path: str | os.PathLike[str]) -> Pieces:
    """The pieces of a saved model, everything about them checked."""
    tables, about = store.read(path)
    try:
        pieces = _pieces(tables, about)
        _check(pieces)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError, pa.ArrowException, DataError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{os.fspath(path)} is incomplete or damaged: {reason}") from None
    return pieces


def _pieces(tables: Mapping[str, pa.Table], about: Mapping[str, Any]) -> Pieces:
    users, user_rows = _read_population(tables["users"], "user")
    items, item_rows = _read_population(tables["items"], "item")
    low, high = (_number(end, "scale") for end in about["scale"])
    held = Held(**{side: tuple(map(int, about["held"][side])) for side in Held._fields})
    return Pieces(
        scores=Factors(user_rows, item_rows, _number(about["shift"], "shift"), held),
        users=users,
        items=items,
        scale=(low, high),
        mean=_number(about["mean"], "mean"),
        method=str(about["method"]),
        parameters=dict(about["parameters"]),
        phases=tuple(_read_phase(phase) for phase in about["phases"]),
        history=tuple(Step(**step) for step in about["history"]),
        ratings=_read_ratings(tables, users.ids, items.ids, (low, high)),
    )


def _check(pieces: Pieces) -> None:
    users, items, held = pieces.scores.users, pieces.scores.items, pieces.scores.held
    if users.shape[1] != items.shape[1]:
        raise ModelFileError(
            f"its user vectors have length {users.shape[1]} and its item vectors "
            f"{items.shape[1]}: they must be of one rank"
        )
    if any(not 0 <= r < users.shape[1] for r in (*held.users, *held.items)):
        raise ModelFileError("a held coordinate is outside its vectors")
    if not pieces.scale[0] <= pieces.scale[1]:
        raise ModelFileError(f"its scale is {pieces.scale}: the lower end must come first")


def _population_table(population: Population, rows: Matrix) -> pa.Table:
    return pa.table(
        {
            "id": population.ids.values,
            "mean": pa.array(population.mean, from_pandas=True),
            "count": population.count,
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1]),
        }
    )


def _read_population(table: pa.Table, what: str) -> tuple[Population, Matrix]:
    ids = Ids.known(table["id"], what)
    if len(ids) == 0:
        raise ModelFileError(f"it has no {what}s")
    column = table["vector"]
    if not pa.types.is_fixed_size_list(column.type) or column.type.value_type != pa.float32():
        raise ModelFileError(f"its {what} vectors are of type {column.type}: expected float lists")
    vector = column.combine_chunks()
    if vector.null_count or vector.type.list_size < 1:
        raise ModelFileError(f"a {what} vector is missing or empty")
    flat = vector.flatten()
    rows = flat.to_numpy(zero_copy_only=False).reshape(len(table), vector.type.list_size)
    if flat.null_count or not np.isfinite(rows).all():
        raise ModelFileError(f"a {what} vector has entries that are missing or not finite")
    mean = table["mean"].cast(pa.float64()).to_numpy()
    count = table["count"].cast(pa.int64()).to_numpy()
    if table["count"].null_count or (count < 0).any():
        raise ModelFileError(f"a {what} has no count of its ratings, or a negative one")
    if np.isinf(mean).any():
        raise ModelFileError(f"the mean rating of a {what} is not finite")
    return Population(ids, mean, count), np.ascontiguousarray(rows)


def _read_phase(phase: Mapping[str, Any]) -> Phase:
    return Phase(**{**phase, "objective": Objective(**phase["objective"])})


def _read_ratings(
    tables: Mapping[str, pa.Table], users: Ids, items: Ids, scale: Scale
) -> Ratings | None:
    if "ratings" not in tables:
        return None
    table = tables["ratings"]
    when = table["timestamp"] if "timestamp" in table.column_names else None
    return Ratings.over(users, items, table["user"], table["item"], table["rating"], when, scale)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ModelFileError(f"its {what} is {value!r}: expected a finite number")
    return float(value)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("tastemix", "numpy", "pyarrow")}
