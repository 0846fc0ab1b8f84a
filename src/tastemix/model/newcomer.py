"""Someone new, of whom few ratings are known: between what others give and what the factors say.

With n ratings the prediction is b = β (x·y_j) + (1 − β)(m_j + o), β = n / (n + FADE): x the row
that was folded in, m_j the mean of the other side's row j, and o the mean of a − m_j over the n
ratings, shrunk. The means are one more coordinate of the other side, and part of the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tastemix.data.ratings import Half, Side
from tastemix.engine.sides import OTHER, SIDES, Floats, Held, Matrix, Pulls
from tastemix.model.factors import Factors, Population

FADE = 4.0
"""Ratings at which both count the same."""
OFFSET_SHRINKAGE: dict[Side, float] = {"users": 5.0, "items": 2.0}
"""Ratings that say as much of someone's offset as is known before: noise over spread. Items differ
more than users do."""
MEAN_SHRINKAGE = 5.0
"""Likewise of a mean, which is drawn towards what the usual row predicts."""


@dataclass(frozen=True, eq=False)
class Newcomers:
    """What rows of one side are predicted by as long as few of their ratings are known."""

    side: Side
    means: Floats
    """Of each row of the other side, counted from the shift."""
    base: Factors
    """That rows are folded into."""
    factors: Factors
    """With the means as the last coordinate of the other side."""

    @staticmethod
    def of(factors: Factors, side: Side, others: Population) -> Newcomers | None:
        """None where the usual rows are not known, or the factors are a mean of several."""
        pulls = factors.pulls
        if factors.members > 1 or pulls is None or pulls.of(side).least is None:
            return None
        if len(factors.held.of(side)) > len(factors.held.of(OTHER[side])):
            means = factors.side(OTHER[side])[:, -1].astype(np.float64)
            return Newcomers(side, means, _narrowed(factors), factors)
        rows, averages = factors.side(OTHER[side]), factors.averages
        here, there = averages if side == "users" else averages[::-1]
        usual = rows @ here
        trust = others.count / (others.count + MEAN_SHRINKAGE)
        given = np.where(others.count > 0, others.mean - factors.shift, usual)
        means = usual + trust * (given - usual)
        wide = np.column_stack([rows, means]).astype(np.float32)
        none = np.zeros((0, factors.rank + 1), np.float32)
        held = {each: factors.held.of(each) for each in ("users", "items")}
        held[side] = (*held[side], factors.rank)
        users, items = (none, wide) if side == "users" else (wide, none)
        typical = {side: 0.0, OTHER[side]: float(means.mean())}
        wide_pulls = Pulls(*(pulls.of(each).widened(typical[each]) for each in SIDES))
        extended = replace(factors, users=users, items=items, held=Held(**held), pulls=wide_pulls)
        own, others_row = np.append(here, 0.0), np.append(there, typical[OTHER[side]])
        averages = (own, others_row) if side == "users" else (others_row, own)
        return Newcomers(side, means, factors, extended.with_averages(averages))

    def joined(self, rows: Matrix, half: Half) -> Factors:
        """The factors with rows that were folded in from the ratings of `half`."""
        counts = half.counts
        left = FADE / (counts + FADE)
        residuals = half.values.astype(np.float64) - self.factors.shift - self.means[half.indices]
        sums = np.bincount(half.rows, residuals, len(counts))
        offsets = left * sums / (counts + OFFSET_SHRINKAGE[self.side])
        found = np.column_stack([rows * (1 - left)[:, None], left])
        for coordinate in self.factors.held.of(OTHER[self.side]):
            found[:, coordinate] += offsets
        found = np.ascontiguousarray(found, np.float32)
        if self.side == "users":
            return self.factors.for_users(found)
        return self.factors.for_items(found).with_averages(self.factors.averages)


def _narrowed(factors: Factors) -> Factors:
    """Without the last coordinate, that of the means."""
    last = factors.rank - 1
    users, items = (np.ascontiguousarray(rows[:, :last]) for rows in (factors.users, factors.items))
    held = Held(*(tuple(r for r in coordinates if r < last) for coordinates in factors.held))
    pulls = factors.pulls and factors.pulls.columns(slice(last))
    here, there = factors.averages
    narrow = replace(factors, users=users, items=items, held=held, pulls=pulls)
    return narrow.with_averages((here[:last], there[:last]))
