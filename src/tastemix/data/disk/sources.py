"""Where rows come from: Parquet or csv files, a part at a time, or any table, put on disk first."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tastemix.data import reading_csv, reading_parquet, spelling
from tastemix.data.columns import ERRORS, first_line, is_text, named, positions
from tastemix.data.dialect import Column, Told
from tastemix.data.disk import frames
from tastemix.data.reading import column_name, columns_of
from tastemix.data.reading_csv import NOTHING_TOLD, CsvFile
from tastemix.errors import DataError, ParameterError

NAMES = ("user", "item", "rating", "timestamp")
Batch = list[pa.ChunkedArray]
"""Columns of user, item, rating and perhaps timestamp."""


class Source(Protocol):
    """Rows that can be read again and again, from any row on."""

    @property
    def total(self) -> int | None:
        """The number of rows, if it is known before they are read."""
        ...

    def identity(self) -> list[Any]:
        """What tells it from other sources."""
        ...

    def guesses(self) -> list[pa.DataType] | None:
        """What ids written as text look like; None where they are not written as text."""
        ...

    def batches(self, rows: int, skip: int = 0) -> Iterator[Batch]:
        """At most so many rows at a time, from row `skip` on."""
        ...


def of(ratings: Any, columns: Sequence[Column], spool: Path, told: Told = NOTHING_TOLD) -> Source:
    """The source that a path, a pattern, a list of paths or a table is."""
    if isinstance(ratings, str | os.PathLike):
        return _of_files(_files(ratings), columns, told)
    if isinstance(ratings, list | tuple):
        if not ratings:
            raise DataError("there are no ratings: the list of files is empty")
        return _of_files([file for path in ratings for file in _files(path)], columns, told)
    if told != NOTHING_TOLD:
        given = next(name for name, value in vars(told).items() if value is not None)
        raise ParameterError(
            f"{given}= says how a file is written, and this is a table: leave it out"
        )
    return _spooled(ratings, columns, spool)


def _files(path: Any) -> list[Path]:
    try:
        given = Path(path)
    except TypeError:
        raise DataError(
            f"a {type(path).__name__} is not a path: give paths, or one table"
        ) from None
    if given.is_dir():
        found = sorted(
            file for kind in ("parquet", "csv", "csv.gz") for file in given.rglob(f"*.{kind}")
        )
    elif given.exists():
        found = [given]
    else:
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))
    if not found:
        raise DataError(f"{path} matches no file: give csv or parquet files")
    return found


def _of_files(files: list[Path], columns: Sequence[Column], told: Told) -> Source:
    try:
        heads = []
        for file in files:
            with file.open("rb") as stream:
                heads.append(stream.read(4096))
        parquet = [head[:4] in (b"PAR1", b"PARE") for head in heads]
        if any(parquet) and not all(parquet):
            raise DataError(
                f"{files[0]} and {files[parquet.index(not parquet[0])]} are of different kinds: "
                "ingest Parquet files or csv files"
            )
        if parquet[0]:
            by_name = tuple(column_name(files[0], column) for column in columns)
            return ParquetFiles(files, by_name, ids=told.ids)
        return CsvFiles(files, tuple(columns), told)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"the files cannot be read ({first_line(error)})") from None


def _spooled(table: Any, columns: Sequence[Any], spool: Path) -> Source:
    """A table put on disk, as it can be read only once."""
    clear(spool)
    if frames.is_frame(table):
        return ParquetFiles(frames.written(table, columns, spool), tuple(columns), spooled=True)
    try:
        if isinstance(table, pa.RecordBatchReader) or (
            hasattr(table, "__arrow_c_stream__")
            and not (hasattr(table, "iloc") or hasattr(table, "collect"))
        ):
            reader = pa.RecordBatchReader.from_stream(table)
        else:
            arrays = [
                pa.chunked_array(pa.array(x)) if not isinstance(x, pa.ChunkedArray) else x
                for x in map(_arrow, columns_of(table, columns))
            ]
            reader = pa.table(arrays, names=list(columns)).to_reader()
        at = positions(columns, reader.schema.names)
        schema = pa.schema([reader.schema.field(number) for number in at])
        with pq.ParquetWriter(spool, schema) as writer:
            for batch in reader:
                writer.write_batch(batch.select(at))
    except (pa.ArrowException, TypeError, OSError) as error:
        raise DataError(
            f"the table cannot be read as Arrow ({first_line(error)}): "
            "convert each column to one plain type"
        ) from None
    return ParquetFiles([spool], tuple(columns), spooled=True)


def clear(spool: Path) -> None:
    """Remove what a call has put on disk: a dataframe's is a folder, a table's a file."""
    if spool.is_dir():
        shutil.rmtree(spool)
    else:
        spool.unlink(missing_ok=True)


def _arrow(column: Any) -> Any:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column)])


def _identity(files: list[Path]) -> list[Any]:
    return [[str(file.absolute()), (s := file.stat()).st_size, s.st_mtime_ns] for file in files]


@dataclass
class ParquetFiles:
    """Parquet files, one after another."""

    files: list[Path]
    columns: tuple[str, ...]
    spooled: bool = False
    ids: str | None = None
    total: int = 0
    _kinds: list[pa.DataType] = field(default_factory=list)

    def __post_init__(self) -> None:
        seen: list[list[pa.DataType]] = []
        for file in self.files:
            try:
                with reading_parquet.opened(file) as parquet:
                    at = positions(self.columns, parquet.schema_arrow.names)
                    seen.append([_plain(parquet.schema_arrow.field(n).type) for n in at])
                    self.total += parquet.metadata.num_rows
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{file} cannot be read ({first_line(error)})") from None
        for number, name in enumerate(NAMES[: len(self.columns)]):
            kinds = [kinds[number] for kinds in seen]
            kind = kinds[0] if number == 2 else _common(kinds, self.files, name)
            as_text = self.ids == "text" and number < 2 and not is_text(kind)
            self._kinds.append(pa.string() if as_text else kind)

    def identity(self) -> list[Any]:
        """See Source.identity."""
        return ["stream"] if self.spooled else _identity(self.files)

    def guesses(self) -> None:
        """See Source.guesses."""

    def batches(self, rows: int, skip: int = 0) -> Iterator[Batch]:
        """See Source.batches."""
        for file in self.files:
            try:
                for batch, left in self._of_file(file, rows, skip):
                    skip = left
                    if batch is not None:
                        yield batch
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{file} cannot be read ({first_line(error)})") from None

    def _of_file(self, file: Path, rows: int, skip: int) -> Iterator[tuple[Batch | None, int]]:
        """Batches, each with how many rows are yet to be skipped."""
        with reading_parquet.opened(file) as parquet:
            schema = parquet.schema_arrow
            text = [name for name in self.columns[:2] if is_text(schema.field(name).type)]
            about = parquet.metadata
            sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        with pq.ParquetFile(
            file, memory_map=False, pre_buffer=False, read_dictionary=text
        ) as parquet:
            for group, size in enumerate(sizes):
                if skip >= size:
                    skip -= size
                    yield None, skip
                    continue
                for batch in parquet.iter_batches(rows, [group], list(self.columns)):
                    here = batch.slice(min(skip, len(batch)))
                    skip -= len(batch) - len(here)
                    yield (self._typed(here) if len(here) else None), skip

    def _typed(self, batch: pa.RecordBatch) -> Batch:
        out = []
        for number, name in enumerate(self.columns):
            column, kind = batch.column(name), self._kinds[number]
            same = number == 2 or _plain(column.type) == kind
            out.append(pa.chunked_array([column if same else column.cast(kind)]))
        return out


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _common(kinds: list[pa.DataType], files: list[Path], what: str) -> pa.DataType:
    """The type that holds what all files have in a column."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(map(pa.types.is_integer, kinds)) and pa.uint64() not in kinds:
        return pa.int64()
    if all(map(pa.types.is_floating, kinds)):
        return pa.float64()
    if all(kind in (pa.string(), pa.large_string()) for kind in kinds):
        return pa.large_string()
    other = next(at for at, kind in enumerate(kinds) if kind != kinds[0])
    column = f"{what} ids" if what in ("user", "item") else f"{what}s"
    raise ERRORS[what](
        f"the {column} are of type {kinds[0]} in {files[0]} and {kinds[other]} in "
        f"{files[other]}: write them alike"
    )


