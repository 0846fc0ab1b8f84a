"""A model as open tables: what is in which column, checked on the way out and on the way in."""

from __future__ import annotations

import dataclasses
import os
import reprlib
import sys
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from tastemix import store
from tastemix.anls import Step
from tastemix.engine.base import Held, Matrix, Side
from tastemix.errors import ModelFileError, TastemixError
from tastemix.factors import Factors, Head, Population
from tastemix.ids import Ids
from tastemix.noise import COEFFICIENTS, Noise
from tastemix.objective import Phase
from tastemix.ratings import Ratings, Scale

What = Literal["user", "item"]

MOST_STEPS = 1_000_000
"""Of a phase: folding in under a dynamic prior takes them all again."""
MOST_RANK = 2**16
_LONGEST_REASON = 300  # An id that is at fault may have any length.
_LARGEST = float(np.finfo(np.float32).max)


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
    ranking: Head | None
    noise: Noise | None


@dataclasses.dataclass(frozen=True)
class AboutRanking:
    """What the index says of the vectors that recommendations are ordered by."""

    phases: tuple[Phase, ...]
    shift: float
    held: Held
    members: int


@dataclasses.dataclass(frozen=True)
class About:
    """What the index says besides the tables; its hints are what is accepted."""

    method: str
    parameters: dict[str, Any]
    phases: tuple[Phase, ...]
    history: tuple[Step, ...]
    scale: Scale
    mean: float
    shift: float
    held: Held
    members: int
    ranking: AboutRanking | None
    noise: tuple[float, ...] | None
    """The coefficients; the users' and items' shares are in their tables."""
    uuids: tuple[What, ...]
    """Whose ids are UUIDs; their tables hold the 16 bytes of each."""
    fingerprint: str | None
    """Of the ratings, where they are saved too."""
    made_with: dict[str, str]


def write(path: str | os.PathLike[str], pieces: Pieces) -> None:
    """Save the pieces as a folder, over an older one if there is one."""
    try:
        _check(pieces)
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved: {error}") from None
    users, items, scores = pieces.users, pieces.items, pieces.scores
    ranking, noise = pieces.ranking, pieces.noise
    tables = {"users": _population_table(users, "users", pieces)}
    tables["items"] = _population_table(items, "items", pieces)
    if pieces.ratings is not None:
        tables["ratings"] = _with_plain_ids(pieces.ratings.to_table(), "user", "item")
    kinds: dict[What, pa.DataType] = {"user": users.ids.values.type, "item": items.ids.values.type}
    about = About(
        method=pieces.method,
        parameters=dict(pieces.parameters),
        phases=pieces.phases,
        history=pieces.history,
        scale=pieces.scale,
        mean=pieces.mean,
        shift=scores.shift,
        held=scores.held,
        members=scores.members,
        ranking=None if ranking is None else _about_ranking(ranking),
        noise=None if noise is None else noise.coefficients,
        uuids=tuple(what for what, kind in kinds.items() if _is_uuid(kind)),
        fingerprint=None if pieces.ratings is None else pieces.ratings.fingerprint,
        made_with=_versions(),
    )
    index = {**dataclasses.asdict(about), "held": about.held._asdict()}
    if about.ranking is not None:
        index["ranking"]["held"] = about.ranking.held._asdict()
    store.write(path, tables, index)


def read(path: str | os.PathLike[str]) -> Pieces:
    """The pieces of a saved model, everything about them checked."""
    tables, index = store.read(path, ("users", "items", "ratings"))
    fields = {field.name for field in dataclasses.fields(About)}
    try:
        about = _record(About, {name: index[name] for name in index if name in fields})
        pieces = _pieces(tables, about)
        _check(pieces)
    except TastemixError as error:
        reason = str(error)[:_LONGEST_REASON]
        raise ModelFileError(f"{os.fspath(path)} is incomplete or damaged: {reason}") from None
    return pieces


def _about_ranking(head: Head) -> AboutRanking:
    f = head.factors
    return AboutRanking(head.phases, f.shift, f.held, f.members)


def _pieces(tables: Mapping[str, pa.Table], about: About) -> Pieces:
    users, items = (_read_population(tables, what, about) for what in get_args(What))
    vectors = [_vectors(tables, what, "vector") for what in get_args(What)]
    ranking, noise = None, None
    if (of := about.ranking) is not None:
        order = [_vectors(tables, what, "ranking") for what in get_args(What)]
        factors = Factors(order[0], order[1], of.shift, of.held, of.members)
        ranking = Head(factors, of.phases)
    if about.noise is not None:
        shares = (_column(tables[f"{what}s"], "noise", pa.float64()) for what in get_args(What))
        noise = Noise(about.noise, *(share.to_numpy() for share in shares))
    return Pieces(
        scores=Factors(vectors[0], vectors[1], about.shift, about.held, about.members),
        users=users,
        items=items,
        scale=about.scale,
        mean=about.mean,
        method=about.method,
        parameters=about.parameters,
        phases=about.phases,
        history=about.history,
        ratings=_read_ratings(tables, users.ids, items.ids, about),
        ranking=ranking,
        noise=noise,
    )


