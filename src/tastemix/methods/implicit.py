"""Implicit: recommendations from plays and clicks, where nobody says what they dislike."""

from __future__ import annotations

from dataclasses import dataclass

from tastemix import checks
from tastemix.data.plays import strengths
from tastemix.data.ratings import Ratings
from tastemix.engine import placed_by
from tastemix.engine.base import Engine
from tastemix.engine.objective import LARGEST, Objective
from tastemix.errors import DataError
from tastemix.methods.averaged import rank_for
from tastemix.methods.neighbours import Neighbours
from tastemix.methods.recipe import ANLS, trained
from tastemix.model.factors import Factors, Head
from tastemix.model.links import Weights
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training.loop import OnStep
from tastemix.training.phase import Phase

MOST_RANK = 16
"""As many tastes as a person can read."""
ONLY_RATED = Weights(tastes=1e-6, rated=1.0)
"""Tastes order what nothing a user played speaks for."""


@dataclass(frozen=True)
class Implicit:
    """Tastes and neighbours of plays and clicks.

    Any table will do: counts, ones, even ratings. A play says more the more often it was repeated
    (see `docs/methods/implicit.md`), and what was not played counts as 0 with `weight`. The tastes
    are a factorisation with `l2` on both sides; they explain, and find what is similar.
    `recommend` orders by what the user played, as `Neighbours` does: on MovieLens 1M that is
    better than any mixture with the tastes.

    A prediction is how strongly something is expected to be played, from 0 to 1.
    """

    rank: int | None = None
    weight: float = 0.3
    l2: float = 10.0
    steps: int = 15
    neighbours: float = 30.0
    """The penalty of `Neighbours` on a weight between two items."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rank is not None:
            checks.whole("rank", self.rank)
        checks.number("weight", self.weight, 0, 1)
        for name in ("l2", "neighbours"):
            checks.number(name, getattr(self, name), 0, LARGEST)
        checks.whole("steps", self.steps)
        checks.seed(self.seed)

    @property
    def total_steps(self) -> int:
        """The number of steps of a fit."""
        return self.steps

    def recipe(self, plays: Ratings) -> ANLS:
        """The factorisation of plays: what is unknown is 0, with a weight."""
        objective = Objective(prior=0.0, weight=self.weight, l2=self.l2)
        rank = self.rank or rank_for(plays, MOST_RANK)
        return ANLS(rank, [Phase(objective, self.steps)], self.seed)

    def fit(
        self,
        ratings: Ratings,
        *,
        on_step: OnStep | None = None,
        engine: Engine | str | None = None,
    ) -> Model:
        """Fit to plays; on_step is called after every step of the factorisation."""
        plays = strengths(ratings)
        if len(plays) == 0:
            raise DataError(NOTHING_TO_LEARN)
        recipe = self.recipe(plays)
        with placed_by(engine, plays) as placed:
            session = placed.open(recipe.start, shift=0.0)
            history = trained(session, recipe, on_step=on_step)
            factors = Factors.of(session, 0.0, recipe.start.held)
        phases = tuple(recipe.phases)
        links = Neighbours(l2=self.neighbours).links(plays)
        ranking = Head(factors, phases, links, ONLY_RATED)
        return Model.of(self, factors, plays, phases, tuple(history), ranking)
