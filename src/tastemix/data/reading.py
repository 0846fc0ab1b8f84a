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

from tastemix.data import reading_csv, reading_parquet
from tastemix.data.columns import ERRORS, first_line, named, positions, validated
from tastemix.data.ids import CONVERSION_ERRORS, as_arrow
from tastemix.errors import ColumnError, DataError

Values = NDArray[np.float32]
Times = NDArray[np.int64]


def load(
    path: str | os.PathLike[str], columns: Sequence[str | None], max_memory: int | None
) -> list[pa.ChunkedArray | None]:
    """The named columns of a csv or parquet file: user, item, and perhaps rating and timestamp.

    A name that is None has none.
    """
    try:
        file = Path(path)
    except TypeError:
        raise DataError(
            f"a {type(path).__name__} is not a path: pass tables to Ratings.from_table"
        ) from None
    try:
        if not file.is_file():
            state = "is a folder" if file.is_dir() else "does not exist"
            raise DataError(f"{file} {state}: give the path of a csv or parquet file")
        with file.open("rb") as stream:
            head = stream.read(4096)
        if head[:4] in (b"PAR1", b"PARE"):
            table = reading_parquet.load(file, named(columns), max_memory)
            return [None if name is None else table[name] for name in columns]
        return reading_csv.load(file, head, columns, max_memory)
    except (pa.ArrowException, MemoryError, UnicodeError, OSError) as error:
        raise DataError(
            f"{file} cannot be read ({first_line(error)}): "
            "give a parquet file, or a csv file in UTF-8 with a header row"
        ) from None


def columns_of(table: Any, columns: Sequence[str | None]) -> list[Any]:
    """The named columns of a table: pandas, or any that speaks the Arrow stream protocol."""
    if None in columns:
        found = iter(columns_of(table, named(columns)))
        return [None if name is None else next(found) for name in columns]
    columns = named(columns)
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):  # polars, lazy
        positions(columns, table.collect_schema().names())
        table = table.select(columns).collect()
    if hasattr(table, "iloc"):
        # pandas' own conversion takes every column, and fails if any of them mixes types.
        names = [str(name) for name in table.columns]
        return [table.iloc[:, at] for at in positions(columns, names)]
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
    return [data.column(at) for at in positions(columns, data.column_names)]


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