def _check(pieces: Pieces) -> None:
    """Refuse what no fit gives."""
    if not pieces.method.isidentifier():
        raise ModelFileError(f"its method is {reprlib.repr(pieces.method)}: that is no name")
    low, high = pieces.scale
    if not low <= high:
        raise ModelFileError(f"its scale is {pieces.scale}: the lower end must come first")
    if pieces.ranking is not None and not pieces.ranking.phases:
        raise ModelFileError("its ranking has no phases")
    heads = [Head(pieces.scores, pieces.phases), *([pieces.ranking] if pieces.ranking else [])]
    shifts = [head.factors.shift for head in heads]
    if max(map(abs, (low, high, pieces.mean, *shifts))) > _LARGEST:
        raise ModelFileError("its scale, its mean or its shift is beyond any 32-bit float")
    for head in heads:
        for phase in head.phases:
            if phase.steps > MOST_STEPS:
                raise ModelFileError(f"a phase has {phase.steps:,} steps, more than {MOST_STEPS:,}")
        _check_factors(head.factors)
    if pieces.noise is not None:
        _check_noise(pieces.noise)
    for population in (pieces.users, pieces.items):
        _check_population(population)


def _check_factors(factors: Factors) -> None:
    ranks = [rows.shape[1] for rows in (factors.users, factors.items)]
    if ranks[0] != ranks[1]:
        raise ModelFileError(
            f"its user vectors have length {ranks[0]} and its item vectors {ranks[1]}: "
            "they must be of one rank"
        )
    if not 1 <= factors.rank <= MOST_RANK:
        raise ModelFileError(f"its rank is {factors.rank:,}: expected 1 to {MOST_RANK:,}")
    if not (np.isfinite(factors.users).all() and np.isfinite(factors.items).all()):
        raise ModelFileError("one vector has entries that are not finite")
    for held in factors.held:
        if len(set(held)) < len(held) or not all(r < factors.rank for r in held):
            raise ModelFileError(f"it holds coordinates {reprlib.repr(held)} of {factors.rank}")
    if not 1 <= factors.members <= factors.rank or factors.rank % factors.members:
        raise ModelFileError(f"its rank {factors.rank} is no multiple of {factors.members} members")
    width = factors.rank // factors.members
    for held in factors.held:
        if sorted(held) != sorted(
            {at + r % width for r in held for at in range(0, factors.rank, width)}
        ):
            raise ModelFileError(f"its members hold different coordinates: {reprlib.repr(held)}")


def _check_noise(noise: Noise) -> None:
    if len(noise.coefficients) != COEFFICIENTS:
        raise ModelFileError(
            f"its noise has {len(noise.coefficients)} coefficients: expected {COEFFICIENTS}"
        )
    if not (np.isfinite(noise.users).all() and np.isfinite(noise.items).all()):
        raise ModelFileError("one share of the noise is not finite")


def _check_population(population: Population) -> None:
    what, rated = population.ids.what, population.count > 0
    if (population.count < 0).any():
        raise ModelFileError(f"one {what} has a negative number of ratings")
    if not np.isfinite(population.mean[rated]).all():
        raise ModelFileError(f"one {what} has ratings but no finite mean of them")
    if not np.isnan(population.mean[~rated]).all():
        raise ModelFileError(f"one {what} has a mean of no ratings")


def _population_table(population: Population, side: Side, pieces: Pieces) -> pa.Table:
    columns = {
        "id": population.ids.values,
        "mean": pa.array(population.mean, from_pandas=True),
        "count": population.count,
        "vector": _lists(getattr(pieces.scores, side)),
    }
    if pieces.ranking is not None:
        columns["ranking"] = _lists(getattr(pieces.ranking.factors, side))
    if pieces.noise is not None:
        columns["noise"] = getattr(pieces.noise, side)
    return _with_plain_ids(pa.table(columns), "id")


def _lists(rows: Matrix) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def _read_population(tables: Mapping[str, pa.Table], what: What, about: About) -> Population:
    if f"{what}s" not in tables:
        raise ModelFileError(f"it has no table of {what}s")
    table = tables[f"{what}s"]
    ids = Ids.known(_ids_column(table, "id", uuid=what in about.uuids), what)
    if len(ids) == 0:
        raise ModelFileError(f"it has no {what}s")
    count = _column(table, "count", pa.int64())
    if count.null_count:
        raise ModelFileError(f"one {what} has no number of ratings")
    return Population(ids, _column(table, "mean", pa.float64()).to_numpy(), count.to_numpy())


