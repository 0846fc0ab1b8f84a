"""The mean of several fits with offsets, with factors for recommendations and uncertainty."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine import placed_by
from tastemix.engine.base import Engine, Placed, Session
from tastemix.engine.objective import Objective
from tastemix.engine.sides import OTHER, SIDES, Pulls
from tastemix.errors import DataError
from tastemix.methods.blend import blended
from tastemix.methods.recipe import ANLS, trained
from tastemix.methods.validation import SEED, SHARE
from tastemix.model import explain, uncertainty
from tastemix.model.factors import Factors, Head
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training.early_stop import part_of
from tastemix.training.loop import OnStep, Step
from tastemix.training.phase import Phase

LEAST_RANK = 4
RANKING_RANK = 62
RANKING_STEPS = 10
RANKING_WEIGHT = 0.15
RANKING_L2_PER_RATING = 0.1


class Averaged:
    """The base of ANMF and CNMF: the mean of `members` fits of `recipe` from different seeds, the
    mean of `ranking` fits for `recommend`, and a trial fit for the uncertainty.
    """

    rank: int | None
    members: int
    steps: int
    ranking: int
    seed: int

    def recipe_for(self, ratings: Ratings) -> ANLS:
        """One member; the others differ in their seeds."""
        raise NotImplementedError

    def settled(self, fits: Fits) -> Self:
        """The method with every setting that is found by trial fits."""
        return self

    def __post_init__(self) -> None:
        for name, least in (("rank", 1), ("members", 1), ("steps", 0), ("ranking", 0)):
            if name != "rank" or self.rank is not None:
                checks.whole(name, getattr(self, name), least)
        checks.seed(self.seed)

    def ranking_recipe(self, rank: int, scale: Scale) -> ANLS:
        """One member of the factors that `recommend` uses."""
        objective = Objective(
            prior=scale[0],
            weight=RANKING_WEIGHT,
            l2_per_rating=RANKING_L2_PER_RATING * unit_of(scale),
        )
        phase = Phase(objective, RANKING_STEPS)
        return ANLS(min(3 * rank, RANKING_RANK), [phase], self.seed, shift=below(scale))

    @property
    def total_steps(self) -> int:
        """The steps of a whole fit: members, ranking, and a trial fit for the uncertainty.

        Trial fits for the settings are not counted.
        """
        return self.members * self.steps + (self.steps + 1) // 2 + self.ranking * RANKING_STEPS

    def fit(
        self,
        ratings: Ratings,
        *,
        held_out: Ratings | None = None,
        patience: int = 5,
        on_step: OnStep | None = None,
        engine: Engine | str | None = None,
    ) -> Model:
        """Fit to ratings; see `MIXD.fit` for the options.

        held_out stops each member separately. on_step counts the steps of all members; True ends
        the member that is being fitted.
        """
        if len(ratings) == 0:
            raise DataError(NOTHING_TO_LEARN)
        watch = None if on_step is None else _Counter(on_step)
        with ExitStack() as stack:
            placed = stack.enter_context(placed_by(engine, ratings))
            stars, on_stars = in_stars(ratings), placed
            if stars is not ratings:
                on_stars = stack.enter_context(placed_by(engine, stars))
            part = None
            if held_out is not None:
                part = part_of(on_stars, stars, in_stars(held_out, ratings.scale))
            method = self.settled(Fits(on_stars, stars, None))
            fits = Fits(on_stars, stars, watch)
            scores, history = fits.mean(method.recipe_for(stars), self.members, part, patience)
            scores = stretched(scores, ratings.scale)
            recipe = method.recipe_for(ratings)
            ordering = self.ranking_recipe(recipe.rank, ratings.scale)
            fits = Fits(placed, ratings, watch)
            ranking = None
            if self.ranking:
                found, _ = fits.mean(ordering, self.ranking)
                ranking = Head(
                    found,
                    tuple(ordering.phases),
                    *blended(ratings, found, lambda: _trial(placed, ratings, ordering)),
                )
            half = [replace(phase, steps=(phase.steps + 1) // 2) for phase in recipe.phases]
            trial = replace(recipe, phases=half)
            errors = uncertainty.estimate(
                placed,
                scores,
                ratings.scale,
                lambda seen: Fits(seen, ratings, watch).one(trial)[0],
            )
        phases = tuple(recipe.phases)
        return Model.of(
            *(method, scores, ratings, phases, tuple(history), ranking, errors), unknown="average"
        )


@dataclass(frozen=True)
class Fits:
    """Fits of several recipes to ratings that were placed once."""

    placed: Placed
    ratings: Ratings
    watch: OnStep | None

    def one(self, recipe: ANLS, part: Any = None, patience: int = 5) -> tuple[Factors, list[Step]]:
        """The factors of one fit, and its steps."""
        shift = recipe.counted_from(self.ratings)
        session = self.placed.open(recipe.start, shift=shift)
        history = trained(session, recipe, part, patience, self.watch)
        return Factors.of(session, shift, recipe.start.held), history

    def mean(
        self, recipe: ANLS, count: int, part: Any = None, patience: int = 5
    ) -> tuple[Factors, list[Step]]:
        """The mean of fits from different seeds, with their tastes matched, and all their steps."""
        members: list[Factors] = []
        history: list[Step] = []
        for number in range(count):
            seed = (int(recipe.seed) * int(count) + number) % checks.SEEDS
            factors, steps = self.one(replace(recipe, seed=seed), part, patience)
            members.append(explain.aligned(members[0], factors) if members else factors)
            history += [replace(step, number=len(history) + at) for at, step in enumerate(steps, 1)]
        return Factors.mean(members), history


def _trial(placed: Placed, ratings: Ratings, recipe: ANLS) -> Factors:
    """A fit of half the steps to what `Validation` leaves to learn from."""
    half = [replace(phase, steps=(phase.steps + 1) // 2) for phase in recipe.phases]
    seen, _ = placed.split(SEED, SHARE)
    factors, _ = Fits(seen, ratings, None).one(replace(recipe, phases=half))
    seen.close()
    return factors


class _Counter:
    """Numbers the steps of several fits consecutively."""

    def __init__(self, on_step: OnStep) -> None:
        self.on_step, self.done = on_step, 0

    def __call__(self, step: Step, session: Session) -> bool | None:
        self.done += 1
        return self.on_step(replace(step, number=self.done), session)


STARS = (1.0, 5.0)
"""The scale that predictions are fitted on: with the same numbers, rounding is the same too."""


def in_stars(ratings: Ratings, scale: Scale | None = None) -> Ratings:
    """The ratings on a scale from 1 to 5; those on a scale of that length as they are."""
    low, high = ratings.scale if scale is None else scale
    unit = unit_of((low, high))
    if unit == 1:
        return ratings
    half = ratings.by_user
    values = ((half.values.astype(np.float64) - low) / unit + 1).astype(np.float32)
    return replace(ratings, by_user=replace(half, stored=values), scale=STARS)


def stretched(factors: Factors, scale: Scale) -> Factors:
    """Factors of ratings in stars, for ratings on this scale: the predictions are stretched.

    An offset is as long as the ratings, and meets a one; the two weights of a taste are each as
    long as the root of it. The ridges follow.
    """
    unit = unit_of(scale)
    if unit == 1:
        return factors
    by = {}
    for side in SIDES:
        by[side] = np.full(factors.rank, math.sqrt(unit))
        by[side][list(factors.held.of(side))] = 1
        by[side][list(factors.held.of(OTHER[side]))] = unit
    pulls = factors.pulls and Pulls(
        *(factors.pulls.of(side).scaled(by[side], by[OTHER[side]]) for side in SIDES)
    )
    users, items = ((factors.side(side) * by[side]).astype(np.float32) for side in SIDES)
    shift = scale[0] + (factors.shift - 1) * unit
    return replace(factors, users=users, items=items, shift=shift, pulls=pulls)


def rank_for(ratings: Ratings, most: int) -> int:
    """√ratings / 20 tastes, from 4 to `most`."""
    return min(max(round(math.sqrt(len(ratings)) / 20), LEAST_RANK), most)


def below(scale: Scale) -> float:
    """A quarter of the scale's length below it: zero for one from 1 to 5."""
    low, high = scale
    return low - (high - low) / 4


def unit_of(scale: Scale) -> float:
    """The length of the scale, relative to one from 1 to 5."""
    low, high = scale
    return (high - low) / 4 if high > low else 1.0
