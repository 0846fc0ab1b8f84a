"""Ratings in a folder: two sorted halves that are mapped, whole or a span of rows at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data import reading_parquet
from tastemix.data.columns import first_line
from tastemix.data.disk import checking, manifest
from tastemix.data.disk.manifest import IDS, SOURCE_ROWS, TIMESTAMPS, Manifest, array_name
from tastemix.data.halves import Coded, Half, Pointers, Side
from tastemix.data.ids import Ids
from tastemix.data.ratings import Known, Ratings
from tastemix.errors import DataError, ParameterError

SIDES: tuple[Side, Side] = ("users", "items")


@dataclass(frozen=True)
class Store:
    """A folder of ratings. Nothing but its manifest is read before it is asked for."""

    folder: Path
    about: Manifest

    @staticmethod
    def at(path: str | os.PathLike[str]) -> Store:
        """The folder at this path, if it is one of ratings and all its files are there."""
        try:
            folder = Path(path)
        except TypeError:
            raise DataError(
                f"a {type(path).__name__} is not a path: give a folder that tm.ingest made"
            ) from None
        store = Store(folder, manifest.read(folder))
        for name in (*IDS.values(), *store.about.arrays):
            said, file = store.about.files.get(name), folder / name
            if said is None or not file.is_file() or file.stat().st_size != said.bytes:
                raise DataError(
                    f"{file} is missing or not as long as {manifest.INDEX} says: ingest again"
                )
        return store

    def rows(self, side: Side) -> int:
        """The number of users or items."""
        return self.about.users if side == "users" else self.about.items

    def ids(self, side: Side, max_memory: int | None = None) -> Ids:
        """The ids of one side, in memory."""
        manifest.verify(self.folder, IDS[side], self.about)
        file = self.folder / IDS[side]
        try:
            table = reading_parquet.load(file, ["id"], max_memory, ids=0)
            ids = Ids.known(_joined(table["id"]), "user" if side == "users" else "item")
        except (pa.ArrowException, MemoryError, OSError) as error:
            raise DataError(f"{file} cannot be read ({first_line(error)}): ingest again") from None
        if len(ids) != self.rows(side):
            raise DataError(f"{file} has {len(ids):,} ids: ingest again")
        return ids

    def pointers(self, side: Side) -> Pointers:
        """Where each row of a half begins, and the last one ends; mapped."""
        return self._array(array_name(side, "pointers"))

    def half(
        self, side: Side, first: int = 0, last: int | None = None, *, verify: bool = False
    ) -> Half:
        """Rows `first` to `last` of one half, by default all, mapped.

        Row r of what is returned is row first + r. verify: also read it once, against checksums.
        """
        count = self.rows(side)
        last = count if last is None else last
        if not 0 <= first <= last <= count:
            raise ParameterError(
                f"rows {first} to {last} are not all there: the {side} are 0 to {count}"
            )
        pointers = self.pointers(side)
        begin, end = int(pointers[first]), int(pointers[last])
        if not 0 <= begin <= end <= self.about.ratings:
            raise DataError(
                f"{self.folder / array_name(side, 'pointers')} is damaged: ingest again"
            )
        if verify:
            self._verify(array_name(side, "pointers"), first, last + 1)
            for part in ("indices", "values"):
                self._verify(array_name(side, part), begin, end)
        own = pointers if (first, last) == (0, count) else pointers[first : last + 1] - begin
        values: Any = self._array(array_name(side, "values"))[begin:end]
        levels = self.about.levels
        stored = values if levels is None else Coded.of(values, levels)
        return Half(own, self._array(array_name(side, "indices"))[begin:end], stored)

    def ratings(self, max_memory: int | None = None) -> Ratings:
        """All ratings; their halves are mapped."""
        about = self.about
        when = self._array(TIMESTAMPS) if about.timestamps else None
        source = self._array(SOURCE_ROWS) if about.timestamps else None
        known = Known(self.half("items"), about.fingerprint, os.path.abspath(self.folder))
        users, items = (self.ids(side, max_memory) for side in SIDES)
        pa.default_memory_pool().release_unused()
        by_user = self.half("users")
        return Ratings(users, items, by_user, about.scale, when, source, about.dated, known)

    def verify(self) -> None:
        """Read everything once, and refuse what is not as it was written."""
        for name in self.about.files:
            manifest.verify(self.folder, name, self.about)

    def _verify(self, name: str, first: int, last: int) -> None:
        """Check the blocks that hold these entries of an array."""
        width, file = self.about.arrays[name][0].itemsize, self.folder / name
        head = file.stat().st_size - self.about.arrays[name][1] * width
        manifest.verify(self.folder, name, self.about, head + first * width, head + last * width)

    def _array(self, name: str) -> NDArray[Any]:
        file, (kind, count) = self.folder / name, self.about.arrays[name]
        try:
            array = np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
        except Exception as error:  # NumPy parses the header as Python, which fails in many ways.
            raise DataError(
                f"{file} cannot be mapped ({first_line(error)}): ingest again"
            ) from None
        if array.dtype != kind or array.shape != (count,):
            raise DataError(
                f"{file} has the shape {array.shape} of {array.dtype}, not ({count},) of {kind}: "
                "ingest again"
            )
        return array


def open(
    path: str | os.PathLike[str], verify: bool = True, max_memory: int | None = None
) -> Ratings:
    """Ratings from a folder that `tm.ingest` made, mapped from disk rather than read into memory.

    verify: read everything once, compare it with its checksums and see that it is ratings; without
        it only the ids are looked at. Leave it out only for a folder that you trust.
    max_memory: bytes that the ids may take; see `read`.
    """
    store = Store.at(path)
    if not verify:
        return store.ratings(max_memory)
    store.verify()
    ratings = store.ratings(max_memory)
    try:
        checking.check(ratings)
    except DataError as error:
        raise DataError(f"{store.folder} is damaged: {error}; ingest again") from None
    return ratings


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    whole = column.combine_chunks()
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