@dataclass
class CsvFiles:
    """Csv files, one after another; ids are text."""

    files: list[Path]
    columns: tuple[Column, ...]
    told: Told
    total: None = None
    _parts: list[tuple[CsvFile, list[str]]] = field(default_factory=list)
    _guesses: list[list[pa.DataType]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for file in self.files:
            part = CsvFile.opened(file, self.columns, _UNLIMITED, self.told, broken=True)
            schema, names = part.schema(), named(part.names(self.columns))
            at = positions(names, schema.names)
            as_text = part.dialect.quoted if self.told.ids is None else at[:2]
            self._guesses.append(
                [pa.string() if n in as_text else schema.field(n).type for n in at]
            )
            self._parts.append((part, names))

    def identity(self) -> list[Any]:
        """See Source.identity."""
        return _identity(self.files)

    def guesses(self) -> list[pa.DataType]:
        """See Source.guesses: a column is of numbers if it seems so in all files."""
        columns = [[guess[number] for guess in self._guesses] for number in range(2)]
        return [
            next((kind for kind in kinds if kind not in spelling.NUMERIC), kinds[0])
            for kinds in columns
        ]

    def batches(self, rows: int, skip: int = 0) -> Iterator[Batch]:
        """See Source.batches."""
        for (part, names), guess in zip(self._parts, self._guesses, strict=True):
            try:
                for batch in part.blocks(names):
                    here = batch.slice(min(skip, len(batch)))
                    skip -= len(batch) - len(here)
                    for at in range(0, len(here), rows):
                        yield _of_text(here.slice(at, rows), guess, part.dialect.decimal)
            except (pa.ArrowException, OSError, UnicodeError) as error:
                said, way = first_line(error), "delimiter= or quote='' (for none)"
                if reading_csv.is_of_encoding(error):
                    said, way = f"{said}, read as {part.dialect.encoding}", "another encoding="
                raise DataError(f"{part.file} cannot be read ({said}): give {way}") from None


_UNLIMITED = 2**62
"""Bytes: rows are read a block at a time."""


def _of_text(batch: pa.RecordBatch, guess: list[pa.DataType], decimal: str) -> Batch:
    user, item, rating, *times = (pa.chunked_array([column]) for column in batch.columns)
    kinds = [spelling.time_kind(kind) for kind in guess[3:]]
    return [
        *(pc.if_else(pc.equal(ids, ""), None, ids) for ids in (user, item)),
        spelling.numbers(rating, pa.float64(), "rating", decimal),
        *(spelling.numbers(time, kinds[0], "timestamp") for time in times),
    ]
