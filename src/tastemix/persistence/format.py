"""A model as tables: which column holds what."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import pyarrow as pa

from tastemix import checks
from tastemix.data import memory
from tastemix.data.halves import ascending, compressed
from tastemix.data.ids import Ids
from tastemix.data.ratings import Ratings, Scale, Side
from tastemix.engine.sides import OTHER, Held, Matrix, Pull, Pulls
from tastemix.errors import ModelFileError, ParameterError, TastemixError
from tastemix.model.factors import Factors, Head, Population, Scores
from tastemix.model.fold_in import takes_average
from tastemix.model.links import Links, Weights, stars_by_user
from tastemix.model.model import Model, Of, Unknown
from tastemix.model.ordering import Ordering, by_links
from tastemix.model.tastes import Numbering
from tastemix.model.uncertainty import Noise
from tastemix.persistence import checking, folder, labels, numbering
from tastemix.persistence.columns import column, ids_column, is_uuid, with_plain_ids
from tastemix.persistence.numbering import AboutNumbering
from tastemix.persistence.record import record
from tastemix.training.loop import Step
from tastemix.training.phase import Phase

What = Literal["user", "item"]
TABLES = ("users", "items", "ratings", "links", *labels.TABLES)
LINKED = ("item", "because")
"""The columns of a link: the item that is scored, and the rated one that speaks for it."""
NO_FACTORS = Factors(np.zeros((0, 1), np.float32), np.zeros((0, 1), np.float32))

DATES = pa.timestamp("us")
"""The type of the times of ratings, if they were dates."""
BYTES_A_PAIR = 12
"""What folding in takes for every pair of tastes: a sum of products, and Q."""
_LONGEST_REASON = 300  # An id that is at fault may have any length.


@dataclasses.dataclass(frozen=True)
class AboutRanking:
    """What the index says of the vectors that recommendations are ordered by."""

    phases: tuple[Phase, ...]
    shift: float
    held: Held
    members: int
    weights: Weights = Weights()
    groups: tuple[int, ...] | None = None
    numbering: AboutNumbering | None = None


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
    """What `recommend` orders by, where that has tastes of its own; see `order`."""
    noise: tuple[float, ...] | None
    """The coefficients; the users' and items' shares are in their tables."""
    uuids: tuple[What, ...]
    """Whose ids are UUIDs; their tables hold the 16 bytes of each."""
    fingerprint: str | None
    """Of the ratings, where they are saved too; another tool that does not know it writes null."""
    made_with: dict[str, str]
    unknown: Unknown | None = None
    """None: saved by a release that told it by the phases."""
    pulls: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """The mean that users, and items, are pulled towards; what each suggests is in its table."""
    ridges: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """How strongly, at least; what each one's uncertainty adds is in its table."""
    order: Weights | None = None
    """What `recommend` orders by, where its tastes are those of the ratings."""
    scores: Literal["factors", "links"] = "factors"
    """What the model's own scores are made of: vectors, or what users rated and the links."""
    numbering: AboutNumbering | None = None
    """How tastes are numbered, in a model of rows that were folded into another."""
    groups: tuple[int, ...] | None = None
    """The taste of each coordinate of a member that is no offset, where some share one."""


def save(model: Model, path: str | os.PathLike[str], *, ratings: bool = True) -> None:
    """Write the model as a folder; an existing model is replaced."""
    if ratings and model.ratings is None:
        raise ParameterError(
            "this model was loaded without its ratings: save it with ratings=False"
        )
    linked = isinstance(model.scores, Ordering)
    factors, own = NO_FACTORS if linked else model.factors, _own_ranking(model)
    try:
        checking.check(model)
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved: {error}") from None
    kept = model.ratings if ratings else None
    tables = {f"{what}s": _population_table(model, what) for what in get_args(What)}
    if kept is not None:
        tables["ratings"] = with_plain_ids(_ratings_table(kept), "user", "item")
    if (links := checking.links_of(model)) is not None:
        tables["links"] = with_plain_ids(_links_table(links, model.items.ids), *LINKED)
    if model.labels is not None:
        tables |= labels.tables(model.labels)
    kinds: dict[What, pa.DataType] = {
        "user": model.users.ids.values.type,
        "item": model.items.ids.values.type,
    }
    about = About(
        method=model.method,
        parameters=dict(model.parameters),
        phases=model.phases,
        history=model.history,
        scale=model.scale,
        mean=model.mean,
        shift=factors.shift,
        held=factors.held,
        members=factors.members,
        ranking=None if own is None else _about_ranking(model, own),
        noise=None if model.noise is None else model.noise.coefficients,
        uuids=tuple(what for what, kind in kinds.items() if is_uuid(kind)),
        fingerprint=None if kept is None else kept.fingerprint,
        made_with=_versions(),
        unknown=model.unknown,
        pulls=None if factors.pulls is None else _lines(p.mean for p in factors.pulls),
        ridges=_lines(p.least for p in factors.pulls) if _estimated(factors.pulls) else None,
        order=model.ranking.weights if model.ranking is not None and own is None else None,
        scores="links" if linked else "factors",
        numbering=None if linked else numbering.about(model, "rating", factors),
        groups=factors.groups,
    )
    index = {**dataclasses.asdict(about), "held": about.held._asdict()}
    if about.order is not None:
        index["order"] = about.order._asdict()
    if about.ranking is not None:
        index["ranking"]["held"] = about.ranking.held._asdict()
        index["ranking"]["weights"] = about.ranking.weights._asdict()
    folder.write(path, tables, index)


