"""Lists of the best items of many users, found on the card."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from tastemix.data.halves import Half, transposed
from tastemix.engine.cuda.kernels import FLOAT, INT, LONG, POINTER, module, struct
from tastemix.engine.searching import Listed, Scored

THREADS = MOST_LISTED = 256
SCORES = 1 << 29
"""Scores held at a time, of four bytes."""
RATED = np.dtype([(name, POINTER) for name in ("pointers", "items", "values")])


class Search:
    """Scores of all items, made ready for users that come in blocks."""

    def __init__(self, scored: Scored, allowed: NDArray[np.uint8] | None) -> None:
        self._kernels, self._scored, self.items = module("lists"), scored, scored.size
        self._factor = None if scored.items is None else cp.asarray(scored.items, cp.float32).T
        self._base = None if scored.base is None else cp.asarray(scored.base, cp.float32)
        self._allowed = np.uint64(0) if allowed is None else cp.asarray(allowed)
        self._links: tuple[Any, ...] = ()
        if scored.links is not None:
            by_source = transposed(scored.links, self.items)
            parts = by_source.pointers, by_source.indices, by_source.values
            self._links = tuple(map(cp.asarray, parts))

    def best(self, first: int, last: int, seen: Half, n: int) -> tuple[Any, Any]:
        """The lists of users first to last, and their scores."""
        scored, count = self._scored, last - first
        scores = cp.empty((count, self.items), cp.float32)
        if scored.users is None or self._factor is None:
            scores.fill(0)
        else:
            cp.matmul(cp.asarray(scored.users[first:last], cp.float32), self._factor, out=scores)
        if self._base is not None:
            scores += self._base
        if scored.rated is not None and self._links:
            rated, kept = _rated(scored.rated, first, last)
            rest = *self._links, FLOAT(scored.weight), LONG(self.items), scores
            self._kernels("add_links", count, THREADS, rated, *rest)
        left_out, kept = _rated(seen, first, last)
        self._kernels("leave_out", count, 64, left_out, LONG(self.items), scores)
        listed, values = cp.empty((count, n), cp.int32), cp.empty((count, n), cp.float32)
        sizes = LONG(self.items), INT(n)
        self._kernels("best", count, THREADS, scores, self._allowed, *sizes, listed, values)
        found = listed.get(), values.get()
        del kept  # what the kernels read until here
        return found


def best(scored: Scored, seen: Half, allowed: NDArray[np.uint8] | None, n: int) -> Listed:
    """See Searching.best."""
    users = len(seen.pointers) - 1
    listed = np.empty((users, n), np.int32)
    values = np.empty((users, n), np.float32)
    search = Search(scored, allowed)
    at_once = max(1, SCORES // max(search.items, 1))
    for first in range(0, users, at_once):
        last = min(users, first + at_once)
        listed[first:last], values[first:last] = search.best(first, last, seen, n)
    return Listed(listed, values)


def _rated(half: Half, first: int, last: int) -> tuple[Any, Any]:
    """Some rows of a half for kernels, and what must be kept for as long."""
    pointers = half.pointers[first : last + 1]
    here = slice(pointers[0], pointers[-1])
    kept = [cp.asarray(pointers), cp.asarray(half.indices[here])]
    if len(half.values):
        kept.append(cp.asarray(half.values[here], cp.float32))
    return struct(RATED, **dict(zip(("pointers", "items", "values"), kept, strict=False))), kept
