"""The mean of several fits with offsets, with factors for recommendations and uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine import placed_by
from tastemix.engine.base import Engine, Placed, Session
from tastemix.engine.sides import OTHER, SIDES, Pair, Pulls
from tastemix.errors import DataError
from tastemix.methods.recipe import ANLS, trained
from tastemix.methods.validation import SEED, share_of
from tastemix.model import explain, uncertainty
from tastemix.model.factors import Factors, Head
from tastemix.model.groups import grouped
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training.early_stop import part_of
from tastemix.training.loop import OnStep, Step

LEAST_RANK = 4
FEWEST = 50
"""Ratings by which a part of them may settle anything."""


class Averaged:
    """The base of ANMF and CNMF: the mean of `members` fits of `recipe` from different seeds, and
    what `recommend` orders by.

    The first third of the first fit sees only the learning part, unless there are few ratings. The
    weights of what `recommend` orders by and the uncertainty are found with what it then is, by the
    ratings it has not seen.
    """

    rank: int | None
    members: int
    steps: int | None
    seed: int

    def recipe_for(self, ratings: Ratings) -> ANLS:
        """One member; the others differ in their seeds."""
        raise NotImplementedError

    @property
    def ranking(self) -> int:
        """Whether `recommend` orders by more than the predictions."""
        raise NotImplementedError

    def ordered_by(self, fits: Fits, scores: Factors, learning: Learning, tried: Factors) -> Head:
        """What `recommend` orders by; `tried` was fitted to the learning part."""
        raise NotImplementedError

    @property
    def most_tastes(self) -> int | None:
        """As how many tastes the coordinates of a member are read, if there are more of them."""
        return None

    def settled(self, learning: Learning) -> Self:
        """The method with every setting that is found by trial fits."""
        return self

    def __post_init__(self) -> None:
        for name, least in (("rank", 1), ("members", 1), ("steps", 0)):
            if name == "members" or getattr(self, name) is not None:
                checks.whole(name, getattr(self, name), least)
        checks.seed(self.seed)

    @property
    def length(self) -> int:
        """The steps of a member."""
        return self.steps or 0

    @property
    def total_steps(self) -> int:
        """The steps of a whole fit: those of the members. Fits for the settings are not counted."""
        return sum(parted(self.length)) + (self.members - 1) * self.length

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
        stars = in_stars(ratings)
        with ExitStack() as stack:
            placed = stack.enter_context(placed_by(engine, stars))
            fits = Fits(placed, stars, watch)
            part = None
            if held_out is not None:
                part = part_of(placed, stars, in_stars(held_out, ratings.scale))
            learning = stack.enter_context(learning_part(fits))
            method = self.settled(learning)
            recipe = method.recipe_for(stars)
            first = None
            trial, rest = parted(self.length)
            begins = learning.fits if len(ratings) >= FEWEST else replace(learning.fits, watch=None)
            tried, begun = begins.one(lasting(member(recipe, 0, self.members), trial))
            if len(ratings) >= FEWEST:
                ended = watch is not None and watch.ended
                first = Begun(lasting(recipe, 0 if ended else rest), tried, begun)
            scores, history = fits.mean(recipe, self.members, part, patience, first)
            if self.most_tastes is not None:
                scores = grouped(scores, ratings.item_sums[1], self.most_tastes)
            ranking = method.ordered_by(fits, scores, learning, tried) if self.ranking else None
            errors = uncertainty.estimate(
                placed, scores, stars.scale, learning.fits.placed, learning.unseen, tried
            )
        shared = ranking is not None and ranking.factors is scores
        scores = stretched(scores, ratings.scale)
        if ranking is not None:
            found = scores if shared else stretched(ranking.factors, ratings.scale)
            ranking = ranking.stretched(found, unit_of(ratings.scale))
        return Model.of(
            method,
            scores,
            ratings,
            tuple(method.recipe_for(ratings).phases),
            tuple(history),
            ranking,
            errors.stretched(unit_of(ratings.scale)),
            unknown="average",
        )


class Begun(NamedTuple):
    """A fit that goes on: what is left of its recipe, and what it has done."""

    rest: ANLS
    factors: Factors
    steps: list[Step]


@dataclass(frozen=True)
class Fits:
    """Fits of several recipes to ratings that were placed once."""

    placed: Placed
    ratings: Ratings
    watch: OnStep | None

    def one(
        self, recipe: ANLS, part: Any = None, patience: int = 5, begun: Factors | None = None
    ) -> tuple[Factors, list[Step]]:
        """The factors of one fit, and its steps; it goes on from those begun."""
        shift, held = recipe.counted_from(self.ratings), recipe.start.held
        if begun is None:
            session = self.placed.open(recipe.start, shift=shift)
        else:
            pair = Pair(begun.users, begun.items)
            session = self.placed.open(pair, held, begun.pulls, shift=shift)
        history = trained(session, recipe, part, patience, self.watch)
        return Factors.of(session, shift, held), history

    def mean(
        self,
        recipe: ANLS,
        count: int,
        part: Any = None,
        patience: int = 5,
        first: Begun | None = None,
    ) -> tuple[Factors, list[Step]]:
        """The mean of fits from different seeds, with their tastes matched, and all their steps.

        first: the first of them, where it has begun.
        """
        members: list[Factors] = []
        history: list[Step] = []
        for number in range(count):
            if number == 0 and first is not None:
                factors, steps = self.one(first.rest, part, patience, first.factors)
                steps = [*first.steps, *steps]
            else:
                factors, steps = self.one(member(recipe, number, count), part, patience)
            members.append(explain.aligned(members[0], factors) if members else factors)
            history += [replace(step, number=len(history) + at) for at, step in enumerate(steps, 1)]
        return Factors.mean(members), history


@dataclass(frozen=True)
class Learning:
    """Fits to most of the ratings, and the others to judge them by: those that `Validation` judges
    lists by.
    """

    fits: Fits
    unseen: Any

    def trial(self, recipe: ANLS, begun: Factors | None = None) -> Factors:
        """A fit that nobody watches."""
        return replace(self.fits, watch=None).one(recipe, begun=begun)[0]

    def rmse(self, factors: Factors) -> float:
        """Their error on the ratings that they have not seen."""
        found = uncertainty.opened(self.fits.placed, factors).errors(self.unseen)
        off = found.prediction.clip(*self.fits.ratings.scale) - found.truth
        return math.sqrt(float(np.square(off).sum()) / max(len(off), 1))


@contextmanager
def learning_part(fits: Fits) -> Iterator[Learning]:
    """Most of the ratings, where the work is done."""
    seen, unseen = fits.placed.split(SEED, share_of(len(fits.ratings)))
    try:
        yield Learning(replace(fits, placed=seen), unseen)
    finally:
        seen.close()


def member(recipe: ANLS, number: int, count: int) -> ANLS:
    """That one of so many fits, with a seed of its own."""
    return replace(recipe, seed=(int(recipe.seed) * int(count) + number) % checks.SEEDS)


def lasting(recipe: ANLS, steps: int) -> ANLS:
    """With so many steps of each phase."""
    return replace(recipe, phases=[replace(phase, steps=steps) for phase in recipe.phases])


def parted(steps: int) -> tuple[int, int]:
    """The steps that the first fit does on the learning part, a third, and those on all ratings."""
    trial = steps // 3
    return trial or min(steps, 1), steps - trial


class _Counter:
    """Numbers the steps of several fits consecutively."""

    def __init__(self, on_step: OnStep) -> None:
        self.on_step, self.done, self.ended = on_step, 0, False

    def __call__(self, step: Step, session: Session) -> bool:
        self.done += 1
        self.ended = bool(self.on_step(replace(step, number=self.done), session))
        return self.ended


STARS = (1.0, 5.0)
"""The scale that predictions are fitted on: with the same numbers, rounding is the same too."""


def in_stars(ratings: Ratings, scale: Scale | None = None) -> Ratings:
    """The ratings on a scale from 1 to 5; those on a scale of that length as they are."""
    low, high = ratings.scale if scale is None else scale
    unit = unit_of((low, high))
    if unit == 1:
        return ratings

    def stars(values: NDArray[np.float32]) -> NDArray[np.float32]:
        return ((values.astype(np.float64) - low) / unit + 1).astype(np.float32)

    return ratings.having(stars, STARS)


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
