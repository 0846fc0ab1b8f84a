"""The engine on a CUDA card: ratings, factors and sums stay there from `place` to `factors`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine.base import Errors, Spread, StepReport, update_bound
from tastemix.engine.cuda import draws, halves, lists
from tastemix.engine.cuda.choices import Choices, Ridges
from tastemix.engine.cuda.fixed import CudaFixed
from tastemix.engine.cuda.halves import CudaHalf
from tastemix.engine.cuda.kernels import INT, kernels_for, width_of
from tastemix.engine.cuda.mover import Mover, Pulled
from tastemix.engine.cuda.neighbours import neighbours
from tastemix.engine.cuda.rows import movable, room, started, totals_of
from tastemix.engine.cuda.space import Space
from tastemix.engine.neighbours import Settings, Stars
from tastemix.engine.objective import CHOICE_ITERATIONS, Objective
from tastemix.engine.searching import Listed, Scored
from tastemix.engine.sides import OTHER, SIDES, Floats, Held, Matrix, Pair, Pull, Pulls
from tastemix.engine.start import RandomStart, Start
from tastemix.engine.totals import Totals, gram_of, least_ridge, linear_of, unknown_power


@dataclass(frozen=True, eq=False)
class CudaPart:
    """Ratings on the card to evaluate on."""

    by_user: CudaHalf


class CudaPlaced:
    """Ratings on the card, by user and by item."""

    def __init__(self, by_user: CudaHalf, items: int, scale: tuple[float, float], shift: float):
        self.halves: dict[Side, CudaHalf] = {
            "users": by_user,
            "items": halves.turned(by_user, items),
        }
        self.ratings, self.scale, self.shift = len(by_user.indices), scale, shift

    def open(
        self,
        start: Start,
        held: Held = Held(),
        pulls: Pulls | None = None,
        shift: float | None = None,
    ) -> CudaSession:
        """See Placed.open."""
        rank = start.users.shape[1] if isinstance(start, Pair) else len(start.items(0, 1)[0])
        rows = [self.halves[side].rows for side in SIDES]
        halves.check_room(4 * width_of(rank) * (sum(rows) + max(rows)), "the factors")
        with room():
            return CudaSession(
                self, start, rank, held, pulls, self.shift if shift is None else shift
            )

    def part(self, ratings: Ratings) -> CudaPart:
        """See Placed.part."""
        with room():
            return CudaPart(halves.on_card(ratings.by_user))

    def split(self, seed: int, share: float) -> tuple[CudaPlaced, CudaPart]:
        """See Placed.split."""
        own = self.halves["users"]
        with room():
            taken = draws.taken(self.ratings, seed, share)
            unseen = CudaPart(halves.chosen(own, taken))
            seen = halves.chosen(own, ~taken)
            return CudaPlaced(seen, self.halves["items"].rows, self.scale, self.shift), unseen

    def neighbours(self, settings: Settings, stars: Stars | None) -> Half | None:
        """See Linking.neighbours."""
        with room():
            return neighbours(self.halves["users"], self.halves["items"], settings, stars)

    def close(self) -> None:
        """Give the card's memory back."""
        self.halves.clear()
        cp.get_default_memory_pool().free_all_blocks()


