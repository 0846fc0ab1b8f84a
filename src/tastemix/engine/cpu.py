"""The native engine: the row problem in C++, on all cores, with the widest instruction set."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine import _native
from tastemix.engine.base import Errors, Fold, Spread, StepReport, update_bound
from tastemix.engine.objective import CHOICE_ITERATIONS, Objective
from tastemix.engine.sides import OTHER, SIDES, Floats, Held, Matrix, Pair, Pull, Pulls
from tastemix.engine.start import RandomStart, Start, drawn
from tastemix.engine.totals import Totals, gram_of, least_ridge, linear_of, unknown_power
from tastemix.errors import EngineError, ParameterError


def _half(half: Half, columns: int) -> _native.Half:
    return _native.Half(half.pointers, half.indices, half.values, columns)


@dataclass(frozen=True, eq=False)
class CpuPart:
    """Ratings to evaluate on, checked once."""

    ratings: Ratings
    by_user: _native.Half


class CpuPlaced:
    """Ratings in this machine's memory, checked once for all sessions."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        users, items = len(ratings.users), len(ratings.items)
        self.halves: dict[Side, _native.Half] = {
            "users": _half(ratings.by_user, items),
            "items": _half(ratings.by_item, users),
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
        return CpuPart(ratings, _half(ratings.by_user, len(ratings.items)))

    def split(self, seed: int, share: float) -> tuple[CpuPlaced, CpuPart]:
        """See Placed.split."""
        taken = drawn(len(self.ratings), seed, share)
        return CpuPlaced(self.ratings.subset(~taken)), self.part(self.ratings.subset(taken))

    def close(self) -> None:
        """Nothing is held."""


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
    """A session whose factors live in padded float32 rows."""

    def __init__(
        self, placed: CpuPlaced, start: Start, held: Held, pulls: Pulls | None, shift: float
    ) -> None:
        ratings = placed.ratings
        if isinstance(start, RandomStart):
            held, start = start.held, start.pair(len(ratings.users), len(ratings.items))
        self.turn = _native.Turn()
        self._placed, self._ratings, self._shift, self._held = placed, ratings, shift, held
        self._rank = start.users.shape[1]
        self._rows: dict[Side, _native.Rows] = {}
        self._movers: dict[Side, _native.Mover] = {}
        self._choices: dict[Side, _native.Choices] = {}
        self._ridges: dict[Side, _native.Ridges] = {}
        self._least: dict[Side, Floats] = {}
        self._totals: dict[tuple[Side, str], Totals] = {}
        self._pulls = pulls
        self._kept: tuple[Pair, Pulls | None] | None = None
        work = _native.Workspace()
        for side in SIDES:
            rows = _native.Rows(np.ascontiguousarray(start.of(side), np.float32))
            self._rows[side] = rows
            self._movers[side] = _native.Mover(placed.halves[side], rows, shift, work)
            for coordinate in held.of(side):
                self._movers[side].hold(coordinate)

    @_alone
    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        w, target = objective.unknown_weight, objective.target(self._shift)
        if objective.chosen:
            self._make_choices(objective)
        ridges = self._estimate(side, objective) if objective.estimated else None
        penalised = not objective.estimated and bool(
            objective.l1 or objective.l2 or objective.l2_per_rating
        )
        fixed = self._sums(OTHER[side], objective) if penalised or w else None
        before = self._sums(side, objective) if objective.centred else None
        centre = None if before is None else before.mean
        mover = self._movers[side]
        value, gain = mover.survey(
            self._rows[OTHER[side]],
            objective.l2,
            objective.l2_per_rating,
            target,
            w,
            objective.dynamic,
            gram_of(objective, fixed).ravel(),
            linear_of(objective, target, self._rank, fixed, centre),
            self._choices[side].centres if objective.chosen else None,
            None if ridges is None else ridges.each,
            None if ridges is None else ridges.variances,
            objective.noise,
        )
        threshold = float(np.float32(tolerance) * np.float32(gain))
        self._totals = {known: of for known, of in self._totals.items() if known[0] != side}
        decrease, updates, largest = mover.descend(threshold, update_bound(max_updates, self._rank))
        value -= decrease
        if objective.estimated:
            self._choices[side].follow(self._rows[side], CHOICE_ITERATIONS)
            return StepReport(value, updates, largest)
        value += fixed.penalty(objective) if fixed is not None and penalised else 0.0
        unknown = len(self._ratings.users) * len(self._ratings.items) - len(self._ratings)
        value += unknown_power(objective, target, unknown)
        if before is not None:  # the average follows the rows, and is nearer to them
            moved = self._sums(side, objective).mean - before.mean
            value += 0.5 * objective.l2 * before.rows * float(before.mean @ before.mean)
            value -= 0.5 * objective.l2 * before.rows * float(moved @ moved)
        if objective.chosen:
            value += self._follow(side, objective)
        return StepReport(value, updates, largest)

    def _follow(self, side: Side, objective: Objective) -> float:
        """Let the side's centres follow its rows: what Z costs, less what the rows are nearer."""
        before = self._sums(side, objective).penalty(objective)
        self._choices[side].follow(self._rows[side], CHOICE_ITERATIONS)
        self._totals.pop((side, "choices"))
        after = self._sums(side, objective).penalty(objective)
        return after - before + sum(choices.penalty() for choices in self._choices.values())

    def _estimate(self, side: Side, objective: Objective) -> _native.Ridges:
        """The ridges of a side: what its rows' spread says, and how uncertain the others are."""
        ridges = self._ridges[side]
        spread = self._choices[side].spread(self._rows[side], ridges.variances)
        self._least[side] = least_ridge(spread, self._held.of(side), objective)
        ridges.estimate(self._ridges[OTHER[side]].variances, self._least[side])
        return ridges

    def _make_choices(self, objective: Objective) -> None:
        for side in SIDES:
            new = side not in self._choices
            if new:
                own, other = (self._placed.halves[s] for s in (side, OTHER[side]))
                self._choices[side] = _native.Choices(own, other, self._rank)
            choices = self._choices[side]
            choices.set(
                objective.l2,
                objective.l2_per_rating,
                objective.choice_penalty,
                objective.choice_shrinkage,
                objective.estimated,
            )
            if new and self._pulls is not None:
                pull = self._pulls.of(side)
                choices.put(pull.mean, np.ascontiguousarray(pull.z, np.float32))
            elif new:
                choices.follow(self._rows[side], 0)
            if objective.estimated and side not in self._ridges:
                self._ridges[side] = _native.Ridges(self._placed.halves[side], self._rank)
                known = None if self._pulls is None else self._pulls.of(OTHER[side]).variances
                if known is not None:
                    self._ridges[side].variances.set(np.ascontiguousarray(known, np.float32))

    def _sums(self, side: Side, objective: Objective) -> Totals:
        """Sums over the rows of a side as they are now; made once until the rows move."""
        known = self._totals.get((side, objective.centre))
        if known is None or (objective.unknown_weight and not len(known.gram)):
            centres = self._choices[side].centres if objective.chosen else None
            gram = objective.unknown_weight != 0
            spans = self._rows[side].sums(self._placed.halves[side], centres, gram)
            known = Totals.of(len(self._ratings.ids(side)), spans)
            self._totals[side, objective.centre] = known
        return known

    @_alone
    def rmse(self, part: CpuPart) -> float:
        """See Session.rmse."""
        squared = self._row_errors("users", part.by_user, (-math.inf, math.inf))
        return math.sqrt(float(squared.sum()) / len(part.ratings))

    def errors(self, part: CpuPart) -> Errors:
        """See Session.errors."""
        half = part.ratings.by_user
        rows = half.rows
        products = _native.pair_products(*self.factors(), rows, half.indices)
        return Errors(rows, half.indices, half.values.astype(np.float64), products + self._shift)

    @_alone
    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        squared = self._row_errors(side, self._placed.halves[side], self._ratings.scale)
        return Spread(squared, self._ratings.half(side).counts)

    def _row_errors(
        self, side: Side, half: _native.Half, ends: tuple[float, float]
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        moving, fixed = self._rows[side], self._rows[OTHER[side]]
        return _native.row_errors(half, moving, fixed, self._shift, *ends)

    @_alone
    def keep(self) -> None:
        """See Session.keep."""
        self._kept = self._pair(), self._pulled()

    @_alone
    def restore(self) -> None:
        """See Session.restore."""
        if self._kept is not None:
            factors, self._pulls = self._kept
            for side in SIDES:
                self._rows[side].set(factors.of(side))
            self._choices, self._ridges, self._least, self._totals = {}, {}, {}, {}

    @_alone
    def factors(self) -> Pair:
        """See Session.factors."""
        return self._pair()

    def _pair(self) -> Pair:
        return Pair(self._rows["users"].get(), self._rows["items"].get())

    @_alone
    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        return self._pulled()

    def _pulled(self) -> Pulls | None:
        if not self._choices:
            return self._pulls
        return Pulls(*(self._pull(side) for side in SIDES))

    def _pull(self, side: Side) -> Pull:
        choices = self._choices[side]
        if not self._ridges:
            return Pull(choices.mean, choices.z)
        least, others = self._least.get(side), self._ridges[OTHER[side]].variances.get()
        return Pull(choices.mean, choices.z, least, others)


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
            fixed = Totals.of(self._count, self._rows.sums(None, None, True))
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
