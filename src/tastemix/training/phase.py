"""A phase of training: an objective for a number of steps."""

from __future__ import annotations

from dataclasses import dataclass

from tastemix import checks
from tastemix.engine.objective import Objective
from tastemix.errors import ParameterError


@dataclass(frozen=True)
class Phase:
    """An objective for a number of steps.

    A row is finished when no coordinate gains as much as `tolerance` times the largest first gain
    of all rows.
    """

    objective: Objective
    steps: int
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        checks.whole("steps", self.steps, least=0)
        if not 0 <= self.tolerance < 1:
            raise ParameterError(
                f"tolerance is {self.tolerance}: it must be at least 0 and below 1"
            )
