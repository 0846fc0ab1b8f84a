"""CNMF: a factorisation that also learns from which items users chose to rate."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tastemix.data.ratings import Ratings
from tastemix.engine.objective import Objective
from tastemix.methods.averaged import MOST_RANK, Averaged, rank_for, ratings_a_row


@dataclass(frozen=True)
class CNMF(Averaged):
    """NMF with offsets whose rows are pulled towards what their choices suggest.

    A prediction is p_u + q_i + w_u·h_i, all nonnegative. The whole L2 penalty pulls a user towards
    what the items they rated suggest, however they rated them, and an item towards what the users
    who rated it suggest: `Objective(centre="choices")`.

    With members above 1 it is the mean of several fits. As in ANMF, `recommend` uses `ranking`
    further factorisations. The penalties are those for a scale from 1 to 5, and are scaled with the
    length of the scale.
    """

    rank: int = MOST_RANK
    members: int = 1
    steps: int = 40
    l2: float = 6.0
    l2_per_rating: float = 0.05
    choice_penalty: float = 3.0
    choice_shrinkage: float = 10.0
    ranking: int = 2
    seed: int = 0

    def objective(self, unit: float) -> Objective:
        """Pulled towards what choices suggest."""
        return Objective(
            l2=self.l2 * unit,
            l2_per_rating=self.l2_per_rating * unit,
            centre="choices",
            choice_penalty=self.choice_penalty,
            choice_shrinkage=self.choice_shrinkage,
        )

    def tuned_for(self, ratings: Ratings) -> CNMF:
        """With a rank and penalties for these ratings: √ratings / 20 tastes, from 4 to 22.

        Where rows are short λ₂ is smaller, 1.25 √(ratings per row), and λ₂′ is larger,
        8 / (ratings per row), from .05 to .1. Where they are very short, choices count for more.
        """
        a_row = ratings_a_row(ratings)
        return replace(
            self,
            rank=rank_for(ratings),
            l2=min(CNMF.l2, round(1.25 * a_row**0.5, 2)),
            l2_per_rating=round(min(max(8 / a_row, CNMF.l2_per_rating), 0.1), 3),
            choice_penalty=CNMF.choice_penalty if a_row > 20 else 1.0,
        )
