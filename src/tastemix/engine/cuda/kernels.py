"""The kernels: compiled at first use (kernels.cu for a width), then kept on disk by CuPy."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from tastemix.errors import EngineError

SOURCES = Path(__file__).parent
MOST_RANK = 128
PIECE = 1024
"""Ratings of a row that one warp takes; longer rows are cut into pieces."""
CHUNK = 512
"""Rows of a chunk in sums over rows."""
WARPS = 8
"""Warps of a block, one row each, where nothing else decides."""

POINTER, LONG, FLOAT, INT = np.uint64, np.int64, np.float32, np.int32
HALF = np.dtype(
    [
        (name, POINTER)
        for name in ("pointers", "indices", "codes", "values", "rows", "first", "slot")
    ]
)
STEP = np.dtype(
    [
        *(
            (name, POINTER)
            for name in (
                *("moving", "fixed", "centres", "ridges", "gram", "linear", "movable"),
                *("gradient", "gain", "noise", "value", "variances", "top", "updates"),
            )
        ),
        ("max_updates", LONG),
        *(
            (name, FLOAT)
            for name in (
                *("variance", "shift", "pull", "target", "own"),
                *("l2", "l2_per_rating", "tolerance"),
            )
        ),
        ("shared", INT),
        ("gradient_gram", INT),
    ],
    align=True,
)
GATHER = np.dtype(
    [
        *((name, POINTER) for name in ("in", "weight", "scale", "base", "along", "length", "out")),
        ("ridge", FLOAT),
    ],
    align=True,
)
_lock = threading.Lock()


def struct(layout: np.dtype[Any], **fields: Any) -> np.ndarray[Any, Any]:
    """A struct that kernels take by value; None is a null pointer."""
    filled = np.zeros((), layout)
    for name, value in fields.items():
        if isinstance(value, cp.ndarray):
            filled[name] = value.data.ptr
        elif value is not None:
            filled[name] = value
    return filled.view(f"V{layout.itemsize}")  # launches look at every field that there is


def width_of(rank: int) -> int:
    """Floats of a row on the card."""
    if rank > MOST_RANK:
        raise EngineError(
            f"engine 'cuda' takes up to {MOST_RANK} coordinates, offsets included, and these are "
            f"{rank}: use a smaller rank or engine 'cpu'"
        )
    return -(-rank // 8) * 8


def source(name: str) -> str:
    """What is compiled: what all kernels share, then these."""
    names = "common.cuh", f"{name}.cu"
    return "".join((SOURCES / each).read_text(encoding="utf-8") for each in names)


class Module:
    """The kernels of one source."""

    def __init__(self, name: str, *options: str) -> None:
        self._module = cp.RawModule(code=source(name), options=("--std=c++17", *options))
        self._functions: dict[str, tuple[Any, int]] = {}

    def __call__(self, name: str, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
        """Launch a kernel with bytes of shared memory; a grid that is empty is none."""
        grid = grid if isinstance(grid, tuple) else (grid,)
        if 0 in grid:
            return
        function, most = self._functions.get(name) or (self._module.get_function(name), 0)
        if shared > most:
            function.max_dynamic_shared_size_bytes = shared
        self._functions[name] = function, max(shared, most)
        block = block if isinstance(block, tuple) else (block,)
        function(grid, block, arguments, shared_mem=shared)


class Kernels:
    """The kernels of kernels.cu for rows of one width."""

    def __init__(self, width: int) -> None:
        self.width = width
        slots = width // 8
        tile_rows = (slots + 1) // 2
        self.tiles = tile_rows * (slots - tile_rows + 1)
        """Of a Gram product, 128 floats each."""
        self.rows_at_once = 1 if width > 64 else 4
        """Rows that a block forms and solves."""
        self.matrix_bytes = 4 * width * (width + 1)
        self._launch = Module("kernels", *options(width))

    def __call__(self, name: str, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
        """Launch a kernel; see Module."""
        self._launch(name, grid, block, *arguments, shared=shared)

    def by_warp(self, name: str, count: int, *arguments: Any) -> None:
        """A kernel with one warp for each of `count` rows or pieces."""
        self(name, -(-count // WARPS), 32 * WARPS, *arguments)

    def by_team(self, name: str, count: int, *arguments: Any, shared: bool = False) -> None:
        """A kernel that forms Gram products, of `count` rows or pieces."""
        bytes_ = self.rows_at_once * self.matrix_bytes if shared else 0
        self(name, -(-count // self.rows_at_once), 128, *arguments, shared=bytes_)

    def by_entry(self, name: str, rows: int, *arguments: Any) -> None:
        """A kernel with one thread for every entry of a factor."""
        self(name, -(-rows * self.width // 256), 256, *arguments)

    def sums(self, name: str, rows: int, *arguments: Any, kinds: int = 1) -> Any:
        """Sums over rows, in double: `kinds` × width of them, in the order of the rows."""
        chunks = -(-rows // CHUNK)
        parts = cp.empty((chunks, kinds * self.width), cp.float64)
        self(name, chunks, 256 // self.width * self.width, *arguments, parts)
        return self.added(parts)

    def added(self, parts: Any) -> Any:
        """The sum of all rows of a matrix of doubles."""
        count, size = parts.shape
        total = cp.empty(size, cp.float64)
        self("add_all", -(-size // 32), (32, 16), parts, LONG(count), INT(size), total)
        return total

    def gram(self, rows: Any) -> Any:
        """Σ x xᵀ, width × width, in double."""
        count = len(rows)
        pieces, size, group = -(-count // CHUNK), self.tiles * 128, 64
        parts = cp.empty((pieces, size), cp.float32)
        self.by_team("gram_rows", pieces, rows, LONG(count), LONG(pieces), parts)
        groups = -(-pieces // group)
        grouped = cp.empty((groups, size), cp.float64)
        grid = -(-size // 256), groups
        self("add_groups", grid, 256, parts, LONG(pieces), INT(size), INT(group), grouped)
        out = cp.empty((self.width, self.width), cp.float64)
        self("gram_matrix", 1, 128 if self.width > 64 else 32, self.added(grouped), out)
        return out


def options(width: int) -> tuple[str, ...]:
    """What the compiler is told of a width."""
    return (f"-DW={width}", f"-DPIECE={PIECE}")


def kernels_for(rank: int) -> Kernels:
    """The kernels for a rank, on the card in use."""
    with _lock:
        return _kernels(width_of(rank), cp.cuda.Device().id)


def module(name: str, *told: str) -> Module:
    """The kernels of a source that has no width, on the card in use."""
    with _lock:
        return _module(name, told, cp.cuda.Device().id)


@cache
def _kernels(width: int, device: int) -> Kernels:
    return Kernels(width)


@cache
def _module(name: str, told: tuple[str, ...], device: int) -> Module:
    return Module(name, *told)
