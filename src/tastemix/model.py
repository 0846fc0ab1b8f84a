"""A fitted model: scores for pairs, the ids they speak of, and where it all came from."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix import _native, store
from tastemix.anls import Step
from tastemix.engine.base import Matrix
from tastemix.errors import DataError, ModelFileError, ParameterError
from tastemix.ids import Ids, Indices
from tastemix.objective import Objective, Phase
from tastemix.ratings import Half, Ratings, Scale
from tastemix.topn import Allowed

Floats = NDArray[np.float64]


class Scores(Protocol):
    """A raw prediction for every pair of dense numbers."""

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """The prediction of each pair."""
        ...

    def block(self, user: Indices) -> NDArray[Any]:
        """The predictions of these users for every item."""
        ...

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """(users, n) items with the highest predictions, of those allowed (by item) and not seen.

        The best first, equal ones by number, −1 where there are no more.
        """
        ...


@dataclass(frozen=True, eq=False)
class Factors:
    """b_ui = shift + w_u · h_i."""

    users: Matrix
    items: Matrix
    shift: float = 0.0

    @property
    def rank(self) -> int:
        """The length of a row."""
        return int(self.users.shape[1])

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        return _native.pair_products(self.users, self.items, user, item) + self.shift

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        return self.users[user] @ self.items.T + np.float32(self.shift)

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return _native.top_items(
            self.users, self.items, user, seen.pointers, seen.indices, allowed, n
        )

    def largest(self, at_once: int = 4_000_000) -> float:
        """The largest prediction over all pairs, a block of users at a time."""
        blocks = -(-len(self.users) * len(self.items) // at_once)
        everyone = np.arange(len(self.users), dtype=np.int32)
        return max(
            float(self.block(some).max())
            for some in np.array_split(everyone, min(blocks, len(everyone)))
        )


@dataclass(frozen=True, eq=False)
class Population:
    """One side of a model: who is in it, and the mean (NaN if none) and number of their ratings."""

    ids: Ids
    mean: Floats
    count: NDArray[np.int64]

    @staticmethod
    def of(ids: Ids, half: Half) -> Population:
        """The population of one side of the ratings."""
        first = half.pointers[:-1].clip(max=max(len(half.values) - 1, 0))
        sums = np.add.reduceat(half.values, first, dtype=np.float64)
        mean = np.full(len(ids), np.nan)
        np.divide(sums, half.counts, out=mean, where=half.counts > 0)
        return Population(ids, mean, half.counts)


@dataclass(frozen=True, eq=False)
class Model:
    """What a method's fit gives: predictions by the user's own ids."""

    scores: Scores
    users: Population
    items: Population
    scale: Scale
    mean: float
    method: str
    parameters: Mapping[str, Any]
    phases: tuple[Phase, ...] = ()
    """The phases that made the factors, where they were made by phases."""
    history: tuple[Step, ...] = field(default=(), repr=False)
    ratings: Ratings | None = field(default=None, repr=False)
    """The training ratings, unless they were left out when the model was saved."""

    @staticmethod
    def of(
        method: Any,
        scores: Scores,
        ratings: Ratings,
        phases: tuple[Phase, ...] = (),
        history: tuple[Step, ...] = (),
    ) -> Model:
        """The model a method (a dataclass) made of ratings."""
        if len(ratings) == 0:
            raise DataError("there are no ratings to learn from: this part of the table is empty")
        return Model(
            scores=scores,
            users=Population.of(ratings.users, ratings.by_user),
            items=Population.of(ratings.items, ratings.by_item),
            scale=ratings.scale,
            mean=float(ratings.by_user.values.mean(dtype=np.float64)),
            method=type(method).__name__,
            parameters=dataclasses.asdict(method),
            phases=phases,
            history=history,
            ratings=ratings,
        )

    @property
    def factors(self) -> Factors:
        """The factors; Random has none."""
        if not isinstance(self.scores, Factors):
            raise ParameterError(f"a {self.method} model has no factors: fit another method")
        return self.scores

    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = True,
        fallback: Literal["mean"] | None = "mean",
    ) -> Floats:
        """The predicted rating of each (user, item) pair, by the ids of the training ratings.

        Predictions are clipped to the scale. An id that was never rated in training falls back to
        the other id's mean, or to the mean of all ratings. With `clip=False, fallback=None` it is
        the raw product, NaN where an id is unknown.
        """
        user, item = self.users.ids.find(users), self.items.ids.find(items)
        if len(user) != len(item):
            raise ParameterError(
                f"there are {len(user):,} users but {len(item):,} items: pass one item per user"
            )
        return self.predict_numbers(user, item, clip=clip, fallback=fallback)

    def predict_numbers(
        self,
        user: Indices,
        item: Indices,
        *,
        clip: bool = True,
        fallback: Literal["mean"] | None = "mean",
    ) -> Floats:
        """As `predict`, by dense numbers (−1: unknown)."""
        if fallback not in ("mean", None):
            raise ParameterError(f"fallback is {fallback!r}: choose 'mean' or None")
        unknown = (user < 0) | (item < 0)
        known_user, known_item = np.maximum(user, 0), np.maximum(item, 0)
        result = self.scores.pairs(known_user, known_item)
        result[unknown] = np.nan
        if fallback == "mean":
            user_mean = np.where(user < 0, np.nan, self.users.mean[known_user])
            item_mean = np.where(item < 0, np.nan, self.items.mean[known_item])
            instead = np.where(np.isnan(item_mean), user_mean, item_mean)
            cold = np.isnan(user_mean) | np.isnan(item_mean)
            result = np.where(cold, np.where(np.isnan(instead), self.mean, instead), result)
        return result.clip(*self.scale) if clip else result

    def save(self, path: str | os.PathLike[str], *, ratings: bool = True) -> None:
        """Write the model as a folder of open files, over an older one if there is one.

        Without its ratings the file is smaller, and whoever loads it does not know what was seen.
        """
        if ratings and self.ratings is None:
            raise ParameterError("this model came without its ratings: save it with ratings=False")
        tables = {
            "users": _population_table(self.users, self.factors.users),
            "items": _population_table(self.items, self.factors.items),
        }
        if ratings and self.ratings is not None:
            tables["ratings"] = self.ratings.to_table()
        about = {
            "method": self.method,
            "parameters": self.parameters,
            "phases": [dataclasses.asdict(phase) for phase in self.phases],
            "history": [dataclasses.asdict(step) for step in self.history],
            "scale": list(self.scale),
            "mean": self.mean,
            "shift": self.factors.shift,
            "fingerprint": None if self.ratings is None else self.ratings.fingerprint,
            "made_with": _versions(),
        }
        store.write(path, tables, about)


def load(path: str | os.PathLike[str]) -> Model:
    """A saved model, everything about it checked."""
    tables, about = store.read(path)
    try:
        users, user_rows = _read_population(tables["users"], "user")
        items, item_rows = _read_population(tables["items"], "item")
        low, high = map(float, about["scale"])
        model = Model(
            scores=Factors(user_rows, item_rows, float(about["shift"])),
            users=users,
            items=items,
            scale=(low, high),
            mean=float(about["mean"]),
            method=str(about["method"]),
            parameters=dict(about["parameters"]),
            phases=tuple(_read_phase(phase) for phase in about["phases"]),
            history=tuple(Step(**step) for step in about["history"]),
            ratings=_read_ratings(tables, users.ids, items.ids, (low, high)),
        )
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise ModelFileError(
            f"{os.fspath(path)} is incomplete or damaged ({type(error).__name__}: {error})"
        ) from None
    if user_rows.shape[1] != item_rows.shape[1]:
        raise ModelFileError(
            f"{os.fspath(path)} has vectors of length {user_rows.shape[1]} for users and "
            f"{item_rows.shape[1]} for items: they must be of one rank"
        )
    if not np.isfinite([low, high, model.mean, model.factors.shift]).all():
        raise ModelFileError(f"{os.fspath(path)} has a scale, mean or shift that is not finite")
    return model


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
    vector = table["vector"].combine_chunks()
    if not pa.types.is_fixed_size_list(vector.type) or vector.type.value_type != pa.float32():
        raise ModelFileError(f"the {what} vectors are of type {vector.type}: expected float lists")
    rows = vector.flatten().to_numpy().reshape(len(table), vector.type.list_size)
    if vector.null_count or not np.isfinite(rows).all():
        raise ModelFileError(f"a {what} vector has entries that are missing or not finite")
    mean = table["mean"].cast(pa.float64()).to_numpy()
    return Population(ids, mean, table["count"].cast(pa.int64()).to_numpy()), rows


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


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("tastemix", "numpy", "pyarrow")}
