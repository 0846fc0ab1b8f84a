"""Csv files to columns: ids as they are written, ratings and times as numbers."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data import memory
from tastemix.data.columns import ERRORS, is_text, named, positions
from tastemix.errors import DataError

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 4 * 2**20
_EXACT_IN_FLOAT = 2**53
_NUMERIC = (pa.int64(), pa.float64(), pa.null())
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


_LEAST_ROW = 6  # bytes: three of one digit, two commas and the end
_BYTES_A_ROW = 32 + memory.BYTES_A_ROW  # besides its text


def load(
    file: Path, head: bytes, wanted: Sequence[str | None], max_memory: int | None
) -> list[pa.ChunkedArray | None]:
    """The named columns: user, item, and perhaps rating and timestamp.

    They are typed by the first block; if that does not hold, they are read again as text.
    """
    from pyarrow import csv

    stream, columns = opener(file, head, max_memory), named(wanted)

    def read(kinds: dict[str, pa.DataType], broken: Any = None) -> pa.Table:
        # Only a single thread knows the number of a broken row.
        return csv.read_csv(
            stream(),
            csv.ReadOptions(block_size=_BLOCK, use_threads=broken is None),
            csv.ParseOptions(newlines_in_values=True, invalid_row_handler=broken),
            csv.ConvertOptions(include_columns=columns, column_types=kinds),
        )

    guessed = _first_block(stream(), file)
    places = positions(columns, guessed.names)
    guess = {name: guessed.field(at).type for name, at in zip(columns, places, strict=True)}
    rating, time = (*wanted[2:], None, None)[:2]
    kinds = {columns[0]: pa.string(), columns[1]: pa.string()}
    if rating is not None:
        kinds[rating] = pa.float64()
    if time is not None:
        kinds[time] = _time_kind(guess[time])
    try:
        table = read(kinds)
    except pa.ArrowInvalid:
        table = _read_as_text(file, columns, read)
    found: list[pa.ChunkedArray | None] = [
        _ids(table[name], guess[name], what)
        for name, what in zip(columns[:2], ("user", "item"), strict=True)
    ]
    for name, what in zip(wanted[2:], ("rating", "timestamp"), strict=False):
        found.append(None if name is None else _numbers(table[name], kinds[name], what))
    return found


def opener(file: Path, head: bytes, max_memory: int | None) -> Callable[[], Any]:
    """What opens a file for Arrow, which refuses it once it takes too much memory."""
    compression = next((how for start, how in _COMPRESSED.items() if head.startswith(start)), None)
    if compression is None and b"\0" in head:
        raise DataError(f"{file} is neither csv nor parquet: convert it, or use Ratings.from_table")
    size = file.stat().st_size
    allowed = memory.most(max_memory, size)
    # Not counted: a file that would not take too much even if its rows were as short as can be.
    counted = compression is not None or size * (1 + _BYTES_A_ROW // _LEAST_ROW) > allowed

    def opened() -> Any:
        whole = pa.input_stream(file, compression=compression)
        return pa.PythonFile(_Counted(whole, file, allowed), "r") if counted else whole

    return opened


class _Counted(io.RawIOBase):
    """A stream that is refused once its rows would take more memory than they may."""

    def __init__(self, stream: Any, file: Path, allowed: int) -> None:
        self._stream, self._file, self._allowed = stream, file, allowed
        self._bytes = self._lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self._bytes += len(data)
        self._lines += max(data.count(b"\n"), data.count(b"\r"))
        taken = self._bytes + self._lines * _BYTES_A_ROW
        memory.refuse_more(taken, self._allowed, self._file)
        return data


def _read_as_text(file: Path, columns: Sequence[str], read: Callable[..., pa.Table]) -> pa.Table:
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "error"

    try:
        return read(dict.fromkeys(columns, pa.binary()), note)
    except pa.ArrowInvalid:
        if not broken:
            raise
        row = broken[0]
        raise DataError(
            f"row {row.number - 2} of {file} has {row.actual_columns} fields, not "
            f"{row.expected_columns} ({row.text[:60]!r}): correct it"
        ) from None


def _first_block(stream: Any, file: Path) -> pa.Schema:
    """The names and the types of the columns as far as the first block shows."""
    from pyarrow import csv

    parse = csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip")
    try:
        with csv.open_csv(stream, parse_options=parse) as reader:
            return reader.schema
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):
            raise
        raise DataError(f"{file} has no rows: there are no ratings") from None


def _time_kind(guess: pa.DataType) -> pa.DataType:
    return pa.timestamp("ns") if pa.types.is_timestamp(guess) else guess


def _ids(column: pa.ChunkedArray, guess: pa.DataType, what: str) -> pa.ChunkedArray:
    """Numbers where every entry is written as its number prints, else the text: 007 is not 7.

    What csv cannot tell from text, such as dates, is text.
    """
    column = _cast(column, pa.string(), what)
    integers = _printed_integers(column) if guess == pa.int64() else None
    chunks = column.dictionary_encode().chunks if integers is None else []
    if not chunks:
        return column if integers is None else integers
    texts = chunks[0].dictionary
    ids = _printed_numbers(texts) if guess in _NUMERIC else None
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
    size = np.abs(numbers)
    length = len(size) + int(np.count_nonzero(numbers < 0))
    power, most = 10, int(size.max(initial=0))
    while power <= most:
        length += int(np.count_nonzero(size >= power))
        power *= 10
    return length


def _printed_numbers(texts: pa.Array) -> pa.Array | None:
    """Distinct texts as numbers, None if one is written in another way or two are one number."""
    bare = _spelled(texts)
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


def _numbers(column: pa.ChunkedArray, kind: pa.DataType, what: str) -> pa.ChunkedArray:
    if not is_text(column.type):
        return column
    return _cast(_spelled(_cast(column, pa.string(), what)), kind, what)


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
    raise ERRORS[what](f"the {what} in row {row} is {value!r}: it must be {wanted}") from None
