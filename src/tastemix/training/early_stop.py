"""Ending a run when held-out ratings are predicted no better."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tastemix.data.ratings import Ratings
from tastemix.engine import scoring
from tastemix.engine.base import Pair, Session
from tastemix.errors import ParameterError
from tastemix.training.loop import Step
from tastemix.training.phase import Phase


class EarlyStop:
    """Ends a run when the RMSE on held-out ratings has not improved for `patience` steps of the
    last phase, and keeps the factors of the best step.
    """

    def __init__(
        self, ratings: Ratings, held_out: Ratings, phases: Sequence[Phase], patience: int
    ) -> None:
        if patience < 1:
            raise ParameterError(f"patience is {patience}: it must be 1 or more")
        if len(held_out) == 0:
            raise ParameterError("held_out has no ratings: leave it out to run all steps")
        for name in ("users", "items"):
            ids, known = (getattr(part, name).values for part in (held_out, ratings))
            if ids is not known and not ids.equals(known):
                raise ParameterError(
                    f"held_out knows other {name} than the ratings: make both with one split"
                )
        self.patience = patience
        self.last_phase = len(phases) - 1
        self.best_rmse = math.inf
        self.best: tuple[int, Pair] | None = None
        half = held_out.by_user
        self._pairs = half.rows, half.indices
        self._truth = half.values - np.float64(ratings.shift)

    def __call__(self, step: Step, session: Session) -> bool:
        """Judge the factors after a step; True to end the run."""
        if step.phase < self.last_phase:
            return False
        factors = session.factors()
        error = scoring.pair_products(*factors, *self._pairs) - self._truth
        rmse = math.sqrt(float(error @ error) / len(error))
        if rmse < self.best_rmse:
            self.best_rmse, self.best = rmse, (step.number, factors)
        return self.best is not None and step.number - self.best[0] >= self.patience
