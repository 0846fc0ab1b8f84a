"""Alternating nonnegative least squares: the one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tastemix import draws
from tastemix.data.ratings import Ratings
from tastemix.engine.base import Held, Pair, Session
from tastemix.errors import ParameterError
from tastemix.training.phase import Phase


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
