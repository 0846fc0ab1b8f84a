"""Data sets kept as parquet: user, item, rating and perhaps timestamp; titles by item."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tastemix.errors import ColumnError, DataError

_ID = ("id", "item")
_TITLE = ("title", "text")
_TITLES = pa.schema({"id": pa.int32(), "title": pa.string()})


def ratings(paths: Sequence[Path]) -> pa.Table:
    """The columns user, item, rating and, where it is there, timestamp."""
    (path,) = paths
    return _read(path, [("user",), ("item",), ("rating",)], optional="timestamp")


def titles(paths: Sequence[Path]) -> pa.Table:
    """The columns id (or item) and title (or text), as id and title."""
    (path,) = paths
    return _read(path, [_ID, _TITLE]).rename_columns(_TITLES.names).cast(_TITLES)


def _read(path: Path, wanted: list[tuple[str, ...]], optional: str | None = None) -> pa.Table:
    """The first column present of each group of names."""
    import pyarrow.parquet as pq

    try:
        # memory_map=False: a file that is replaced while it is read must not take the process down.
        with pq.ParquetFile(path, memory_map=False) as file:
            present = file.schema_arrow.names
            columns = [next((name for name in names if name in present), None) for names in wanted]
            if None in columns:
                missing = wanted[columns.index(None)][0]
                listed = ", ".join(map(repr, present[:20]))
                raise ColumnError(f"{path} has no column {missing!r}; its columns are {listed}")
            return file.read(columns + ([optional] if optional in present else []))
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{path} is not a sound parquet file: {reason}") from None
