"""Alternating nonnegative least squares: the training loop of all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tastemix.engine.base import Session
from tastemix.errors import ParameterError
from tastemix.training.phase import Phase


@dataclass(frozen=True)
class Step:
    """The result of one step (all items, then all users)."""

    number: int
    """Counted from 1 over all phases."""
    phase: int
    """Counted from 0."""
    objective: float
    """The objective of the phase after the step, with a dynamic prior as before the half-step."""
    seconds: float
    updates: int
    """Coordinate updates."""
    largest: float
    """The largest entry of both factors."""


OnStep = Callable[[Step, Session], bool | None]
"""Called after every step with the session; return True to end the run."""


def run(session: Session, phases: Sequence[Phase], on_step: OnStep | None = None) -> list[Step]:
    """Run the phases one after another, each from the factors of the one before."""
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
                    f"the objective overflowed in step {step.number}: the ratings or penalties are "
                    "too large for 32-bit numbers, so scale them down"
                )
            if on_step is not None and on_step(step, session):
                return history
    return history
