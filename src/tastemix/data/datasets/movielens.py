"""MovieLens as GroupLens publishes it: a zip with one text file of ratings and one of titles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tastemix.data.datasets.archive import read_member
from tastemix.errors import DataError

_RATINGS = {
    "user": pa.int32(),
    "item": pa.int32(),
    "rating": pa.float32(),
    "timestamp": pa.int64(),
}
_TITLES = {"id": pa.int32(), "title": pa.string()}


def ratings(paths: Sequence[Path], *, member: str, separator: str, limit: int) -> pa.Table:
    """The lines user, item, rating, timestamp."""
    (path,) = paths
    return _columns(path, member, separator, limit, _RATINGS, "latin-1")


def titles(
    paths: Sequence[Path],
    *,
    member: str,
    separator: str,
    encoding: str,
    more: int = 1,
    limit: int = 1 << 24,
) -> pa.Table:
    """The first two fields, id and title, of lines that have `more` fields after them."""
    (path,) = paths
    unused = {f"unused {number}": pa.string() for number in range(more)}
    table = _columns(path, member, separator, limit, _TITLES | unused, encoding)
    return table.select(["id", "title"])


def _columns(
    path: Path,
    member: str,
    separator: str,
    limit: int,
    types: dict[str, pa.DataType],
    encoding: str,
) -> pa.Table:
    from pyarrow import csv

    data = read_member(path, member, limit)
    if len(separator) > 1:  # Arrow separates by one byte; a unit separator is in no title.
        data, separator = data.replace(separator.encode(), b"\x1f"), "\x1f"
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=list(types), block_size=1 << 22, encoding=encoding),
            csv.ParseOptions(delimiter=separator, quote_char=False),
            csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except (pa.ArrowException, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{member} in {path} is not in the published format: {reason}") from None
