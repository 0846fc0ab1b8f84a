"""Which rated items speak for an item, found on the card; see native/neighbours.hpp."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

from tastemix.data.ratings import Half
from tastemix.engine.cuda.halves import CudaHalf
from tastemix.engine.cuda.kernels import FLOAT, INT, POINTER, Module, module, struct
from tastemix.engine.neighbours import GRAM_FLOATS, LEAST_KEPT, MOST_UPDATES, Settings, Stars

THREADS = 256
ROUNDING = 1e-13
"""As rounding_gain in native/kernels.hpp."""
STATIC = 8192
"""Bytes of shared memory beside what a launch asks for, at most."""
TERMS = np.dtype(
    [
        *((name, POINTER) for name in ("gram", "diagonal", "least", "last")),
        *((name, FLOAT) for name in ("l2", "l2_per_rating", "l1", "tolerance")),
        *((name, INT) for name in ("items", "max_updates")),
    ],
    align=True,
)


def neighbours(
    by_user: CudaHalf,
    by_item: CudaHalf,
    settings: Settings,
    stars: Stars | None,
    gram_floats: int = GRAM_FLOATS,
) -> Half | None:
    """See Linking.neighbours. The same entries of G count as on the processor."""
    kernels, items = module("neighbours"), by_item.rows
    room = max(1, min(settings.candidates, items))
    if not _fits(items, room):
        return None
    if stars is not None:
        by_user, by_item = by_user.mapped(stars), by_item.mapped(stars)
    diagonal = cp.empty(items, cp.float32)
    kernels("norms", -(-items // 8), 256, by_item.struct, INT(items), diagonal)
    square = float(diagonal.sum(dtype=cp.float64)) / max(len(by_item.indices), 1)
    gram = _gram(kernels, by_user, by_item)
    numbers = {
        "l2": settings.l2 * square,
        "l2_per_rating": settings.l2_per_rating,
        "l1": settings.l1 * square,
        "tolerance": max(settings.tolerance, ROUNDING),
        "items": items,
        "max_updates": MOST_UPDATES,
    }
    terms = struct(TERMS, gram=gram, diagonal=diagonal, **numbers)
    if items > gram_floats // max(items, 1):
        kept = max(gram_floats // (2 * items), LEAST_KEPT)
        least, last = cp.empty(items, cp.uint32), cp.empty(items, cp.int32)
        kernels("keep", items, THREADS, terms, INT(kept), least, last)
        terms = struct(TERMS, gram=gram, diagonal=diagonal, least=least, last=last, **numbers)
    indices, weights = cp.empty((items, room), cp.int32), cp.empty((items, room), cp.float32)
    found = by_item.order, INT(room), indices, weights
    kernels("solve", items, THREADS, terms, *found, shared=16 * room)
    there = weights > 0
    pointers = np.zeros(items + 1, np.int64)
    np.cumsum(there.sum(axis=1).get(), out=pointers[1:])
    return Half(pointers, indices[there].get(), weights[there].get())


def _gram(kernels: Module, by_user: CudaHalf, by_item: CudaHalf) -> Any:
    items = by_item.rows
    gram = cp.empty((items, items), cp.float32)
    parts = -(-items // ((_shared() // 2 - STATIC) // 4))  # two blocks a processor
    width = -(-items // parts)
    grid = items, -(-items // width)
    numbers = INT(items), INT(width)
    kernels(
        *("gram", grid, THREADS, by_user.struct, by_item.struct, *numbers, gram), shared=4 * width
    )
    return gram


def _fits(items: int, room: int) -> bool:
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    return bool(4 * items**2 + 9 * items * room <= free and 16 * room + STATIC <= _shared())


def _shared() -> int:
    """Bytes of shared memory that a block can have."""
    return int(cp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
