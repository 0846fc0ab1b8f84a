"""Early stopping: end a run when the error on held-out ratings stops improving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tastemix import checks
from tastemix.data.ratings import Ratings
from tastemix.engine.base import Placed, Session
from tastemix.engine.sides import SIDES
from tastemix.errors import ParameterError
from tastemix.training.loop import Step
from tastemix.training.phase import Phase


def part_of(placed: Placed, ratings: Ratings, held_out: Ratings) -> Any:
    """Held-out ratings as a part of what was placed, if they are over the same users and items."""
    if len(held_out) == 0:
        raise ParameterError("held_out has no ratings: omit it to run all steps")
    for side in SIDES:
        ids, known = held_out.ids(side).values, ratings.ids(side).values
        if ids is not known and not ids.equals(known):
            raise ParameterError(
                f"held_out has other {side} than the ratings: make both with the same split"
            )
    return placed.part(held_out)


class EarlyStop:
    """Ends a run when the RMSE on a held-out part has not improved for `patience` steps of the last
    phase, and keeps the factors of the best step.
    """

    def __init__(self, part: Any, phases: Sequence[Phase], patience: int) -> None:
        self.part = part
        self.patience = checks.whole("patience", patience)
        self.last_phase = len(phases) - 1
        self.best_rmse = math.inf
        self.best_step: int | None = None

    def __call__(self, step: Step, session: Session) -> bool:
        """Evaluate the factors after a step; True to end the run."""
        if step.phase < self.last_phase:
            return False
        rmse = session.rmse(self.part)
        if rmse < self.best_rmse:
            self.best_rmse, self.best_step = rmse, step.number
            session.keep()
        return self.best_step is not None and step.number - self.best_step >= self.patience

    def end(self, session: Session) -> None:
        """Go back to the best step, if there was one."""
        if self.best_step is not None:
            session.restore()
