"""Files and tables to columns, checked; files are read by `reading_csv` and `reading_parquet`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data import memory, places, reading_csv, reading_parquet
from tastemix.data.columns import ERRORS, first_line, is_text, named, positions, validated
from tastemix.data.dialect import Column, Told
from tastemix.data.ids import CONVERSION_ERRORS, as_arrow
from tastemix.data.reading_csv import NOTHING_TOLD
from tastemix.errors import ColumnError, DataError, TastemixError

Values = NDArray[np.float32]
Times = NDArray[np.int64]


def load(
    path: str | os.PathLike[str],
    columns: Sequence[Column | None],
    max_memory: int | None,
    told: Told = NOTHING_TOLD,
) -> list[pa.ChunkedArray | None]:
    """The columns of a csv or parquet file, or of a folder of parquet files: user, item, and
    perhaps rating and timestamp. One that is None has none.

    told: how a csv file is written, and whether ids are text; the rest is found out.
    """
    if places.is_store(path):
        return _ingested(path, columns)
    with places.files(path) as files:
        try:
            if not reading_parquet.is_parquet(files[0]):
                return reading_csv.load(files[0], columns, max_memory, told)
            found = _parquet(files, columns, max_memory)
        except TastemixError:
            raise
        except (pa.ArrowException, MemoryError, ValueError, OSError) as error:
            raise DataError(
                f"{files[0]} cannot be read ({first_line(error)}): give a parquet file, or a csv "
                "file and how it is written with delimiter= and encoding="
            ) from None
    return [_texts(column) for column in found[:2]] + found[2:] if told.ids == "text" else found


def _ingested(
    path: str | os.PathLike[str], columns: Sequence[Column | None]
) -> list[pa.ChunkedArray | None]:
    """The columns of a folder that `tm.ingest` made, which have names of their own there."""
    from tastemix.data.disk.store import open as open_store

    table = open_store(path).to_table()
    names = ("user", "item", "rating", "timestamp")[: len(columns)]
    at = positions(
        [n for n, c in zip(names, columns, strict=True) if c is not None], table.column_names
    )
    found = iter(at)
    return [None if column is None else table.column(next(found)) for column in columns]


def _parquet(
    files: Sequence[Path], columns: Sequence[Column | None], max_memory: int | None
) -> list[pa.ChunkedArray | None]:
    """The columns of parquet files one below the other, which share the memory they may take."""
    left = memory.most(max_memory, sum(file.stat().st_size for file in files))
    parts: list[list[pa.ChunkedArray | None]] = []
    for file in files:
        names = [c if c is None else column_name(file, c) for c in columns]
        table = reading_parquet.load(file, named(names), left)
        left = max(left - table.get_total_buffer_size(), 1)
        parts.append([None if name is None else table[name] for name in names])
    return [_joined([part[at] for part in parts], files) for at in range(len(columns))]


def column_name(file: Path, column: Column) -> str:
    """The name in a parquet file of a column by name or by position."""
    if isinstance(column, str):
        return column
    names = reading_parquet.names(file)
    if not 0 <= column < len(names):
        raise ColumnError(f"there is no column {column}: the file has {len(names):,}, from 0")
    return names[column]


def _joined(parts: Sequence[Any], files: Sequence[Path]) -> pa.ChunkedArray | None:
    """The chunks of a column of several files, which must agree on its type."""
    if parts[0] is None:
        return None
    for file, part in zip(files, parts, strict=True):
        if part.type != parts[0].type:
            raise ColumnError(
                f"a column is of type {part.type} in {file} and of type {parts[0].type} in "
                f"{files[0]}: write it with one type"
            )
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)


def _texts(ids: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
    """Ids as text; those that are text already are as they were."""
    if ids is None or pa.types.is_dictionary(ids.type) or is_text(ids.type):
        return ids
    return ids.cast(pa.string())


def columns_of(table: Any, columns: Sequence[Column | None]) -> list[Any]:
    """The named columns of a table: pandas, or any that speaks the Arrow stream protocol."""
    if None in columns:
        found = iter(columns_of(table, named(columns)))
        return [None if name is None else next(found) for name in columns]
    wanted: list[Column] = [column for column in columns if column is not None]
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):  # polars, lazy
        present = table.collect_schema().names()
        wanted = [present[at] for at in positions(wanted, present)]
        table = table.select(wanted).collect()
    if hasattr(table, "iloc"):
        # pandas' own conversion takes every column, and fails if any of them mixes types.
        names = [str(name) for name in table.columns]
        return [table.iloc[:, at] for at in positions(wanted, names)]
    if not hasattr(table, "__arrow_c_stream__"):
        raise DataError(
            f"a {type(table).__name__} is not a table with the Arrow stream protocol: pass a "
            "pandas, polars, duckdb or pyarrow table, or use Ratings.from_arrays or "
            "Ratings.from_sparse"
        )
    try:
        data = pa.table(table)
    except CONVERSION_ERRORS as error:
        raise DataError(
            f"the table cannot be read as Arrow ({first_line(error)}): "
            "convert each column to one plain type"
        ) from None
    return [data.column(at) for at in positions(wanted, data.column_names)]


def as_values(rating: Any) -> Values:
    """Finite float32 ratings."""
    if isinstance(rating, np.ndarray) and rating.dtype == np.float32 and np.isfinite(rating).all():
        return rating
    column = _as_numbers(rating, "rating", pa.types.is_decimal)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.cast(pa.float32(), safe=False).to_numpy()
    _check_finite(values, column, "rating")
    return np.asarray(values, np.float32)


def as_times(timestamp: Any) -> tuple[Times, bool]:
    """Times as int64, and whether they were dates.

    Numbers stay as they are, rounded down; dates become microseconds since 1970.
    """
    column = _as_numbers(timestamp, "timestamp", pa.types.is_timestamp, pa.types.is_date)
    kind = column.type
    dated = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if pa.types.is_floating(kind):
        column = pc.floor(column.cast(pa.float64()))
        _check_finite(column.to_numpy(), column, "timestamp")
    try:
        if dated:
            finer = pa.types.is_timestamp(kind) and kind.unit == "ns"  # rounded down
            column = column.cast(pa.timestamp("us"), safe=not finer)
        return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64), dated
    except pa.ArrowInvalid as error:
        raise DataError(f"the timestamps do not fit 64 bits ({first_line(error)})") from None


def _as_numbers(values: Any, what: str, *also: Callable[[pa.DataType], bool]) -> pa.ChunkedArray:
    """A column without nulls of integers, floats or a type that is also allowed."""
    try:
        column = validated(as_arrow(values), what)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
    except DataError:
        raise
    except CONVERSION_ERRORS as error:
        raise ColumnError(
            f"the {what}s are not numbers ({first_line(error)}): convert them"
        ) from None
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ERRORS[what](f"the {what} in row {row} is missing: drop or fill such rows first")
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
        raise ERRORS[what](f"the {what} in row {wrong[0]} is {value}: drop or fill such rows first")
