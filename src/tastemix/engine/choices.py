"""What the rows of a side are pulled towards, kept up with rows that move: see native/choices.hpp.

The rows are in blocks; what is left to do here is to add up and to pass on.
"""

from __future__ import annotations

import numpy as np

from tastemix.data.ratings import Side
from tastemix.engine.block import Vector
from tastemix.engine.objective import CHOICE_ITERATIONS, Objective
from tastemix.engine.sides import OTHER, Floats
from tastemix.engine.team import Team, added, joined

LEAST_LEFT = 0.2
"""Of the rows, however many numbers Z has."""


class Choices:
    """μ, and what all rows of a side need to know of Z."""

    def __init__(self, team: Team, side: Side, rank: int) -> None:
        self._team, self._side, self._other = team, side, OTHER[side]
        self.mean: Floats = np.zeros(rank)
        self._known: tuple[float, ...] | None = None
        self._mean_ridge = self._total_weight = self._left = 0.0
        self._penalty = 0.0

    def set(self, objective: Objective) -> None:
        """The numbers that the pull depends on. Cheap where they are as they were."""
        ridges = objective.l2, objective.l2_per_rating, objective.estimated
        known = *ridges, objective.choice_penalty, objective.choice_shrinkage
        if known == self._known:
            return
        on, side = self._team.on, self._side
        rows = self._team.rows(side)
        self._mean_ridge = mean = float(joined(on(side, "pull", *ridges)).sum()) / rows
        shrinkage, penalty = objective.choice_shrinkage, objective.choice_penalty
        share = (*ridges, mean, shrinkage)
        shares = on(side, "share", *share, changes=("scale", "weight"))
        self._total_weight = total = float(joined(shares).sum())
        reach = on(self._other, "reach", penalty, sees=("scale", "weight"))
        self._left = max(total - float(joined(reach).sum()), LEAST_LEFT * total)
        self._penalty = 0.5 * float(np.float32(penalty)) * mean
        self._known = known

    def place(self) -> None:
        """The centres, after μ or Z were changed from outside."""
        self._team.on(self._side, "place", self.mean, sees=("z",), changes=("centres",))

    def penalty(self) -> float:
        """½ ρ ρ̄ ‖Z‖²."""
        squares = added(self._team, self._other, self._team.on(self._other, "squares"))
        return self._penalty * float(sum(squares.tolist()))

    def spread(self) -> Floats:
        """The variance of each coordinate of rows with ratings around their centres.

        What Z itself can explain of any rows is not counted among them.
        """
        squares = added(self._team, self._side, self._team.on(self._side, "spread"))
        return squares / self._left if self._left > 0 else np.zeros_like(squares)

    def follow(self, iterations: int = CHOICE_ITERATIONS) -> None:
        """μ, given Z; then conjugate gradients on Z from where it is. The centres move along."""
        team, side, other = self._team, self._side, self._other
        left = added(team, side, team.on(side, "left"))
        before = self.mean
        if self._total_weight > 0:
            mean = (before + left / self._total_weight).astype(np.float32)
            self.mean = mean.astype(np.float64)
        shift = (self.mean - before).astype(np.float32)
        team.on(side, "leave", shift, changes=("away", "centres"), later=True)
        if iterations == 0:
            return
        begun = team.on(other, "begin", sees=("away",), changes=("direction",))
        power = added(team, other, begun)
        for _ in range(iterations - 1):
            team.on(side, "suggest", sees=("direction",), changes=("away",), later=True)
            curvature = added(team, other, team.on(other, "image", sees=("away",)))
            length = _ratios(power, curvature)
            team.on(side, "step_centres", length, changes=("centres",), later=True)
            after = added(team, other, team.on(other, "step_z", length, changes=("z",)))
            team.on(other, "turn", _ratios(after, power), changes=("direction",), later=True)
            power = after
        # The last time no residual follows, and the curvature needs no pass over the ratings.
        bends = added(team, side, team.on(side, "suggest_last", sees=("direction",)))
        curvature = bends + added(team, other, team.on(other, "bend_z"))
        length = _ratios(power, curvature)
        team.on(side, "step_centres", length, changes=("centres",), later=True)
        team.on(other, "finish_z", length, changes=("z",), later=True)


def _ratios(a: Floats, b: Floats) -> Vector:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0).astype(np.float32)
