"""Rows of one factor for ratings that came after training, the other factor fixed.

Each row is its own problem. Under a fixed objective that is the last phase's row problem, solved
until float32 sees no more gain. A dynamic prior has no fixed row problem: what it leads to depends
on the way there. Its phase is run step by step, as in training, from the average row, so that
someone with few ratings is predicted much like everyone (measured on strangers with five ratings
on MovieLens 1M: RMSE .995, against 1.10 from the static phase before it and .998 by item means).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tastemix.engine.base import Engine, Held, Matrix, Pair, Side
from tastemix.engine.cpu import CpuEngine
from tastemix.errors import ParameterError
from tastemix.objective import Phase
from tastemix.ratings import Ratings

MOST_UPDATES = 10_000
"""Coordinate updates of a row, if rounding does not end it before."""
UPDATES_A_STEP = 4
"""Coordinate updates per coordinate in one of many steps towards a moving prior."""


def rows(
    ratings: Ratings,
    fixed: Matrix,
    side: Side,
    phases: Sequence[Phase],
    average: Matrix,
    held: Held = Held(),
    engine: Engine | None = None,
) -> Matrix:
    """The rows of `side` that fit the ratings, given the other side's factor.

    Under a dynamic prior, or where λ₂ pulls towards the average, a row starts as the `average` one
    of training.
    """
    if not phases:
        raise ParameterError("this model was not made by phases: only factorisations take in rows")
    phase = last_phase(phases)
    objective = phase.objective
    count = len(ratings.users if side == "users" else ratings.items)
    moving = np.zeros((count, fixed.shape[1]), np.float32)
    if objective.dynamic or objective.centred:
        moving[:] = average
    moving[:, list(getattr(held, side))] = 1
    start = Pair(moving, fixed) if side == "users" else Pair(fixed, moving)
    session = (engine or CpuEngine()).open(ratings, start, held)
    if objective.dynamic:
        for _ in range(phase.steps):
            session.half_step(side, objective, 0.0, UPDATES_A_STEP * fixed.shape[1])
    else:
        session.half_step(side, objective, 0.0, MOST_UPDATES)
    found: Matrix = getattr(session.factors(), side)
    return found


def last_phase(phases: Sequence[Phase]) -> Phase:
    """The last phase that ran."""
    return next((phase for phase in reversed(phases) if phase.steps > 0), phases[-1])
