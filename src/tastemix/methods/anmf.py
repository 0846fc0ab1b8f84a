"""ANMF: offsets, penalties that grow with the row, and the mean of several fits.

What was tried on the way to it, with figures, is docs/beyond-the-paper.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.objective import Objective
from tastemix.methods.averaged import Averaged, ratings_a_row, unit_of
from tastemix.methods.recipe import ANLS
from tastemix.training.phase import Phase

LEAST_RANK, MOST_RANK = 4, 22


@dataclass(frozen=True)
class ANMF(Averaged):
    """Averaged NMF: the mean of `members` factorisations with offsets, each from its own start.

    A member predicts p_u + q_i + w_u·h_i. Its L2 penalty pulls every row towards the average one of
    its side, and towards zero the more ratings the row has. Each member learns some noise of its
    own, which the mean leaves behind, and the mean of sums of tastes is a sum of tastes.

    What `recommend` orders by is learnt beside it: the mean of `ranking` factorisations that take
    an unknown rating for a weak sign of dislike, with more tastes. With ranking=0 it is the
    prediction.

    Tastes that the members share have the same number in each, and are one taste to a reader.

    The penalties are for a scale of five stars and follow its length.
    """

    rank: int = MOST_RANK
    members: int = 8
    steps: int = 20
    l2: float = 3.0
    l2_per_rating: float = 0.035
    ranking: int = 2
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """One member; the others differ in their seeds."""
        unit = unit_of(scale)
        penalty = Objective(
            l2=self.l2 * unit, l2_per_rating=self.l2_per_rating * unit, centre="average"
        )
        return ANLS(self.rank, [Phase(penalty, self.steps)], self.seed, offsets=True)

    def tuned_for(self, ratings: Ratings) -> ANMF:
        """With the rank and λ₂ that suit these ratings: √ratings / 20 tastes a member, 4 to 22.

        Where rows are short λ₂ is smaller, √(ratings a row) / 2.5: it counts for as much as some
        ratings, and should not outweigh a row's own.
        """
        rank = min(max(round(len(ratings) ** 0.5 / 20), LEAST_RANK), MOST_RANK)
        l2 = min(ANMF.l2, round(ratings_a_row(ratings) ** 0.5 / 2.5, 2))
        return replace(self, rank=rank, l2=l2)
