"""A fitted model, by the user's own ids: predictions, recommendations, and where they come from."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings, Scale
from tastemix.engine import engine_of
from tastemix.engine.base import Engine, Side
from tastemix.errors import DataError, ParameterError
from tastemix.model import distil, explain, fold_in, topn
from tastemix.model.factors import Factors, Floats, Head, Population, Scores
from tastemix.model.fold_in import NEW
from tastemix.model.uncertainty import Noise, placed_on
from tastemix.training.loop import Step
from tastemix.training.phase import Phase

NOTHING_TO_LEARN = "there are no ratings to learn from: this part of the table is empty"
Fallback = Literal["mean"] | None


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
    ranking: Head | None = field(default=None, repr=False)
    """What `recommend` orders by, where that is not the prediction."""
    noise: Noise | None = field(default=None, repr=False)

    @staticmethod
    def of(
        method: Any,
        scores: Scores,
        ratings: Ratings,
        phases: tuple[Phase, ...] = (),
        history: tuple[Step, ...] = (),
        ranking: Head | None = None,
        noise: Noise | None = None,
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
            ranking=ranking,
            noise=noise,
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

    @overload
    def predict(
        self, users: Any, items: Any, *, clip: bool = ..., fallback: Fallback = ...
    ) -> Floats: ...

    @overload
    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = ...,
        fallback: Fallback = ...,
        return_std: Literal[True],
    ) -> tuple[Floats, Floats]: ...

    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = True,
        fallback: Fallback = "mean",
        return_std: bool = False,
    ) -> Floats | tuple[Floats, Floats]:
        """The predicted rating of each (user, item) pair, by the ids of the training ratings.

        Predictions are clipped to the scale. An id that was never rated in training falls back to
        the other id's mean, or to the mean of all ratings; where the penalty pulls towards the
        average row, it is taken for an average one. With `clip=False, fallback=None` it is
        the raw product, NaN where an id is unknown. With `return_std=True` it is (prediction,
        standard deviation): how far the rating itself may be from it, the rater's moods included.
        """
        user, item = self.users.ids.find(users), self.items.ids.find(items)
        if len(user) != len(item):
            raise ParameterError(
                f"there are {len(user):,} users but {len(item):,} items: pass one item per user"
            )
        predicted = self.predict_numbers(user, item, clip=clip, fallback=fallback)
        return (predicted, self._std(user, item)) if return_std else predicted

    @property
    def ordering(self) -> Scores:
        """What `recommend` orders by."""
        return self.scores if self.ranking is None else self.ranking.factors

    def predict_numbers(
        self, user: Indices, item: Indices, *, clip: bool = True, fallback: Fallback = "mean"
    ) -> Floats:
        """As `predict`, by dense numbers (−1: unknown)."""
        if fallback not in ("mean", None):
            raise ParameterError(f"fallback is {fallback!r}: choose 'mean' or None")
        if fallback == "mean" and fold_in.takes_average(self.phases):
            result = self.factors.pairs_or_average(user, item)
            return result.clip(*self.scale) if clip else result
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
        """The n items to show a user who has not rated them, the best first: item and score.

        user: an id, or a list of them, which adds a column `user`.
        seen: items to leave out in place of those rated in training ([] for none); for a list of
            users, a mapping from user to items.
        allow, deny: recommend only, or none of, these items.
        The score is the prediction before clipping or, where the method learnt what to show by
        itself (`ranking`), how likely the user takes to the item, in no unit. Equal scores go by
        the order of the ids.
        """
        if n < 1:
            raise ParameterError(f"n is {n}: ask for 1 item or more")
        many = isinstance(user, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray) or (
            hasattr(user, "__arrow_c_stream__") or hasattr(user, "to_numpy")
        )
        asked = self._known_users(user if many else [user])
        allowed = topn.allowed_items(self.items.ids, allow, deny)
        best = self.ordering.best(asked, self._seen(asked, seen), allowed, min(n, len(allowed)))
        there = best >= 0
        users, items = np.repeat(asked, there.sum(axis=1)), best[there]
        table = {"item": self.items.ids.take(items), "score": self.ordering.pairs(users, items)}
        return pa.table({"user": self.users.ids.take(users), **table} if many else table)

    def explain(
        self, user: Any, item: Any, *, of: Literal["rating", "score"] = "rating"
    ) -> pa.Table:
        """Taste by taste, why this prediction: the values add up to the raw prediction.

        part, user_weight, item_weight, value, and `because`: items the user rated that weigh most
        in the taste. A `baseline` part holds what no taste adds. With of="score" it is the score
        that `recommend` orders by.
        """
        if of not in ("rating", "score"):
            raise ParameterError(f"of is {of!r}: choose 'rating' or 'score'")
        u, i = self.users.ids.number(user), self.items.ids.number(item)
        factors = self.ranking.factors if of == "score" and self.ranking else self.factors
        rated = (
            self.ratings.by_user.row(u)[0] if self.ratings is not None else np.empty(0, np.int32)
        )
        return explain.parts(factors, u, i, rated, self.items.ids)

    def tastes(self, n: int = 8) -> pa.Table:
        """The n items that weigh most in every taste: taste (from 1), item, weight."""
        return explain.top_of_tastes(self.factors, self.items.count, self.items.ids, n)

    def similar(self, item: Any, n: int = 5) -> pa.Table:
        """The n items with the most similar mix of tastes: item and similarity (cosine)."""
        rows = self.factors.items[:, explain.tastes_of(self.factors)]
        best, cosine = explain.neighbours(rows, self.items.ids.number(item), n)
        return pa.table({"item": self.items.ids.take(best), "similarity": cosine})

    def similar_users(self, user: Any, n: int = 5) -> pa.Table:
        """The n users with the most similar mix of tastes: user and similarity (cosine)."""
        rows = self.factors.users[:, explain.tastes_of(self.factors)]
        best, cosine = explain.neighbours(rows, self.users.ids.number(user), n)
        return pa.table({"user": self.users.ids.take(best), "similarity": cosine})

    def fold_in(
        self, ratings: Mapping[Any, float], *, engine: Engine | str | None = None
    ) -> Person:
        """A new person from a few ratings {item: rating}, without retraining."""
        given = fold_in.given(ratings, self.items.ids, self.scale)
        return Person(self._folded(given, "users", engine))

    def fold_in_item(
        self, ratings: Mapping[Any, float], *, engine: Engine | str | None = None
    ) -> NewItem:
        """A new item from a few ratings {user: rating}, without retraining."""
        given = fold_in.given(ratings, self.users.ids, self.scale)
        return NewItem(self, self._folded(given, "items", engine))

    def update(
        self, ratings: Ratings, *, steps: int = 5, engine: Engine | str | None = None
    ) -> Model:
        """The model of the training ratings and these, from a few steps of its last phase.

        A pair rated before takes the new rating. New users and items start as the average one.
        """
        if self.ratings is None:
            raise ParameterError("this model came without its ratings: it cannot be updated")
        if not self.phases:
            raise ParameterError(f"a {self.method} model was not made by steps: fit it anew")
        both = fold_in.joined(self.ratings, ratings)
        users = self.users.ids.find(both.users.values)
        items = self.items.ids.find(both.items.values)
        placed, ranking = engine_of(engine).place(both), self.ranking
        where = placed, both.shift, users, items, steps
        head, done = fold_in.updated(Head(self.factors, self.phases), *where)
        if ranking is not None:
            ranking, _ = fold_in.updated(ranking, *where)
        placed.close()
        history = [
            dataclasses.replace(step, number=len(self.history) + at, phase=len(self.phases) - 1)
            for at, step in enumerate(done, 1)
        ]
        noise = self.noise
        if noise is not None:
            noise = noise.rows("users", users).rows("items", items)
        return dataclasses.replace(
            self,
            scores=head.factors,
            users=Population.of(both.users, both.by_user),
            items=Population.of(both.items, both.by_item),
            mean=float(both.by_user.values.mean(dtype=np.float64)),
            history=(*self.history, *history),
            ratings=both,
            ranking=ranking,
            noise=noise,
        )

    def compress(self, rank: int | None = None) -> Model:
        """One small factorisation that predicts nearly as this average of several does.

        rank: its number of tastes, by default one and a half times that of a member. What
        `recommend` orders by becomes the first of its members.
        """
        if self.ratings is None:
            raise ParameterError("this model came without its ratings: it cannot be compressed")
        if self.factors.members == 1:
            raise ParameterError(
                "this model is no average of several: there is nothing to compress"
            )
        if rank is None:
            rank = len(explain.tastes_of(self.factors)) * 3 // (2 * self.factors.members)
        ranking = self.ranking
        if ranking is not None:
            ranking = dataclasses.replace(ranking, factors=ranking.factors.parts[0])
        scores = distil.compressed(self.factors, self.ratings, rank)
        return dataclasses.replace(self, scores=scores, ranking=ranking)

    def save(self, path: str | os.PathLike[str], *, ratings: bool = True) -> None:
        """Write the model as a folder of open files, over an older one if there is one.

        Without its ratings the folder is smaller, and whoever loads it does not know what was seen.
        """
        from tastemix import persistence

        persistence.save(self, path, ratings=ratings)

    def _std(self, user: Indices, item: Indices) -> Floats:
        if self.noise is None:
            raise ParameterError(f"a {self.method} model knows no errors: fit tm.ANMF for them")
        place = placed_on(self.predict_numbers(user, item), self.scale)
        return self.noise.std(user, item, (self.users.count, self.items.count), place)

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
        return topn.left_out(self.users.ids, self.items.ids, asked, seen)

    def _folded(self, given: Ratings, side: Side, engine: Engine | str | None) -> Model:
        """The model with the rows of `given` in place of this side's, the other side fixed."""
        half = given.half(side)
        head = fold_in.folded(Head(self.factors, self.phases), half, side, engine)
        ranking = None if self.ranking is None else fold_in.folded(self.ranking, half, side, engine)
        new = np.full(len(given.ids(side)), -1, np.int32)
        changed: dict[str, Any] = {side: Population.of(given.ids(side), half)}
        changed["noise"] = None if self.noise is None else self.noise.rows(side, new)
        return dataclasses.replace(
            self, scores=head.factors, ratings=given, history=(), ranking=ranking, **changed
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

    def predict(self, items: Any, **options: Any) -> Any:
        """As Model.predict, for this person and these items."""
        return self.model.predict([NEW] * len(items), items, **options)

    def recommend(self, n: int = 10, **options: Any) -> pa.Table:
        """As Model.recommend, for this person; what they rated is left out."""
        return self.model.recommend(NEW, n, **options)

    def explain(self, item: Any, **options: Any) -> pa.Table:
        """As Model.explain, for this person."""
        return self.model.explain(NEW, item, **options)


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

    def predict(self, users: Any, **options: Any) -> Any:
        """As Model.predict, for this item."""
        return self.model.predict(users, [NEW] * len(users), **options)

    def similar(self, n: int = 5) -> pa.Table:
        """The n known items with the most similar mix of tastes: item and similarity (cosine)."""
        tastes = explain.tastes_of(self.origin.factors)
        rows = np.vstack([self.origin.factors.items, self.model.factors.items])[:, tastes]
        best, cosine = explain.neighbours(rows, len(rows) - 1, n)
        return pa.table({"item": self.origin.items.ids.take(best), "similarity": cosine})
