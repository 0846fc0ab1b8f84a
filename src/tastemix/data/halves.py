"""Entries compressed along one side, and the orders that lead there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.reading import Values

Side = Literal["users", "items"]
Pointers = NDArray[np.int64]


Codes = NDArray[np.uint8]
MOST_LEVELS = 256
"""Different values that a byte can tell apart."""
_SUMMED_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Coded:
    """Values in a byte each: value e is levels[codes[e]]."""

    codes: Codes
    levels: Values
    """As many as a byte can name; those that no rating has are NaN."""

    @staticmethod
    def of(codes: Codes, levels: Any) -> Coded:
        """Codes of the first few levels."""
        table = np.full(MOST_LEVELS, np.nan, np.float32)
        table[: len(levels)] = levels
        return Coded(codes, table)

    def __len__(self) -> int:
        return len(self.codes)

    def counts(self) -> NDArray[np.int64]:
        """How many values are of each level, counted some at a time."""
        total = np.zeros(MOST_LEVELS, np.int64)
        for at in range(0, len(self), _SUMMED_AT_ONCE):
            total += np.bincount(self.codes[at : at + _SUMMED_AT_ONCE], minlength=MOST_LEVELS)
        return total

    def __getitem__(self, where: Any) -> Values:
        values: Values = self.levels[self.codes[where]]
        return values


@dataclass(frozen=True, eq=False)
class Half:
    """Ratings compressed along one side: row r holds entries pointers[r] to pointers[r + 1]."""

    pointers: Pointers
    indices: Indices
    stored: Values | Coded
    """As they are kept; a part of them, stored[where], is float32 in either form."""

    @property
    def values(self) -> Values:
        """All values as float32. Of coded ones this is a copy four times as large, made once."""
        return self._decoded if isinstance(self.stored, Coded) else self.stored

    @cached_property
    def _decoded(self) -> Values:
        values = self.stored[:]
        values.flags.writeable = False
        return values

    def having(self, change: Callable[[Values], Values]) -> Half:
        """This half with other values: of coded ones, with other levels."""
        if isinstance(self.stored, Coded):
            return replace(self, stored=replace(self.stored, levels=change(self.stored.levels)))
        return replace(self, stored=change(self.stored))

    def mean(self, of: Callable[[Values], NDArray[Any]] = lambda values: values) -> float:
        """The mean of all values, or of something of each, summed in order, some at a time."""
        count = len(self.stored)
        parts = (slice(at, at + _SUMMED_AT_ONCE) for at in range(0, count, _SUMMED_AT_ONCE))
        return sum(float(of(self.stored[part]).sum(dtype=np.float64)) for part in parts) / count

    @property
    def mapped(self) -> bool:
        """Whether the indices are in a file that is mapped."""
        return self._map is not None

    @property
    def folder(self) -> str | None:
        """Where this file is, if it has a name."""
        file = None if self._map is None else self._map.filename
        return None if file is None else os.path.dirname(file)

    @property
    def _map(self) -> Any:
        array: Any = self.indices
        while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
            array = array.base
        return array if isinstance(array, np.memmap) else None

    @property
    def counts(self) -> Pointers:
        """The number of ratings of every row."""
        return self.pointers[1:] - self.pointers[:-1]

    @property
    def rows(self) -> Indices:
        """The row of every entry."""
        return rows_of(self.pointers)

    def row(self, number: int) -> tuple[Indices, Values]:
        """The indices and values of one row."""
        here = slice(self.pointers[number], self.pointers[number + 1])
        return self.indices[here], self.stored[here]


def compressed(user: Indices, item: Indices, values: Values, users: int) -> Half:
    """Entries that are ordered by (user, item), by user."""
    pointers = np.searchsorted(user, np.arange(users + 1, dtype=np.int32)).astype(np.int64)
    return Half(pointers, item, values)


def transposed(half: Half, columns: int) -> Half:
    """The same entries along the other side."""
    other = Half(*_transpose(half.pointers, half.indices, half.values, columns))
    for part in vars(other).values():
        part.flags.writeable = False
    return other


def sorted_by_pair(
    user: Indices, item: Indices, shape: tuple[int, int]
) -> tuple[Indices, Indices, Indices]:
    """User and item of entries ordered by (user, item), and the row each came from.

    Equal pairs stay in the order they came.
    """
    users, items = shape
    pointers, order = _counting_sort(item, items)
    pointers, item, order = _transpose(pointers, user[order], order, users)
    return rows_of(pointers), item, order


def ascending(user: Indices, item: Indices) -> bool:
    """Whether entries are ordered by (user, item), each pair once."""
    later, same = user[1:] > user[:-1], user[1:] == user[:-1]
    return bool((later | (same & (item[1:] > item[:-1]))).all())


def rows_of(pointers: Pointers) -> Indices:
    """The row of every entry."""
    if len(pointers) == 2:
        return np.zeros(pointers[1] - pointers[0], np.int32)
    return np.repeat(np.arange(len(pointers) - 1, dtype=np.int32), np.diff(pointers))


def _transpose(
    pointers: Pointers, indices: Indices, payload: NDArray[Any], columns: int
) -> tuple[Pointers, Indices, NDArray[Any]]:
    """Compressed rows as compressed columns, the entries of a column in the order of the rows."""
    from scipy.sparse import csr_array

    shape = len(pointers) - 1, columns
    turned = csr_array((payload, indices, pointers), shape=shape).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32, copy=False), turned.data


def _counting_sort(key: Indices, keys: int) -> tuple[Pointers, Indices]:
    """order[pointers[k] : pointers[k + 1]] are the positions of key k, ascending: one entry a row,
    transposed.
    """
    entries = np.arange(len(key) + 1, dtype=np.int64)
    pointers, order, _ = _transpose(entries, key, np.empty(len(key), np.bool_), keys)
    return pointers, order
