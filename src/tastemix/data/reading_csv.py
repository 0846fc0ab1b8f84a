"""Csv files to columns: ids as they are written, ratings and times as numbers."""

from __future__ import annotations

import atexit
import io
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data import memory
from tastemix.data.columns import ERRORS, is_text, positions
from tastemix.data.dialect import (
    DECIMAL_COMMA,
    ONE_BYTE,
    SAMPLE,
    SEPARATOR,
    Column,
    Dialect,
    Told,
    found,
    place,
)
from tastemix.errors import ColumnError, DataError

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 4 * 2**20
_FIRST_BLOCK = 2**18
_LOOKED_AT = 2**20
_EXACT_IN_FLOAT = 2**53
NUMERIC = (pa.int64(), pa.float64(), pa.null())
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


NOTHING_TOLD = Told()
_LEAST_ROW = 6  # bytes: three of one digit, two commas and the end
_BYTES_A_ROW = 32 + memory.BYTES_A_ROW  # besides its text


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


def opener(
    file: Path, compression: str | None, max_memory: int | None, delimiter: str = ","
) -> Callable[[], Any]:
    """What opens a file for Arrow, which refuses it once it takes too much memory."""
    size = file.stat().st_size
    allowed = memory.most(max_memory, size)
    # Not counted: a file that would not take too much even if its rows were as short as can be.
    counted = compression is not None or size * (1 + _BYTES_A_ROW // _LEAST_ROW) > allowed
    long = delimiter.encode() if len(delimiter.encode()) > 1 else b""

    def opened() -> Any:
        stream: Any = pa.input_stream(file, compression=compression)
        if counted or long:
            stream = _Counted(stream, file, allowed)
        if long:
            stream = _Shortened(stream, long)
        return pa.PythonFile(stream, "r") if counted or long else stream

    return opened


_PATIENCE = 2.0
"""Seconds that the end of a process waits for Arrow."""
_OPEN: weakref.WeakSet[_Counted] = weakref.WeakSet()


@atexit.register
def _end_reading() -> None:
    """Arrow reads ahead in threads of its own, also after an error. They must not be in Python when
    the interpreter ends, which would abort the process.
    """
    open_now = list(_OPEN)
    while open_now:
        open_now.pop().end()
    until = time.monotonic() + _PATIENCE
    while len(_OPEN) and time.monotonic() < until:  # Arrow lets go of a stream when it is done.
        time.sleep(0.001)


class _Counted(io.RawIOBase):
    """A stream that is refused once its rows would take more memory than they may."""

    def __init__(self, stream: Any, file: Path, allowed: int) -> None:
        self._stream, self._file, self._allowed = stream, file, allowed
        self._bytes = self._lines = 0
        self._reading, self._ended = threading.Lock(), False
        _OPEN.add(self)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._reading:
            return b"" if self._ended else self._counted(size)

    def end(self) -> None:
        """Wait for a read under way, and let there be no other."""
        self._ended = True
        with self._reading:
            pass

    def _counted(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self._bytes += len(data)
        self._lines += max(data.count(b"\n"), data.count(b"\r"))
        taken = self._bytes + self._lines * _BYTES_A_ROW
        memory.refuse_more(taken, self._allowed, self._file)
        return data


class _Shortened(io.RawIOBase):
    """A stream whose delimiter of several bytes is one of a single byte, as Arrow needs it."""

    def __init__(self, stream: Any, delimiter: bytes) -> None:
        self._stream, self._delimiter, self._rest = stream, delimiter, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        # No more than was asked for may be returned.
        while more := self._stream.read(size if size < 0 else max(size - len(self._rest), 1)):
            *whole, last = (self._rest + more).split(self._delimiter)
            # Its end may be the beginning of a delimiter.
            starts = range(len(self._delimiter) - 1, 0, -1)
            kept = next((n for n in starts if last.endswith(self._delimiter[:n])), 0)
            self._rest = last[len(last) - kept :]
            if data := SEPARATOR.encode().join([*whole, last[: len(last) - kept]]):
                return data
        data, self._rest = self._rest, b""
        return data


def time_kind(guess: pa.DataType) -> pa.DataType:
    """The type of a column of times that the first block shows as one of this type."""
    return pa.timestamp("ns") if pa.types.is_timestamp(guess) else guess


def ids_of(column: pa.ChunkedArray, guess: pa.DataType, what: str) -> pa.ChunkedArray:
    """Numbers where every entry is written as its number prints, else the text: 007 is not 7.

    What csv cannot tell from text, such as dates, is text.
    """
    column = _cast(column, pa.string(), what)
    integers = _printed_integers(column) if guess == pa.int64() else None
    chunks = column.dictionary_encode().chunks if integers is None else []
    if not chunks:
        return column if integers is None else integers
    texts = chunks[0].dictionary
    ids = _printed_numbers(texts) if guess in NUMERIC else None
    if ids is None:
        ids = pc.if_else(pc.equal(texts, ""), None, texts)
    if ids.null_count:  # As a plain column, so that the row without an id can be named.
        return pa.chunked_array([ids.take(chunk.indices) for chunk in chunks])
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c.indices, ids) for c in chunks])


