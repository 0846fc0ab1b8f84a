"""ANMF, our own method: offsets, penalties that grow with the row, and the mean of several fits.

What was tried on the way to it, with figures, is docs/beyond-the-paper.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tastemix import draws
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.base import Engine, Session
from tastemix.engine.objective import Objective
from tastemix.errors import DataError, ParameterError
from tastemix.methods.recipe import ANLS, trained
from tastemix.model import explain, uncertainty
from tastemix.model.factors import Factors, Head
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training.loop import OnStep, Step
from tastemix.training.phase import Phase

RANKING_RANK = 62
RANKING_STEPS = 10
RANKING_WEIGHT = 0.15
RANKING_L2_PER_RATING = 0.1
LEAST_RANK, MOST_RANK = 4, 22


@dataclass(frozen=True)
class ANMF:
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

    def __post_init__(self) -> None:
        for name, least in (("members", 1), ("ranking", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ParameterError(
                    f"{name} is {value!r}: it must be a whole number of {least} or more"
                )
        draws.checked(self.seed)

    def recipe(self, scale: Scale) -> ANLS:
        """One member; the others differ in their seeds."""
        unit = _unit(scale)
        penalty = Objective(
            l2=self.l2 * unit, l2_per_rating=self.l2_per_rating * unit, centre="average"
        )
        return ANLS(self.rank, [Phase(penalty, self.steps)], self.seed, offsets=True)

    def ranking_recipe(self, scale: Scale) -> ANLS:
        """One member of what `recommend` orders by."""
        objective = Objective(
            prior=scale[0],
            weight=RANKING_WEIGHT,
            l2_per_rating=RANKING_L2_PER_RATING * _unit(scale),
        )
        rank = min(3 * self.rank, RANKING_RANK)
        return ANLS(rank, [Phase(objective, RANKING_STEPS)], self.seed)

    @property
    def all_steps(self) -> int:
        """The steps of a whole fit: the members, a trial for the errors, and the ranking."""
        return self.members * self.steps + (self.steps + 1) // 2 + self.ranking * RANKING_STEPS

    def fit(
        self,
        ratings: Ratings,
        *,
        held_out: Ratings | None = None,
        patience: int = 5,
        on_step: OnStep | None = None,
        engine: Engine | None = None,
    ) -> Model:
        """Fit to ratings; see `MIXD.fit` for the options.

        held_out ends each member by itself. on_step counts the steps of all members; True ends
        the member that is being fitted.
        """
        if len(ratings) == 0:
            raise DataError(NOTHING_TO_LEARN)
        watch = None if on_step is None else _Counter(on_step)
        recipe, ordering = self.recipe(ratings.scale), self.ranking_recipe(ratings.scale)
        stop: dict[str, Any] = {"held_out": held_out, "patience": patience}
        watched: dict[str, Any] = {"on_step": watch, "engine": engine}
        scores, history = _mean(recipe, self.members, ratings, **stop, **watched)
        ranking = None
        if self.ranking:
            found, _ = _mean(ordering, self.ranking, ratings, **watched)
            ranking = Head(found, tuple(ordering.phases))
        half = replace(recipe, phases=[replace(p, steps=(p.steps + 1) // 2) for p in recipe.phases])
        errors = uncertainty.estimate(
            ratings, scores, lambda part: trained(half, part, **watched)[0]
        )
        phases = tuple(recipe.phases)
        return Model.of(
            *(self, scores, ratings, phases, tuple(history), ranking, errors), unknown="average"
        )


class _Counter:
    """Numbers the steps of several fits on end."""

    def __init__(self, on_step: OnStep) -> None:
        self.on_step, self.done = on_step, 0

    def __call__(self, step: Step, session: Session) -> bool | None:
        self.done += 1
        return self.on_step(replace(step, number=self.done), session)


def _mean(recipe: ANLS, count: int, ratings: Ratings, **options: Any) -> tuple[Factors, list[Step]]:
    """The mean of fits from different seeds, their tastes in the same places, and their steps."""
    members: list[Factors] = []
    history: list[Step] = []
    for number in range(count):
        seeded = replace(recipe, seed=recipe.seed * count + number)
        factors, steps = trained(seeded, ratings, **options)
        members.append(explain.aligned(members[0], factors) if members else factors)
        history += [replace(step, number=len(history) + at) for at, step in enumerate(steps, 1)]
    return Factors.mean(members), history


def default(ratings: Ratings) -> ANMF:
    """The method `fit` uses: ANMF, with √ratings / 20 tastes in each member, 4 to 22.

    Where rows are short λ₂ is smaller, √(ratings a row) / 2.5: it counts for as much as some
    ratings, and should not outweigh a row's own.
    """
    rank = min(max(round(len(ratings) ** 0.5 / 20), LEAST_RANK), MOST_RANK)
    a_row = 2 * len(ratings) / (len(ratings.users) + len(ratings.items))
    return ANMF(rank=rank, l2=min(ANMF.l2, round(a_row**0.5 / 2.5, 2)))


def fit(ratings: Ratings, **options: Any) -> Model:
    """Our best method, with defaults that need no tuning; see `ANMF.fit` for the options."""
    return default(ratings).fit(ratings, **options)


def _unit(scale: Scale) -> float:
    """How much longer the scale is than one of five stars."""
    low, high = scale
    return (high - low) / 4 if high > low else 1.0
