"""Tables that are written as they are made, and put in place when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tastemix.errors import ParameterError


def write(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> int:
    """Write batches as a .parquet or .csv file, one at a time; the number of rows.

    The file is in place once it is whole: until then another one of that name stays as it was.
    """
    rows = 0
    with _beside(path) as partial, _writer(path.suffix, partial, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += len(batch)
    return rows


def _writer(suffix: str, path: Path, schema: pa.Schema) -> Any:
    if suffix == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema, compression="zstd")
    if suffix == ".csv":
        from pyarrow import csv

        return csv.CSVWriter(path, schema)
    raise ParameterError(f"a table cannot be written as {suffix!r}: choose '.parquet' or '.csv'")


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A path next to this one, moved there at the end and removed after an error."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
