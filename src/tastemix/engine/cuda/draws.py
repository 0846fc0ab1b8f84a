"""Random words drawn on the card: those of tastemix.draws, bit by bit."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

from tastemix import checks
from tastemix.engine.cuda.kernels import LONG, module
from tastemix.engine.start import RandomStart, below

AT_ONCE = 1 << 22
"""Words held at a time."""
BLOCKS, THREADS = 1024, 256
HALF = (1 << 64) - 1


def words(seed: int, count: int, skip: int = 0) -> Any:
    """See tastemix.draws.words."""
    state: Any = np.random.PCG64(checks.seed(seed)).state["state"]
    numbers = [n for each in ("state", "inc") for n in (state[each] >> 64, state[each] & HALF)]
    drawn = cp.empty(count, cp.uint64)
    arguments = *map(np.uint64, (*numbers, skip)), LONG(count), drawn
    grid = min(-(-count // THREADS), BLOCKS)
    module("draws", "--device-int128")("words", grid, THREADS, *arguments)
    return drawn


def taken(count: int, seed: int, share: float) -> Any:
    """See tastemix.engine.start.drawn."""
    mask = cp.empty(count, cp.bool_)
    for first in range(0, count, AT_ONCE):
        some = mask[first : first + AT_ONCE]
        some[:] = words(seed, len(some), first) < below(share)
    if count and int(mask.sum()) in (0, count):
        mask = cp.arange(count) == 0
    return mask


def fill(rows: Any, start: RandomStart) -> None:
    """The tastes of users as `start` draws them, in the first columns of these rows."""
    at_once = max(1, AT_ONCE // start.rank)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        raw = words(start.seed, len(some) * start.rank, first * start.rank)
        some[:, : start.rank] = start.sized(raw).reshape(-1, start.rank)
