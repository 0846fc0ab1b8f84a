"""From runs of rows to the two sorted halves, a piece at a time; each piece is done once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data import entries
from tastemix.data.disk.arrays import Growing, part_of, save_folder, stable_order
from tastemix.data.disk.manifest import SOURCE_ROWS, TIMESTAMPS, array_name
from tastemix.data.disk.runs import Columns, Runs
from tastemix.data.disk.writing import coded
from tastemix.data.entries import Duplicates
from tastemix.data.halves import MOST_LEVELS, Pointers
from tastemix.data.ids import Ids
from tastemix.data.reading import Values

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, the rows it is done for, and how many there are, if known."""
PLAIN_VALUES = "users-values.f32"
"""All values in the order of the users' half, before it is known how many differ."""


@dataclass(frozen=True)
class Work:
    """Where it is done, and how much at a time."""

    folder: Path
    """Where the halves go."""
    beside: Path
    """Where everything else goes."""
    users: Ids
    items: Ids
    piece: int
    """Rows that are sorted at once."""
    report: Progress
    total: int


@dataclass
class _Pieces:
    """The pieces of one side that are done: how many entries each row has, and the levels."""

    folder: Path
    counts: list[NDArray[np.int64]] = field(default_factory=list)
    levels: Values | None = field(default_factory=lambda: np.empty(0, np.float32))

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        while (done := self._path(len(self.counts))).exists():
            self._add(np.load(done / "counts.npy"), np.load(done / "levels.npy"))

    @property
    def count(self) -> int:
        """Entries."""
        return int(sum(int(counts.sum()) for counts in self.counts))

    @property
    def pointers(self) -> Pointers:
        """Where each row begins."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(self.counts))])

    def done(self, counts: NDArray[np.int64], levels: Values) -> None:
        """The next piece is written."""
        save_folder(self._path(len(self.counts)), {"counts": counts, "levels": levels})
        self._add(counts, levels)

    def _add(self, counts: NDArray[np.int64], levels: Values) -> None:
        self.counts.append(counts)
        if self.levels is not None:
            merged = np.union1d(self.levels, levels)
            self.levels = merged if len(levels) > 0 and len(merged) <= MOST_LEVELS else None

    def _path(self, number: int) -> Path:
        return self.folder / f"piece-{number:06}"


def by_user(work: Work, rows: Runs, duplicates: Duplicates) -> Values | None:
    """Write the users' half, and runs for the items' half; what levels there are."""
    pieces = _Pieces(work.beside / "users-done")
    turned = Runs(work.beside / "by-item", "item", len(work.items))
    timed = (rows.path(0) / "time.npy").exists()
    wanted: dict[str, tuple[Path, Any]] = {
        "item": (work.folder / array_name("users", "indices"), np.int32),
        "value": (work.beside / PLAIN_VALUES, np.float32),
    }
    if timed:
        wanted["time"] = work.folder / TIMESTAMPS, np.int64
        wanted["row"] = work.folder / SOURCE_ROWS, np.int64
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(Growing(file, kind, pieces.count))
            for name, (file, kind) in wanted.items()
        }
        for number, (first, last) in enumerate(rows.pieces(work.piece)):
            if number < len(pieces.counts):
                continue
            found = _settled(work, rows.read(first, last), first, last, duplicates)
            for name, file in files.items():
                file.append(found[name])
            turned.write(number, {name: found[name] for name in ("item", "user", "value")})
            counts = np.bincount(found["user"] - first, minlength=last - first)
            pieces.done(counts, _few(np.unique(found["value"])))
            work.report("sorting by user", pieces.count, work.total)
        for file in files.values():
            file.finish()
    np.save(work.folder / array_name("users", "pointers"), pieces.pointers)
    return pieces.levels


def by_item(work: Work, levels: Values | None) -> None:
    """Write the items' half."""
    pieces = _Pieces(work.beside / "items-done")
    rows = Runs(work.beside / "by-item", "item", len(work.items))
    kind = np.float32 if levels is None else np.uint8
    with (
        Growing(work.folder / array_name("items", "indices"), np.int32, pieces.count) as indices,
        Growing(work.folder / array_name("items", "values"), kind, pieces.count) as values,
    ):
        for number, (first, last) in enumerate(rows.pieces(work.piece)):
            if number < len(pieces.counts):
                continue
            found = rows.read(first, last)
            if last - first > 1:
                key = found["item"].astype(np.int64)
                _, order = stable_order(key - first, last - first)
                found = {name: column[order] for name, column in found.items()}
            indices.append(found["user"])
            value = found["value"]
            values.append(value if levels is None else coded(value, levels))
            counts = np.bincount(found["item"] - first, minlength=last - first)
            pieces.done(counts, np.empty(0, np.float32))
            work.report("sorting by item", pieces.count, work.total)
        indices.finish()
        values.finish()
    np.save(work.folder / array_name("items", "pointers"), pieces.pointers)


def encode_values(work: Work, levels: Values | None) -> None:
    """Write the values of the users' half."""
    plain, file = work.beside / PLAIN_VALUES, work.folder / array_name("users", "values")
    if levels is None:
        shutil.copyfile(plain, file)
        return
    count = len(np.load(plain, mmap_mode="r"))
    with Growing(file, np.uint8, 0) as out:
        for at in range(0, count, work.piece):
            out.append(coded(part_of(plain, at, min(count, at + work.piece)), levels))
        out.finish()


def _settled(work: Work, rows: Columns, first: int, last: int, duplicates: Duplicates) -> Columns:
    """The rows of users `first` to `last`, ordered by (user, item), each pair once."""
    wide = len(work.items)
    key = rows.pop("user").astype(np.int64)
    key -= first
    key *= wide
    key += rows.pop("item")
    key, order = stable_order(key, (last - first) * wide)
    user: Any = key // wide
    key -= user * wide
    user, item = user.astype(np.int32), key.astype(np.int32)
    del key
    user, item, value, row = entries.settled(
        Ids(work.users.values.slice(first, last - first), "user"),
        work.items,
        user,
        item,
        rows["value"],
        order.astype(np.int32),
        rows.get("time"),
        duplicates,
        rows_are_known=False,
    )
    found: Columns = {"user": user + np.int32(first), "item": item, "value": value}
    found |= {name: rows[name][row] for name in ("time", "row") if name in rows}
    return found


def _few(levels: Values) -> Values:
    """Levels, if they are few enough to code; else none at all."""
    return levels if len(levels) <= MOST_LEVELS else levels[:0]
