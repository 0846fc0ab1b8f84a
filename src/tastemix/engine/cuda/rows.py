"""The rows of a factor on the card, padded with zeros to a width that the kernels know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy as cp
import numpy as np

from tastemix.data.ratings import Side
from tastemix.engine.cuda import draws
from tastemix.engine.cuda.halves import CudaHalf
from tastemix.engine.cuda.kernels import LONG, Kernels
from tastemix.engine.sides import Matrix, Pair
from tastemix.engine.start import Start
from tastemix.engine.totals import Totals
from tastemix.errors import EngineError


@contextmanager
def room() -> Iterator[None]:
    """A card that is full ends in one sentence."""
    try:
        yield
    except cp.cuda.memory.OutOfMemoryError as error:
        raise EngineError(
            f"the card is full ({error}): use a smaller rank, fewer ratings or engine 'cpu'"
        ) from None


def padded(kernels: Kernels, rows: Matrix) -> Any:
    """These rows on the card."""
    wide = cp.zeros((len(rows), kernels.width), cp.float32)
    wide[:, : rows.shape[1]] = cp.asarray(rows, cp.float32)
    return wide


def started(kernels: Kernels, start: Start, side: Side, count: int) -> Any:
    """The first rows of a side, drawn there if they are random."""
    if isinstance(start, Pair):
        return padded(kernels, start.of(side))
    wide = cp.zeros((count, kernels.width), cp.float32)
    row = getattr(start, side)(0, 1)
    wide[:, : row.shape[1]] = cp.asarray(row)
    if side == "users":
        draws.fill(wide, start)
    return wide


def movable(kernels: Kernels, rank: int, held: tuple[int, ...]) -> Any:
    """By coordinate: 1 where it may move, 0 where it is held or padding."""
    free = np.zeros(kernels.width, np.float32)
    free[:rank] = 1
    free[list(held)] = 0
    return cp.asarray(free)


def totals_of(
    kernels: Kernels, rows: Any, rank: int, half: CudaHalf | None, centres: Any, gram: bool
) -> Totals:
    """Sums over rows, with their Gram matrix if it is asked for."""
    count = len(rows)
    none = np.uint64(0)
    pointers = none if half is None else half.pointers
    rest = none if centres is None else centres, pointers, LONG(count)
    sums = kernels.sums("totals", count, rows, *rest, kinds=3).get().reshape(3, -1)
    matrix = kernels.gram(rows).get()[:rank, :rank].ravel() if gram else np.empty(0)
    return Totals(count, sums[0, :rank], float(sums[1].sum()), float(sums[2].sum()), matrix)
