"""Files and tables to columns, checked: csv, parquet and whatever speaks Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data.ids import CONVERSION_ERRORS, as_arrow
from tastemix.errors import ColumnError, DataError, IdError, ParameterError, RatingError

Values = NDArray[np.float32]
Times = NDArray[np.int64]

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_ERRORS = {"user": IdError, "item": IdError, "rating": RatingError, "timestamp": DataError}
_BLOCK = 4 * 2**20
_MOST_ROWS_A_BYTE = 1000
_EXACT_IN_FLOAT = 2**53


def load(path: str | os.PathLike[str], columns: Sequence[str]) -> list[pa.ChunkedArray]:
    """The named columns of a csv or parquet file: user, item, rating and perhaps timestamp."""
    try:
        file = Path(path)
    except TypeError:
        raise DataError(
            f"a {type(path).__name__} is not a path: tables go to Ratings.from_table"
        ) from None
    if not file.is_file():
        state = "is a folder" if file.is_dir() else "does not exist"
        raise DataError(f"{file} {state}: give the path of a csv or parquet file")
    try:
        with file.open("rb") as stream:
            head = stream.read(4096)
        if head[:4] in (b"PAR1", b"PARE"):
            return _load_parquet(file, columns)
        return _load_csv(file, head, columns)
    except (pa.ArrowException, UnicodeError, OSError) as error:
        raise DataError(
            f"{file} cannot be read ({_first_line(error)}): "
            "give a parquet file, or comma-separated text in UTF-8 with the column names on top"
        ) from None


def columns_of(table: Any, columns: Sequence[str]) -> list[Any]:
    """The named columns of a table: pandas, or any that speaks the Arrow stream protocol."""
    if hasattr(table, "iloc"):
        # pandas' own conversion takes every column, and fails if any of them mixes types.
        names = [str(name) for name in table.columns]
        return [table.iloc[:, at] for at in _positions(columns, names)]
    if not hasattr(table, "__arrow_c_stream__"):
        raise DataError(
            f"a {type(table).__name__} does not speak the Arrow stream protocol: pass a pandas, "
            "polars, duckdb or pyarrow table, or use Ratings.from_arrays or Ratings.from_sparse"
        )
    try:
        data = pa.table(table)
    except CONVERSION_ERRORS as error:
        raise DataError(
            f"the table cannot be read as Arrow ({_first_line(error)}): "
            "convert each column to one plain type"
        ) from None
    return [data.column(at) for at in _positions(columns, data.column_names)]


def as_values(rating: Any) -> Values:
    """Finite float32 ratings."""
    column = _as_numbers(rating, "rating", pa.types.is_decimal)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.cast(pa.float32(), safe=False).to_numpy()
    _check_finite(values, column, "rating")
    return np.asarray(values, np.float32)


def as_times(timestamp: Any) -> Times:
    """Times as int64: numbers as they are, rounded down, and dates in microseconds since 1970."""
    column = _as_numbers(timestamp, "timestamp", pa.types.is_timestamp, pa.types.is_date)
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.floor(column.cast(pa.float64()))
        _check_finite(column.to_numpy(), column, "timestamp")
    elif not pa.types.is_integer(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
    try:
        return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
    except pa.ArrowInvalid as error:
        raise DataError(f"the timestamps do not fit 64 bits ({_first_line(error)})") from None


def _as_numbers(values: Any, what: str, *also: Callable[[pa.DataType], bool]) -> pa.ChunkedArray:
    """A column without nulls of integers, floats or a type that is also allowed."""
    try:
        column = as_arrow(values)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
    except CONVERSION_ERRORS as error:
        raise ColumnError(
            f"the {what}s are not numbers ({_first_line(error)}): convert them"
        ) from None
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise _ERRORS[what](
            f"the {what} in row {row} is missing: drop such rows or fill them in first"
        )
    allowed = (pa.types.is_integer, pa.types.is_floating, *also)
    if len(column) and not any(is_allowed(column.type) for is_allowed in allowed):
        raise ColumnError(
            f"the {what}s are of type {column.type} (row 0: {column[0]}): convert them to numbers"
        )
    return column


def _check_finite(numbers: NDArray[Any], column: pa.ChunkedArray, what: str) -> None:
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        value = column[int(wrong[0])]
        raise _ERRORS[what](
            f"the {what} in row {wrong[0]} is {value}: drop such rows or fill them in first"
        )


def _load_parquet(file: Path, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    import pyarrow.parquet as pq

    # memory_map=False: a file that is replaced while it is read must not take the process down.
    with pq.ParquetFile(file, memory_map=False) as parquet:
        schema, about = parquet.schema_arrow, parquet.metadata
        groups = (about.row_group(group).num_rows for group in range(about.num_row_groups))
        rows = max(about.num_rows, sum(groups))
        _positions(columns, schema.names)
    if rows > _MOST_ROWS_A_BYTE * file.stat().st_size:  # Arrow would take memory for all of them
        raise DataError(f"{file} claims {rows:,} rows, more than a file of its size can hold")
    # Text comes as numbers into a dictionary of its distinct values, which is how it is stored.
    text = [name for name in columns[:2] if _is_text(schema.field(name).type)]
    with pq.ParquetFile(file, memory_map=False, read_dictionary=text) as parquet:
        table = parquet.read(columns=list(columns))
    for name, what in zip(columns[:2], ("user", "item"), strict=True):
        for chunk in table[name].chunks:
            try:
                (chunk.dictionary if name in text else chunk).validate(full=True)
            except pa.ArrowInvalid as error:
                reason = _first_line(error)
                raise IdError(f"the {what} ids are damaged or not in UTF-8 ({reason})") from None
    return [table[name] for name in columns]


def _load_csv(file: Path, head: bytes, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    """Typed by the first block; should that not hold, read again as text to see what it is."""
    from pyarrow import csv

    compression = next((how for start, how in _COMPRESSED.items() if head.startswith(start)), None)
    if compression is None and b"\0" in head:
        raise DataError(f"{file} is neither csv nor parquet: convert it, or use Ratings.from_table")

    def read(kinds: dict[str, pa.DataType], broken: Any = None) -> pa.Table:
        # Only a single thread knows the number of a broken row.
        return csv.read_csv(
            pa.input_stream(file, compression=compression),
            csv.ReadOptions(block_size=_BLOCK, use_threads=broken is None),
            csv.ParseOptions(newlines_in_values=True, invalid_row_handler=broken),
            csv.ConvertOptions(include_columns=columns, column_types=kinds),
        )

    guessed = _first_block(pa.input_stream(file, compression=compression), file)
    guess = [guessed.field(at).type for at in _positions(columns, guessed.names)]
    kinds = [_id_kind(guess[0]), _id_kind(guess[1]), pa.float64(), *map(_time_kind, guess[3:])]
    try:
        table = read(dict(zip(columns, kinds, strict=True)))
    except pa.ArrowInvalid:
        table = _read_as_text(file, columns, read)
    user, item, rating, *times = (table[name] for name in columns)
    return [
        _ids_of_text(user, guess[0], "user"),
        _ids_of_text(item, guess[1], "item"),
        _numbers_of_text(rating, pa.float64(), "rating"),
        *(_numbers_of_text(time, kinds[3], "timestamp") for time in times),
    ]


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


def _id_kind(guess: pa.DataType) -> pa.DataType:
    return pa.int64() if guess in (pa.int64(), pa.null()) else pa.string()


def _time_kind(guess: pa.DataType) -> pa.DataType:
    return pa.timestamp("ns") if pa.types.is_timestamp(guess) else guess


def _ids_of_text(column: pa.ChunkedArray, guess: pa.DataType, what: str) -> pa.ChunkedArray:
    """Numbers where all of them are, and exactly; else text: csv knows no dates."""
    if not _is_text(column.type):
        return column
    text = _cast(column, pa.string(), what)
    for kind in (
        (pa.int64(), pa.uint64(), pa.float64()) if guess in (pa.int64(), pa.float64()) else ()
    ):
        try:
            numbers = _spelled(text).cast(kind)
        except pa.ArrowInvalid:
            continue
        if kind != pa.float64() or pc.max(pc.abs(numbers)).as_py() < _EXACT_IN_FLOAT:
            return numbers
    missing = pc.index(text, "").as_py()
    if missing >= 0:
        raise IdError(f"the {what} id in row {missing} is missing: every rating needs its {what}")
    return text


def _numbers_of_text(column: pa.ChunkedArray, kind: pa.DataType, what: str) -> pa.ChunkedArray:
    if not _is_text(column.type):
        return column
    return _cast(_spelled(_cast(column, pa.string(), what)), kind, what)


def _spelled(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as csv spells them: spaces around them, and words such as NA for none."""
    from pyarrow import csv

    bare = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.is_in(bare, pa.array(csv.ConvertOptions().null_values)), None, bare)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary())


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
    raise _ERRORS[what](f"the {what} in row {row} is {value!r}: it must be {wanted}") from None


def _positions(wanted: Sequence[str], present: Sequence[str]) -> list[int]:
    """Where the wanted columns are among those that are there."""
    for name in wanted:
        if list(wanted).count(name) > 1:
            raise ParameterError(f"column {name!r} is asked for twice: name a different one each")
        if list(present).count(name) > 1:
            raise ColumnError(
                f"there are {list(present).count(name)} columns named {name!r}: rename all but one"
            )
        if name not in present:
            listed = ", ".join(map(repr, present[:20])) + (", …" if len(present) > 20 else "")
            raise ColumnError(
                f"there is no column {name!r}; the columns are {listed}. Name yours with user=, "
                f"item= and rating= (looked for: {', '.join(map(repr, wanted[:3]))})"
            )
    return [list(present).index(name) for name in wanted]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
