"""Amazon Fine Foods: SNAP's blocks of `key: value` lines, or Kaggle's Reviews.csv.

Both hold the same reviews. They are handed on oldest first, so that "the last" of two reviews
of one product by one person is the newer one; of two at the same time, the one later in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tastemix.data.datasets.archive import gzip_chunks
from tastemix.errors import DataError

_SCHEMA = pa.schema(
    {"user": pa.string(), "item": pa.string(), "rating": pa.float32(), "timestamp": pa.int64()}
)
_FIRST = b"product/productId: "
# Other lines stand between these four; a few names and texts run over more than one. The skipped
# lines are taken possessively: no file can make the search go back and forth.
_BETWEEN = rb"(?:(?!product/productId: |review/userId: |review/score: |review/time: ).*\n)*+"
_REVIEW = re.compile(
    _BETWEEN.join(
        [
            rb"^product/productId: (.*)\n",
            rb"review/userId: (.*)\n",
            rb"review/score: (.*)\n",
            rb"review/time: (.*)$",
        ]
    ),
    re.MULTILINE,
)
_LONGEST = 1 << 24


def text(paths: Sequence[Path], *, limit: int = 1 << 30) -> pa.Table:
    """finefoods.txt.gz, streamed: only ids, scores and times are kept."""
    (path,) = paths
    parts: list[pa.RecordBatch] = []
    reviews = 0
    for block in _blocks(path, limit):
        found = _REVIEW.findall(block)
        if len(found) != len(re.findall(b"^" + _FIRST, block, re.MULTILINE)):
            raise DataError(
                f"{path}: one of the {len(found):,} reviews after review {reviews:,} "
                "lacks its user, score or time"
            )
        if found:
            parts.append(_batch(path, found))
            reviews += len(found)
    return _oldest_first(pa.Table.from_batches(parts, _SCHEMA))


def _blocks(path: Path, limit: int) -> Iterator[bytes]:
    """Pieces of the file that begin and end between two reviews."""
    rest = b""
    for chunk in gzip_chunks(path, limit):
        rest += chunk.replace(b"\r", b"")
        end = rest.rfind(b"\n" + _FIRST) + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        if len(rest) > _LONGEST:
            raise DataError(f"{path} is not in the published format: it has a review without end")
    if not rest.startswith(_FIRST):
        raise DataError(f"{path} is not in the published format: it holds no {_FIRST.decode()!r}")
    yield rest


def _batch(path: Path, found: list[tuple[bytes, bytes, bytes, bytes]]) -> pa.RecordBatch:
    item, user, score, time = (pa.array(column, pa.binary()) for column in zip(*found, strict=True))
    try:
        columns = [
            column.cast(pa.string()).cast(kind)
            for column, kind in zip((user, item, score, time), _SCHEMA.types, strict=True)
        ]
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} is not in the published format: {reason}") from None
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def table(paths: Sequence[Path]) -> pa.Table:
    """Kaggle's Reviews.csv, streamed."""
    from pyarrow import csv

    (path,) = paths
    names = dict(zip(("UserId", "ProductId", "Score", "Time"), _SCHEMA.types, strict=True))
    try:
        with csv.open_csv(
            path,
            csv.ReadOptions(block_size=1 << 22),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(include_columns=list(names), column_types=names),
        ) as stream:
            data = stream.read_all()
    except (pa.ArrowException, KeyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} is not in the published format: {reason}") from None
    return _oldest_first(data.rename_columns(_SCHEMA.names))


def _oldest_first(data: pa.Table) -> pa.Table:
    return data.take(np.argsort(data["timestamp"].to_numpy(), kind="stable"))
