"""A fitted model: predictions, recommendations and explanations, by the ids of the ratings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ids import Indices, single
from tastemix.data.items import Items
from tastemix.data.plays import as_plays, strengths
from tastemix.data.ratings import Half, Ratings, Scale, Side, as_ratings
from tastemix.data.reading_items import as_items
from tastemix.engine import engine_of
from tastemix.engine.base import Engine
from tastemix.engine.sides import OTHER
from tastemix.errors import DataError, ParameterError
from tastemix.model import changes, everyone, explain, fold_in, lists, topn
from tastemix.model.explain import Part
from tastemix.model.factors import Factors, Floats, Head, Population, Scores
from tastemix.model.links import Weights, stars_by_user
from tastemix.model.newcomer import Newcomers
from tastemix.model.ordering import Ordering
from tastemix.model.person import NewItem, Person
from tastemix.model.similar import Directions
from tastemix.model.tastes import Numbering, Tastes
from tastemix.model.uncertainty import Noise, placed_on
from tastemix.model.usual import counted_from_usual
from tastemix.training.loop import Step
from tastemix.training.phase import Phase

if TYPE_CHECKING:
    from tastemix.plot.of_model import ModelPlots

MOST_LISTED = 100_000
"""Items of a user that are judged."""
NOTHING_TO_LEARN = "there are no ratings to learn from: give at least one"
IMPLICIT = "Implicit"
"""The method for plays and clicks."""
Fallback = Literal["mean"] | None
Unknown = Literal["mean", "average"]
Of = Literal["rating", "score"]
Id = str | int


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model, as returned by the `fit` of a method."""

    scores: Scores
    users: Population
    items: Population
    scale: Scale
    mean: float
    method: str
    parameters: Mapping[str, Any]
    phases: tuple[Phase, ...] = ()
    """The phases that the factors were fitted by; empty for methods without phases."""
    history: tuple[Step, ...] = field(default=(), repr=False)
    ratings: Ratings | None = field(default=None, repr=False)
    """The training ratings, unless the model was saved without them."""
    ranking: Head | None = field(default=None, repr=False)
    """What `recommend` orders by, if not the predictions; its factors may be those of `scores`."""
    noise: Noise | None = field(default=None, repr=False)
    unknown: Unknown = "mean"
    """How ids without training ratings are predicted: by means, or by the average row."""
    labels: Items | None = field(default=None, repr=False)
    """Titles and attributes of the items, by number; see `label`."""
    origin: Model | None = field(default=None, repr=False)
    """The model that rows were folded into: its tastes are shown."""
    numbering: Mapping[Of, Numbering] | None = field(default=None, repr=False)
    """The numbering of that model's tastes, where it is not at hand."""

    @staticmethod
    def of(
        method: Any,
        scores: Scores,
        ratings: Ratings,
        phases: tuple[Phase, ...] = (),
        history: tuple[Step, ...] = (),
        ranking: Head | None = None,
        noise: Noise | None = None,
        unknown: Unknown = "mean",
    ) -> Model:
        """The model that a method (a dataclass) fitted to ratings."""
        if len(ratings) == 0:
            raise DataError(NOTHING_TO_LEARN)
        users = Population.of(ratings.users, ratings.by_user)
        items = Population.of_items(ratings)
        if isinstance(scores, Factors):
            usual = counted_from_usual(scores, users, items)
            if ranking is not None and ranking.factors is scores:
                ranking = dataclasses.replace(ranking, factors=usual)
            scores = usual
        return Model(
            scores=scores,
            users=users,
            items=items,
            scale=ratings.scale,
            mean=ratings.by_user.mean(),
            method=type(method).__name__,
            parameters=dataclasses.asdict(method),
            phases=phases,
            history=history,
            ratings=ratings,
            ranking=ranking,
            noise=noise,
            unknown=unknown,
        )

    def __repr__(self) -> str:
        return (
            f"Model({self.made_by}, {len(self.users.ids):,} users, {len(self.items.ids):,} items)"
        )

    def _repr_html_(self) -> str:
        from tastemix.plot import cards

        return cards.of_model(self)

    @property
    def plot(self) -> ModelPlots:
        """Figures: `plot.tastes()`, `plot.explain(user, item)`, `plot.map()`, `plot.history()`."""
        from tastemix import plot

        plots: ModelPlots = plot.figures("of_model").ModelPlots(self)
        return plots

    def __getstate__(self) -> dict[str, Any]:
        # What is cached cannot be pickled.
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}

    @property
    def made_by(self) -> str:
        """The method with its parameters, as Python spells them."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.method}({options})"

    @property
    def implicit(self) -> bool:
        """Whether it was fitted to plays or clicks, which say what is liked and nothing else."""
        return self.method == IMPLICIT

    def population(self, side: Side) -> Population:
        """The users or the items."""
        return self.users if side == "users" else self.items

    @property
    def factors(self) -> Factors:
        """The factors; Random has none."""
        if not isinstance(self.scores, Factors):
            raise ParameterError(f"a {self.method} model has no factors: use another method")
        return self.scores

    def label(self, items: Any) -> Model:
        """The model with titles and attributes of its items, which are saved with it.

        Titles are shown beside the ids by `recommend`, `explain`, `tastes` and `similar`, and name
        the tastes along with the attributes. Ids stay what items are asked for by.

        items: what `tm.read_items` gives or takes, or {id: title}. Items that the model does not
            know are left out; those it knows need not all be there.
        """
        return dataclasses.replace(self, labels=as_items(items).over(self.items.ids))

    def shown(self, item: int) -> str:
        """How the item of a dense number is called: by its title, or else by its id."""
        return str(self.items.ids[item]) if self.labels is None else self.labels.shown(item)

    @property
    def shares_tastes(self) -> bool:
        """Whether what `recommend` orders by is made of the tastes of the predictions."""
        return self.ranking is not None and self.ranking.factors is self.scores

    @overload
    def predict(
        self, users: Id, items: Id, *, clip: bool = ..., fallback: Fallback = ...
    ) -> float: ...

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
    ) -> Any:
        """The predicted rating of each (user, item) pair; a float for a single user and item.

        clip: whether predictions are clipped to the scale.
        fallback: "mean" predicts for ids without training ratings, as the attribute `unknown` says:
            by the mean of the other id, or else of all ratings; or as the average user or item.
            With None, predictions for unknown ids are NaN.
        return_std: also return the standard deviation of the rating around its prediction.
        """
        one = single(users) and single(items)
        user, item = self._numbers(users, items, one)
        predicted = self.predict_numbers(user, item, clip=clip, fallback=fallback)
        if not return_std:
            return float(predicted[0]) if one else predicted
        std = self._std(user, item)
        return (float(predicted[0]), float(std[0])) if one else (predicted, std)

    @cached_property
    def ordering(self) -> Scores:
        """The scores that `recommend` uses; without the ratings, those of tastes and popularity."""
        head = self.ranking
        if head is None:
            return self.scores
        if head.weights == Weights():
            return head.factors
        stars = None if self.ratings is None else stars_by_user(self.ratings)
        links = None if stars is None else head.links
        return Ordering(head.factors, links, stars, self._popularity, head.weights)

    @cached_property
    def _popularity(self) -> NDArray[np.float32]:
        """By item: the sum of its stars."""
        if self.origin is not None and self.origin.items is self.items:
            return self.origin._popularity
        return self.items.stars(self.scale)

    def predict_numbers(
        self, user: Indices, item: Indices, *, clip: bool = True, fallback: Fallback = "mean"
    ) -> Floats:
        """As `predict`, by dense numbers; −1 is an unknown id."""
        if isinstance(self.scores, Ordering):
            raise ParameterError(
                f"a {self.method} model orders items and predicts no ratings: use recommend, or "
                "another method"
            )
        if fallback not in ("mean", None):
            raise ParameterError(f"fallback is {fallback!r}: choose 'mean' or None")
        if fallback == "mean" and self.unknown == "average":
            result = self._or_average(user, item)
        else:
            result = self.scores.pairs(np.maximum(user, 0), np.maximum(item, 0))
            if fallback == "mean":
                result = self._or_means(result, user, item)
            else:
                result[(user < 0) | (item < 0)] = np.nan
        return np.minimum(np.maximum(result, self.scale[0]), self.scale[1]) if clip else result

    def recommend(
        self,
        user: Any,
        n: int = 10,
        *,
        seen: Any = None,
        allow: Any = None,
        deny: Any = None,
        engine: Engine | str | None = None,
    ) -> pa.Table:
        """The n best items that a user has not rated, the best first: item, score and rating.

        In a model with labels (see `label`) the column `title` follows `item`.

        user: an id, or a list of ids, which adds a column `user`.
        seen: items to leave out, instead of those rated in training ([] for none); for a list of
            users, a mapping from user to items.
        allow, deny: recommend only these items, or none of them.
        engine: where lists of many users are made, as in `MIXD.fit`; a card makes millions at once.

        The order is that of the score. The score is the prediction before clipping, or, for methods
        with a score of its own for recommendations (`ranking`), a number without a unit. `rating`
        is the predicted rating, null where a method predicts none. The two may differ in their
        order: a rating is predicted as if the user had chosen to rate the item, and the score also
        counts how likely they are to choose it. Items with equal scores are ordered by id.
        """
        n = checks.whole("n", n)
        many = not single(user)
        asked = self._known_users(user) if many else _array(self.users.ids.number(user))
        allowed, most = topn.allowed_items(self.items.ids, allow, deny), min(n, len(self.items.ids))
        users, items, found = lists.listed(
            self.ordering, asked, self._seen(asked, seen), allowed, most, engine
        )
        scores = pa.array(found)
        if isinstance(self.scores, Ordering):
            ratings = pa.nulls(len(items), pa.float64())
        else:
            ratings = pa.array(self.predict_numbers(users, items))
        columns = {"user": self.users.ids.take(users)} if many else {}
        columns["item"] = self.items.ids.take(items)
        if self.labels is not None:
            columns["title"] = self.labels.column(items)
        columns |= {"score": scores, "rating": ratings}
        return pa.Table.from_arrays(list(columns.values()), names=list(columns))

    @overload
    def recommend_all(self, n: int = 10) -> pa.RecordBatchReader: ...
    @overload
    def recommend_all(
        self,
        n: int = 10,
        *,
        to: str | os.PathLike[str],
        engine: Engine | str | None = None,
    ) -> None: ...
    def recommend_all(
        self,
        n: int = 10,
        *,
        to: str | os.PathLike[str] | None = None,
        engine: Engine | str | None = None,
    ) -> pa.RecordBatchReader | None:
        """The n best items of every user, as `recommend` finds them, a batch of users at a time.

        Arrow, polars and duckdb read the batches one after the other, so that the memory does not
        grow with the users.

        to: a folder to write them to instead, as Parquet files of neighbouring users, or the
            address of one, such as s3://bucket/lists.
        engine: who writes it. The workers of a cluster write a file each at a time, to a folder
            that all machines see or to an address.
        """
        n = checks.whole("n", n)
        if to is None:
            return everyone.recommended(self, n)
        from tastemix.model import for_all

        for_all.write(self, os.fspath(to), n, engine_of(engine))
        return None

    def evaluate(
        self,
        test: Any,
        *,
        relevant: float | None = None,
        predicted: float | None = None,
        at: int = 10,
        **reading: Any,
    ) -> dict[str, float]:
        """Every metric of the model on ratings it was not trained on, as {name: value}.

        Predictions are judged as by `metrics.evaluate`. Those that start with `catalogue_` judge
        the `at` best items that a user has not rated in training; they are left out where the
        model was saved without its ratings. A method without predictions has these alone.

        test: ratings, or a table, a path or a sparse matrix, as in `tm.fit`.
        relevant, predicted: the least rating of a relevant item, the least prediction for it.
        """
        from tastemix.evaluation.judging import of_model

        if not (self.implicit or isinstance(test, Ratings)):
            reading.setdefault("scale", self.scale)
        ratings = (as_plays if self.implicit else as_ratings)(test, **reading)
        at = checks.whole("at", at, most=MOST_LISTED)
        return of_model(self, ratings, relevant=relevant, predicted=predicted, at=at)

    def explain(
        self, user: Any, item: Any, *, of: Of = "rating", attributes: Any = None
    ) -> pa.Table:
        """The parts of a prediction, one per taste; their values add up to the raw prediction.

        The columns are part, user_weight, item_weight, value (the product of the weights), because
        (the items rated by the user with the largest weight in the taste) and name; in a model with
        labels also titles, those of the items in `because`. A taste has the number, the name and
        the scale that `tastes` shows. The part `baseline` is the share that does not depend on a
        taste.

        of: "rating", or "score" for the score of `recommend`. Where rated items and popularity are
            part of it, they are parts beside the tastes, none negative, the largest first: `rated
            <id>`, whose user_weight goes with the rating, and `popularity`.
        attributes: of the items, to name the tastes by; see `tastes`.
        """
        u, i = self.users.ids.number(user), self.items.ids.number(item)
        found = self.explain_numbers(u, i, of=of)
        tasted = any(part.kind == "taste" for part in found)
        names = self.tastes_of(of).names(attributes) if tasted else ()
        return explain.table(found, self.items.ids, names, self.shown, self.labels)

    def explain_numbers(self, u: int, i: int, *, of: Of = "rating") -> list[Part]:
        """As `explain`, by dense numbers."""
        check_of(of)
        rated = (
            self.ratings.by_user.row(u)[0] if self.ratings is not None else np.empty(0, np.int32)
        )

        def by_taste(factors: Factors) -> list[Part]:
            return explain.parts(factors, u, i, rated, self.tastes_of(of))

        ordering, head = self.ordering, self.ranking
        if isinstance(ordering, Ordering) and (of == "score" or ordering is self.scores):
            return ordering.parts(u, i, by_taste)
        return by_taste(head.factors if of == "score" and head is not None else self.factors)

    def tastes(self, n: int = 8, *, of: Of = "rating", attributes: Any = None) -> pa.Table:
        """The n most typical items of each taste.

        The columns:
        - taste: its number. 1 is the taste that adds most.
        - item, and title in a model with labels.
        - weight: what the taste adds to the item for the mean user, whose weight is 1.
        - typical: what it adds on average for the users who rated the item, shrunk by
          ratings / (ratings + 10). The items are ordered by it. In a model saved without its
          ratings it is the weight, shrunk.
        - name: the three most distinctive items, or attributes.
        - adds: what the taste adds for the mean user, the mean over all ratings' items.

        of: "rating", or "score" for the tastes that `recommend` orders by.
        attributes: of the items, to name the tastes by (default: those of the model's labels):
            what `tm.read_items` gives or takes, or {item: words}. The words are a list, or a text
            in which | separates them.
        """
        return self.tastes_of(of).table(n, attributes)

    def tastes_of(self, of: Of) -> Tastes:
        """The tastes behind the ratings or behind the scores of `recommend`."""
        check_of(of)
        return self._tastes[of]

    @cached_property
    def _tastes(self) -> Mapping[Of, Tastes]:
        """The tastes by what they are of."""
        if self.origin is not None:
            return self.origin._tastes
        known: Mapping[Of, Numbering] = self.numbering or {}
        ratings = None if self.numbering else self.ratings
        shown = self.items, ratings, self.labels
        rating = Tastes(self.factors, *shown, known.get("rating"))
        if self.ranking is None or self.shares_tastes:
            return {"rating": rating, "score": rating}
        return {
            "rating": rating,
            "score": Tastes(self.ranking.factors, *shown, known.get("score")),
        }

    def similar(self, item: Any, n: int = 5) -> pa.Table:
        """The n items with the most similar mix of tastes: item and similarity.

        In a model with labels the column `title` follows `item`.

        The similarity is the cosine between the weights, times ratings / (ratings + 10) of the
        item found.
        """
        number = self.items.ids.number(item)
        return self.item_directions.like(self.factors.items[number], n, number)

    def similar_users(self, user: Any, n: int = 5) -> pa.Table:
        """The n users with the most similar mix of tastes: user and similarity; see `similar`."""
        number = self.users.ids.number(user)
        return self.user_directions.like(self.factors.users[number], n, number)

    def newcomers(self, side: Side) -> Newcomers | None:
        """What new users, or new items, are predicted by while little is known of them."""
        if side not in self._newcomers:
            self._newcomers[side] = Newcomers.of(self.factors, side, self.population(OTHER[side]))
        return self._newcomers[side]

    @cached_property
    def _newcomers(self) -> dict[Side, Newcomers | None]:
        return {}

    @cached_property
    def item_directions(self) -> Directions:
        """The tastes of the items, packed for comparison."""
        return Directions(self.factors.items, self.factors, self.items, self.labels)

    @cached_property
    def user_directions(self) -> Directions:
        """The tastes of the users, packed for comparison."""
        return Directions(self.factors.users, self.factors, self.users)

    def fold_in(
        self, ratings: Mapping[Any, float], *, engine: Engine | str | None = None
    ) -> Person:
        """A new user, from ratings {item: rating}, without retraining.

        Of plays and clicks only the items count.
        """
        if self.implicit and isinstance(ratings, Mapping):
            ratings = dict.fromkeys(ratings, 1.0)
        given = fold_in.given(ratings, self.items.ids, self.scale)
        return Person(changes.folded(self, given, "users", engine))

    def fold_in_numbers(self, items: Sequence[int], ratings: Sequence[float]) -> Person:
        """As `fold_in`, by dense numbers, each at most once."""
        values = [1.0] * len(ratings) if self.implicit else ratings
        given = fold_in.by_number(items, values, self.items.ids, self.scale)
        return Person(changes.folded(self, given, "users"))

    def fold_in_item(
        self, ratings: Mapping[Any, float], *, engine: Engine | str | None = None
    ) -> NewItem:
        """A new item, from ratings {user: rating}, without retraining."""
        given = fold_in.given(ratings, self.users.ids, self.scale)
        return NewItem(self, changes.folded(self, given, "items", engine))

    def update(
        self,
        ratings: Any,
        *,
        steps: int = 5,
        engine: Engine | str | None = None,
        **reading: Any,
    ) -> Model:
        """The model after a few more steps of its last phase, on the old and the new ratings.

        A new rating of a pair replaces the old one. New users and items start as average ones. An
        update is approximate: refit periodically.

        ratings: ratings, or a table, a path or a sparse matrix, as in `tm.fit`.
        """
        if self.implicit:
            return changes.updated(self, strengths(as_plays(ratings, **reading)), steps, engine)
        return changes.updated(self, as_ratings(ratings, **reading), steps, engine)

    def compress(self, rank: int | None = None, *, engine: Engine | str | None = None) -> Model:
        """One small factorisation that predicts nearly as well as this average of several.

        rank: its coordinates beside the offsets, by default twice as many as a member has.

        Of the factors that `recommend` uses, the first member is kept. The method of the result is
        `Compressed`.
        """
        return changes.compressed(self, rank, engine)

    def save(self, path: str | os.PathLike[str], *, ratings: bool = True) -> None:
        """Write the model as a folder of Parquet and JSON files; an existing model is replaced.

        ratings: whether to save the training ratings. Without them the folder is smaller, but
            `recommend` needs `seen`, rated items do not count in its score, and the loaded model
            cannot be updated.
        """
        from tastemix import persistence

        persistence.save(self, path, ratings=ratings)

    def _std(self, user: Indices, item: Indices) -> Floats:
        if self.noise is None:
            raise ParameterError(f"a {self.method} model has no standard deviations: use tm.CNMF")
        place = placed_on(self.predict_numbers(user, item), self.scale)
        return self.noise.std(user, item, (self.users.count, self.items.count), place)

    def _numbers(self, users: Any, items: Any, one: bool) -> tuple[Indices, Indices]:
        if one:
            return _array(self.users.ids.find_one(users)), _array(self.items.ids.find_one(items))
        user, item = self.users.ids.find(users), self.items.ids.find(items)
        if len(user) != len(item):
            raise ParameterError(
                f"there are {len(user):,} users but {len(item):,} items: pass one item per user"
            )
        return user, item

    def _or_average(self, user: Indices, item: Indices) -> Floats:
        """The prediction of each pair; of a new id as of a newcomer or as of the average one."""
        if not np.count_nonzero((user < 0) | (item < 0)):
            return self.factors.pairs(user, item)
        result = self.factors.pairs_or_average(user, item)
        sides: tuple[tuple[Side, Indices, Indices], ...]
        sides = ("users", user, item), ("items", item, user)
        for side, new, others in sides:
            alone = (new < 0) & (others >= 0)
            if alone.any() and (newcomers := self.newcomers(side)) is not None:
                result[alone] = newcomers.means[others[alone]] + self.factors.shift
        return result

    def _or_means(self, result: Floats, user: Indices, item: Indices) -> Floats:
        """The result, or a mean where one of the two was never rated: the other's, or of all."""
        user_mean, item_mean = self.users.mean_of(user), self.items.mean_of(item)
        cold = np.isnan(user_mean) | np.isnan(item_mean)
        if cold.any():
            instead = np.where(np.isnan(item_mean), user_mean, item_mean)[cold]
            result[cold] = np.where(np.isnan(instead), self.mean, instead)
        return result

    def _known_users(self, users: Any) -> Indices:
        numbers = self.users.ids.find(users)
        if (numbers < 0).any():
            self.users.ids.number(list(users)[int(np.argmax(numbers < 0))])  # says which
        return numbers

    def _seen(self, asked: Indices, seen: Any) -> Half:
        """The items to leave out, for each user asked for."""
        if seen is None:
            if self.ratings is None:
                raise ParameterError(
                    "this model was saved without its ratings, so the items a user has seen are "
                    "not known: pass seen= with the items to leave out, or seen=[]"
                )
            return topn.chosen(self.ratings.by_user, asked)
        return topn.left_out(self.users.ids, self.items.ids, asked, seen)


def check_of(of: Any) -> None:
    """Raise an error if nothing is known by this name."""
    if of not in ("rating", "score"):
        raise ParameterError(f"of is {of!r}: choose 'rating' or 'score'")


def _array(number: int) -> Indices:
    return np.array([number], np.int32)