def load(
    path: str | os.PathLike[str], max_memory: int | None = None, *, items: Any = None
) -> Model:
    """Load a model that was saved to a folder; all of its files are checked.

    max_memory: bytes that its tables may take, and folding in too (default: half of the machine's
    memory, but no more than a hundred times a file's size, or 64 MiB for a small one). A model
    that would take more is refused.
    items: titles and attributes in place of those saved with the model; see `Model.label`.
    """
    if max_memory is not None:
        checks.whole("max_memory", max_memory)

    def understand(index: dict[str, Any]) -> About:
        fields = {field.name for field in dataclasses.fields(About)}
        with _damaged(path):
            about: About = record(About, {name: index[name] for name in index if name in fields})
        return about

    tables, about, size = folder.read(path, TABLES, understand, max_memory)
    with _damaged(path):
        model = _model(tables, about)
        checking.check(model)
        for part in (model.scores, model.ranking and model.ranking.factors):
            if not isinstance(part, Factors):
                continue
            need = BYTES_A_PAIR * (part.rank // part.members) ** 2
            memory.refuse_more(need, memory.most(max_memory, size), "folding in")
        saved = about.fingerprint
        if model.ratings is not None and saved not in (None, model.ratings.fingerprint):
            raise ModelFileError("its ratings, ids or scale are not those that it was saved with")
    return model if items is None else model.label(items)


@contextmanager
def _damaged(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of ours inside as what is wrong with the model at the path."""
    try:
        yield
    except TastemixError as error:
        reason = str(error)[:_LONGEST_REASON]
        raise ModelFileError(f"{os.fspath(path)} is incomplete or damaged: {reason}") from None


def _own_ranking(model: Model) -> Head | None:
    """What `recommend` orders by, if that has tastes of its own."""
    return None if model.shares_tastes else model.ranking


def _about_ranking(model: Model, head: Head) -> AboutRanking:
    f = head.factors
    known = numbering.about(model, "score", f)
    return AboutRanking(head.phases, f.shift, f.held, f.members, head.weights, f.groups, known)


def _line(numbers: Iterable[Any]) -> tuple[float, ...]:
    return tuple(map(float, numbers))


def _lines(both: Iterable[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    users, items = map(_line, both)
    return users, items


def _estimated(pulls: Pulls | None) -> TypeGuard[Pulls]:
    """Whether both sides have ridges that were estimated."""
    return pulls is not None and all(pull.least is not None for pull in pulls)


def _pulls(tables: Mapping[str, pa.Table], about: About) -> Pulls | None:
    """What rows are pulled towards: an item's row says what choosing it suggests of a user."""
    if about.pulls is None:
        return None
    means = [np.array(mean, np.float64) for mean in about.pulls]
    by_item, by_user = (_vectors(tables, what, "suggests") for what in ("item", "user"))
    if about.ridges is None:
        return Pulls(Pull(means[0], by_item), Pull(means[1], by_user))
    least = [np.array(ridge, np.float64) for ridge in about.ridges]
    items, users = (_vectors(tables, what, "variance") for what in ("item", "user"))
    return Pulls(Pull(means[0], by_item, least[0], items), Pull(means[1], by_user, least[1], users))


def _model(tables: Mapping[str, pa.Table], about: About) -> Model:
    users, items = (_read_population(tables, what, about) for what in get_args(What))
    ratings = _read_ratings(tables, users.ids, items.ids, about)
    ranking, noise = None, None
    numbered: dict[Of, Numbering | None] = {}
    scores: Scores
    if about.scores == "links":
        stars = None if ratings is None else stars_by_user(ratings)
        scores = by_links(_read_links(tables, items.ids, about), stars)
    else:
        vectors = [_vectors(tables, what, "vector") for what in get_args(What)]
        scores = Factors(
            *(vectors[0], vectors[1], about.shift, about.held, about.members),
            pulls=_pulls(tables, about),
            groups=about.groups,
        )
        scores, numbered["rating"] = numbering.read(scores, about.numbering)
    if (of := about.ranking) is not None:
        order = [_vectors(tables, what, "ranking") for what in get_args(What)]
        where = of.shift, of.held, of.members
        factors = Factors(order[0], order[1], *where, groups=of.groups)
        factors, numbered["score"] = numbering.read(factors, of.numbering)
        links = _read_links(tables, items.ids, about) if of.weights.rated else None
        ranking = Head(factors, of.phases, links, of.weights)
    elif about.order is not None:
        if not isinstance(scores, Factors):
            raise ModelFileError("it orders by tastes and has none")
        links = _read_links(tables, items.ids, about) if about.order.rated else None
        ranking = Head(scores, about.phases, links, about.order)
    if about.noise is not None:
        shares = (column(tables[f"{what}s"], "noise", pa.float64()) for what in get_args(What))
        noise = Noise(about.noise, *(share.to_numpy() for share in shares))
    by_phases: Unknown = "average" if takes_average(about.phases) else "mean"
    return Model(
        scores=scores,
        users=users,
        items=items,
        scale=about.scale,
        mean=about.mean,
        method=about.method,
        parameters=about.parameters,
        phases=about.phases,
        history=about.history,
        ratings=ratings,
        ranking=ranking,
        noise=noise,
        unknown=about.unknown or by_phases,
        labels=labels.read(tables, items.ids, uuid="item" in about.uuids),
        numbering={of: known for of, known in numbered.items() if known is not None} or None,
    )


def _population_table(model: Model, what: What) -> pa.Table:
    side: Side = "users" if what == "user" else "items"
    population = model.population(side)
    columns = {
        "id": population.ids.values,
        "mean": pa.array(population.mean, from_pandas=True),
        "count": population.count,
    }
    if isinstance(model.scores, Factors):
        columns["vector"] = _lists(model.scores.side(side))
    if isinstance(model.scores, Factors) and model.scores.pulls is not None:
        pull = model.scores.pulls.of(OTHER[side])
        columns["suggests"] = _lists(pull.z)
        if _estimated(model.factors.pulls) and pull.variances is not None:
            columns["variance"] = _lists(pull.variances)
    if (own := _own_ranking(model)) is not None:
        columns["ranking"] = _lists(own.factors.side(side))
    if model.noise is not None:
        columns["noise"] = model.noise.side(side)
    return with_plain_ids(pa.table(columns), "id")


def _links_table(links: Links, ids: Ids) -> pa.Table:
    half = links.by_target
    columns = [ids.take(half.rows), ids.take(half.indices), pa.array(half.values)]
    return pa.Table.from_arrays(columns, names=[*LINKED, "weight"])


def _read_links(tables: Mapping[str, pa.Table], ids: Ids, about: About) -> Links:
    if "links" not in tables:
        raise ModelFileError("it has no table of links")
    uuid = "item" in about.uuids
    item, other = (ids.find(ids_column(tables["links"], name, uuid=uuid)) for name in LINKED)
    weight = column(tables["links"], "weight", pa.float32())
    if weight.null_count or (item < 0).any() or (other < 0).any():
        raise ModelFileError("one link has no weight, or an item that is not known")
    if not ascending(item, other):
        raise ModelFileError("its links are not in the order of items, each pair once")
    return Links(compressed(item, other, weight.to_numpy(), len(ids)))


def _lists(rows: Matrix) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def _read_population(tables: Mapping[str, pa.Table], what: What, about: About) -> Population:
    if f"{what}s" not in tables:
        raise ModelFileError(f"it has no table of {what}s")
    table = tables[f"{what}s"]
    ids = Ids.known(ids_column(table, "id", uuid=what in about.uuids), what)
    if len(ids) == 0:
        raise ModelFileError(f"it has no {what}s")
    count = column(table, "count", pa.int64())
    if count.null_count:
        raise ModelFileError(f"one {what} has no number of ratings")
    return Population(ids, column(table, "mean", pa.float64()).to_numpy(), count.to_numpy())


def _vectors(tables: Mapping[str, pa.Table], what: What, name: str) -> Matrix:
    """A column of vectors as a matrix."""
    vector = column(tables[f"{what}s"], name).combine_chunks()
    if not pa.types.is_fixed_size_list(vector.type) or vector.type.value_type != pa.float32():
        shown = reprlib.repr(str(vector.type))
        raise ModelFileError(f"its {what} vectors are of type {shown}: expected lists of floats")
    entries = vector.flatten()
    if vector.null_count or entries.null_count:
        raise ModelFileError(f"one {what} vector is missing or has missing entries")
    return np.ascontiguousarray(entries.to_numpy().reshape(len(vector), vector.type.list_size))


def _ratings_table(ratings: Ratings) -> pa.Table:
    """Ratings with their times as dates, if they were dates."""
    table = ratings.to_table()
    if ratings.timestamp is None or not ratings.dated:
        return table
    at = table.column_names.index("timestamp")
    return table.set_column(at, "timestamp", table["timestamp"].cast(DATES))


def _times(table: pa.Table) -> pa.ChunkedArray:
    dated = table.schema.field("timestamp").type == DATES
    return column(table, "timestamp", DATES if dated else pa.int64())


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
        ids_column(table, "user", uuid="user" in about.uuids),
        ids_column(table, "item", uuid="item" in about.uuids),
        column(table, "rating", pa.float32()),
        _times(table) if timed else None,
        about.scale,
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("tastemix", "numpy", "pyarrow")}
