"""From files of ratings to a folder of sorted halves, in stages that survive a kill.

    names     all rows are read for the ids they have and the range of their ratings
    rows      all rows are read again, numbered, and put in runs by user
    by user   the runs are sorted a piece of users at a time, duplicates settled, and put in runs
              by item
    by item   these are sorted a piece of items at a time
    seal      checksums, and the manifest

Runs and pieces are made in memory and renamed into place, so what is there is whole. They depend on
the rows and on `memory` alone, and the halves on the rows alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from tastemix.data import entries
from tastemix.data.columns import first_line
from tastemix.data.dialect import Column, Told
from tastemix.data.disk import manifest, merging, sources
from tastemix.data.disk.arrays import Unmapped
from tastemix.data.disk.manifest import Manifest, array_name
from tastemix.data.disk.merging import Progress, Work
from tastemix.data.disk.names import Gathered, Names
from tastemix.data.disk.runs import Columns, Runs
from tastemix.data.disk.sources import Batch, Source
from tastemix.data.disk.store import SIDES, Store
from tastemix.data.disk.writing import write_ids
from tastemix.data.entries import Duplicates, Scale
from tastemix.data.halves import Coded, Half
from tastemix.data.ids import Ids
from tastemix.data.memory import amount
from tastemix.data.ratings import Ratings
from tastemix.data.reading import Values, as_times, as_values
from tastemix.errors import DataError, ParameterError, TastemixError

WORK, JOB, FACTS, LEVELS = "work", "job.json", "facts.json", "levels.json"
LOCK, SPOOL = "lock", "rows.parquet"
_NOT_YET_BEGUN = {WORK, LOCK, SPOOL, "job.tmp"}
"""What may be there before the job is: all else is someone's."""
BYTES_A_ROW = 96
"""Memory of a row while it is sorted among others."""
BYTES_A_READ_ROW = 512
LEAST_MEMORY = 10**6


