"""Lists of the best items, and where they are made."""

from __future__ import annotations

import numpy as np

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.engine import engine_of
from tastemix.engine.base import Engine
from tastemix.engine.searching import Searching
from tastemix.model.factors import Factors, Floats, Scores
from tastemix.model.ordering import Ordering
from tastemix.model.topn import Allowed

MANY = 1 << 28
"""Scores from which on it pays to send them where an engine works."""


def listed(
    scores: Scores,
    user: Indices,
    seen: Half,
    allowed: Allowed,
    n: int,
    engine: Engine | str | None = None,
) -> tuple[Indices, Indices, Floats]:
    """The n best items of every user, one entry after another: user, item, score.

    seen: a row for each of the users. An engine that searches does the work where there is much of
    it, and this machine otherwise.
    """
    if isinstance(scores, Factors | Ordering) and len(user) * _items(scores) >= MANY:
        where = engine_of(engine)
        if isinstance(where, Searching) and n <= where.most_listed:
            best, found = where.best(scores.scored(user), seen, allowed, n)
            there = best >= 0
            return np.repeat(user, there.sum(axis=1)), best[there], found[there].astype(np.float64)
    best, scored = scores.best_scored(user, seen, allowed, n)
    there = best >= 0
    return np.repeat(user, there.sum(axis=1)), best[there], scored[there]


def _items(scores: Factors | Ordering) -> int:
    return len(scores.items) if isinstance(scores, Factors) else len(scores.popularity)
