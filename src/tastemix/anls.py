"""Alternating nonnegative least squares: the one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tastemix import _native, draws
from tastemix.engine.base import Held, Pair, Session
from tastemix.errors import ParameterError
from tastemix.objective import Phase
from tastemix.ratings import Ratings


@dataclass(frozen=True)
class Step:
    """What one step (all items, then all users) did."""

    number: int
    """Counted from 1 over all phases."""
    phase: int
    """Counted from 0."""
    objective: float
    """The phase's objective after the step; a dynamic prior counts as before the half-step."""
    seconds: float
    updates: int
    """Coordinate updates."""
    largest: float
    """The largest entry of both factors."""


OnStep = Callable[[Step, Session], bool | None]
"""Called after every step with the session, whose factors may be read; True ends the run."""


def start(ratings: Ratings, rank: int, seed: int) -> Pair:
    """Users uniform on (0, 1), items zero: items move first.

    Drawn from the bit generator itself, so the same seed gives the same factors on any machine.
    """
    raw = draws.words(seed, (len(ratings.users), rank))
    users = ((raw >> np.uint64(41)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
    return Pair(users, np.zeros((len(ratings.items), rank), np.float32))


def with_offsets(factors: Pair) -> tuple[Pair, Held]:
    """Two more coordinates, a user offset and an item offset: each meets a held column of ones."""
    users, items = factors
    ones, zeros = (np.full((len(users), 1), value, np.float32) for value in (1, 0))
    wide_users = np.hstack([users, zeros, ones])
    ones, zeros = (np.full((len(items), 1), value, np.float32) for value in (1, 0))
    wide_items = np.hstack([items, ones, zeros])
    rank = users.shape[1]
    return Pair(wide_users, wide_items), Held(users=(rank + 1,), items=(rank,))


def run(session: Session, phases: Sequence[Phase], on_step: OnStep | None = None) -> list[Step]:
    """Run the phases one after another, each from where the last one ended."""
    history: list[Step] = []
    for number, phase in enumerate(phases):
        for _ in range(phase.steps):
            began = time.perf_counter()
            items = session.half_step("items", phase.objective, phase.tolerance)
            users = session.half_step("users", phase.objective, phase.tolerance)
            step = Step(
                number=len(history) + 1,
                phase=number,
                objective=users.objective,
                seconds=time.perf_counter() - began,
                updates=items.updates + users.updates,
                largest=max(items.largest, users.largest),
            )
            history.append(step)
            if not math.isfinite(step.objective):
                raise ParameterError(
                    f"the objective overflowed in step {step.number}: the ratings or the penalties "
                    "are too large for 32-bit numbers, so scale them down"
                )
            if on_step is not None and on_step(step, session):
                return history
    return history


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
        error = _native.pair_products(*factors, *self._pairs) - self._truth
        rmse = math.sqrt(float(error @ error) / len(error))
        if rmse < self.best_rmse:
            self.best_rmse, self.best = rmse, (step.number, factors)
        return self.best is not None and step.number - self.best[0] >= self.patience
