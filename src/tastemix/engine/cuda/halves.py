"""Ratings on the card: both halves, values as bytes where they take at most 256 levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from tastemix.data.ratings import Half
from tastemix.engine.cuda.kernels import GATHER, HALF, INT, LONG, PIECE, Kernels, struct
from tastemix.errors import EngineError

AT_ONCE = 1 << 26
"""Ratings that are encoded or turned at a time."""
TURNING = 48
"""Bytes a rating that this takes while it lasts."""
LEVELS = 256
TOGETHER = 1 << 16
"""Pieces of rows of similar length that run by the column where they begin."""


class Values(NamedTuple):
    """Ratings of entries: codes of levels, or the values themselves."""

    codes: Any
    """Bytes, or None where there are more levels."""
    values: Any
    """The levels, or the values."""

    @property
    def payload(self) -> Any:
        """What there is of every entry."""
        return self.values if self.codes is None else self.codes

    def having(self, payload: Any) -> Values:
        """The same for other entries."""
        return Values(None, payload) if self.codes is None else Values(payload, self.values)

    def mapped(self, change: Callable[[Any], Any]) -> Values:
        """With other numbers in place of these, worked out on the processor."""
        values = np.asarray(change(self.values.get()), np.float32)
        return Values(self.codes, cp.asarray(values))

    def of(self, begin: int, end: int) -> Any:
        """The values of some entries, as floats."""
        part = self.payload[begin:end]
        return part if self.codes is None else self.values[part]


class CudaHalf:
    """One compressed half on the card, its rows in order of length and the long ones in pieces."""

    def __init__(self, pointers: Any, indices: Any, values: Values) -> None:
        self.pointers, self.indices, self.values = pointers, indices, values
        self.rows = len(pointers) - 1
        counts = cp.diff(pointers)
        self.order = cp.argsort(-counts).astype(cp.int32)
        self.longs = int((counts > PIECE).sum())
        """Rows that are cut into pieces: the first of `order`."""
        cut = -(-counts[self.order[: self.longs]] // PIECE)
        first = cp.zeros(self.longs + 1, cp.int64)
        cp.cumsum(cut, out=first[1:])
        self.first = first.get()
        self.pieces = int(self.first[-1])
        numbers = cp.arange(self.pieces, dtype=cp.int64)
        slot = (cp.searchsorted(first, numbers, side="right") - 1).astype(cp.int32)
        self._cut = first, slot
        self._runs: dict[tuple[int, int], Any] = {}
        self.struct = self._struct()

    def _struct(self) -> Any:
        return struct(
            HALF,
            pointers=self.pointers,
            indices=self.indices,
            codes=self.values.codes,
            values=self.values.values,
            rows=self.order,
            first=self._cut[0],
            slot=self._cut[1],
        )

    def mapped(self, change: Callable[[Any], Any]) -> CudaHalf:
        """The same entries with other values."""
        other = copy(self)
        other.values = self.values.mapped(change)
        other.struct = other._struct()
        return other

    def run(self, begin: int, end: int) -> Any:
        """The pieces of a range of long rows in the order in which they run: groups of rows of
        similar length, in a group by the column where a piece begins. Those that run at the same
        time want the same columns, so that these come from the cache of the card.
        """
        if begin == end:
            return self._cut[1]
        if (begin, end) not in self._runs:
            numbers = cp.arange(self.first[begin], self.first[end], dtype=cp.int64)
            first, slot = self._cut[0], self._cut[1][numbers]
            entries = self.pointers[self.order[slot]] + PIECE * (numbers - first[slot])
            key = (numbers // TOGETHER << 32) + self.indices[entries]
            self._runs[begin, end] = numbers[cp.argsort(key)].astype(cp.int32)
        return self._runs[begin, end]

    @property
    def counts(self) -> Any:
        """The number of ratings of every row."""
        return cp.diff(self.pointers)

    @property
    def rows_of_entries(self) -> Any:
        """The row of every entry."""
        return _rows_of(self.pointers, 0, len(self.indices))

    def gather(
        self,
        kernels: Kernels,
        rows: Any,
        out: Any,
        *,
        weight: Any = None,
        scale: Any = None,
        base: Any = None,
        along: Any = None,
        ridge: float = 0.0,
        length: Any = None,
    ) -> None:
        """out_r = base + f_r, or out_r − length f_r, f_r = scale_r Σ_{j∈Ω_r} weight_j rows_j +
        ridge along_r.
        """
        given = {"weight": weight, "scale": scale, "base": base, "along": along, "length": length}
        what = struct(GATHER, **given, ridge=ridge, out=out, **{"in": rows})
        parts = cp.empty((self.pieces, kernels.width), cp.float32)
        short = self.rows - self.longs
        kernels.by_warp("gather", short, self.struct, what, INT(self.longs), INT(short))
        pieces = self.run(0, self.longs), LONG(self.pieces)
        kernels.by_warp("gather_pieces", self.pieces, self.struct, what, *pieces, parts)
        kernels.by_warp("gather_long", self.longs, self.struct, what, INT(self.longs), parts)

    def batches(self, floats: int, most: int) -> Iterator[tuple[int, int]]:
        """Ranges of long rows whose pieces, of so many floats each, fit in `most` bytes."""
        begin = 0
        while begin < self.longs:
            room = self.first[begin] + max(most // (4 * floats), 1)
            end = int(np.searchsorted(self.first, room, side="right")) - 1
            yield begin, (end := max(end, begin + 1))
            begin = end


def on_card(half: Half) -> CudaHalf:
    """A half from this machine's memory."""
    return CudaHalf(cp.asarray(half.pointers), cp.asarray(half.indices), _encoded(half.values))