def _vectors(tables: Mapping[str, pa.Table], what: What, name: str) -> Matrix:
    """A column of vectors as a matrix."""
    vector = _column(tables[f"{what}s"], name).combine_chunks()
    if not pa.types.is_fixed_size_list(vector.type) or vector.type.value_type != pa.float32():
        shown = reprlib.repr(str(vector.type))
        raise ModelFileError(f"its {what} vectors are of type {shown}: expected lists of floats")
    entries = vector.flatten()
    if vector.null_count or entries.null_count:
        raise ModelFileError(f"one {what} vector is missing or has missing entries")
    return np.ascontiguousarray(entries.to_numpy().reshape(len(vector), vector.type.list_size))


def _read_ratings(
    tables: Mapping[str, pa.Table], users: Ids, items: Ids, about: About
) -> Ratings | None:
    if "ratings" not in tables:
        return None
    table = tables["ratings"]
    timed = "timestamp" in table.column_names
    return Ratings.over(
        users,
        items,
        _ids_column(table, "user", uuid="user" in about.uuids),
        _ids_column(table, "item", uuid="item" in about.uuids),
        _column(table, "rating", pa.float32()),
        _column(table, "timestamp", pa.int64()) if timed else None,
        about.scale,
    )


def _column(table: pa.Table, name: str, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    if table.column_names.count(name) != 1:
        raise ModelFileError(f"a table has {table.column_names.count(name)} columns {name!r}")
    column = table[name]
    if kind is not None and column.type != kind:
        shown = reprlib.repr(str(column.type))
        raise ModelFileError(f"the column {name!r} is of type {shown}: expected {kind}")
    return column


def _ids_column(table: pa.Table, name: str, *, uuid: bool) -> pa.ChunkedArray:
    if not uuid:
        return _column(table, name)
    column = _column(table, name, pa.binary(16))
    return pa.chunked_array(map(pa.uuid().wrap_array, column.chunks), pa.uuid())


def _with_plain_ids(table: pa.Table, *names: str) -> pa.Table:
    """UUIDs as their bytes: a type that is more than its values is not read back from a file."""
    for name in names:
        column = table[name]
        if _is_uuid(column.type):
            plain = pa.chunked_array([c.storage for c in column.chunks], column.type.storage_type)
            table = table.set_column(table.column_names.index(name), name, plain)
        elif isinstance(column.type, pa.BaseExtensionType):
            raise ModelFileError(
                f"ids of type {column.type} cannot be saved: convert them to integers or text"
            )
    return table


def _is_uuid(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def _record(kind: Any, value: Mapping[str, Any], inside: str = "") -> Any:
    """An object of JSON as a type of ours, whose fields it must have, each as its hint says."""
    hints = get_type_hints(kind)
    for name in hints:
        if name not in value:
            raise ModelFileError(f"it lacks {inside + name!r}")
    unknown = [name for name in value if name not in hints]
    if unknown:
        raise ModelFileError(f"it has {reprlib.repr(unknown[0])} in {inside!r}: that is unknown")
    return kind(**{name: _decoded(hints[name], value[name], inside + name) for name in hints})


def _decoded(kind: Any, value: Any, what: str) -> Any:
    """A value of JSON as a type hint asks for it."""
    form, inner = get_origin(kind), get_args(kind)
    if not _fits(kind, value):
        raise ModelFileError(f"its {what} is {reprlib.repr(value)}: expected {_words(kind)}")
    if form in (Union, UnionType):
        kind = next(choice for choice in inner if _fits(choice, value))
        return _decoded(kind, value, what)
    if form is tuple:
        kinds = inner[:1] * len(value) if ... in inner else inner
        return tuple(map(_decoded, kinds, value, (f"{what}[{at}]" for at in range(len(value)))))
    if form is dict:
        return {name: _decoded(inner[1], entry, what) for name, entry in value.items()}
    if kind is not Any and isinstance(value, dict):
        return _record(kind, value, f"{what}.")
    return float(value) if kind is float else value


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value of JSON is of the sort a type hint asks for, seen from outside."""
    form, inner = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        return any(_fits(choice, value) for choice in inner)
    if form is Literal:
        return value in inner
    if form is tuple:
        return isinstance(value, list) and (... in inner or len(value) == len(inner))
    if kind in (int, float):
        low, high = (0, 2**63 - 1) if kind is int else (-sys.float_info.max, sys.float_info.max)
        number = isinstance(value, int | kind) and not isinstance(value, bool)
        return number and low <= value <= high
    if kind in (str, NoneType):
        return isinstance(value, kind)
    return kind is Any or isinstance(value, dict)


def _words(kind: Any) -> str:
    form, inner = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        return " or ".join(map(_words, inner))
    if form is Literal:
        return " or ".join(map(repr, inner))
    if form is tuple:
        return "a list" if ... in inner else f"a list of {len(inner)}"
    plain = {int: "a whole number of 0 or more", float: "a finite number", str: "text"}
    return {**plain, NoneType: "null"}.get(kind, "an object")


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("tastemix", "numpy", "pyarrow")}
