"""CNMF: a factorisation that also learns from which items users chose to rate.

docs/beyond-the-paper.md has the alternatives that were tried, with figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings
from tastemix.engine.objective import LARGEST, Objective
from tastemix.methods.averaged import (
    FEWEST,
    Averaged,
    Fits,
    Learning,
    below,
    lasting,
    rank_for,
)
from tastemix.methods.blend import blended
from tastemix.methods.recipe import ANLS
from tastemix.model.factors import Factors, Head
from tastemix.training.phase import Phase

MOST_RANK = 30
"""With two offsets a row has 32 entries: whole vectors of the processor."""
LEAST_RIDGE = 0.05
"""The least ridge that is estimated, for ratings of standard deviation 1."""
TOLERANCE = 1e-4
"""When a row is done: a tenth of the usual, which is worth four more steps and takes less time."""
OFFSET = 0.25
"""The first offsets, likewise. An offset has the unit of the ratings, and a taste its root."""
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
NOISES = (0.32, 0.45, 0.65, 0.9, 1.0)
USUAL_PENALTY, USUAL_NOISE = 3.0, 0.65
"""What the search may try, and what is taken where it has too few ratings."""
STEPS, MEAN_STEPS = 20, 24
"""Of one fit, and of each of several."""
TRIAL, SHORT_TRIAL = (10, 4), (8, 3)
"""The steps of a fit of the search, and of each that goes on from it with other settings. The
shorter ones are for one fit to many ratings."""
MANY, MANY_RANK = 300_000, 8
"""The fits of the search are smaller from MANY ratings on: the best settings of small fits are
those of large ones. They begin to fit noise later, so that short ones can tell."""
CLOSER = 0.75
"""Then the members of a mean, which removes some of their variance, have so much of the noise."""
SHORT, MOST_SHORT, MARKED, TELLING = 10, 62, 0.001, 10_000
"""Where rows have so few ratings on average, the rank is doubled up to MOST_SHORT for as long as
the error falls by that share, if there are ratings enough to tell: items that share few users are
alike in narrower ways."""


@dataclass(frozen=True)
class CNMF(Averaged):
    """NMF with offsets whose rows are pulled towards what their choices suggest.

    A prediction is p_u + q_i + w_u·h_i, all nonnegative. Every user is pulled towards what the
    items they rated suggest, however they rated them, and every item towards what the users who
    rated it suggest. How strongly is estimated during the fit: `Objective(centre="choices",
    noise=…)`.

    The rank is by default √ratings / 20, from 4 to 30, or more where rows are short; twice as
    many, up to 30, for the mean of several fits. So many coordinates are read as no more than
    `tastes` tastes: those whose items are alike are one, and what they add is summed. One fit has
    20 steps by default, each of several has 24. noise, the share of the ratings' variance that is
    taken to be noise, and choice_penalty, the ridge on what choices suggest, are by default found
    by small fits to 90 % of the ratings, or to all but two million. Ratings times a constant plus a
    constant give the same model.

    With members above 1 it is the mean of several fits: somewhat more accurate, and harder to
    read. `recommend` orders by the same tastes, beside rated items (`Neighbours`) and popularity;
    with ranking=False by the predictions alone.
    """

    rank: int | None = None
    members: int = 1
    steps: int | None = None
    noise: float | None = None
    choice_penalty: float | None = None
    choice_shrinkage: float = 15.0
    tastes: int = 16
    ranking: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ranking", checks.flag("ranking", self.ranking))
        for name in ("noise", "choice_penalty"):
            if getattr(self, name) is not None:
                checks.number(name, getattr(self, name), 1e-6, LARGEST)
        checks.number("choice_shrinkage", self.choice_shrinkage, 0, LARGEST)
        checks.whole("tastes", self.tastes)

    @property
    def length(self) -> int:
        """See Averaged.length."""
        if self.steps is not None:
            return self.steps
        return STEPS if self.members == 1 else MEAN_STEPS

    @property
    def most_tastes(self) -> int:
        """See Averaged.most_tastes."""
        return self.tastes

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
            [Phase(objective, self.length, TOLERANCE)],
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
        usual = self.usual_rank(ratings)
        rank = self.rank or usual
        method = replace(self, rank=rank, steps=self.length)
        if len(ratings) < FEWEST:
            return method
        short = self.rank is None and _short_rows(ratings)
        if not short and None not in (self.noise, self.choice_penalty):
            return method
        if len(ratings) >= MANY:
            rank = MANY_RANK
        if short:
            rank = min(rank_for(ratings, MOST_RANK), rank)
        search = _Search(replace(method, rank=rank), learning)
        penalty = search.lowest("choice_penalty", PENALTIES)
        if short:
            search = search.ranked()
            more = min((1 + (self.members > 1)) * (search.method.rank or 1), MOST_SHORT)
            method = replace(method, rank=max(usual, more))
        noise = search.lowest("noise", NOISES)
        if self.noise is None and self.members > 1 and len(ratings) >= MANY:
            noise = float(f"{CLOSER * noise:.3g}")
        return replace(method, noise=noise, choice_penalty=penalty)

    def usual_rank(self, ratings: Ratings) -> int:
        """The rank where none is given, and rows are not short."""
        return min((1 + (self.members > 1)) * rank_for(ratings, MOST_RANK), MOST_RANK)


class _Search:
    """Trials of settings: short fits to the learning part that all go on from the same one."""

    def __init__(self, method: CNMF, learning: Learning) -> None:
        self.method, self._learning = method, learning
        self._ratings = learning.fits.ratings
        short = method.members == 1 and len(self._ratings) >= MANY
        beginning, self._further = SHORT_TRIAL if short else TRIAL
        self._begun = learning.trial(lasting(method.recipe_for(self._ratings), beginning))
        self._known: dict[CNMF, float] = {}

    def lowest(self, name: Literal["choice_penalty", "noise"], tried: Sequence[float]) -> float:
        """The best value of a setting, unless it is given; later trials have the best one tried.

        It is where a parabola is lowest that goes through the best of the values tried and those
        beside it, on a scale of logarithms. The middle three are tried first, and others only
        where they may be better than these.
        """
        given: float | None = getattr(self.method, name)
        if given is not None:
            return given
        changes: list[dict[str, Any]] = [{name: value} for value in tried]
        methods = [replace(self.method, **change) for change in changes]
        best = len(tried) // 2
        while True:
            around = range(max(best - 1, 0), min(best + 2, len(tried)))
            errors = [self._error(methods[at]) for at in around]
            lowest = around[int(np.argmin(errors))]
            if lowest == best:
                break
            best = lowest
        self.method = methods[best]
        if len(around) < 3:
            return tried[best]
        bend, slope, _ = np.polyfit(np.log([tried[at] for at in around]), errors, 2)
        return float(f"{math.exp(-slope / (2 * bend)):.3g}") if bend > 0 else tried[best]

    def ranked(self) -> _Search:
        """With the rank doubled for as long as the error falls markedly."""
        best, lowest = self, self._error(self.method)
        while (rank := best.method.rank or 1) < MOST_SHORT:
            rank = min(2 * rank, MOST_SHORT)
            wider = _Search(replace(best.method, rank=rank), self._learning)
            error = wider._error(wider.method)
            if error > lowest * (1 - MARKED):
                break
            best, lowest = wider, error
        return best

    def _error(self, method: CNMF) -> float:
        """After a few more steps with the settings of this method."""
        method = replace(
            method,
            choice_penalty=method.choice_penalty or USUAL_PENALTY,
            noise=method.noise or USUAL_NOISE,
        )
        if method not in self._known:
            recipe = lasting(method.recipe_for(self._ratings), self._further)
            trial = self._learning.trial(recipe, self._begun)
            self._known[method] = self._learning.rmse(trial)
        return self._known[method]


def _short_rows(ratings: Ratings) -> bool:
    rows = len(ratings.users) + len(ratings.items)
    return TELLING <= len(ratings) < SHORT * rows


def _moments(ratings: Ratings) -> tuple[float, float]:
    """The mean of the ratings, and their standard deviation; of ratings all alike, the scale's."""
    mean, spread = ratings.moments
    length = ratings.scale[1] - ratings.scale[0] or 1.0
    return mean, spread if spread > 1e-6 * length else length
