"""What `recommend` orders by: tastes, rated items and popularity, each with its weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.engine.searching import Scored
from tastemix.errors import ParameterError
from tastemix.model.explain import Part, scaled
from tastemix.model.factors import Factors, Floats
from tastemix.model.links import Links, Weights
from tastemix.model.topn import Allowed, best_items, chosen, scores_of

NOTHING = Half(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
NO_RATINGS = (
    "this model was saved without its ratings, which its scores are sums over: "
    "save it with them, or fold the user in"
)


@dataclass(frozen=True, eq=False)
class Ordering:
    """score = α w_u·h_i + β Σ_j a_uj w_ji + γ p_i: nonnegative parts with the weights α, β, γ.

    factors: the tastes, if any. links, stars: the items that speak for an item, and what every user
    rated. popularity: p, the sum of an item's stars.
    """

    factors: Factors | None
    links: Links | None
    stars: Half | None
    popularity: NDArray[np.float32]
    weights: Weights

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        tastes, rated, popularity = self.weights
        result: Floats = np.zeros(len(item))
        if popularity:
            result += popularity * self.popularity[item].astype(np.float64)
        if self.factors is not None:
            result += tastes * self.factors.products(user, item)
        if self.links is not None:
            asked, row = _distinct(user)
            some = chosen(self._stars, asked)
            result += rated * self.links.linked.pairs(
                some.pointers, some.indices, some.values, row, item
            )
        return result

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        tastes, rated, _ = self.weights
        base: NDArray[Any] = self._base
        if self.factors is None:
            scores = np.broadcast_to(base, (len(user), len(base))).copy()
        else:
            weighted = self.factors.users[user] * np.float32(tastes / self.factors.members)
            scores = weighted @ self.factors.items.T
            scores += base
        if self.links is not None:
            some = chosen(self._stars, user)
            self.links.linked.add(some.pointers, some.indices, some.values, rated, scores)
        return scores

    def scored(self, user: Indices) -> Scored:
        """The same for an engine that searches."""
        tastes, rated, popularity = self.weights
        scored = Scored(len(self.popularity), base=np.float32(popularity) * self.popularity)
        if self.factors is not None:
            items = self.factors.items * np.float32(tastes / self.factors.members)
            scored = scored._replace(users=self.factors.users[user], items=items)
        if self.links is None:
            return scored
        some = chosen(self._stars, user)
        return scored._replace(rated=some, links=self.links.by_target, weight=rated)

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return self.best_scored(user, seen, allowed, n)[0]

    def best_scored(
        self, user: Indices, seen: Half, allowed: Allowed, n: int
    ) -> tuple[Indices, Floats]:
        """See Scores.best_scored."""
        if self.factors is None:
            best = best_items(self.block, user, seen, allowed, n)
            return best, scores_of(self.pairs, user, best)
        tastes, rated, popularity = self.weights
        linked, some = None, NOTHING
        if self.links is not None:
            linked, some = self.links.linked, chosen(self._stars, user)
        return self.factors.catalogue.top_weighed(
            *(self.factors.users, user, seen.pointers, seen.indices, allowed, n),
            *(tastes / self.factors.members, rated, popularity),
            *(self.popularity, linked),
            some.pointers,
            some.indices,
            some.values,
        )

    def parts(self, u: int, i: int, by_taste: Callable[[Factors], list[Part]]) -> list[Part]:
        """The parts of one score, the largest first; see `Model.explain`."""
        tastes, rated, popularity = self.weights
        found: list[Part] = []
        if self.factors is not None:
            plain = replace(self.factors, shift=0.0)
            found += [scaled(part, tastes) for part in by_taste(plain)]
        if self.links is not None:
            for source, star, weight in self.links.parts(i, *self._stars.row(u)):
                user = rated * star
                found.append(Part("rated", source, user, weight, user * weight, (source,)))
        if popularity:
            item = float(self.popularity[i])
            found.append(Part("popularity", None, popularity, item, popularity * item))
        return sorted(found, key=lambda part: -part.value)

    @cached_property
    def _base(self) -> NDArray[Any]:
        """By item: what its popularity adds to everyone's score."""
        return np.float32(self.weights.popularity) * self.popularity

    @property
    def _stars(self) -> Half:
        if self.stars is None:
            raise ParameterError(NO_RATINGS)
        return self.stars


def _distinct(user: Indices) -> tuple[Indices, Indices]:
    """The users, each once, and the place of each entry among them."""
    if len(user) and np.count_nonzero(user == user[0]) == len(user):
        return user[:1], np.zeros(len(user), np.int32)
    asked, row = np.unique(user, return_inverse=True)
    return asked, row.astype(np.int32)


def by_links(links: Links, stars: Half | None) -> Ordering:
    """Scores by what users rated alone."""
    popularity = np.zeros(len(links), np.float32)
    return Ordering(None, links, stars, popularity, Weights(tastes=0.0, rated=1.0))
