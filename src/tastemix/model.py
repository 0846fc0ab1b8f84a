"""A fitted model, by the user's own ids: predictions, recommendations, and where they come from."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tastemix import anls, foldin, insight, saved
from tastemix.anls import Step
from tastemix.engine.base import Matrix, Pair, Side
from tastemix.engine.cpu import CpuEngine
from tastemix.errors import DataError, IdError, ParameterError
from tastemix.factors import Factors, Floats, Population, Scores
from tastemix.ids import Ids, Indices
from tastemix.objective import Phase
from tastemix.ratings import Half, Ratings, Scale
from tastemix.topn import Allowed

NOTHING_TO_LEARN = "there are no ratings to learn from: this part of the table is empty"
NEW = "new"
"""The id of a person or an item that was folded in."""


@dataclass(frozen=True, eq=False)
class Model:
    """What a method's fit gives."""

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
            raise DataError(NOTHING_TO_LEARN)
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

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return (
            f"Model({self.method}({options}), {len(self.users.ids):,} users, "
            f"{len(self.items.ids):,} items)"
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

    def recommend(
        self,
        user: Any,
        n: int = 10,
        *,
        seen: Any = None,
        allow: Any = None,
        deny: Any = None,
    ) -> pa.Table:
        """The n items with the highest predictions that a user has not rated: item and score.

        user: an id, or a list of them, which adds a column `user`.
        seen: items to leave out in place of those rated in training ([] for none); for a list of
            users, a mapping from user to items.
        allow, deny: recommend only, or none of, these items.
        The score is the prediction before clipping. Equal scores go by the order of the ids.
        """
        if n < 1:
            raise ParameterError(f"n is {n}: ask for 1 item or more")
        many = isinstance(user, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray) or (
            hasattr(user, "__arrow_c_stream__") or hasattr(user, "to_numpy")
        )
        asked = self._known_users(user if many else [user])
        allowed = self._allowed(allow, deny)
        best = self.scores.best(asked, self._seen(asked, seen), allowed, min(n, len(allowed)))
        there = best >= 0
        users, items = np.repeat(asked, there.sum(axis=1)), best[there]
        table = {"item": self.items.ids.take(items), "score": self.scores.pairs(users, items)}
        return pa.table({"user": self.users.ids.take(users), **table} if many else table)

    def explain(self, user: Any, item: Any) -> pa.Table:
        """Taste by taste, why this prediction: the values add up to the raw prediction.

        part, user_weight, item_weight, value, and `because`: items the user rated that weigh most
        in the taste. A `baseline` part holds what no taste adds.
        """
        u, i = self.users.ids.number(user), self.items.ids.number(item)
        f = self.factors
        rated = (
            self.ratings.by_user.row(u)[0] if self.ratings is not None else np.empty(0, np.int32)
        )
        return insight.parts(
            f.users[u], f.items[i], f.shift, f.held, rated, f.items, self.items.ids
        )

    def tastes(self, n: int = 8) -> pa.Table:
        """The n items that weigh most in every taste: taste (from 1), item, weight."""
        f = self.factors
        return insight.top_of_tastes(f.items, self.items.count, self.items.ids, f.held, n)

    def similar(self, item: Any, n: int = 5) -> pa.Table:
        """The n items with the most similar mix of tastes: item and similarity (cosine)."""
        rows = self.factors.items[:, insight.tastes_of(self.factors.rank, self.factors.held)]
        best, cosine = insight.neighbours(rows, self.items.ids.number(item), n)
        return pa.table({"item": self.items.ids.take(best), "similarity": cosine})

    def similar_users(self, user: Any, n: int = 5) -> pa.Table:
        """The n users with the most similar mix of tastes: user and similarity (cosine)."""
        rows = self.factors.users[:, insight.tastes_of(self.factors.rank, self.factors.held)]
        best, cosine = insight.neighbours(rows, self.users.ids.number(user), n)
        return pa.table({"user": self.users.ids.take(best), "similarity": cosine})

    def fold_in(self, ratings: Mapping[Any, float]) -> Person:
        """A new person from a few ratings {item: rating}, without retraining."""
        return Person(self._folded(self._given(ratings, "items"), "users"))

    def fold_in_item(self, ratings: Mapping[Any, float]) -> NewItem:
        """A new item from a few ratings {user: rating}, without retraining."""
        return NewItem(self, self._folded(self._given(ratings, "users"), "items"))

    def update(self, ratings: Ratings, *, steps: int = 5) -> Model:
        """The model of the training ratings and these, from a few steps of its last phase.

        A pair rated before takes the new rating. New users and items start as the average one.
        """
        if self.ratings is None:
            raise ParameterError("this model came without its ratings: it cannot be updated")
        if not self.phases:
            raise ParameterError(f"a {self.method} model was not made by steps: fit it anew")
        both = joined(self.ratings, ratings)
        start = Pair(
            _rows_of(self.factors.users, self.users.ids.find(both.users.values)),
            _rows_of(self.factors.items, self.items.ids.find(both.items.values)),
        )
        session = CpuEngine().open(both, start, self.factors.held)
        phase = dataclasses.replace(foldin.last_phase(self.phases), steps=steps)
        done = len(self.history)
        history = [
            dataclasses.replace(step, number=done + step.number, phase=len(self.phases) - 1)
            for step in anls.run(session, [phase])
        ]
        return dataclasses.replace(
            self,
            scores=Factors(*session.factors(), both.shift, self.factors.held),
            users=Population.of(both.users, both.by_user),
            items=Population.of(both.items, both.by_item),
            mean=float(both.by_user.values.mean(dtype=np.float64)),
            history=(*self.history, *history),
            ratings=both,
        )

    def save(self, path: str | os.PathLike[str], *, ratings: bool = True) -> None:
        """Write the model as a folder of open files, over an older one if there is one.

        Without its ratings the folder is smaller, and whoever loads it does not know what was seen.
        """
        if ratings and self.ratings is None:
            raise ParameterError("this model came without its ratings: save it with ratings=False")
        names = set(saved.Pieces._fields) - {"scores", "ratings"}
        rest: dict[str, Any] = {name: getattr(self, name) for name in names}
        kept = self.ratings if ratings else None
        saved.write(path, saved.Pieces(scores=self.factors, ratings=kept, **rest))

    def _known_users(self, users: Any) -> Indices:
        numbers = self.users.ids.find(users)
        if (numbers < 0).any():
            self.users.ids.number(list(users)[int(np.argmax(numbers < 0))])  # says which
        return numbers

    def _seen(self, asked: Indices, seen: Any) -> Half:
        """What each user is not shown, by number."""
        if seen is None:
            if self.ratings is None:
                raise ParameterError(
                    "this model came without its ratings, so it does not know what was seen: pass "
                    "seen= with the items to leave out, or seen=[]"
                )
            return self.ratings.by_user
        if not isinstance(seen, Mapping):
            seen = dict.fromkeys(self.users.ids.take(asked).to_pylist(), seen)
        pointers = np.zeros(len(self.users.ids) + 1, np.int64)
        left_out = {
            self.users.ids.number(user): self._item_numbers(items) for user, items in seen.items()
        }
        for number, items in left_out.items():
            pointers[number + 1] = len(items)
        np.cumsum(pointers, out=pointers)
        ordered = [left_out[number] for number in sorted(left_out)]
        indices = np.concatenate([np.empty(0, np.int32), *ordered]).astype(np.int32)
        return Half(pointers, indices, np.zeros(len(indices), np.float32))

    def _item_numbers(self, items: Any) -> Indices:
        """The numbers of those items that are known: the others cannot be recommended anyway."""
        if isinstance(items, str | bytes):
            raise ParameterError(f"expected a list of items, not the single one {items!r}")
        numbers = self.items.ids.find(list(items))
        return np.unique(numbers[numbers >= 0])

    def _allowed(self, allow: Any, deny: Any) -> Allowed:
        allowed = np.full(len(self.items.ids), allow is None, np.uint8)
        if allow is not None:
            allowed[self._item_numbers(allow)] = 1
        if deny is not None:
            allowed[self._item_numbers(deny)] = 0
        return allowed

    def _folded(self, given: Ratings, side: Side) -> Model:
        """The model with the rows of `given` in place of this side's, the other side fixed."""
        f, half = self.factors, given.by_user if side == "users" else given.by_item
        fixed, moved = (f.items, f.users) if side == "users" else (f.users, f.items)
        rows = foldin.rows(given, fixed, side, self.phases, moved.mean(axis=0), f.held)
        users, items = (rows, fixed) if side == "users" else (fixed, rows)
        changed: dict[str, Any] = {side: Population.of(getattr(given, side), half)}
        scores = Factors(users, items, f.shift, f.held)
        return dataclasses.replace(self, scores=scores, ratings=given, history=(), **changed)

    def _given(self, ratings: Mapping[Any, float], side: Side) -> Ratings:
        """A one-row table of ratings of known ids by, or of, something new."""
        known = getattr(self, side).ids
        what, other = known.what, "user" if side == "items" else "item"
        if not isinstance(ratings, Mapping) or not ratings:
            raise ParameterError(f"give the ratings as {{{what}: rating}}, at least one")
        ids = list(ratings)
        for value, number in zip(ids, known.find(ids), strict=True):
            if number < 0:
                raise IdError(
                    f"{what} {value!r} is not in the model: leave it out of the ratings to fold in"
                )
        new = Ids(pa.array([NEW]), other)
        columns: dict[str, Any] = {what: ids, other: [NEW] * len(ids)}
        users, items = (known, new) if side == "users" else (new, known)
        return Ratings.over(
            *(users, items, columns["user"], columns["item"]),
            *(list(ratings.values()), None, self.scale),
        )


@dataclass(frozen=True, eq=False)
class Person:
    """Someone who was folded in."""

    model: Model
    """A model of this one person."""

    @property
    def weights(self) -> Floats:
        """How much of each taste there is."""
        return np.asarray(self.model.factors.users[0], np.float64)

    def predict(self, items: Any, **options: Any) -> Floats:
        """As Model.predict, for this person and these items."""
        return self.model.predict([NEW] * len(items), items, **options)

    def recommend(self, n: int = 10, **options: Any) -> pa.Table:
        """As Model.recommend, for this person; what they rated is left out."""
        return self.model.recommend(NEW, n, **options)

    def explain(self, item: Any) -> pa.Table:
        """As Model.explain, for this person."""
        return self.model.explain(NEW, item)


@dataclass(frozen=True, eq=False)
class NewItem:
    """An item that was folded in."""

    origin: Model
    model: Model
    """A model of this one item."""

    @property
    def weights(self) -> Floats:
        """How much of each taste it has."""
        return np.asarray(self.model.factors.items[0], np.float64)

    def predict(self, users: Any, **options: Any) -> Floats:
        """As Model.predict, for this item."""
        return self.model.predict(users, [NEW] * len(users), **options)

    def similar(self, n: int = 5) -> pa.Table:
        """The n known items with the most similar mix of tastes: item and similarity (cosine)."""
        tastes = insight.tastes_of(self.origin.factors.rank, self.origin.factors.held)
        rows = np.vstack([self.origin.factors.items, self.model.factors.items])[:, tastes]
        best, cosine = insight.neighbours(rows, len(rows) - 1, n)
        return pa.table({"item": self.origin.items.ids.take(best), "similarity": cosine})


def joined(older: Ratings, newer: Ratings) -> Ratings:
    """All ratings of both, on the older scale; a pair that is in both has its newer rating."""
    ids = []
    for old, new in ((older.users, newer.users), (older.items, newer.items)):
        unknown = new.values.filter(pa.array(old.find(new.values) < 0))
        try:
            every = pa.concat_arrays([old.values, unknown.cast(old.values.type)])
        except pa.ArrowException:
            raise IdError(
                f"the {old.what} ids are of type {old.values.type}, the new ones of type "
                f"{new.values.type}: convert them to the same"
            ) from None
        ids.append(Ids.known(every.take(pc.sort_indices(every)), old.what))
    tables = [ratings.to_table() for ratings in (older, newer)]
    both_timed = all("timestamp" in table.column_names for table in tables)
    columns = ["user", "item", "rating", *(["timestamp"] if both_timed else [])]
    parts = [table.select(columns).cast(tables[0].select(columns).schema) for table in tables]
    table = pa.concat_tables(parts)
    when = table["timestamp"] if both_timed else None
    user, item, rating = (table[name] for name in columns[:3])
    return Ratings.over(ids[0], ids[1], user, item, rating, when, older.scale, duplicates="last")


def _rows_of(rows: Matrix, numbers: Indices) -> Matrix:
    """These rows; the mean row for those that are new (−1)."""
    return np.where(numbers[:, None] < 0, rows.mean(axis=0), rows[numbers]).astype(np.float32)


def load(path: str | os.PathLike[str]) -> Model:
    """A saved model, everything about it checked."""
    return Model(**saved.read(path)._asdict())
