"""The native engine: the row problem in C++, on all cores, with the widest instruction set."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine import _native, splitting
from tastemix.engine._native import SPAN_ROWS
from tastemix.engine.base import Errors, Fold, Spread, StepReport
from tastemix.engine.block import Block, Look, Rated
from tastemix.engine.neighbours import Settings, Stars, neighbours_in
from tastemix.engine.objective import Objective
from tastemix.engine.session import BlockSession
from tastemix.engine.sides import OTHER, SIDES, Held, Matrix, Pair, Pulls
from tastemix.engine.start import RandomStart, Start
from tastemix.engine.team import Looks
from tastemix.engine.totals import Totals, gram_of, linear_of, summed
from tastemix.errors import EngineError, ParameterError


@dataclass(frozen=True, eq=False)
class CpuPart:
    """Ratings to evaluate on, checked once."""

    ratings: Ratings
    rated: Rated


class CpuPlaced:
    """Ratings in this machine's memory, checked once for all sessions."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        users, items = len(ratings.users), len(ratings.items)
        self.rated: dict[Side, Rated] = {
            "users": Rated(ratings.by_user, items),
            "items": Rated(ratings.by_item, users),
        }

    def open(
        self,
        start: Start,
        held: Held = Held(),
        pulls: Pulls | None = None,
        shift: float | None = None,
    ) -> CpuSession:
        """See Placed.open."""
        return CpuSession(self, start, held, pulls, self.ratings.shift if shift is None else shift)

    def part(self, ratings: Ratings) -> CpuPart:
        """See Placed.part."""
        return CpuPart(ratings, Rated(ratings.by_user, len(ratings.items)))

    def split(self, seed: int, share: float) -> tuple[CpuPlaced, CpuPart]:
        """See Placed.split."""
        seen, unseen = splitting.split(self.ratings, seed, share)
        return CpuPlaced(seen), self.part(unseen)

    def neighbours(self, settings: Settings, stars: Stars | None) -> Half:
        """See Linking.neighbours."""
        return neighbours_in(self.ratings, settings, stars)

    def close(self) -> None:
        """Nothing is held."""


class CpuTeam:
    """A block of all users and one of all items, each of which sees the other's rows in place."""

    def __init__(self, placed: CpuPlaced, start: Start, held: Held, shift: float) -> None:
        self.blocks: dict[Side, Block] = {}
        self.work = work = _native.Workspace()
        for side in SIDES:
            rated = placed.rated[side]
            rows = (
                _drawn(start, side, len(rated.counts))
                if isinstance(start, RandomStart)
                else start.of(side)
            )
            self.blocks[side] = Block(
                rated, rows, held.of(side), shift, SPAN_ROWS, self._shown_by(OTHER[side]), work
            )

    def _shown_by(self, side: Side) -> Look:
        team = weakref.proxy(self)  # its blocks hold this, and no ring of large arrays is wanted
        return lambda name: team.blocks[side].shown(name)

    def rows(self, side: Side) -> int:
        """See Team.rows."""
        return len(self.blocks[side].rated.counts)

    def group(self, side: Side) -> int:
        """See Team.group."""
        return SPAN_ROWS

    def on(self, side: Side, work: str, *arguments: Any, **looks: Unpack[Looks]) -> list[Any]:
        """See Team.on."""
        return [getattr(self.blocks[side], work)(*arguments)]

    def on_part(self, part: CpuPart, sees: Sequence[str]) -> list[Any]:
        """See Team.on_part."""
        return self.on("users", "errors_on", part.rated)

    def whole(self, side: Side, name: str) -> Matrix:
        """See Team.whole."""
        return self.blocks[side].vector(name)

    def put(self, side: Side, name: str, values: Matrix) -> None:
        """See Team.put."""
        self.blocks[side].put(name, values)

    def counts(self, side: Side) -> NDArray[np.int64]:
        """See Team.counts."""
        return self.blocks[side].rated.counts


DRAWN_AT_ONCE = 2**16


def _drawn(start: RandomStart, side: Side, count: int) -> _native.Rows:
    """Random initial rows, drawn a few at a time."""
    draw = start.users if side == "users" else start.items
    rows = _native.Rows(count, draw(0, 0).shape[1])
    for first in range(0, count, DRAWN_AT_ONCE):
        rows.put(first, draw(first, min(count, first + DRAWN_AT_ONCE)))
    return rows


P = ParamSpec("P")
T = TypeVar("T")


