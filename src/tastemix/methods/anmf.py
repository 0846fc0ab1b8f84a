"""ANMF: the mean of several fits with offsets and penalties that grow with the row.

docs/beyond-the-paper.md has the alternatives that were tried, with figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tastemix import checks
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.objective import Objective
from tastemix.methods.averaged import Averaged, Fits, Learning, below, lasting, rank_for, unit_of
from tastemix.methods.blend import blended
from tastemix.methods.recipe import ANLS, ANY_SCALE
from tastemix.model.factors import Factors, Head
from tastemix.training.phase import Phase

MOST_RANK = 22
RANKING_RANK = 62
RANKING_STEPS = 10
RANKING_WEIGHT = 0.15
RANKING_L2_PER_RATING = 0.1


@dataclass(frozen=True)
class ANMF(Averaged):
    """Averaged NMF: the mean of `members` factorisations with offsets.

    A member predicts p_u + q_i + w_u·h_i. Its L2 penalty pulls every row towards the average row of
    its side, and towards zero the more ratings the row has. Members differ in their initial
    factors; averaging reduces their individual errors. The tastes of the members are matched, and
    shown as one set of tastes.

    `recommend` uses the mean of `ranking` further factorisations, with more tastes, which take an
    unknown rating as weak evidence of dislike, and adds what the rated items say (`Neighbours`) and
    the popularity of the item. With ranking=0 it uses the predictions.

    The penalties are those for a scale from 1 to 5, and are scaled with the length of the scale.
    """

    rank: int = MOST_RANK
    members: int = 8
    steps: int = 20
    l2: float = 3.0
    l2_per_rating: float = 0.035
    ranking: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("ranking", self.ranking, least=0)
        self.recipe(ANY_SCALE)

    def recipe(self, scale: Scale) -> ANLS:
        """One member, pulled towards the average row."""
        unit = unit_of(scale)
        ridges = {"l2": self.l2, "l2_per_rating": self.l2_per_rating}
        penalties = {
            name: checks.number(name, ridge, least=0) * unit for name, ridge in ridges.items()
        }
        phase = Phase(Objective(**penalties, centre="average"), self.steps)
        return ANLS(self.rank, [phase], self.seed, offsets=True, shift=below(scale))

    def recipe_for(self, ratings: Ratings) -> ANLS:
        """See Averaged.recipe_for."""
        return self.recipe(ratings.scale)

    def ordering(self, rank: int, scale: Scale) -> ANLS:
        """One member of the factors that `recommend` uses."""
        objective = Objective(
            prior=scale[0],
            weight=RANKING_WEIGHT,
            l2_per_rating=RANKING_L2_PER_RATING * unit_of(scale),
        )
        phase = Phase(objective, RANKING_STEPS)
        return ANLS(min(3 * rank, RANKING_RANK), [phase], self.seed, shift=below(scale))

    def ordered_by(self, fits: Fits, scores: Factors, learning: Learning, tried: Factors) -> Head:
        """See Averaged.ordered_by: tastes of their own."""
        ordering = self.ordering(self.rank, fits.ratings.scale)
        found, _ = fits.mean(ordering, self.ranking)
        tried = learning.trial(lasting(ordering, RANKING_STEPS // 2))
        where = fits.ratings, fits.placed, learning.fits.placed
        return Head(found, tuple(ordering.phases), *blended(*where, found, tried))

    @property
    def total_steps(self) -> int:
        """See Averaged.total_steps; the factors of `recommend` are counted too."""
        return super().total_steps + self.ranking * RANKING_STEPS

    def tuned_for(self, ratings: Ratings) -> ANMF:
        """With a rank and λ₂ for these ratings: √ratings / 20 tastes per member, from 4 to 22.

        Where rows are short λ₂ is smaller, √(ratings per row) / 2.5, so that it does not outweigh
        the ratings of a row.
        """
        a_row = 2 * len(ratings) / (len(ratings.users) + len(ratings.items))
        l2 = min(ANMF.l2, round(a_row**0.5 / 2.5, 2))
        return replace(self, rank=rank_for(ratings, MOST_RANK), l2=l2)