def ingest(
    ratings: Any,
    to: str | os.PathLike[str],
    memory: int | str = "1GB",
    user: Column = "user",
    item: Column = "item",
    rating: Column = "rating",
    timestamp: Column | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates = "refuse",
    on_progress: Progress | None = None,
    *,
    ids: Literal["text"] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> Ratings:
    """Ratings as a folder on disk, made in little memory from more rows than would fit; opened.

    ratings: a path of Parquet or csv files, a pattern such as "ratings/*.parquet", a folder, a list
        of paths, a table or stream of Arrow, or a Dask dataframe.
    to: the folder to make. If a call was killed, the same call goes on where it was.
    memory: bytes, or text such as "1GB", that rows may take at a time. The ids and one number for
        each user and item come on top.
    on_progress: called with what is being done, rows done and rows in all, None if unknown.
    Columns, scale and duplicates are as in Ratings.from_table. How csv files are written is found
    out, or said as in `read`.
    """
    told = Told(delimiter, encoding, quote, decimal, header, ids)
    columns = [user, item, rating] + ([timestamp] if timestamp is not None else [])
    entries.check_duplicates(duplicates)
    if duplicates in entries.ADDED_UP:
        raise ParameterError(
            f"duplicates is {duplicates!r}, which only tables in memory can have: choose 'refuse', "
            "'last' or 'mean', or add up before"
        )
    budget = amount(memory, LEAST_MEMORY)
    folder = Path(to)
    _refuse_what_is_there(folder)
    with _alone(folder) as beside:
        source = sources.of(ratings, columns, beside / SPOOL, told)
        options = {"columns": columns, "scale": scale, "duplicates": duplicates, "memory": budget}
        _agree(beside, {"of": source.identity(), **options, "written": vars(told)}, folder)
        job = _Job(source, folder, beside, budget, scale, duplicates, on_progress or _silent)
        job.run()
    shutil.rmtree(beside)
    return Store.at(folder).ratings()


class _Job:
    """One ingest, from wherever it was."""

    def __init__(
        self,
        source: Source,
        folder: Path,
        beside: Path,
        memory: int,
        scale: Scale | None,
        duplicates: Duplicates,
        report: Progress,
    ) -> None:
        self.source, self.folder, self.beside = source, folder, beside
        self.scale, self.duplicates, self.report = scale, duplicates, report
        self.rows = max(1000, memory // 2 // BYTES_A_ROW)
        self.at_once = max(1000, min(2**20, memory // BYTES_A_READ_ROW))

    def run(self) -> None:
        """All stages."""
        if not (self.beside / FACTS).exists():
            self._gather()
        facts = json.loads((self.beside / FACTS).read_text())
        names = [
            Names.load(self.beside, side, what)
            for side, what in zip(SIDES, ("user", "item"), strict=True)
        ]
        users, items = (name.ids for name in names)
        work = Work(self.folder, self.beside, users, items, self.rows, self.report, facts["rows"])
        levels = self._by_user(work, names, facts["rows"])
        merging.by_item(work, levels)
        merging.encode_values(work, levels)
        self.report("checksums", facts["rows"], facts["rows"])
        for ids in (users, items):
            write_ids(self.folder, ids)
        count = len(np.load(self.folder / "users-indices.npy", mmap_mode="r"))
        manifest.write(
            self.folder,
            users=len(users),
            items=len(items),
            ratings=count,
            scale=tuple(facts["scale"]),
            levels=None if levels is None else levels.tolist(),
            timestamps=facts["dated"] is not None,
            dated=bool(facts["dated"]),
            fingerprint=lambda draft: _fingerprint(self.folder, draft, users, items),
        )

    def _by_user(self, work: Work, names: list[Names], total: int) -> Values | None:
        """The users' half, and what levels its values have."""
        done = self.beside / LEVELS
        runs = Runs(self.beside / "by-user", "user", len(work.users))
        if not done.exists():
            self._number(runs, names, total)
            levels = merging.by_user(work, runs, self.duplicates)
            _put(done, None if levels is None else levels.tolist())
        shutil.rmtree(runs.folder, ignore_errors=True)
        levels = json.loads(done.read_text())
        return None if levels is None else np.array(levels, np.float32)

    def _gather(self) -> None:
        """Read all rows for what must be known of all before any can be numbered."""
        gathered = Gathered("user"), Gathered("item")
        low, high, rows, dated = np.inf, -np.inf, 0, None
        for batch in self.source.batches(self.at_once):
            with _counted_from(rows):
                for side, column in zip(gathered, batch, strict=False):
                    side.add(column)
                values = as_values(batch[2])
                entries.limits(values, self.scale)
                if len(batch) == 4:
                    dated = as_times(batch[3])[1]
            low, high = min(low, float(values.min())), max(high, float(values.max()))
            rows += len(values)
            self.report("reading ids", rows, self.source.total)
        if rows == 0:
            raise DataError("there are no ratings: the files have no rows")
        ends = entries.limits(np.array([low, high], np.float32), self.scale)
        guesses = self.source.guesses() or (None, None)
        for name, found, guess in zip(SIDES, gathered, guesses, strict=True):
            Names.of(found, guess).save(self.beside, name)
        pa.default_memory_pool().release_unused()
        _put(self.beside / FACTS, {"rows": rows, "scale": ends, "dated": dated})

    def _number(self, runs: Runs, names: list[Names], total: int) -> None:
        """Read all rows again, and put them in runs of numbers."""
        runs.folder.mkdir(exist_ok=True)
        done = 0
        while runs.path(done).exists():
            done += 1
        row = min(done * self.rows, total)
        if row == total:
            return
        find = [name.numbering() for name in names]
        waiting: list[Columns] = []
        count = 0
        for batch in self.source.batches(self.at_once, row):
            columns = _numbered(batch, find, row)
            row += len(columns["value"])
            while len(columns["value"]):
                room = self.rows - count
                waiting.append({name: column[:room] for name, column in columns.items()})
                columns = {name: column[room:] for name, column in columns.items()}
                count += len(waiting[-1]["value"])
                if count == self.rows:
                    runs.write(done, _joined(waiting))
                    done, count = done + 1, 0
            self.report("numbering", row, total)
        if waiting:
            runs.write(done, _joined(waiting))
        if row != total:
            raise DataError(
                "the files changed while they were read: remove the folder and begin again"
            )
        pa.default_memory_pool().release_unused()


def _fingerprint(folder: Path, about: Manifest, users: Ids, items: Ids) -> str:
    """That of the ratings, whose arrays are read rather than mapped."""
    indices, values = (
        Unmapped(folder / array_name("users", part)) for part in ("indices", "values")
    )
    stored: Any = values if about.levels is None else Coded.of(cast(Any, values), about.levels)
    half = Half(np.load(folder / array_name("users", "pointers")), cast(Any, indices), stored)
    return Ratings(users, items, half, about.scale).fingerprint


def _numbered(batch: Batch, find: list[Any], row: int) -> Columns:
    """A batch as columns of numbers."""
    columns: Columns = {
        "user": find[0](batch[0]),
        "item": find[1](batch[1]),
        "value": as_values(batch[2]),
    }
    if len(batch) == 4:
        columns["time"] = as_times(batch[3])[0]
        columns["row"] = np.arange(row, row + len(columns["value"]))
    return columns


def _joined(parts: list[Columns]) -> Columns:
    """Parts of columns as whole columns; empties the list."""
    whole = {name: np.concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
    parts.clear()
    return whole


def _refuse_what_is_there(folder: Path) -> None:
    if (folder / manifest.INDEX).exists():
        raise DataError(
            f"{folder} holds ratings already: use them, remove it, or choose another folder"
        )
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file: give a folder to make")
    if not (folder / WORK / JOB).exists() and not _NOT_YET_BEGUN.issuperset(
        path.name for where in (folder, folder / WORK) if where.is_dir() for path in where.iterdir()
    ):
        raise DataError(f"{folder} holds other files: give a folder to make")


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """The folder to work in, for one process at a time.

    A mistake takes away what this call has made. What another call had begun stays for that call.
    """
    beside = folder / WORK
    try:
        beside.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror})") from None
    with (beside / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"{folder} is being made by another process: wait for it") from None
        _refuse_what_is_there(folder)  # Another process may have ended meanwhile.
        begun = (beside / JOB).exists()
        try:
            yield beside
        except TastemixError:
            if not begun:
                shutil.rmtree(folder)
            raise
        except OSError as error:
            raise DataError(
                f"{folder} cannot be written ({first_line(error)}): make room, and repeat the call "
                "to go on"
            ) from None


def _agree(beside: Path, job: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with another job than was begun; that of a stream begins again."""
    job, file = json.loads(json.dumps(job)), beside / JOB
    begun = json.loads(file.read_text()) if file.exists() else None
    streams = job["of"] == ["stream"]
    if begun not in (None, job) and not (streams and begun["of"] == job["of"]):
        if streams:
            sources.clear(beside / SPOOL)
        raise ParameterError(
            f"{folder} was begun with other files or options: repeat that call, or remove "
            "the folder"
        )
    if streams:
        for there in [*folder.iterdir(), *beside.iterdir()]:
            if there.name in (WORK, LOCK, SPOOL, JOB):
                continue
            if there.is_dir():
                shutil.rmtree(there)
            else:
                there.unlink()
    _put(file, job)


def _put(file: Path, content: Any) -> None:
    """Write JSON at once."""
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(json.dumps(content))
    unfinished.replace(file)


@contextmanager
def _counted_from(row: int) -> Iterator[None]:
    """Say from where the rows in an error are counted."""
    try:
        yield
    except DataError as error:
        if row == 0 or " row " not in str(error):
            raise
        raise type(error)(f"{error} (rows are counted from row {row:,} of all)") from None


def _silent(what: str, done: int, total: int | None) -> None:
    """Tell nobody."""
