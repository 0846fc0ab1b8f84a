"""A block: neighbouring rows of one side with their ratings, and all that is done to them.

A block sees the rows of the other side, wherever they are, by the name of what they hold. Sums over
its rows come back as a line for each group of rows, for `totals.summed`. It knows nothing of where
other blocks are or who asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.halves import Coded, Half
from tastemix.data.ids import Indices
from tastemix.engine import _native
from tastemix.engine._native import CHUNK_ROWS
from tastemix.engine.sides import Floats, Matrix
from tastemix.errors import EngineError

Vector = NDArray[np.float32]
Shown = _native.Rows | Vector
Look = Callable[[str], Shown]
"""What the other side holds, by name: all rows that the ratings of a block are of, as they number
them."""

DAMAGED = "these ratings are damaged: if they come from a folder, tm.open tells where"
HELD = ("rows", "variances", "z", "centres")
"""What a block holds between half-steps."""


def checked(half: Half, columns: int) -> _native.Half:
    """A half for the core, with no copy of it; its indices are below `columns`."""
    stored = half.stored
    values, codes = (stored.levels, stored.codes) if isinstance(stored, Coded) else (stored, None)
    return _native.Half(
        half.pointers, half.indices, values, columns, codes=codes, mapped=half.mapped
    )


class Rated:
    """Rows `first` on of one side, with their ratings, checked once for all fits."""

    def __init__(self, half: Half, columns: int, first: int = 0) -> None:
        try:
            self.half = checked(half, columns)
        except (ValueError, IndexError):
            raise EngineError(DAMAGED) from None
        self.counts = half.counts
        self.columns, self.first, self.last = columns, first, first + len(self.counts)


class Terms(NamedTuple):
    """What all rows of a half-step share."""

    l2: float
    l2_per_rating: float
    target: float
    weight: float
    dynamic: bool
    gram: Matrix
    linear: Matrix
    chosen: bool
    least: Floats | None
    """Where ridges are estimated, what all of them have in common."""
    noise: float


class Moved(NamedTuple):
    """Of the rows of a block that moved."""

    decrease: Floats
    """Of the objective, chunk by chunk."""
    updates: int
    largest: float
    sums: Floats | None
    """Those of `Totals` over all rows of the block after it, where they were asked for."""


class Block:
    """The rows of a block, being fitted."""

    def __init__(
        self,
        rated: Rated,
        rows: Matrix | _native.Rows,
        held: tuple[int, ...],
        shift: float,
        group: int,
        look: Look,
        work: _native.Workspace | None = None,
    ) -> None:
        if not isinstance(rows, _native.Rows):
            rows = _native.Rows(np.ascontiguousarray(rows, np.float32))
        self.rated, self.rows, self.rank = rated, rows, rows.rank
        self._shift, self._group, self._look = shift, group, look
        self.mover = _native.Mover(rated.half, self.rows, shift, work or _native.Workspace())
        for coordinate in held:
            self.mover.hold(coordinate)
        self._fixed: _native.Rows | None = None
        self._centres: _native.Centres | None = None
        self._suggestions: _native.Suggestions | None = None
        self._ridges: _native.Ridges | None = None
        self._scale = self._weight = np.empty(0, np.float32)
        self.kept: dict[str, Matrix] = {}

    def shown(self, name: str) -> Shown:
        """What these rows hold of that name."""
        if name == "rows":
            return self.rows
        if name in ("scale", "weight"):
            return self._scale if name == "scale" else self._weight
        if name == "variances":
            return self.ridges.variances
        if name in ("z", "direction"):
            found: _native.Rows = getattr(self.suggestions, name)
            return found
        return self.centres.centres if name == "centres" else self.centres.suggested

    def vector(self, name: str, numbers: Indices | None = None) -> Matrix | Vector:
        """A copy of it, or of the rows of these numbers."""
        found = self.shown(name)
        if isinstance(found, _native.Rows):
            return found.get() if numbers is None else found.take(numbers)
        return found if numbers is None else found[numbers]

    def piece(self, name: str, first: int, last: int) -> Matrix | Vector:
        """A copy of the rows from `first` to `last`, of those that there are."""
        last = min(last, len(self.rated.counts))
        return self.vector(name, np.arange(first, last, dtype=np.int32))

    def put(self, name: str, values: Matrix) -> None:
        """Replace it."""
        found = self.shown(name)
        assert isinstance(found, _native.Rows)
        found.set(np.ascontiguousarray(values, np.float32))

    @property
    def centres(self) -> _native.Centres:
        """What the rows are pulled towards."""
        if self._centres is None:
            self._centres = _native.Centres(self.rated.half, self.rank, self._group)
        return self._centres

    @property
    def suggestions(self) -> _native.Suggestions:
        """What the rows suggest to those of the other side."""
        if self._suggestions is None:
            self._suggestions = _native.Suggestions(self.rated.half, self.rank, self._group)
        return self._suggestions

    @property
    def ridges(self) -> _native.Ridges:
        """How strongly the rows are pulled, and their variances."""
        if self._ridges is None:
            self._ridges = _native.Ridges(self.rated.half, self.rank)
        return self._ridges

    def survey(self, terms: Terms) -> tuple[Floats, float]:
        """The objective, chunk by chunk, and the largest first gain."""
        estimated = terms.least is not None
        if terms.least is not None:
            self.ridges.estimate(self._rows_of("variances"), terms.least)
        self._fixed = self._rows_of("rows")  # the descent reads it too
        return self.mover.survey(
            self._fixed,
            terms.l2,
            terms.l2_per_rating,
            terms.target,
            terms.weight,
            terms.dynamic,
            terms.gram,
            terms.linear,
            self.centres.centres if terms.chosen else None,
            self.ridges.each if estimated else None,
            self.ridges.variances if estimated else None,
            terms.noise,
        )

    def descend(self, threshold: float, max_updates: int, sums: tuple[bool, bool] | None) -> Moved:
        """Solve the rows whose first gain is above the threshold; then sums over all, if asked."""
        moved = self.mover.descend(threshold, max_updates)
        return Moved(*moved, None if sums is None else self.sums(*sums))

    def sums(self, chosen: bool, gram: bool) -> Floats:
        """Those of `Totals`."""
        centres = self.centres.centres if chosen else None
        return self.rows.sums(self.rated.half, centres, gram, self._group)

    def errors(self, low: float, high: float) -> Floats:
        """Squared errors on the ratings of each row, of predictions within these ends."""
        return self._errors(self.rated, low, high)

    def errors_on(self, rated: Rated, fixed: _native.Rows | None = None) -> Floats:
        """Those on other ratings of the rows, chunk by chunk, of predictions as they are.

        fixed: the rows that these ratings are of, if they are not those that the block looks at.
        """
        return by_chunk(self._errors(rated, -math.inf, math.inf, fixed))

    def _errors(
        self, rated: Rated, low: float, high: float, fixed: _native.Rows | None = None
    ) -> Floats:
        if fixed is None:
            fixed = self._rows_of("rows")
        return _native.row_errors(rated.half, self.rows, fixed, self._shift, low, high)

    def pull(self, l2: float, l2_per_rating: float, alike: bool) -> Floats:
        """Σ ρ_u of every chunk, or where all rows count alike the number of those with ratings."""
        return by_chunk(self._pulls(l2, l2_per_rating, alike))

    def share(
        self, l2: float, l2_per_rating: float, alike: bool, mean: float, shrinkage: float
    ) -> Floats:
        """Set each row's share in what Z is fitted to; their sum over every chunk."""
        pulls = self._pulls(l2, l2_per_rating, alike)
        share: Vector = (pulls if alike else pulls / mean).astype(np.float32)
        grown = np.maximum(self.rated.counts + float(np.float32(shrinkage)), 1.0)
        self._scale = (1 / np.sqrt(grown)).astype(np.float32)
        self._weight = self._scale * share
        self.centres.weigh(self._scale, share)
        return by_chunk(share.astype(np.float64))

    def _pulls(self, l2: float, l2_per_rating: float, alike: bool) -> Floats:
        if alike:
            return (self.rated.counts > 0).astype(np.float64)
        own, each = np.float64(np.float32(l2)), np.float64(np.float32(l2_per_rating))
        return own + each * self.rated.counts.astype(np.float64)

    def reach(self, ridge: float) -> Floats:
        """How much Z can explain of any rows, chunk by chunk of these that suggest it."""
        return self.suggestions.weigh(self._line("weight"), self._line("scale"), ridge)

    def place(self, mean: Floats) -> None:
        """Centres from the mean row and the other side's Z."""
        self.centres.place(mean, self._rows_of("z"))

    def spread(self) -> Floats:
        """Squares around the centres, and variances, summed over rows with ratings."""
        return self.centres.spread(self.rows, self.ridges.variances)

    def left(self) -> Floats:
        """What the centres leave of the rows."""
        return self.centres.left(self.rows)

    def leave(self, shift: Vector) -> None:
        """The mean row moved: show what the centres leave of each row."""
        self.centres.leave(self.rows, shift)

    def begin(self) -> Floats:
        """The first direction of Z, from what the other side's centres leave."""
        return self.suggestions.begin(self._rows_of("away"), self._line("weight"))

    def suggest(self) -> None:
        """Show where the direction of the other side's Z takes the centres."""
        self.centres.suggest(self._rows_of("direction"))

    def suggest_last(self) -> Floats:
        """Likewise for these rows alone: its curvature there."""
        self.centres.suggest(self._rows_of("direction"))
        return self.centres.bend()

    def image(self) -> Floats:
        """What the direction does to the residual."""
        return self.suggestions.image(self._rows_of("away"), self._line("weight"))

    def step_centres(self, length: Vector) -> None:
        """Move the centres along what was suggested."""
        self.centres.step(length)

    def step_z(self, length: Vector) -> Floats:
        """Move Z along its direction."""
        return self.suggestions.step(length)

    def bend_z(self) -> Floats:
        """What the penalty adds to the curvature of the direction."""
        return self.suggestions.bend()

    def finish_z(self, length: Vector) -> None:
        """Move Z along its last direction."""
        self.suggestions.finish(length)

    def turn(self, keep: Vector) -> None:
        """The next direction of Z."""
        self.suggestions.turn(keep)

    def squares(self) -> Floats:
        """Σ z²."""
        return self.suggestions.squares()

    def keep(self) -> None:
        """Remember what is held."""
        self.kept = self.held()

    def restore(self) -> None:
        """Go back to what was remembered."""
        self.hold(self.kept)

    def held(self) -> dict[str, Matrix]:
        """Copies of all that later half-steps depend on."""
        there = {
            "rows": True,
            "variances": self._ridges is not None,
            "z": self._suggestions is not None,
            "centres": self._centres is not None,
        }
        return {name: self.vector(name) for name in HELD if there[name]}

    def hold(self, held: dict[str, Matrix]) -> None:
        """Hold this and nothing else."""
        if "z" not in held:
            self._centres = self._suggestions = None
        if "variances" not in held:
            self._ridges = None
        for name, values in held.items():
            self.put(name, values)

    def _rows_of(self, name: str) -> _native.Rows:
        found = self._look(name)
        assert isinstance(found, _native.Rows)
        return found

    def _line(self, name: str) -> Vector:
        found = self._look(name)
        assert isinstance(found, np.ndarray)
        return found


def by_chunk(numbers: Floats) -> Floats:
    """The sum of every chunk of rows."""
    sums: Floats = np.add.reduceat(numbers, np.arange(0, len(numbers), CHUNK_ROWS))
    return sums
