"""The native engine: the row problem in C++, all cores, the instruction set of the machine."""

from __future__ import annotations

import os

import numpy as np

from tastemix.data.ratings import Ratings
from tastemix.engine import _native
from tastemix.engine.base import Held, Pair, Side, StepReport, update_bound
from tastemix.engine.objective import Objective
from tastemix.errors import EngineError, ParameterError

_SIDES: dict[Side, int] = {"users": 0, "items": 1}


class CpuSession:
    """A session whose factors live in padded float32 rows."""

    def __init__(self, ratings: Ratings, start: Pair, held: Held) -> None:
        self._rank = start.users.shape[1]
        self._shift = ratings.shift
        by_user, by_item = ratings.by_user, ratings.by_item
        self._native = _native.Session(
            *(by_user.pointers, by_user.indices, by_user.values),
            *(by_item.pointers, by_item.indices, by_item.values),
            self._rank,
            self._shift,
        )
        for side, factor, coordinates in zip(_SIDES.values(), start, held, strict=True):
            self._native.set_factor(side, np.ascontiguousarray(factor, np.float32))
            for coordinate in coordinates:
                self._native.hold(side, coordinate)

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        return StepReport(
            *self._native.half_step(
                _SIDES[side],
                objective.l1,
                objective.l2,
                objective.l2_per_rating,
                objective.target(self._shift),
                objective.unknown_weight,
                objective.dynamic,
                objective.centred,
                tolerance,
                update_bound(max_updates, self._rank),
            )
        )

    def factors(self) -> Pair:
        """See Session.factors."""
        return Pair(self._native.get_factor(0), self._native.get_factor(1))


class CpuEngine:
    """The default engine."""

    def open(self, ratings: Ratings, start: Pair, held: Held = Held()) -> CpuSession:
        """See Engine.open."""
        return CpuSession(ratings, start, held)


def set_threads(n: int) -> None:
    """Use n threads from now on; the results do not depend on it."""
    if n < 1:
        raise ParameterError(f"threads is {n}: it must be 1 or more")
    _native.set_threads(n)


def use_isa(name: str) -> None:
    """Use one of the instruction sets this processor has (plain, avx2, avx512) from now on."""
    if name not in _native.available_isas():
        raise EngineError(
            f"this processor has no instruction set {name!r}: "
            f"set TASTEMIX_ISA to one of {', '.join(_native.available_isas())}, or leave it out"
        )
    _native.use_isa(name)


def configure_from_environment() -> None:
    """Follow TASTEMIX_THREADS and TASTEMIX_ISA."""
    if threads := os.environ.get("TASTEMIX_THREADS"):
        if not threads.isdecimal():
            raise ParameterError(f"TASTEMIX_THREADS is {threads!r}: it must be a whole number")
        set_threads(int(threads))
    if isa := os.environ.get("TASTEMIX_ISA"):
        use_isa(isa)


configure_from_environment()