class CudaSession:
    """A session whose factors live on the card, in rows padded with zeros."""

    def __init__(
        self,
        placed: CudaPlaced,
        start: Start,
        rank: int,
        held: Held,
        pulls: Pulls | None,
        shift: float,
    ) -> None:
        self._placed, self._halves, self._shift, self._rank = placed, placed.halves, shift, rank
        self._held = start.held if isinstance(start, RandomStart) else held
        self._kernels = kernels_for(rank)
        self._rows: dict[Side, Any] = {}
        self._movable: dict[Side, Any] = {}
        self._choices: dict[Side, Choices] = {}
        self._ridges: dict[Side, Ridges] = {}
        self._least: dict[Side, Floats] = {}
        self._totals: dict[tuple[Side, str], Totals] = {}
        self._pulls = pulls
        self._kept: tuple[dict[Side, Any], Pulls | None] | None = None
        for side in SIDES:
            self._rows[side] = started(self._kernels, start, side, self._halves[side].rows)
            self._movable[side] = movable(self._kernels, rank, self._held.of(side))
        self._mover = Mover(self._kernels, max(half.rows for half in self._halves.values()))
        self._space = Space(self._kernels.width)

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        with room():
            return self._half_step(side, objective, tolerance, max_updates)

    def _half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None
    ) -> StepReport:
        w, target = objective.unknown_weight, objective.target(self._shift)
        if objective.chosen:
            self._make_choices(objective)
        pulled = Pulled(self._choices[side].centres) if objective.chosen else Pulled()
        rows = self._halves[side].rows
        gradient, each = self._space.matrices(rows, rows if objective.estimated else 0)
        if objective.estimated:
            variances = self._estimate(side, objective, each)
            pulled = Pulled(pulled.centres, each, variances)
        penalised = not objective.estimated and bool(
            objective.l1 or objective.l2 or objective.l2_per_rating
        )
        fixed = self._sums(OTHER[side], objective) if w else None
        before = self._sums(side, objective) if objective.centred else None
        self._totals = {known: of for known, of in self._totals.items() if known[0] != side}
        value, updates, largest = self._mover.move(
            self._halves[side],
            self._rows[side],
            self._rows[OTHER[side]],
            self._movable[side],
            gradient,
            objective,
            self._shift,
            gram_of(objective, fixed),
            linear_of(
                objective, target, self._rank, fixed, None if before is None else before.mean
            ),
            pulled,
            tolerance,
            update_bound(max_updates, self._rank),
        )
        if objective.estimated:
            self._choices[side].follow(self._rows[side], CHOICE_ITERATIONS)
            return StepReport(value, updates, largest)
        if penalised:
            value += self._sums(OTHER[side], objective).penalty(objective)
        pairs = self._halves["users"].rows * self._halves["items"].rows
        value += unknown_power(objective, target, pairs - self._placed.ratings)
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

    def _estimate(self, side: Side, objective: Objective, each: Any) -> Any:
        """The ridges of a side, in `each`, and its variances: what its rows' spread says, and how
        uncertain the others are.
        """
        ridges = self._ridges[side]
        spread = self._choices[side].spread(self._rows[side], ridges.variances)[: self._rank]
        self._least[side] = least_ridge(spread, self._held.of(side), objective)
        ridges.estimate(self._ridges[OTHER[side]].variances, self._least[side], each)
        return ridges.variances

    def _make_choices(self, objective: Objective) -> None:
        new = not self._choices
        if new:
            counts = sorted(half.rows for half in self._halves.values())
            self._space.reserve(counts[0] + 2 * counts[1])  # what following one side takes
        for side in SIDES:
            own, other = self._halves[side], self._halves[OTHER[side]]
            if new:
                self._choices[side] = Choices(self._kernels, own, other, self._space)
            choices = self._choices[side]
            choices.set(objective)
            if new and self._pulls is not None:
                choices.put(self._pulls.of(side).mean, self._pulls.of(side).z)
            elif new:
                choices.follow(self._rows[side], 0)
            if objective.estimated and side not in self._ridges:
                self._ridges[side] = Ridges(self._kernels, own)
                known = None if self._pulls is None else self._pulls.of(OTHER[side]).variances
                if known is not None:
                    self._ridges[side].variances[:, : self._rank] = cp.asarray(known)
        if new:
            cp.get_default_memory_pool().free_all_blocks()

    def _sums(self, side: Side, objective: Objective) -> Totals:
        """Sums over the rows of a side as they are now; made once until the rows move."""
        known = self._totals.get((side, objective.centre))
        if known is None or (objective.unknown_weight and not len(known.gram)):
            centres = self._choices[side].centres if objective.chosen else None
            gram = objective.unknown_weight != 0
            known = totals_of(
                self._kernels, self._rows[side], self._rank, self._halves[side], centres, gram
            )
            self._totals[side, objective.centre] = known
        return known

    def rmse(self, part: CudaPart) -> float:
        """See Session.rmse."""
        squared = self._row_errors("users", part.by_user, (-math.inf, math.inf))
        return math.sqrt(float(squared.sum()) / len(part.by_user.indices))

    def errors(self, part: CudaPart) -> Errors:
        """See Session.errors."""
        half = part.by_user
        products = cp.empty(len(half.indices), cp.float32)
        pair = self._rows["users"], self._rows["items"]
        rest = half.struct, *pair, INT(half.rows), products
        self._kernels.by_warp("products", half.rows, *rest)
        truth = half.values.of(0, len(half.indices)).get().astype(np.float64)
        found = products.get().astype(np.float64) + self._shift
        return Errors(half.rows_of_entries.get(), half.indices.get(), truth, found)

    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        half = self._halves[side]
        return Spread(self._row_errors(side, half, self._placed.scale), half.counts.get())

    def _row_errors(self, side: Side, half: CudaHalf, ends: tuple[float, float]) -> Floats:
        squared = cp.empty(half.rows, cp.float64)
        pair = self._rows[side], self._rows[OTHER[side]]
        numbers = *map(np.float64, (self._shift, *ends)), INT(half.rows)
        self._kernels.by_warp("row_errors", half.rows, half.struct, *pair, *numbers, squared)
        return np.asarray(squared.get())

    def keep(self) -> None:
        """See Session.keep."""
        rows = {side: self._rows[side].copy() for side in SIDES}
        self._kept = rows, self.pulls()

    def restore(self) -> None:
        """See Session.restore."""
        if self._kept is not None:
            rows, self._pulls = self._kept
            for side in SIDES:
                self._rows[side][:] = rows[side]
            self._choices, self._ridges, self._least, self._totals = {}, {}, {}, {}

    def factors(self) -> Pair:
        """See Session.factors."""
        return Pair(*(self._narrow(self._rows[side]) for side in SIDES))

    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        if not self._choices:
            return self._pulls
        return Pulls(*(self._pull(side) for side in SIDES))

    def _pull(self, side: Side) -> Pull:
        choices = self._choices[side]
        mean, z = choices.mean.get()[: self._rank], self._narrow(choices.z)
        if not self._ridges:
            return Pull(mean, z)
        others = self._narrow(self._ridges[OTHER[side]].variances)
        return Pull(mean, z, self._least.get(side), others)

    def _narrow(self, rows: Any) -> Matrix:
        narrow: Matrix = cp.ascontiguousarray(rows[:, : self._rank]).get()
        return narrow


class CudaEngine:
    """The engine on the card in use."""

    most_listed = lists.MOST_LISTED

    def place(self, ratings: Ratings) -> CudaPlaced:
        """See Engine.place."""
        users, items = len(ratings.users), len(ratings.items)
        halves.check_room(halves.bytes_needed(len(ratings), users, items, 1), "the ratings")
        with room():
            return CudaPlaced(halves.on_card(ratings.by_user), items, ratings.scale, ratings.shift)

    def fix(self, factor: Matrix) -> CudaFixed:
        """See Engine.fix."""
        with room():
            return CudaFixed(factor)

    def best(self, scored: Scored, seen: Half, allowed: NDArray[np.uint8] | None, n: int) -> Listed:
        """See Searching.best."""
        with room():
            return lists.best(scored, seen, allowed, n)
