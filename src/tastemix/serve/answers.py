"""What a model answers, as the service's types: no HTTP here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice, starmap
from typing import Any

import numpy as np

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.errors import ParameterError, TastemixError
from tastemix.model import topn
from tastemix.model.explain import Part
from tastemix.model.model import Model, Of
from tastemix.model.ordering import Ordering
from tastemix.model.tastes import Tastes
from tastemix.model.uncertainty import placed_on
from tastemix.serve import shapes, tastemap
from tastemix.serve.bars import Bars
from tastemix.serve.finding import Finder
from tastemix.serve.labels import Labels
from tastemix.serve.names import Named, Titles

NEAR = 3
"""Related tastes that are shown beside a taste."""
WITHOUT_RATINGS = "this model was saved without its ratings: add include_seen=true"


class Answers:
    """A model, what its items are called, and everything that is made from them once."""

    def __init__(
        self,
        model: Model,
        *,
        name: str = "model",
        generation: int = 1,
        labels: Labels | None = None,
        compared: bool = False,
        most: int = 1000,
    ) -> None:
        """most: the most entries of an answer."""
        self.model, self.name, self.generation = model, name, generation
        self.users, self.items = Named(model.users.ids), Named(model.items.ids)
        self.titles = Titles(self.items, model.labels)
        self.labels, self.compared = labels or Labels(None), compared
        self._most = most

    def warm(self) -> None:
        """Make what requests need, so that the first one does not wait and workers share it."""
        made: list[Any] = [self.model.ordering, self.item_finder, self.user_finder]
        if len(self.model.users.ids):
            made.append(self._best(self.model, 0, 1, _nothing_seen()))
        if self.tastes is not None:
            made += [self.names, self._typical, self.map_places, self.bars, self.new_bars]
            made.append(self.model.item_directions)

    @cached_property
    def tastes(self) -> Tastes | None:
        """The tastes behind the ratings; None in a model that has none."""
        try:
            found = self.model.tastes_of("rating")
            return found if len(found.adds) else None
        except TastemixError:
            return None

    @property
    def _tastes(self) -> Tastes:
        if self.tastes is None:
            raise ParameterError(f"a {self.model.method} model has no tastes: use another method")
        return self.tastes

    @cached_property
    def names(self) -> list[str]:
        """What each taste is called, by its items."""
        return self._tastes.names()

    def called(self) -> list[str]:
        """What each taste is called: as labelled by hand, or by its items."""
        given = self.labels.read()
        return [given.get(at, name) for at, name in enumerate(self.names, 1)]

    @cached_property
    def bars(self) -> Bars:
        """Predicted ratings as sums over tastes."""
        return Bars(self.model.factors, self._tastes)

    @cached_property
    def new_bars(self) -> Bars:
        """The same of people who are new, for whom there may be a coordinate more."""
        newcomers = self.model.newcomers("users")
        return Bars(self.model.factors if newcomers is None else newcomers.factors, self._tastes)

    @cached_property
    def _typical(self) -> Indices:
        """(tastes, items): the most typical items of each taste, as many as can be asked for."""
        return self._tastes.top(self._most)

    @cached_property
    def alike(self) -> Any:
        """(tastes, tastes): how alike two tastes are."""
        return tastemap.similarities(self._tastes)

    @cached_property
    def map_places(self) -> Any:
        """(tastes, 2): where the tastes lie on the map."""
        return tastemap.places(self.alike)

    @cached_property
    def item_finder(self) -> Finder:
        """The words of the titles."""
        return Finder(self.titles.every(), self.model.items.count)

    @cached_property
    def user_finder(self) -> Finder:
        """The users' ids as words."""
        return Finder(self.users.texts(), self.model.users.count)

    @property
    def predicts(self) -> bool:
        """Whether the model predicts ratings."""
        return not isinstance(self.model.scores, Ordering)

    def about(self) -> shapes.About:
        """What is known about the model."""
        model = self.model
        return shapes.About(
            name=self.name,
            generation=self.generation,
            method=model.method,
            parameters=dict(model.parameters),
            users=len(model.users.ids),
            items=len(model.items.ids),
            ratings=None if model.ratings is None else len(model.ratings),
            tastes=0 if self.tastes is None else len(self.tastes.adds),
            low=model.scale[0],
            high=model.scale[1],
            mean=model.mean,
            kinds=shapes.Kinds(self.users.type, self.items.type),
            predicts=self.predicts,
            ranges=model.noise is not None,
            titled=self.titles.given,
            renames=self.labels.path is not None,
            compared=self.compared,
        )

    def all_tastes(self, n: int) -> shapes.Tastes:
        """Every taste with its n most typical items."""
        called = self.called()
        return shapes.Tastes(
            [self._taste(at, top[:n], called) for at, top in enumerate(self._typical)]
        )

    def taste(self, number: int, n: int) -> shapes.Taste:
        """One taste with its n most typical items."""
        top = self._typical
        if not 1 <= number <= len(top):
            raise LookupError(f"there is no taste {number}: they go from 1 to {len(top)}")
        return self._taste(number - 1, top[number - 1, :n], self.called())

    def _taste(self, at: int, top: Indices, called: list[str]) -> shapes.Taste:
        tastes = self._tastes
        weights = tastes.item_weights(self.model.factors.items[top])[:, at].tolist()
        typical = tastes.typical[top, at].tolist()
        near = [o for o in np.argsort(-self.alike[at], kind="stable").tolist() if o != at][:NEAR]
        return shapes.Taste(
            taste=at + 1,
            name=self.names[at],
            label=self.labels.read().get(at + 1),
            adds=float(tastes.adds[at]),
            items=[
                shapes.Typical(*told, weight, much)
                for told, weight, much in zip(self._told(top), weights, typical, strict=True)
            ],
            near=[shapes.Near(o + 1, called[o], float(self.alike[at, o])) for o in near],
        )

    def rename(self, number: int, label: str | None, n: int) -> shapes.Taste:
        """Give a taste a name by hand, or take it away."""
        self.taste(number, 1)
        self.labels.write(number, label)
        return self.taste(number, n)

    def find_items(self, query: str, after: int, n: int) -> shapes.Items:
        """Items by the beginnings of words in their titles."""
        numbers, more = self.item_finder.find(query, after, n)
        return shapes.Items([self._item(at) for at in numbers.tolist()], _cursor(more))

    def find_users(self, query: str, after: int, n: int) -> shapes.Users:
        """Users by the beginnings of words in their ids."""
        numbers, more = self.user_finder.find(query, after, n)
        return shapes.Users([self._user(at) for at in numbers.tolist()], _cursor(more))

    def item(self, number: int, n: int) -> shapes.ItemPage:
        """An item, its mix of tastes and the n who like it best."""
        base, mix = self._item(number), list[shapes.Share]()
        if self.tastes is not None:
            weights = self.tastes.item_weights(self.model.factors.items[[number]])[0]
            mix = self._mix(weights, weights)
        return shapes.ItemPage(
            base.id,
            base.title,
            base.ratings,
            base.mean,
            words=self.titles.words(number),
            tastes=mix,
            likers=self._likers(number, n),
        )

    def _likers(self, number: int, n: int) -> list[shapes.Rater] | None:
        if self.model.ratings is None:
            return None
        who, stars = self.model.ratings.by_item.row(number)
        if len(stars) > n:
            enough = stars >= np.partition(stars, -n)[-n]
            who, stars = who[enough], stars[enough]
        best = np.lexsort((self.model.users.mean[who], -stars))[:n]
        means = self.model.users.mean[who[best]].tolist()
        told = zip(self.users.shown(who[best]), stars[best].tolist(), means, strict=True)
        return [shapes.Rater(user, rating, mean) for user, rating, mean in told]

    def similar(self, number: int, n: int) -> shapes.Similar:
        """The n items with the most similar mix of tastes."""
        model = self.model
        found = model.item_directions.like(model.factors.items[number], n, number)
        numbers = model.items.ids.find(found["item"].to_pylist())
        told = zip(self._told(numbers), found["similarity"].to_pylist(), strict=True)
        return shapes.Similar([shapes.Alike(*one, much) for one, much in told])

    def user(self, number: int, n: int) -> shapes.UserPage:
        """A user, their mix of tastes and the n items they rated highest."""
        base, mix, rated = self._user(number), list[shapes.Share](), None
        if self.tastes is not None:
            mix = self._person_mix(self.model.factors.users[number])
        if self.model.ratings is not None:
            items, stars = self.model.ratings.by_user.row(number)
            best = np.lexsort((-self.model.items.count[items], -stars))[:n]
            told = zip(self._told(items[best]), stars[best].tolist(), strict=True)
            rated = [shapes.Rated(*one, rating) for one, rating in told]
        return shapes.UserPage(base.id, base.ratings, base.mean, mix, rated)

    def recommend(
        self, number: int, n: int, *, parts: bool = False, include_seen: bool = False
    ) -> shapes.Recommendations:
        """The n best items for a user."""
        seen = _nothing_seen() if include_seen else self._seen(number)
        items = self._best(self.model, number, n, seen, parts=parts)
        return shapes.Recommendations(self.users.one(number), items)

    def _seen(self, number: int) -> Half:
        if self.model.ratings is None:
            raise ParameterError(WITHOUT_RATINGS)
        return topn.chosen(self.model.ratings.by_user, np.array([number], np.int32))

    def _best(
        self, model: Model, number: int, n: int, seen: Half, *, parts: bool = False
    ) -> list[shapes.Recommended]:
        """The n best items for a user of the model, or of one that someone was folded into."""
        most = min(n, len(model.items.ids))
        best = model.ordering.best(np.array([number], np.int32), seen, None, most)[0]
        best = best[best >= 0]
        users = np.full(len(best), number, np.int32)
        scores = model.ordering.pairs(users, best).tolist()
        told = self._told(best)
        if not self.predicts:
            pairs = zip(told, scores, strict=True)
            return [shapes.Recommended(*one, score, None) for one, score in pairs]
        predicted = model.predict_numbers(users, best)
        ratings: list[Any] = predicted.tolist()
        if not parts:
            plain = zip(told, scores, ratings, strict=True)
            return [shapes.Recommended(*one, score, rating) for one, score, rating in plain]
        bars: Sequence[shapes.Bar | None] = [None] * len(best)
        if self.tastes is not None:
            of_these = self.bars if model is self.model else self.new_bars
            bars = of_these.of(model.factors.users[number], best)
        full = zip(
            told, scores, ratings, self._std(model, users, best, predicted), bars, strict=True
        )
        return [shapes.Recommended(*one, *rest) for one, *rest in full]

    def _std(self, model: Model, users: Indices, items: Indices, predicted: Any) -> list[Any]:
        """The standard deviation of each rating; None where the model knows none."""
        if model.noise is None:
            return [None] * len(items)
        counts, place = (model.users.count, model.items.count), placed_on(predicted, model.scale)
        return list(model.noise.std(users, items, counts, place).tolist())

    def explain(self, user: int, item: int, of: Of) -> shapes.Explanation:
        """The parts of a predicted rating or of a score."""
        model = self.model
        found = model.explain_numbers(user, item, of=of)
        called = self._called(of) if any(part.kind == "taste" for part in found) else []
        because = np.array([number for part in found for number in part.because], np.int32)
        titled = starmap(shapes.Titled, self._told(because))
        parts = [_part(part, called, list(islice(titled, len(part.because)))) for part in found]
        pair = np.array([user], np.int32), np.array([item], np.int32)
        rating = std = None
        if self.predicts:
            predicted = model.predict_numbers(*pair)
            rating, std = float(predicted[0]), self._std(model, *pair, predicted)[0]
        return shapes.Explanation(
            user=self.users.one(user),
            item=self.items.one(item),
            title=self.titles.title(item),
            of=of,
            total=sum(part.value for part in parts),
            rating=rating,
            std=std,
            parts=parts,
        )

    def _called(self, of: Of) -> list[str]:
        """What the tastes behind the ratings or the scores are called."""
        tastes = self.model.tastes_of(of)
        return self.called() if tastes is self.tastes else tastes.names()

    def map(self, n: int) -> shapes.Map:
        """The tastes and the n most rated items on a map."""
        tastes, where, called = self._tastes, self.map_places, self.called()
        numbers, _ = self.item_finder.find("", 0, n)
        found, main = tastemap.points(tastes, numbers, where)
        counts = self.model.items.count[numbers].tolist()
        items = [
            shapes.Point(*one, taste + 1, x, y, count)
            for one, taste, (x, y), count in zip(
                self._told(numbers), main.tolist(), found.round(4).tolist(), counts, strict=True
            )
        ]
        spots = zip(called, where.round(4).tolist(), strict=True)
        return shapes.Map(
            [shapes.Place(at, name, x, y) for at, (name, (x, y)) in enumerate(spots, 1)], items
        )

    def predict(self, asked: shapes.Pairs) -> shapes.Predictions:
        """The predicted ratings of pairs; unknown ids are predicted as the model does."""
        if len(asked.users) != len(asked.items):
            raise ParameterError(
                f"there are {len(asked.users):,} users but {len(asked.items):,} items: "
                "give one item per user"
            )
        users = np.array([self.users.find(value) for value in asked.users], np.int32)
        items = np.array([self.items.find(value) for value in asked.items], np.int32)
        ratings = self.model.predict_numbers(users, items)
        if not asked.std:
            return shapes.Predictions(ratings.tolist())
        if self.model.noise is None:
            raise ParameterError(f"a {self.model.method} model has no standard deviations")
        return shapes.Predictions(ratings.tolist(), self._std(self.model, users, items, ratings))

    def person(self, asked: shapes.NewPerson) -> shapes.PersonPage:
        """Someone new, folded in: their mix of tastes and the n best items."""
        if not asked.ratings:
            raise ParameterError("there are no ratings: give at least one")
        items = [self.items.number(one.item) for one in asked.ratings]
        if len(set(items)) < len(items):
            raise ParameterError("an item is rated twice: give each item once")
        new = self.model.fold_in_numbers(items, [one.rating for one in asked.ratings]).model
        assert new.ratings is not None
        best = self._best(new, 0, asked.n, new.ratings.by_user, parts=asked.parts)
        mix = [] if self.tastes is None else self._person_mix(new.factors.users[0])
        return shapes.PersonPage(mix, best)

    def batch(self, asked: shapes.Asked) -> shapes.Batch:
        """The best items for each of several users."""
        numbers = [self.users.number(value) for value in asked.users]
        return shapes.Batch([self.recommend(number, asked.n) for number in numbers])

    def _item(self, number: int) -> shapes.Item:
        items = self.model.items
        mean = float(items.mean[number])
        return shapes.Item(
            self.items.one(number),
            self.titles.title(number),
            int(items.count[number]),
            None if mean != mean else mean,
        )

    def _user(self, number: int) -> shapes.User:
        users = self.model.users
        mean = float(users.mean[number])
        return shapes.User(
            self.users.one(number), int(users.count[number]), None if mean != mean else mean
        )

    def _told(self, numbers: Indices) -> list[tuple[shapes.Id, str]]:
        """Items by id and title."""
        titles = map(self.titles.title, numbers.tolist())
        return list(zip(self.items.shown(numbers), titles, strict=True))

    def _person_mix(self, row: Any) -> list[shapes.Share]:
        weights = self._tastes.user_weights(row)
        return self._mix(weights, weights * self._tastes.adds)

    def _mix(self, weights: Any, adds: Any) -> list[shapes.Share]:
        """The tastes of a mix, the one that adds most first."""
        called, weights, much = self.called(), weights.tolist(), adds.tolist()
        order = np.argsort(-adds, kind="stable").tolist()
        return [shapes.Share(at + 1, called[at], weights[at], much[at]) for at in order]


def _part(part: Part, called: list[str], because: list[shapes.Titled]) -> shapes.Part:
    """A part of `Model.explain`, by the names of the tastes and the titles of items."""
    taste, name = None, str(part.kind)
    if part.kind == "taste" and part.number is not None:
        taste, name = part.number, called[part.number - 1]
    elif part.kind == "rated":
        name = because[0].title
    weights = part.user_weight, part.item_weight
    return shapes.Part(part.kind, taste, name, part.value, *weights, because)


def _cursor(more: int | None) -> str | None:
    return None if more is None else str(more)


def _none() -> Indices:
    return np.empty(0, np.int32)


def _nothing_seen() -> Half:
    return Half(np.zeros(2, np.int64), _none(), np.empty(0, np.float32))
