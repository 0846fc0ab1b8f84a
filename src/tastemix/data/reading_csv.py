"""Csv files to columns, as their dialect says; `spelling` tells what their text means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tastemix.data.columns import positions
from tastemix.data.dialect import (
    ONE_BYTE,
    SAMPLE,
    SEPARATOR,
    Column,
    Dialect,
    Told,
    found,
    place,
)
from tastemix.data.spelling import ids_of, numbers, time_kind
from tastemix.data.streams import opener
from tastemix.errors import ColumnError, DataError

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 4 * 2**20
_FIRST_BLOCK = 2**18
_LOOKED_AT = 2**20


NOTHING_TOLD = Told()


def load(
    file: Path,
    wanted: Sequence[Column | None],
    max_memory: int | None,
    told: Told = NOTHING_TOLD,
) -> list[pa.ChunkedArray | None]:
    """The columns of user, item, and perhaps rating and timestamp.

    They are typed by the first block; if that does not hold, they are read again as text.
    Ids are text if that is told, or if they are in quotes.
    """
    csv_file = CsvFile.opened(file, wanted, max_memory, told)
    while True:
        try:
            return _columns(csv_file, wanted, told.ids == "text")
        except (DataError, UnicodeError) as error:
            # A byte that is not of the encoding that was guessed, further down than was looked at.
            other = csv_file.otherwise() if is_of_encoding(error) else None
            if other is None:
                raise
            csv_file = other


def texts(file: Path, wanted: Sequence[Column], max_memory: int | None, told: Told) -> pa.Table:
    """All columns of a file, as the text that is written."""
    csv_file = CsvFile.opened(file, wanted, max_memory, told)
    while True:
        names = csv_file.schema().names
        try:
            return csv_file.read(list(dict.fromkeys(names)), dict.fromkeys(names, pa.string()))
        except (pa.ArrowInvalid, UnicodeError) as error:
            other = csv_file.otherwise() if is_of_encoding(error) else None
            if other is None:
                raise
            csv_file = other


def _columns(
    csv_file: CsvFile, wanted: Sequence[Column | None], as_text: bool
) -> list[pa.ChunkedArray | None]:
    dialect, guessed = csv_file.dialect, csv_file.schema()
    columns = _names(wanted, guessed.names, csv_file)
    places = positions([name for name in columns if name is not None], guessed.names)
    guess = {guessed.field(at).name: guessed.field(at).type for at in places}
    text = {guessed.field(at).name for at in places if as_text or at in dialect.quoted}
    rating, time = (*columns[2:], None, None)[:2]
    kinds = dict.fromkeys(columns[:2], pa.string())
    if rating is not None:
        kinds[rating] = pa.float64()
    if time is not None:
        kinds[time] = time_kind(guess[time])
    try:
        table = csv_file.read([*guess], kinds)
    except pa.ArrowInvalid:
        table = csv_file.read_as_bytes([*guess])
    found: list[pa.ChunkedArray | None] = [
        ids_of(table[name], pa.string() if name in text else guess[name], what)
        for name, what in zip(columns[:2], ("user", "item"), strict=True)
    ]
    for name, what in zip(columns[2:], ("rating", "timestamp"), strict=False):
        found.append(
            None if name is None else numbers(table[name], kinds[name], what, dialect.decimal)
        )
    return found


def _names(
    wanted: Sequence[Column | None], names: Sequence[str], csv_file: CsvFile
) -> list[str | None]:
    """The names in the file of the columns that are wanted by name or by position."""
    found: list[str | None] = []
    for column in wanted:
        at = -1 if column is None else place(column, names)
        if isinstance(column, int) and at < 0:
            raise ColumnError(
                f"there is no column {column}: the file has {len(names):,}, counted from 0"
            )
        found.append(column if at < 0 else names[at])  # type: ignore[arg-type]
    missing = [name for name in found if name is not None and name not in names]
    if missing and not any(map(_is_word, names)):
        raise ColumnError(
            f"there is no column {missing[0]!r}, and {csv_file.file} has no header: say where the "
            f"columns are, such as user=0, item=1, rating=2 (its first row is {list(names)[:9]})"
        )
    return found


def _is_word(name: str) -> bool:
    return any(map(str.isalpha, name))


def is_of_encoding(error: Exception) -> bool:
    """Whether bytes were not of the encoding they were read in."""
    return isinstance(error, UnicodeError) or "UTF" in str(error)


@dataclass(frozen=True)
class CsvFile:
    """A csv file and how it is written."""

    file: Path
    dialect: Dialect
    stream: Callable[[], Any]
    """Opens it for Arrow."""
    broken: bool
    """Whether a line break may be in quotes: where none is, Arrow reads faster."""

    @staticmethod
    def opened(
        file: Path,
        wanted: Sequence[Column | None],
        max_memory: int | None,
        told: Told,
        broken: bool | None = None,
    ) -> CsvFile:
        """The file, its dialect found out where it is not told; broken: see below."""
        with file.open("rb") as start:
            head = start.read(4096)
        compression = next(
            (how for mark, how in _COMPRESSED.items() if head.startswith(mark)), None
        )
        with pa.input_stream(file, compression=compression) as start:
            sample = start.read(SAMPLE + 1)
        if not sample.strip():
            raise DataError(f"{file} has no rows: there are no ratings")
        dialect = found(sample[:SAMPLE], len(sample) <= SAMPLE, wanted, told)
        if b"\0" in sample and not dialect.encoding.lower().startswith(
            ("utf-16", "utf-32", "utf16")
        ):
            unpack = ": unpack it" if head.startswith(b"PK") else ": convert it, or use "
            way = unpack if head.startswith(b"PK") else f"{unpack}Ratings.from_table"
            raise DataError(f"{file} is neither csv nor parquet{way}")
        if broken is None:
            broken = compression is not None or _breaks(file, dialect.quote)
        broken = broken and bool(dialect.quote)
        return CsvFile(
            file, dialect, opener(file, compression, max_memory, dialect.delimiter), broken
        )

    def otherwise(self) -> CsvFile | None:
        """The same in the next encoding that is possible, if there is any."""
        dialect = self.dialect
        if dialect.encoding == "utf-8" and dialect.ascii:
            return replace(self, dialect=replace(dialect, encoding=ONE_BYTE[0]))
        if dialect.encoding == ONE_BYTE[0]:
            return replace(self, dialect=replace(dialect, encoding=ONE_BYTE[1], ascii=False))
        return None

    def schema(self) -> pa.Schema:
        """The names and the types of the columns as far as the first block shows."""
        from pyarrow import csv

        parse = self._parse(lambda row: "skip")
        try:
            reading = self._reading(block_size=_FIRST_BLOCK, use_threads=False)
            with csv.open_csv(self.stream(), reading, parse) as reader:
                return reader.schema
        except pa.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                raise
            raise DataError(f"{self.file} has no rows: there are no ratings") from None

    def read(
        self, columns: Sequence[str], kinds: dict[Any, pa.DataType], broken: Any = None
    ) -> pa.Table:
        """These columns of these types; `broken` is told of a row of another width."""
        from pyarrow import csv

        return csv.read_csv(
            self.stream(),
            # Only a single thread knows the number of a broken row.
            self._reading(block_size=_BLOCK, use_threads=broken is None),
            self._parse(broken),
            csv.ConvertOptions(
                include_columns=columns, column_types=kinds, decimal_point=self.dialect.decimal
            ),
        )

    def blocks(self, columns: Sequence[str]) -> Any:
        """These columns as the text that is written, a block at a time."""
        from pyarrow import csv

        return csv.open_csv(
            self.stream(),
            self._reading(block_size=_BLOCK),
            self._parse(None),
            csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
            ),
        )

    def names(self, wanted: Sequence[Column | None]) -> list[str | None]:
        """The names of the columns that are wanted by name or by position."""
        return _names(wanted, self.schema().names, self)

    def read_as_bytes(self, columns: Sequence[str]) -> pa.Table:
        """These columns as they are written; says which row is of another width."""
        broken: list[Any] = []

        def note(row: Any) -> str:
            broken.append(row)
            return "error"

        try:
            return self.read(columns, dict.fromkeys(columns, pa.binary()), note)
        except pa.ArrowInvalid:
            if not broken:
                raise
            row, first = broken[0], 1 + self.dialect.header
            raise DataError(
                f"row {row.number - first} of {self.file} has {row.actual_columns} fields, not "
                f"{row.expected_columns} ({row.text[:60]!r}): correct it, or say how it is "
                "written with delimiter= or quote='' (for none)"
            ) from None

    def _reading(self, **options: Any) -> Any:
        from pyarrow import csv

        dialect = self.dialect
        encoding = "utf8" if dialect.encoding == "utf-8" else dialect.encoding
        return csv.ReadOptions(
            encoding=encoding,
            skip_rows=dialect.skip,
            autogenerate_column_names=not dialect.header,
            **options,
        )

    def _parse(self, broken: Any) -> Any:
        from pyarrow import csv

        dialect = self.dialect
        return csv.ParseOptions(
            delimiter=dialect.delimiter if len(dialect.delimiter.encode()) == 1 else SEPARATOR,
            quote_char=dialect.quote or False,
            double_quote=not dialect.escape,
            escape_char=dialect.escape or False,
            newlines_in_values=self.broken,
            invalid_row_handler=broken,
        )


def _breaks(file: Path, quote: str) -> bool:
    """Whether a line break may be in quotes: unless all quotes are in pairs in the first line."""
    if not quote:
        return False
    byte = quote.encode()
    with file.open("rb") as stream:
        if stream.readline(_LOOKED_AT).count(byte) % 2:
            return True
        return any(byte in chunk for chunk in iter(lambda: stream.read(_LOOKED_AT), b""))
