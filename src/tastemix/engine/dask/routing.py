"""Which rows of the other side the blocks of a worker need, where these are few of many.

They are found when ratings are placed. The worker's ratings are numbered by them from then on, in
the order that they had, so that sums over the ratings of a row have the same bits.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.halves import Half
from tastemix.data.ids import Indices

AT_ONCE = 2**20
"""Ratings that are looked at together."""


class Table(NamedTuple):
    """The rows that are needed."""

    name: str
    """Of this table and no other."""
    numbers: Indices
    """Ascending."""

    def within(self, first: int, last: int) -> slice:
        """Where those from `first` to `last` are."""
        return slice(*np.searchsorted(self.numbers, (first, last)).tolist())


def table_of(halves: Sequence[Half], rows: int, most: int) -> Table | None:
    """The rows, of so many, that are rated; None where they are more than `most`.

    It is also None where numbers are out of range, which `Rated` refuses. Takes a byte for each row
    of the other side, while it is made.
    """
    needed, unseen = np.zeros(rows, np.bool_), rows
    for some in _parts(halves):
        if some.min() < 0 or some.max() >= rows:
            return None
        needed[some] = True
        unseen -= len(some)
        if unseen < 0:  # counting costs as much as so many ratings
            unseen = rows
            if np.count_nonzero(needed) > most:
                return None
    numbers = np.flatnonzero(needed).astype(np.int32)
    return None if len(numbers) > most else Table(uuid.uuid4().hex, numbers)


def renumbered(halves: Sequence[Half], table: Table, rows: int, folder: str) -> list[Half]:
    """The same ratings, by where the rows that they are of are in a table.

    The new numbers are in files without a name in this folder, mapped: like the old ones they take
    no memory that is needed for something else, and are gone with the process.
    """
    places = np.zeros(rows, np.int32)
    places[table.numbers] = np.arange(len(table.numbers), dtype=np.int32)
    return [replace(half, indices=_mapped(half, places, folder)) for half in halves]


def _mapped(half: Half, places: Indices, folder: str) -> Indices:
    if len(half.indices) == 0:
        return half.indices
    with tempfile.TemporaryFile(dir=folder) as file:
        for some in _parts([half]):
            file.write(places[some].data)
        file.flush()
        numbers: NDArray[Any] = np.memmap(file, np.int32, "r")
    return np.asarray(numbers)


def _parts(halves: Sequence[Half]) -> Iterator[Indices]:
    """Their indices, some at a time."""
    for half in halves:
        for at in range(0, len(half.indices), AT_ONCE):
            yield half.indices[at : at + AT_ONCE]
