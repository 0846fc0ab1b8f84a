"""CNMF: a factorisation that also learns from which items users chose to rate.

docs/beyond-the-paper.md has the alternatives that were tried, with figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings
from tastemix.engine.objective import LARGEST, Objective
from tastemix.methods.averaged import Averaged, Fits, below, rank_for
from tastemix.methods.recipe import ANLS
from tastemix.model.uncertainty import opened
from tastemix.training.phase import Phase

READABLE, MOST_RANK = 16, 30
"""The most tastes of one fit, and of each of several."""
LEAST_RIDGE = 0.05
"""The least ridge that is estimated, for ratings of standard deviation 1."""
OFFSET = 0.25
"""The first offsets, likewise. An offset has the unit of the ratings, and a taste its root."""
NOISES, PENALTIES = (0.45, 0.65, 0.9), (1.0, 3.0, 10.0)
"""What the search tries; the middle ones where it has too few ratings."""
TRIED_RANK, TRIED_STEPS = 8, 10
"""Of the fits of the search: the best settings of small fits are those of large ones."""
FEWEST = 50
"""Ratings that a search takes."""
SPLIT_SEED = 1
SHARE, MOST_UNSEEN = 0.1, 200_000
"""The share of the ratings that settings are compared on, and the most of them."""
AT_ONCE = 1 << 20
"""Ratings widened at a time, which bounds the working memory."""


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
    read. `recommend` adds up tastes of `ranking` further factorisations, rated items and
    popularity, as in ANMF.
    """

    rank: int | None = None
    members: int = 1
    steps: int = 30
    noise: float | None = None
    choice_penalty: float | None = None
    choice_shrinkage: float = 10.0
    ranking: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
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
            choice_penalty=PENALTIES[1] if self.choice_penalty is None else self.choice_penalty,
            choice_shrinkage=self.choice_shrinkage,
            noise=(NOISES[1] if self.noise is None else self.noise) * spread**2,
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

    def settled(self, fits: Fits) -> Self:
        """With noise and choice_penalty from a search, if they are None: each by a parabola."""
        method = replace(self, rank=self.rank or self.usual_rank(fits.ratings))
        if None not in (self.noise, self.choice_penalty) or len(fits.ratings) < FEWEST:
            return method
        share = min(SHARE, MOST_UNSEEN / len(fits.ratings))
        seen, unseen = fits.placed.split(SPLIT_SEED, share)
        trial = Fits(seen, fits.ratings, None)
        small = replace(self, rank=TRIED_RANK, steps=TRIED_STEPS)

        def error(method: CNMF) -> float:
            factors, _ = trial.one(method.recipe_for(fits.ratings))
            found = opened(seen, factors).errors(unseen)
            off = found.prediction.clip(*fits.ratings.scale) - found.truth
            return math.sqrt(float(off @ off) / len(off))

        if small.choice_penalty is None:
            best = _lowest(PENALTIES, lambda tried: error(replace(small, choice_penalty=tried)))
            small = replace(small, choice_penalty=best)
        if small.noise is None:
            best = _lowest(NOISES, lambda tried: error(replace(small, noise=tried)))
            small = replace(small, noise=best)
        seen.close()
        return replace(method, noise=small.noise, choice_penalty=small.choice_penalty)

    def usual_rank(self, ratings: Ratings) -> int:
        """The rank where none is given."""
        one = rank_for(ratings, READABLE)
        return one if self.members == 1 else min(2 * one, MOST_RANK)


def _lowest(tried: tuple[float, float, float], error: Callable[[float], float]) -> float:
    """Where a parabola through three errors is lowest, on a scale of logarithms.

    It goes at most a third of a spacing beyond the three; where there is no lowest point, the best
    of them is taken.
    """
    x, y = np.log(tried), [error(value) for value in tried]
    bend, slope, _ = np.polyfit(x, y, 2)
    if not bend > 0:
        return tried[int(np.argmin(y))]
    beyond = (x[2] - x[0]) / 6
    return float(f"{math.exp(np.clip(-slope / (2 * bend), x[0] - beyond, x[2] + beyond)):.3g}")


def _moments(ratings: Ratings) -> tuple[float, float]:
    """The mean of the ratings, and their standard deviation; of ratings all alike, the scale's."""
    values, low = ratings.by_user.values, ratings.scale[0]
    total = squares = 0.0
    for first in range(0, len(values), AT_ONCE):
        some = values[first : first + AT_ONCE].astype(np.float64) - low
        total += float(some.sum())
        squares += float(some @ some)
    mean = total / len(values)
    spread = math.sqrt(max(squares / len(values) - mean**2, 0.0))
    length = ratings.scale[1] - low or 1.0
    return mean + low, spread if spread > 1e-6 * length else length