def turned(half: CudaHalf, columns: int) -> CudaHalf:
    """The same entries along the other side, those of a column in the order of the rows."""
    payload, count = half.values.payload, len(half.indices)
    counts = cp.zeros(columns, cp.int64)
    for begin in range(0, count, AT_ONCE):
        counts += cp.bincount(half.indices[begin : begin + AT_ONCE], minlength=columns)
    pointers = cp.zeros(columns + 1, cp.int64)
    cp.cumsum(counts, out=pointers[1:])
    free = pointers[:-1].copy()
    """Where the next entry of every column goes."""
    rows, moved = cp.empty(count, cp.int32), cp.empty_like(payload)
    numbers = cp.arange(columns + 1, dtype=cp.int32)
    for begin in range(0, count, AT_ONCE):
        end = min(count, begin + AT_ONCE)
        order = cp.argsort(half.indices[begin:end])
        column = half.indices[begin:end][order]
        starts = cp.searchsorted(column, numbers)
        place = (free - starts[:-1])[column] + cp.arange(end - begin, dtype=cp.int64)
        rows[place] = _rows_of(half.pointers, begin, end)[order]
        moved[place] = payload[begin:end][order]
        free += cp.diff(starts)
    return CudaHalf(pointers, rows, half.values.having(moved))


def chosen(half: CudaHalf, taken: Any) -> CudaHalf:
    """Only the entries of a mask."""
    kept = cp.zeros(len(taken) + 1, cp.int64)
    cp.cumsum(taken, out=kept[1:])
    payload = half.values.payload[taken]
    return CudaHalf(kept[half.pointers], half.indices[taken], half.values.having(payload))


def bytes_needed(count: int, users: int, items: int, bytes_a_value: int) -> int:
    """What both halves take on the card, and what making them takes besides."""
    rows = (users + items) * (8 + 4) + 16 * count // PIECE
    return count * 2 * (4 + bytes_a_value) + rows + min(count, AT_ONCE) * TURNING


def check_room(needed: int, what: str) -> None:
    """Refuse what does not fit on the card."""
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    if needed > free:
        raise EngineError(
            f"{what} need {needed:,} bytes on the card, which has {free:,} free: use engine 'cpu'"
        )


def _rows_of(pointers: Any, begin: int, end: int) -> Any:
    entries = cp.arange(begin, end, dtype=cp.int64)
    return (cp.searchsorted(pointers, entries, side="right") - 1).astype(cp.int32)


def _encoded(values: np.ndarray[Any, Any]) -> Values:
    levels = cp.empty(0, cp.float32)
    for begin in range(0, len(values), AT_ONCE):
        part = cp.unique(cp.asarray(values[begin : begin + AT_ONCE]))
        levels = cp.unique(cp.concatenate([levels, part]))
        if len(levels) > LEVELS:
            return Values(None, cp.asarray(values))
    codes = cp.empty(len(values), cp.uint8)
    for begin in range(0, len(values), AT_ONCE):
        part = cp.asarray(values[begin : begin + AT_ONCE])
        codes[begin : begin + AT_ONCE] = cp.searchsorted(levels, part)
    return Values(codes, levels)
