"""What `recommend` orders by: tastes beside rated items and popularity, weighted by trial."""

from __future__ import annotations

from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Ratings
from tastemix.engine.base import Placed
from tastemix.methods.neighbours import Neighbours
from tastemix.methods.validation import LENGTH, Validation
from tastemix.model.factors import Factors, Population
from tastemix.model.links import Links, Weights, stars_by_user
from tastemix.model.ordering import Ordering
from tastemix.model.topn import best_items

Block = NDArray[np.float32]

TASTES = (0.0, 0.25, 0.5, 1.0, 2.0)
POPULARITIES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
"""What the search tries, beside rated items of weight 1; each part has standard deviation 1."""
FIRST = Weights(tastes=0.5, rated=1.0, popularity=0.0)
TRIAL = Neighbours(candidates=100, tolerance=1e-3)
"""Fewer neighbours than in the end: enough to find weights by, and soon there."""
TAKEN = 0.5
"""Of the weight that tastes had beside these: more neighbours leave less to tastes. On MovieLens
the best weight beside those of the end is half of it, or less."""
ROUNDS = 2
DOUBT = 0.5
"""Standard deviations of the hits by which other weights must be better."""
SAMPLE, LEAST_SAMPLE, SAMPLED = 200, 50, 1 << 19
"""Users whose scores tell the standard deviations: as many, or fewer with so many scores."""
CONTENDERS = 50
"""The best items of each part that may come to a list."""
LEAST = 1e-6
"""The weight of tastes in trials in place of zero, which would bring items back that are out."""


def blended(
    ratings: Ratings, placed: Placed, learning: Placed, factors: Factors, trial: Factors
) -> tuple[Links, Weights]:
    """The links of the items and the weights of the parts.

    placed, learning: the ratings, and what `Validation` leaves of them, where the work is done.

    The weights are those with the best lists on a part of the ratings that was held back, and that
    neither the links nor the trial's tastes have seen.
    """
    links, validation = Neighbours().links(ratings, placed), Validation(ratings)
    relative = FIRST
    if len(validation.users):
        links_then = TRIAL.links(validation.learning, learning)
        relative = _best(_Tried(validation, _Parts(validation.learning, trial, links_then)))
    relative = relative._replace(tastes=TAKEN * relative.tastes)
    return links, _Parts(ratings, factors, links).absolute(relative)


class _Parts:
    """What tastes, rated items and popularity add to scores, each by itself."""

    def __init__(self, ratings: Ratings, factors: Factors, links: Links) -> None:
        self.popularity = Population.of_items(ratings).stars(ratings.scale)
        self.tastes = Ordering(factors, None, None, self.popularity, Weights())
        stars = stars_by_user(ratings)
        self.rated = Ordering(None, links, stars, self.popularity, Weights(0.0, 1.0))
        rated = np.flatnonzero(ratings.by_user.counts).astype(np.int32)
        users = min(SAMPLE, max(LEAST_SAMPLE, SAMPLED // len(ratings.items)))
        self._sample = rated[:: max(1, len(rated) // users)]

    def absolute(self, relative: Weights) -> Weights:
        """The weights of the parts whose weights are these when each has standard deviation 1."""
        blocks = (part.block(self._sample) for part in (self.tastes, self.rated))
        spreads = [float(part.std(dtype=np.float64)) for part in (*blocks, self.popularity)]
        return Weights(*(w / (spread or 1.0) for w, spread in zip(relative, spreads, strict=True)))


class _Tried:
    """The hits of weights, in lists of the items that are among the best of any part."""

    def __init__(self, validation: Validation, parts: _Parts) -> None:
        self._unit = parts.absolute(Weights(1.0, 1.0, 1.0))
        self._parts: list[tuple[Block, Block, Block]] = []
        self._liked: list[NDArray[np.bool_]] = []
        self._known: dict[Weights, int] = {}
        popularity = parts.popularity
        for users, seen in validation.chunks():
            tastes, rated = parts.tastes.block(users), parts.rated.block(users)
            popular = np.broadcast_to(popularity, tastes.shape)
            lists = [
                best_items(
                    block.__getitem__, np.arange(len(users), dtype=np.int32), seen, None, CONTENDERS
                )
                for block in (tastes, rated, popular)
            ]
            items = np.sort(np.hstack(lists), axis=1)
            again = np.diff(items, axis=1, prepend=-1) == 0  # Also −1, where there are no more.
            by_taste, by_rated = (np.take_along_axis(part, items, 1) for part in (tastes, rated))
            by_taste[again | (items < 0)] = -np.inf
            self._parts.append((by_taste, by_rated, popularity[items]))
            self._liked.append(validation.liked(users, items) & ~again)

    def hits(self, weights: Weights) -> int:
        """Of lists by these weights."""
        if weights not in self._known:
            self._known[weights] = sum(map(self._hits, self._parts, self._liked, repeat(weights)))
        return self._known[weights]

    def _hits(
        self, parts: tuple[Block, Block, Block], liked: NDArray[np.bool_], weights: Weights
    ) -> int:
        total = parts[0] * np.float32(max(weights.tastes, LEAST) * self._unit.tastes)
        total += parts[1] * np.float32(weights.rated * self._unit.rated)
        total += parts[2] * np.float32(weights.popularity * self._unit.popularity)
        length = min(LENGTH, total.shape[1])
        best = np.argpartition(-total, length - 1, axis=1)[:, :length]
        return int(np.take_along_axis(liked, best, axis=1).sum())


def _best(tried: _Tried) -> Weights:
    """The weights with the most hits, one after the other, twice; the first if it is in doubt."""

    def better(best: Weights, others: list[Weights]) -> Weights:
        other, hits = max(others, key=tried.hits), tried.hits(best)
        return other if tried.hits(other) > hits + DOUBT * hits**0.5 else best

    best = FIRST
    for _ in range(ROUNDS):
        best = better(best, [best._replace(popularity=p) for p in POPULARITIES])
        best = better(best, [best._replace(tastes=t) for t in TASTES])
    return best
