"""Compression of an averaged model: factors fitted to the predictions of the average."""

from __future__ import annotations

import numpy as np

from tastemix import checks, draws
from tastemix.data.ratings import Ratings
from tastemix.engine import Engine, placed_by
from tastemix.engine.objective import Objective
from tastemix.engine.sides import SIDES, Held, Matrix, Pair
from tastemix.engine.start import held_offsets, with_offsets
from tastemix.model.factors import Factors
from tastemix.model.groups import grouped
from tastemix.training import loop
from tastemix.training.phase import Phase

MOST_RANK = 2**16
UNOBSERVED = 1.0
"""Pairs nobody rated, per number that is fitted."""
PHASE = Phase(Objective(l2=0.1, l2_per_rating=0.0003, centre="average"), 30, tolerance=1e-4)
"""Almost no penalty: the predictions that are fitted have no noise."""


def compressed(
    factors: Factors, ratings: Ratings, rank: int, engine: Engine | str | None = None
) -> Factors:
    """Factors of this rank, with offsets, whose predictions are close to those of an average.

    They start from the tastes of as many members as the rank has room for.
    """
    checks.whole("rank", rank, most=MOST_RANK)
    targets = _predicted(factors, ratings, rank)
    start, held = _start(factors, rank)
    with placed_by(engine, targets) as placed:
        session = placed.open(start, held)
        loop.run(session, [PHASE])
        found = Factors.of(session, targets.shift, held)
    if factors.groups is None:
        return found
    return grouped(found, targets.by_item.counts, factors.taste_count)


def _predicted(factors: Factors, ratings: Ratings, rank: int) -> Ratings:
    """The predictions of the rated pairs and of some that nobody rated, as ratings."""
    half, items = ratings.by_user, len(ratings.items)
    rated = half.rows.astype(np.int64) * items + half.indices
    # Anyone with the items as often as they are rated, and any item with the people likewise.
    more = round(UNOBSERVED * rank * (len(ratings.users) + items) / 2)
    drawn = draws.words(0, (4, more))
    entry = drawn[:2] % np.uint64(len(ratings))
    users = np.concatenate([drawn[2] % np.uint64(len(ratings.users)), half.rows[entry[0]]])
    others = users.astype(np.int64) * items
    others += np.concatenate([half.indices[entry[1]], drawn[3] % np.uint64(items)]).astype(np.int64)
    user, item = (part.astype(np.int32) for part in np.divmod(np.union1d(rated, others), items))
    values = factors.pairs(user, item)
    low, high = ratings.scale
    ends = min(low, float(values.min())), max(high, float(values.max()))
    return Ratings.from_numbers(ratings.users, ratings.items, user, item, values, ends)


def _start(factors: Factors, rank: int) -> tuple[Pair, Held]:
    """The mean of the first members, as far as the rank reaches; the rest starts at random."""
    members = factors.parts
    tastes = members[0].tasted
    used = members[: max(1, min(len(members), rank // max(len(tastes), 1)))]
    share = np.float32(len(used) ** -0.5)

    def side(rows: list[Matrix]) -> Matrix:
        wide = np.hstack([part[:, tastes] for part in rows]) * share
        missing = rank - wide.shape[1]
        if missing > 0:
            raw = draws.words(1, (len(wide), missing)) >> np.uint64(40)
            noise = raw.astype(np.float32) * np.float32(2.0**-24 * 0.1)
            wide = np.hstack([wide, noise])
        return np.ascontiguousarray(wide[:, :rank])

    start = Pair(*(with_offsets(side([m.side(s) for m in used]), s) for s in SIDES))
    return start, held_offsets(rank)