def _printed_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as integers where that is all they are: the quick way for most files.

    Written in another way, with a leading zero say, a decimal number is longer than it prints; so
    the texts have as many bytes as their numbers if and only if all are written so.
    """
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    for text in column.chunks:
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
        if data.max(initial=0) > ord("9"):  # Arrow reads 0x1F too.
            return None
    written = pc.sum(pc.binary_length(column)).as_py() or 0
    printed = sum(_printed_length(chunk.to_numpy()) for chunk in numbers.chunks)
    return numbers if written == printed else None


def _printed_length(numbers: NDArray[np.int64]) -> int:
    """How many digits and signs these numbers print as, all together."""
    size, length = numbers, len(numbers)
    if numbers.min(initial=0) < 0:
        size, length = np.abs(numbers), length + int(np.count_nonzero(numbers < 0))
    power, most = 10, int(size.max(initial=0))
    while power <= most:
        length += int(np.count_nonzero(size >= power))
        power *= 10
    return length


def _printed_numbers(texts: pa.Array) -> pa.Array | None:
    """Distinct texts as numbers, None if one is written in another way or two are one number."""
    bare = _spelled(texts)
    if pc.count_distinct(bare, mode="all").as_py() < len(texts):
        return None  # Two that differ in their spaces alone stay two.
    for kind in (pa.int64(), pa.uint64()):
        try:
            numbers = bare.cast(kind)
        except pa.ArrowInvalid:
            continue
        return numbers if numbers.cast(pa.string()).equals(bare) else None
    try:
        numbers = bare.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    exact = (
        pc.all(pc.match_substring_regex(bare, _DECIMAL)).as_py()
        and pc.count_distinct(numbers).as_py() == pc.count_distinct(bare).as_py()
        and pc.max(pc.abs(numbers)).as_py() < _EXACT_IN_FLOAT
    )
    return numbers if exact else None


def numbers(
    column: pa.ChunkedArray, kind: pa.DataType, what: str, decimal: str = "."
) -> pa.ChunkedArray:
    """A column of text as numbers or times; others as they are."""
    if not is_text(column.type):
        return column
    spelled = _spelled(_cast(column, pa.string(), what))
    if kind == pa.float64():
        dotted = pc.match_substring(spelled, ".")
        if not _any(dotted):
            spelled = pc.replace_substring(spelled, ",", ".", max_replacements=1)
        elif decimal == "," and _any(pc.match_substring(spelled, ",")):
            row = pc.index(dotted, True).as_py()
            raise ERRORS[what](
                f"the {what} in row {row} is {spelled[row].as_py()!r}, and others have ',' before "
                "fractions: write all alike"
            )
    return _cast(spelled, kind, what)


def _any(found: pa.ChunkedArray) -> bool:
    return bool(pc.any(found).as_py())


def _spelled(text: Any) -> Any:
    """Numbers as csv spells them: spaces around them, and words such as NA for none."""
    from pyarrow import csv

    bare = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.is_in(bare, pa.array(csv.ConvertOptions().null_values)), None, bare)


def _cast(column: pa.ChunkedArray, kind: pa.DataType, what: str) -> pa.ChunkedArray:
    """A column of a csv file as another type, or an error that names the first row that is not."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        row, rest = 0, column
        while len(rest) > 1:
            half = rest.slice(0, len(rest) // 2)
            try:
                half.cast(kind)
            except pa.ArrowInvalid:
                rest = half
            else:
                row, rest = row + len(half), rest.slice(len(half))
    value, numeric = rest[0].as_py(), kind in (pa.int64(), pa.float64())
    wanted = "a number" if numeric else "UTF-8" if kind == pa.string() else str(kind)
    way = ", or give another encoding=" if kind == pa.string() else ""
    if numeric and DECIMAL_COMMA.fullmatch(value):
        way = "; if fractions are written so, give decimal=','"
    raise ERRORS[what](f"the {what} in row {row} is {value!r}: it must be {wanted}{way}") from None
