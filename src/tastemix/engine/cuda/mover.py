"""A half-step on the card: survey, then descent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from tastemix.engine.cuda.halves import CudaHalf
from tastemix.engine.cuda.kernels import INT, LONG, STEP, Kernels, struct
from tastemix.engine.objective import Objective
from tastemix.engine.sides import Matrix

MOST_SCRATCH = 1 << 28
"""Bytes for the Gram products of pieces of long rows."""


class Moved(NamedTuple):
    """What a half-step did."""

    value: float
    """Σ ½xᵀQx − cᵀx + ½Σa² after it."""
    updates: int
    largest: float


class Pulled(NamedTuple):
    """What rows are pulled towards and how strongly, row by row; None: as the objective says."""

    centres: Any = None
    ridges: Any = None
    variances: Any = None
    """Where those of the rows are kept."""


class Mover:
    """Moves rows; the memory that this takes is kept for the next time."""

    def __init__(self, kernels: Kernels, rows: int) -> None:
        self._kernels = kernels
        self._gain, self._noise = cp.empty(rows, cp.float32), cp.empty(rows, cp.float32)
        self._value = cp.empty(rows, cp.float64)
        self._result = cp.zeros(3, cp.uint64)  # the value; updates; largest gain and entry

    def move(
        self,
        half: CudaHalf,
        moving: Any,
        fixed: Any,
        movable: Any,
        gradient: Any,
        objective: Objective,
        shift: float,
        gram: Matrix,
        linear: Matrix,
        pulled: Pulled,
        tolerance: float,
        max_updates: int,
    ) -> Moved:
        """Move every row of a side; `gradient` is room for one."""
        kernels, w = self._kernels, objective.unknown_weight
        padded = self._padded(gram, linear)
        self._result.fill(0)
        step = struct(
            STEP,
            moving=moving,
            fixed=fixed,
            centres=pulled.centres,
            ridges=pulled.ridges,
            gram=padded[0],
            linear=padded[1],
            movable=movable,
            gradient=gradient,
            gain=self._gain,
            noise=self._noise,
            value=self._value,
            variances=pulled.variances,
            top=self._result.data.ptr + 16,
            updates=self._result.data.ptr + 8,
            max_updates=max_updates,
            variance=objective.noise,
            shift=shift,
            pull=1.0 if objective.dynamic else 1 - w,
            target=0.0 if objective.dynamic else w * objective.target(shift),
            own=1 - w,
            l2=objective.l2,
            l2_per_rating=objective.l2_per_rating,
            tolerance=tolerance,
            shared=w != 0,
            gradient_gram=w != 0 and not objective.dynamic,
        )
        room = self._room(half)
        self._survey(half, step, room)
        if w == 1:
            blocks = min(-(-half.rows // 8), 2048)
            rest = half.struct, step, INT(half.rows)
            kernels("descend_shared", blocks, 256, *rest, shared=kernels.matrix_bytes)
        else:
            self._descend(half, step, room)
        del room
        parts = cp.empty((-(-half.rows // 4096), 1), cp.float64)
        kernels("add_numbers", len(parts), 256, self._value, LONG(half.rows), parts)
        kernels("add_all", 1, (32, 16), parts, LONG(len(parts)), INT(1), self._result)
        found = self._result.get()
        largest = float(found[2:].view(np.float32)[1])
        return Moved(float(found[:1].view(np.float64)[0]), int(found[1]), largest)

    def _survey(self, half: CudaHalf, step: Any, room: Any) -> None:
        kernels, short = self._kernels, half.rows - half.longs
        pieces = half.run(0, half.longs), LONG(half.pieces), room
        kernels.by_warp("survey_pieces", half.pieces, half.struct, step, *pieces)
        kernels.by_warp("survey_long", half.longs, half.struct, step, INT(half.longs), room)
        kernels.by_warp("survey", short, half.struct, step, INT(half.longs), INT(short))

    def _descend(self, half: CudaHalf, step: Any, room: Any) -> None:
        kernels, short, none = self._kernels, half.rows - half.longs, np.uint64(0)
        for begin, end in self._batches(half):
            first, count = int(half.first[begin]), int(half.first[end] - half.first[begin])
            pieces = half.run(begin, end), LONG(first), LONG(count), room
            kernels.by_team("gram_pieces", count, half.struct, step, *pieces)
            rows = half.struct, step, INT(begin), INT(end - begin), room, LONG(first)
            kernels.by_team("descend", end - begin, *rows, shared=True)
        rows = half.struct, step, INT(half.longs), INT(short), none, LONG(0)
        kernels.by_team("descend", short, *rows, shared=True)

    def _batches(self, half: CudaHalf) -> Iterator[tuple[int, int]]:
        """Ranges of long rows whose Gram products are there at the same time."""
        return half.batches(self._kernels.tiles * 128, MOST_SCRATCH)

    def _room(self, half: CudaHalf) -> Any:
        """Floats for what pieces leave behind: first sums of the survey, then Gram products."""
        floats = half.pieces * (2 * self._kernels.width + 2)
        for begin, end in self._batches(half):
            count = int(half.first[end] - half.first[begin])
            floats = max(floats, count * self._kernels.tiles * 128)
        return cp.empty(floats, cp.float32)

    def _padded(self, gram: Matrix, linear: Matrix) -> tuple[Any, Any]:
        width, rank = self._kernels.width, len(linear)
        wide = np.zeros((width + 1, width), np.float32)
        wide[0, :rank] = linear
        if len(gram):
            wide[1 : rank + 1, :rank] = gram.reshape(rank, rank)
        there = cp.asarray(wide)
        return there[1:], there[0]
