"""The cross product that engine tests run over: objectives × instruction sets × problems."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import (
    CpuEngine,
    Engine,
    Held,
    Pair,
    RandomStart,
    ReferenceEngine,
    Session,
    _native,
    cuda,
)
from tastemix.engine.cuda import card
from tastemix.engine.objective import Objective

OBJECTIVES = {
    "ignored": Objective(),
    "l1": Objective(l1=0.2),
    "l2": Objective(l2=0.5),
    "l2 per rating": Objective(l2=0.1, l2_per_rating=0.03),
    "towards the average": Objective(l2=2.0, l2_per_rating=0.03, centre="average"),
    "towards choices": Objective(
        l2=2.0, l2_per_rating=0.03, centre="choices", choice_penalty=1.0, choice_shrinkage=2.0
    ),
    "prior 0": Objective(prior=0.0),
    "prior 3": Objective(prior=3.0),
    "weak prior": Objective(prior=3.0, weight=0.3, l1=0.1),
    "prior of no weight": Objective(prior=3.0, weight=0.0),
    "prior, ridge per rating": Objective(prior=2.0, l2_per_rating=0.05),
    "dynamic": Objective(prior="dynamic"),
    "weak dynamic": Objective(prior="dynamic", weight=0.4, l2=0.2),
}
ISAS = _native.available_isas()
ENGINES = {
    **dict.fromkeys(ISAS, CpuEngine),
    "cuda": cuda.engine,
    "reference": ReferenceEngine,
}
"""Those that are judged: a new engine is judged by being listed here."""
JUDGED = [name for name in ENGINES if name != "reference"]
NO_CARD = card.missing()
HERE = [name for name in JUDGED if name != "cuda" or not NO_CARD]
"""Those that can run on this machine."""


@contextlib.contextmanager
def engine(name: str) -> Iterator[Engine]:
    """An engine, on the instruction set it is named after."""
    if name == "cuda" and NO_CARD:
        pytest.skip(NO_CARD)
    with isa(name) if name in ISAS else contextlib.nullcontext():
        yield ENGINES[name]()


@contextlib.contextmanager
def isa(name: str) -> Iterator[None]:
    before = _native.current_isa()
    _native.use_isa(name)
    try:
        yield
    finally:
        _native.use_isa(before)


def steps(
    engine: Engine,
    ratings: tm.Ratings,
    rank: int,
    objective: Objective,
    count: int,
    *,
    seed: int = 0,
    start: Pair | None = None,
    held: Held = Held(),
    offsets: bool = False,
    tolerance: float = 1e-3,
) -> Session:
    """A session after some steps."""
    session = engine.place(ratings).open(start or RandomStart(rank, seed, offsets), held)
    for _ in range(count):
        session.half_step("items", objective, tolerance)
        session.half_step("users", objective, tolerance)
    return session


def half_of_squares(ratings: tm.Ratings) -> float:
    """½Σa², what the objectives of two engines are compared against."""
    return 0.5 * float(((ratings.by_user.values.astype(np.float64) - ratings.shift) ** 2).sum())
