"""Arrays that are written bit by bit, and sorted with their places."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_HEAD = 128
"""Bytes that NumPy puts before a line of numbers."""


def stable_order(key: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys from 0 to `most`, ascending, and where each was; equal ones stay in the order they came.

    Sorting the keys and their places as one number each is six times as fast as `argsort`.
    """
    bits = max(len(key) - 1, 1).bit_length()
    if most.bit_length() + bits > 63:
        order = np.argsort(key, kind="stable")
        return key[order], order
    packed = key << bits
    packed |= np.arange(len(key))
    packed.sort()
    order = packed & ((1 << bits) - 1)
    packed >>= bits
    return packed, order


class Growing:
    """An array file that entries are appended to; what is beyond `count` of them goes first."""

    def __init__(self, file: Path, kind: Any, count: int) -> None:
        self._kind = np.dtype(kind)
        self._stream = file.open("r+b" if file.exists() else "w+b")
        self.count = count
        end = _HEAD + count * self._kind.itemsize
        if self._stream.seek(0, os.SEEK_END) < end and count:
            self._stream.close()
            raise OSError(f"{file} is shorter than it was")
        self._stream.truncate(end)
        self._stream.seek(end)

    def append(self, entries: NDArray[Any]) -> None:
        """Write entries at the end."""
        self._stream.write(np.ascontiguousarray(entries, self._kind).data)
        self.count += len(entries)

    def __enter__(self) -> Growing:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stream.close()

    def finish(self) -> None:
        """Write what NumPy asks to stand before the entries."""
        self._stream.seek(0)
        head = {"descr": npy.dtype_to_descr(self._kind), "fortran_order": False}
        npy.write_array_header_1_0(self._stream, {**head, "shape": (self.count,)})
        if self._stream.tell() != _HEAD:
            raise AssertionError("the header has another length")


class Unmapped:
    """An array file of which only slices are read, into memory."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._count = len(np.load(file, mmap_mode="r"))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, where: slice) -> NDArray[Any]:
        first, last, _ = where.indices(self._count)
        return part_of(self._file, first, last)


def part_of(file: Path, first: int, last: int) -> NDArray[Any]:
    """Some entries of an array file, read into memory."""
    with file.open("rb") as stream:
        npy.read_magic(stream)
        _, _, kind = npy.read_array_header_1_0(stream)
        stream.seek(first * kind.itemsize, os.SEEK_CUR)
        return np.fromfile(stream, kind, last - first)


def save_folder(folder: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """A folder of arrays, there as a whole or not at all."""
    unfinished = folder.with_name(folder.name + ".new")
    for there in (unfinished, folder):
        shutil.rmtree(there, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
    unfinished.rename(folder)
