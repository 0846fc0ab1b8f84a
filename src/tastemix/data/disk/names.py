"""The ids of one side: gathered batch by batch, then numbered as they would be all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tastemix.data import spelling
from tastemix.data.disk.arrays import save_folder
from tastemix.data.ids import Ids, Indices, encode
from tastemix.errors import IdError

_LEAST_GATHERED = 2**20
_TABLE_BYTES = 2**28
_TABLE_SHARE = 16
"""A table by value may have so many places for each id."""


class Gathered:
    """The distinct ids of batches seen so far."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._parts: list[pa.Array] = []
        self._merged = self._waiting = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the ids of a batch along."""
        distinct = encode(column, self._what)[0].values
        self._parts.append(distinct)
        self._waiting += len(distinct)
        if self._waiting > max(_LEAST_GATHERED, self._merged):
            self._parts = [self._distinct()]
            self._merged, self._waiting = len(self._parts[0]), 0

    def ids(self) -> Ids:
        """All of them, ascending."""
        ids = encode(self._distinct(), self._what)[0]
        if len(ids) >= 2**31:
            raise IdError(f"there are {len(ids):,} {self._what}s, more than can be numbered")
        return ids

    def _distinct(self) -> pa.Array:
        storage = [_storage(part) for part in self._parts]
        kinds = {part.type for part in storage}
        if len(kinds) > 1:
            # Of a column of numbers, whole ones came as int64 where there were no others.
            wide = next(kind for kind in kinds if kind != pa.int64())
            storage = [part.cast(wide) for part in storage]
        whole = pc.unique(pa.chunked_array(storage))
        kind = self._parts[0].type
        return kind.wrap_array(whole) if isinstance(kind, pa.BaseExtensionType) else whole


@dataclass(frozen=True)
class Names:
    """Ids, and how to number a column: by the ids themselves or by how they were written."""

    ids: Ids
    texts: Ids | None = None
    number_of_text: Indices | None = None

    @staticmethod
    def of(gathered: Gathered, guess: pa.DataType | None) -> Names:
        """The names of one side. guess: what ids that are text look like, as csv has them."""
        ids = gathered.ids()
        if guess is None:
            return Names(ids)
        written = spelling.ids_of(pa.chunked_array([ids.values]), guess, ids.what)
        missing = pc.index(written.is_null(), True).as_py()
        if missing >= 0:
            raise IdError(
                f"one {ids.what} id is {ids[missing]!r} where others are numbers: every rating "
                f"needs its {ids.what}"
            )
        typed, number = encode(written, ids.what)
        if typed.values.equals(ids.values):
            return Names(ids)
        return Names(typed, ids, number)

    def numbering(self) -> Callable[[pa.ChunkedArray], Indices]:
        """What numbers a column of ids, all of which are known."""
        known = self.ids if self.texts is None else self.texts
        find = _finder(known)
        number = self.number_of_text
        return find if number is None else lambda column: number[find(column)]

    def save(self, folder: Path, name: str) -> None:
        """Keep the names in files that begin with this name."""
        pq.write_table(pa.table({"id": self.ids.values}), folder / f"{name}.parquet")
        if self.texts is not None:
            pq.write_table(pa.table({"id": self.texts.values}), folder / f"{name}-texts.parquet")
            save_folder(folder / f"{name}-numbers", {"number": self._number()})

    @staticmethod
    def load(folder: Path, name: str, what: str) -> Names:
        """The names that were kept there."""
        ids = _read(folder / f"{name}.parquet", what)
        if not (folder / f"{name}-texts.parquet").exists():
            return Names(ids)
        number = np.load(folder / f"{name}-numbers" / "number.npy")
        return Names(ids, _read(folder / f"{name}-texts.parquet", what), number)

    def _number(self) -> Indices:
        return np.empty(0, np.int32) if self.number_of_text is None else self.number_of_text


def _read(file: Path, what: str) -> Ids:
    whole = pq.read_table(file, memory_map=False)["id"].combine_chunks()
    return Ids(whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole, what)


def _finder(ids: Ids) -> Callable[[Any], Indices]:
    """What finds ids among known ones: in a table where they lie close, or by bisection."""
    if not pa.types.is_int64(ids.values.type):
        return ids.find
    values: NDArray[np.int64] = ids.values.to_numpy()
    least, most = int(values[0]), int(values[-1])
    length = most - least + 1
    if length * 4 > _TABLE_BYTES or length > max(_TABLE_SHARE * len(values), 2**16):

        def bisected(column: pa.ChunkedArray) -> Indices:
            asked, position = encode(column, ids.what)
            found = np.searchsorted(values, asked.values.to_numpy()).astype(np.int32)
            return np.asarray(found[position])

        return bisected
    table = np.full(length, -1, np.int32)
    table[values - least] = np.arange(len(values), dtype=np.int32)

    def looked_up(column: pa.ChunkedArray) -> Indices:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return np.asarray(table[column.cast(pa.int64()).to_numpy() - least])

    return looked_up


def _storage(ids: pa.Array) -> pa.Array:
    return ids.storage if isinstance(ids.type, pa.BaseExtensionType) else ids
