"""A model as the service needs it: what it is, and everything that is made from it once."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.errors import ParameterError, TastemixError
from tastemix.model.model import Model
from tastemix.model.ordering import Ordering
from tastemix.model.tastes import Tastes
from tastemix.serve import shapes, tastemap
from tastemix.serve.bars import Bars
from tastemix.serve.finding import Finder
from tastemix.serve.labels import Labels
from tastemix.serve.names import Named, Titles

FIRST = np.zeros(1, np.int32)
REMEMBERED = 1 << 14
"""Items whose id and title are remembered, in the form in which they are told."""


class Prepared:
    """A model, what its items and tastes are called, and everything that is made from it once."""

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
        self._told = lru_cache(REMEMBERED)(self._one_told)

    def _one_told(self, number: int) -> tuple[shapes.Id, str]:
        return self.items.one(number), self.titles.title(number)

    def warm(self) -> None:
        """Make what requests need, so that the first one does not wait and workers share it."""
        made: list[Any] = [self.model.ordering, self.item_finder, self.user_finder]
        if len(self.model.users.ids):
            made.append(self.model.ordering.best(FIRST, nothing_seen(), None, 1))
        if self.tastes is not None:
            made += [self.names, self.typical, self.map_places, self.bars, self.new_bars]
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
    def own_tastes(self) -> Tastes:
        """The same, where there must be some."""
        if self.tastes is None:
            raise ParameterError(f"a {self.model.method} model has no tastes: use another method")
        return self.tastes

    @cached_property
    def names(self) -> list[str]:
        """What each taste is called, by its items."""
        return self.own_tastes.names()

    def called(self) -> list[str]:
        """What each taste is called: as labelled by hand, or by its items."""
        given = self.labels.read()
        return [given.get(at, name) for at, name in enumerate(self.names, 1)]

    @cached_property
    def bars(self) -> Bars:
        """Predicted ratings as sums over tastes."""
        return Bars(self.model.factors, self.own_tastes)

    @cached_property
    def new_bars(self) -> Bars:
        """The same of people who are new, for whom there may be a coordinate more."""
        newcomers = self.model.newcomers("users")
        return Bars(self.model.factors if newcomers is None else newcomers.factors, self.own_tastes)

    @cached_property
    def typical(self) -> Indices:
        """(tastes, items): the most typical items of each taste, as many as can be asked for."""
        return self.own_tastes.top(self._most)

    @cached_property
    def alike(self) -> Any:
        """(tastes, tastes): how alike two tastes are."""
        return tastemap.similarities(self.own_tastes)

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

    def told(self, numbers: Indices) -> list[tuple[shapes.Id, str]]:
        """Items by id and title."""
        return list(map(self._told, numbers.tolist()))

    def mix(self, weights: Any, adds: Any) -> list[shapes.Share]:
        """The tastes of a mix, the one that adds most first."""
        called, weights, much = self.called(), weights.tolist(), adds.tolist()
        order = np.argsort(-adds, kind="stable").tolist()
        return [shapes.Share(at + 1, called[at], weights[at], much[at]) for at in order]

    def person_mix(self, row: Any) -> list[shapes.Share]:
        """The mix of a row of the users."""
        weights = self.own_tastes.user_weights(row)
        return self.mix(weights, weights * self.own_tastes.adds)


def nothing_seen() -> Half:
    """The items of one person who has seen none."""
    return Half(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
