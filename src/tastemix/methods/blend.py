"""What `recommend` orders by: tastes beside rated items and popularity, weighted by trial."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Ratings
from tastemix.methods.neighbours import Neighbours
from tastemix.methods.validation import Validation
from tastemix.model.factors import Factors, Population
from tastemix.model.links import Links, Weights, stars_by_user
from tastemix.model.ordering import Ordering

Block = NDArray[np.float32]

TASTES = (0.0, 0.25, 0.5, 1.0, 2.0)
POPULARITIES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
"""What the search tries, beside rated items of weight 1; each part has standard deviation 1."""
FIRST = Weights(tastes=0.5, rated=1.0, popularity=0.0)
TRIAL = Neighbours(candidates=200, tolerance=1e-4)
"""Fewer neighbours than in the end: enough to find weights by, and soon there."""
ROUNDS = 2
DOUBT = 0.25
"""Standard deviations of the hits by which other weights must be better."""
SAMPLE = 500
"""Users whose scores tell the standard deviations."""


def blended(
    ratings: Ratings, factors: Factors, trial: Callable[[], Factors]
) -> tuple[Links, Weights]:
    """The links of the items and the weights of the parts.

    The weights are those with the best lists on a part of the ratings that was held back, and that
    neither links nor the trial's tastes have seen.
    """
    links, validation = Neighbours().links(ratings), Validation(ratings)
    relative = FIRST
    if len(validation.users):
        learning = validation.learning
        users = validation.users
        parts = _blocks(learning, trial(), TRIAL.links(learning), users)
        relative = _best(validation, [part / _spread(part) for part in parts])
    rated = np.flatnonzero(ratings.by_user.counts).astype(np.int32)
    sample = rated[:: max(1, len(rated) // SAMPLE)]
    spreads = [_spread(part) for part in _blocks(ratings, factors, links, sample)]
    return links, Weights(*(w / spread for w, spread in zip(relative, spreads, strict=True)))


def _blocks(
    ratings: Ratings, factors: Factors, links: Links, users: NDArray[np.int32]
) -> list[Block]:
    """What tastes, rated items and popularity add to the scores of users for all items."""
    popularity = Population.of(ratings.items, ratings.by_item).stars(ratings.scale)
    parts = [
        Ordering(factors, None, None, popularity, Weights()),
        Ordering(None, links, stars_by_user(ratings), popularity, Weights(0.0, 1.0)),
    ]
    return [*(part.block(users) for part in parts), popularity[None, :]]


def _spread(part: Block) -> float:
    """The standard deviation; 1 where all scores are the same."""
    return float(part.std(dtype=np.float64)) or 1.0


def _best(validation: Validation, parts: list[Block]) -> Weights:
    """The weights with the most hits, one after the other, twice; the first if it is in doubt."""
    tastes, rated, popularity = parts
    known: dict[Weights, int] = {}

    def hits(weights: Weights) -> int:
        if weights not in known:
            sums = rated + np.float32(weights.tastes) * tastes
            sums += np.float32(weights.popularity) * popularity
            known[weights] = validation.hits_of(sums)
        return known[weights]

    def better(best: Weights, others: list[Weights]) -> Weights:
        other = max(others, key=hits)
        return other if hits(other) > hits(best) + DOUBT * hits(best) ** 0.5 else best

    best = FIRST
    for _ in range(ROUNDS):
        best = better(best, [best._replace(popularity=p) for p in POPULARITIES])
        best = better(best, [best._replace(tastes=t) for t in TASTES])
    return best
