"""CNMF: a factorisation that also learns from which items users chose to rate.

docs/beyond-the-paper.md has the alternatives that were tried, with figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings
from tastemix.engine.objective import LARGEST, Objective
from tastemix.methods.averaged import Averaged, Fits, Learning, below, lasting, rank_for
from tastemix.methods.blend import blended
from tastemix.methods.recipe import ANLS
from tastemix.model.factors import Factors, Head
from tastemix.training.phase import Phase

READABLE, MOST_RANK = 16, 30
"""The most tastes of one fit, and of each of several."""
LEAST_RIDGE = 0.05
"""The least ridge that is estimated, for ratings of standard deviation 1."""
OFFSET = 0.25
"""The first offsets, likewise. An offset has the unit of the ratings, and a taste its root."""
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
NOISES = (0.32, 0.45, 0.65, 0.9, 1.0)
USUAL_PENALTY, USUAL_NOISE = 3.0, 0.65
"""What the search may try, and what is taken where it has too few ratings."""
BEGINNING, FURTHER = 10, 4
"""The steps of a short fit, and of each that goes on from it with other settings."""
MANY, MANY_RANK = 300_000, 8
"""The fits of the search are smaller from MANY ratings on: the best settings of small fits are
those of large ones."""
SHORT, MOST_SHORT, MARKED, TELLING = 10, 64, 0.001, 10_000
"""Where rows have so few ratings on average, the rank is doubled up to MOST_SHORT for as long as
the error falls by that share, if there are ratings enough to tell: items that share few users are
alike in narrower ways."""
FEWEST = 50
"""Ratings that a search takes."""


@dataclass(frozen=True)
class CNMF(Averaged):
    """NMF with offsets whose rows are pulled towards what their choices suggest.

    A prediction is p_u + q_i + w_u·h_i, all nonnegative. Every user is pulled towards what the
    items they rated suggest, however they rated them, and every item towards what the users who
    rated it suggest. How strongly is estimated during the fit: `Objective(centre="choices",
    noise=…)`.

    The rank is by default √ratings / 20, from 4 to 16 tastes, which a person can read; twice as
    many, up to 30, for the mean of several fits. noise, the share of the ratings' variance that is
    taken to be noise, and choice_penalty, the ridge on what choices suggest, are by default found
    by small fits to 90 % of the ratings. Ratings times a constant plus a constant give the same
    model.

    With members above 1 it is the mean of several fits: somewhat more accurate, and harder to
    read. `recommend` orders by the same tastes, beside rated items (`Neighbours`) and popularity;
    with ranking=False by the predictions alone.
    """

    rank: int | None = None
    members: int = 1
    steps: int = 30
    noise: float | None = None
    choice_penalty: float | None = None
    choice_shrinkage: float = 15.0
    ranking: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ranking", checks.flag("ranking", self.ranking))
        for name in ("noise", "choice_penalty"):
            if getattr(self, name) is not None:
                checks.number(name, getattr(self, name), 1e-6, LARGEST)
        checks.number("choice_shrinkage", self.choice_shrinkage, 0, LARGEST)

    def recipe_for(self, ratings: Ratings) -> ANLS:
        """One member, with the middle of what the search tries for settings that are None."""
        rank = self.rank or self.usual_rank(ratings)
        shift, (mean, spread) = below(ratings.scale), _moments(ratings)
        objective = Objective(
            l2=LEAST_RIDGE * spread,
            centre="choices",
            choice_penalty=USUAL_PENALTY if self.choice_penalty is None else self.choice_penalty,
            choice_shrinkage=self.choice_shrinkage,
            noise=(USUAL_NOISE if self.noise is None else self.noise) * spread**2,
        )
        # Uniform on (0, 2 level), so that the first predictions are about the mean of the ratings.
        level = math.sqrt(max(mean - shift, spread) / (2 * rank))
        return ANLS(
            rank,
            [Phase(objective, self.steps)],
            self.seed,
            offsets=True,
            size=2 * level,
            level=level,
            offset=OFFSET * spread,
            shift=shift,
        )

    def ordered_by(self, fits: Fits, scores: Factors, learning: Learning, tried: Factors) -> Head:
        """See Averaged.ordered_by: the tastes of the ratings."""
        phases = tuple(self.recipe_for(fits.ratings).phases)
        where = fits.ratings, fits.placed, learning.fits.placed
        return Head(scores, phases, *blended(*where, scores, tried))

    def settled(self, learning: Learning) -> Self:
        """With rank, noise and choice_penalty, where they are None, from a search by small fits."""
        ratings = learning.fits.ratings
        method = replace(self, rank=self.rank or self.usual_rank(ratings))
        if None not in (self.noise, self.choice_penalty) or len(ratings) < FEWEST:
            return method
        small = replace(method, rank=method.rank if len(ratings) < MANY else MANY_RANK)
        begun = small._begun(learning)

        def error(**settings: Any) -> float:
            recipe = lasting(replace(small, **settings).recipe_for(ratings), FURTHER)
            return learning.rmse(learning.trial(recipe, begun))

        if small.choice_penalty is None:
            best = _lowest(PENALTIES, lambda tried: error(choice_penalty=tried))
            small = replace(small, choice_penalty=best)
        if self.rank is None and _short_rows(ratings):
            small, begun = small._ranked(learning)
            more = min((1 + (self.members > 1)) * (small.rank or 1), MOST_SHORT)
            method = replace(method, rank=max(method.rank or 1, more))
        if small.noise is None:
            best = _lowest(NOISES, lambda tried: error(noise=tried))
            small = replace(small, noise=best)
        return replace(method, noise=small.noise, choice_penalty=small.choice_penalty)

    def _begun(self, learning: Learning) -> Factors:
        """A short fit of these settings to the learning part."""
        return learning.trial(lasting(self.recipe_for(learning.fits.ratings), BEGINNING))

    def _ranked(self, learning: Learning) -> tuple[Self, Factors]:
        """With its rank doubled for as long as the error falls markedly, and its short fit."""
        best = self
        begun = best._begun(learning)
        lowest = learning.rmse(begun)
        while 2 * (best.rank or 1) <= MOST_SHORT:
            wider = replace(best, rank=2 * (best.rank or 1))
            tried = wider._begun(learning)
            found = learning.rmse(tried)
            if found > lowest * (1 - MARKED):
                break
            best, begun, lowest = wider, tried, found
        return best, begun

    def usual_rank(self, ratings: Ratings) -> int:
        """The rank where none is given, and rows are not short."""
        one = rank_for(ratings, READABLE)
        return one if self.members == 1 else min(2 * one, MOST_RANK)


def _short_rows(ratings: Ratings) -> bool:
    rows = len(ratings.users) + len(ratings.items)
    return TELLING <= len(ratings) < SHORT * rows


def _lowest(tried: Sequence[float], error: Callable[[float], float]) -> float:
    """Where a parabola is lowest that goes through the best of the values tried and those beside
    it, on a scale of logarithms.

    The middle three are tried first, and others only where they may be better than these.
    """
    middle = len(tried) // 2
    known = {at: error(tried[at]) for at in (middle - 1, middle, middle + 1)}
    while True:
        best = min(known, key=known.__getitem__)
        beside = [at for at in (best - 1, best + 1) if 0 <= at < len(tried)]
        missing = [at for at in beside if at not in known]
        if not missing:
            break
        known |= {at: error(tried[at]) for at in missing}
    if len(beside) == 1:
        return tried[best]
    around = best - 1, best, best + 1
    bend, slope, _ = np.polyfit(
        np.log([tried[at] for at in around]), [known[at] for at in around], 2
    )
    return float(f"{math.exp(-slope / (2 * bend)):.3g}") if bend > 0 else tried[best]


def _moments(ratings: Ratings) -> tuple[float, float]:
    """The mean of the ratings, and their standard deviation; of ratings all alike, the scale's."""
    mean, spread = ratings.moments
    length = ratings.scale[1] - ratings.scale[0] or 1.0
    return mean, spread if spread > 1e-6 * length else length
