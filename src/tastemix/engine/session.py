"""A session over blocks, wherever they are: the one in which half-steps are put together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tastemix.data.ratings import Scale, Side
from tastemix.engine import _native
from tastemix.engine.base import Errors, Spread, StepReport, update_bound
from tastemix.engine.block import HELD, Moved, Terms
from tastemix.engine.choices import Choices
from tastemix.engine.objective import Objective
from tastemix.engine.sides import OTHER, SIDES, Floats, Held, Pair, Pull, Pulls
from tastemix.engine.team import Team, added, joined
from tastemix.engine.totals import Totals, gram_of, least_ridge, linear_of, unknown_power


@dataclass(frozen=True)
class Small:
    """What a session holds beside the rows."""

    means: dict[Side, Floats]
    least: dict[Side, Floats]
    estimated: bool


class BlockSession:
    """Two factors being fitted, their rows in the blocks of a team."""

    def __init__(
        self,
        team: Team,
        rank: int,
        held: Held,
        pulls: Pulls | None,
        shift: float,
        scale: Scale,
        ratings: int,
    ) -> None:
        self.team, self._rank, self._held, self._pulls = team, rank, held, pulls
        self._shift, self._scale, self._ratings = shift, scale, ratings
        self._choices: dict[Side, Choices] = {}
        self._estimated = False
        self._least: dict[Side, Floats] = {}
        self._totals: dict[tuple[Side, str], Totals] = {}
        self.kept: Small | None = None

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        w, target = objective.unknown_weight, objective.target(self._shift)
        if objective.chosen:
            self._make_choices(objective)
        least = self._estimate(side, objective) if objective.estimated else None
        penalised = not objective.estimated and bool(
            objective.l1 or objective.l2 or objective.l2_per_rating
        )
        fixed = self._sums(OTHER[side], objective) if penalised or w else None
        before = self._sums(side, objective) if objective.centred else None
        centre = None if before is None else before.mean
        terms = Terms(
            objective.l2,
            objective.l2_per_rating,
            target,
            w,
            objective.dynamic,
            gram_of(objective, fixed).ravel(),
            linear_of(objective, target, self._rank, fixed, centre),
            objective.chosen,
            least,
            objective.noise,
        )
        # The next half-step needs sums over what moves now, as does what the penalty adds here.
        wanted = (objective.chosen, w != 0) if penalised or w or objective.centred else None
        bound = update_bound(max_updates, self._rank)
        value, moved = self._move(side, terms, tolerance, bound, wanted)
        if wanted is not None:
            self._add_up(side, objective, [m.sums for m in moved if m.sums is not None])
        updates, largest = sum(m.updates for m in moved), max(m.largest for m in moved)
        if objective.estimated:
            self._choices[side].follow()
            return StepReport(value, updates, largest)
        value += fixed.penalty(objective) if fixed is not None and penalised else 0.0
        unknown = self.team.rows("users") * self.team.rows("items") - self._ratings
        value += unknown_power(objective, target, unknown)
        if before is not None:  # the average follows the rows, and is nearer to them
            away = self._sums(side, objective).mean - before.mean
            value += 0.5 * objective.l2 * before.rows * float(before.mean @ before.mean)
            value -= 0.5 * objective.l2 * before.rows * float(away @ away)
        if objective.chosen:
            value += self._follow(side, objective)
        return StepReport(value, updates, largest)

    def _move(
        self,
        side: Side,
        terms: Terms,
        tolerance: float,
        bound: int,
        sums: tuple[bool, bool] | None,
    ) -> tuple[float, list[Moved]]:
        """Survey all rows, then descend those that gain enough."""
        sees = ("rows",) if terms.least is None else ("rows", "variances")
        surveyed = self.team.on(side, "survey", terms, sees=sees)
        threshold = float(np.float32(tolerance) * np.float32(max(gain for _, gain in surveyed)))
        self._totals = {known: of for known, of in self._totals.items() if known[0] != side}
        moved: list[Moved] = self.team.on(side, "descend", threshold, bound, sums, changes=sees)
        value = joined([objective for objective, _ in surveyed])
        return float((value - joined([m.decrease for m in moved])).sum()), moved

    def _follow(self, side: Side, objective: Objective) -> float:
        """Let the side's centres follow its rows: what Z costs, less what the rows are nearer."""
        before = self._sums(side, objective).penalty(objective)
        self._choices[side].follow()
        self._totals.pop((side, "choices"))
        after = self._sums(side, objective).penalty(objective)
        return after - before + sum(choices.penalty() for choices in self._choices.values())

    def _estimate(self, side: Side, objective: Objective) -> Floats:
        """What all ridges of a side have in common, by what its rows' spread says."""
        spread = self._choices[side].spread()
        self._least[side] = least = least_ridge(spread, self._held.of(side), objective)
        return least

    def _make_choices(self, objective: Objective) -> None:
        new = not self._choices
        for side in SIDES:
            if new:
                self._choices[side] = Choices(self.team, side, self._rank)
            self._choices[side].set(objective)
        pulls = self._pulls
        for side in SIDES if new else ():
            if pulls is None:
                self._choices[side].follow(0)
            else:
                self.team.put(OTHER[side], "z", pulls.of(side).z)
                self._choices[side].mean = pulls.of(side).mean
                self._choices[side].place()
        if objective.estimated and not self._estimated:
            self._estimated = True
            for side in SIDES:
                known = None if pulls is None else pulls.of(OTHER[side]).variances
                if known is not None:
                    self.team.put(side, "variances", known)

    def _sums(self, side: Side, objective: Objective) -> Totals:
        """Sums over the rows of a side as they are now; made once until the rows move."""
        known = self._totals.get((side, objective.centre))
        if known is None or (objective.unknown_weight and not len(known.gram)):
            sums = self.team.on(side, "sums", objective.chosen, objective.unknown_weight != 0)
            known = self._add_up(side, objective, sums)
        return known

    def _add_up(self, side: Side, objective: Objective, sums: list[Floats]) -> Totals:
        total = added(self.team, side, sums)
        known = Totals.of(self.team.rows(side), self._rank, total)
        self._totals[side, objective.centre] = known
        return known

    def rmse(self, part: Any) -> float:
        """See Session.rmse."""
        squared = joined(self.team.on_part(part, sees=("rows",)))
        return math.sqrt(float(squared.sum()) / len(part.ratings))

    def errors(self, part: Any) -> Errors:
        """See Session.errors."""
        half = part.ratings.by_user
        rows = half.rows
        products = _native.pair_products(*self.factors(), rows, half.indices)
        return Errors(rows, half.indices, half.values.astype(np.float64), products + self._shift)

    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        squared = self.team.on(side, "errors", *self._scale, sees=("rows",))
        return Spread(joined(squared), self.team.counts(side))

    def keep(self) -> None:
        """See Session.keep."""
        for side in SIDES:
            self.team.on(side, "keep", later=True)
        self.kept = self.small()

    def restore(self) -> None:
        """See Session.restore."""
        if self.kept is not None:
            for side in SIDES:
                self.team.on(side, "restore", changes=HELD, later=True)
            self.go_on_from(self.kept)

    def small(self) -> Small:
        """What is held here beside the rows in blocks."""
        means = {side: choices.mean for side, choices in self._choices.items()}
        return Small(means, dict(self._least), self._estimated)

    def go_on_from(self, small: Small) -> None:
        """Take up what was held here when the blocks held what they now hold."""
        self._least, self._estimated, self._totals = dict(small.least), small.estimated, {}
        self._choices = {}
        for side, mean in small.means.items():
            self._choices[side] = Choices(self.team, side, self._rank)
            self._choices[side].mean = mean

    def factors(self) -> Pair:
        """See Session.factors."""
        return Pair(*(self.team.whole(side, "rows") for side in SIDES))

    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        if not self._choices:
            return self._pulls
        return Pulls(*(self._pull(side) for side in SIDES))

    def _pull(self, side: Side) -> Pull:
        mean, z = self._choices[side].mean, self.team.whole(OTHER[side], "z")
        if not self._estimated:
            return Pull(mean, z)
        return Pull(mean, z, self._least.get(side), self.team.whole(OTHER[side], "variances"))