def _alone(
    method: Callable[Concatenate[CpuSession, P], T],
) -> Callable[Concatenate[CpuSession, P], T]:
    """Refuse a second user of the session, another thread's or a signal handler's."""

    @wraps(method)
    def served(session: CpuSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with session.turn:
            return method(session, *args, **kwargs)

    return served


class CpuSession:
    """A session whose factors live in padded float32 rows, for one caller at a time."""

    def __init__(
        self, placed: CpuPlaced, start: Start, held: Held, pulls: Pulls | None, shift: float
    ) -> None:
        ratings = placed.ratings
        if isinstance(start, RandomStart):
            held = start.held
        self.turn = _native.Turn()
        self.team = CpuTeam(placed, start, held, shift)
        rank = self.team.blocks["users"].rank
        self._session = BlockSession(
            self.team, rank, held, pulls, shift, ratings.scale, len(ratings)
        )

    @_alone
    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        return self._session.half_step(side, objective, tolerance, max_updates)

    @_alone
    def rmse(self, part: CpuPart) -> float:
        """See Session.rmse."""
        return self._session.rmse(part)

    @_alone
    def errors(self, part: CpuPart) -> Errors:
        """See Session.errors."""
        return self._session.errors(part)

    @_alone
    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        return self._session.spread(side)

    @_alone
    def keep(self) -> None:
        """See Session.keep."""
        self._session.keep()

    @_alone
    def restore(self) -> None:
        """See Session.restore."""
        self._session.restore()

    @_alone
    def factors(self) -> Pair:
        """See Session.factors. The room for half-steps is given back first."""
        self.team.work.release()
        return self._session.factors()

    @_alone
    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        return self._session.pulls()


class CpuFixed:
    """A factor in padded rows, with the sums that a prior needs."""

    def __init__(self, factor: Matrix) -> None:
        self._rows = _native.Rows(np.ascontiguousarray(factor, np.float32))
        self._count, self._rank = factor.shape
        self._known: tuple[Objective, float, Matrix, Matrix] | None = None

    def rows(self, fold: Fold) -> Matrix:
        """See Fixed.rows."""
        half, start, objective = fold.half, fold.start, fold.objective
        target = objective.target(fold.shift)
        known = self._known
        if known is None or known[0] is not objective or known[1] != target:
            self._known = known = (objective, target, *self._terms(objective, target))
        gram, linear = known[2:]
        if objective.centred:
            centre = start[0] if len(start) == 1 else start.mean(axis=0, dtype=np.float64)
            linear = linear - np.float32(objective.l2) * centre.astype(np.float32)
        return _native.fold(
            self._rows,
            *(half.pointers, half.indices, half.values),
            np.ascontiguousarray(start, np.float32),
            fold.held,
            fold.shift,
            objective.l2,
            objective.l2_per_rating,
            target,
            objective.unknown_weight,
            objective.dynamic,
            gram,
            linear,
            None if fold.centres is None else np.ascontiguousarray(fold.centres, np.float32),
            None if fold.ridges is None else np.ascontiguousarray(fold.ridges, np.float32),
            fold.max_updates,
            fold.times,
        )

    def _terms(self, objective: Objective, target: float) -> tuple[Matrix, Matrix]:
        """wG, and the gradient's part that all rows share."""
        fixed = None
        if objective.unknown_weight:
            sums = summed(self._rows.sums(None, None, True), SPAN_ROWS)
            fixed = Totals.of(self._count, self._rank, sums)
        linear = linear_of(objective, target, self._rank, fixed, None)
        return gram_of(objective, fixed).ravel(), linear


class CpuEngine:
    """The default engine."""

    def place(self, ratings: Ratings) -> CpuPlaced:
        """See Engine.place."""
        return CpuPlaced(ratings)

    def fix(self, factor: Matrix) -> CpuFixed:
        """See Engine.fix."""
        return CpuFixed(factor)


def set_threads(n: int) -> None:
    """Use n threads from now on. The results do not depend on the number of threads."""
    _native.set_threads(checks.whole("threads", n, most=MOST_THREADS))


MOST_THREADS = 1024


def use_isa(name: str) -> None:
    """Use one of the instruction sets this processor has (plain, avx2, avx512) from now on."""
    if name not in _native.available_isas():
        raise EngineError(
            f"this processor has no instruction set {name!r}: "
            f"set TASTEMIX_ISA to one of {', '.join(_native.available_isas())}, or unset it"
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
