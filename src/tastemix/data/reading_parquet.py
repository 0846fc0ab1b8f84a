"""Parquet files to columns, in no more memory than they may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from tastemix.data import memory
from tastemix.data.columns import is_list, is_text, positions
from tastemix.data.pages import I64, STRUCT, Claims, footer_of, row_groups, value
from tastemix.errors import DataError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MOST_BATCH = 65536
"""Rows that are read at a time where text is encoded as differences."""
_TEXT_INDEX = 4  # bytes


MAGIC = (b"PAR1", b"PARE")


def is_parquet(file: Path) -> bool:
    """Whether a file begins like Parquet; the second mark is that of an encrypted one."""
    with file.open("rb") as start:
        return start.read(4) in MAGIC


@contextmanager
def opened(file: Path) -> Iterator[pq.ParquetFile]:
    """The file, refused if its columns have no names."""
    import pyarrow.parquet as pq

    try:
        # memory_map=False: a file that is replaced while it is read must not take the process down.
        parquet = pq.ParquetFile(file, memory_map=False)
    except UnicodeDecodeError:
        raise DataError(
            f"{file} cannot be read (the name of a column is not UTF-8): write it again"
        ) from None
    with parquet:
        yield parquet


def names(file: Path) -> list[str]:
    """The names of the columns."""
    with opened(file) as parquet:
        return list(parquet.schema_arrow.names)


def load(
    file: Path, columns: Sequence[str] | None, max_memory: int | None, ids: int | None = 2
) -> pa.Table:
    """The named columns, or all; text in the first `ids` as numbers into a dictionary of it.

    ids: None: in all of them.
    """
    import pyarrow.parquet as pq

    with file.open("rb") as content, opened(file) as parquet:
        schema = parquet.schema_arrow
        columns = schema.names if columns is None else columns
        positions(columns, schema.names)
        size = content.seek(0, 2)
        allowed = memory.most(max_memory, size)
        try:
            widths = _widths(parquet, columns)
            claims = _checked(content, size, widths, allowed, file)
        except (DataError, pa.ArrowException):
            raise
        except (LookupError, TypeError, ValueError) as error:
            reason = error if isinstance(error, ValueError) else "a page's header is not valid"
            raise DataError(f"{file} cannot be read ({reason}): write it again") from None
        if claims.has_deltas:
            return read_slowly(parquet, columns, allowed, claims.longest, file)
    text = [name for name in columns[:ids] if is_text(schema.field(name).type)]
    with pq.ParquetFile(file, memory_map=False, read_dictionary=text) as parquet:
        return parquet.read(columns=list(columns))


def _widths(parquet: pq.ParquetFile, columns: Sequence[str]) -> dict[int, int | None]:
    """The numbers of these columns, all parts of a nested one, and the bytes of their entries."""
    schema, stored = parquet.schema_arrow, parquet.schema
    return {
        number: _width(schema.field(name).type)
        for number in range(len(stored))
        for name in columns
        if f"{stored.column(number).path}.".startswith(f"{name}.")
    }


def _checked(
    content: BinaryIO, size: int, widths: Mapping[int, int | None], allowed: int, file: Path
) -> Claims:
    """What the file claims of these columns; refused if it is more than may be taken.

    Arrow's own view of a footer is not asked: where it is damaged, that may end the process.
    """
    about, _ = value(footer_of(content, size, size), 0, STRUCT)
    claims, taken = Claims(content, size), 0
    for rows, chunks in row_groups(about):
        taken += rows * memory.BYTES_A_ROW
        for number, width in widths.items():
            before = claims.unpacked
            claims.add(chunks[number])
            taken += max(chunks[number].values, rows) * (width or _TEXT_INDEX)
            taken += 0 if width else claims.unpacked - before
            memory.refuse_more(taken, allowed, file)
    memory.refuse_more(about[3, I64] * memory.BYTES_A_ROW, allowed, file)
    return claims


def _width(kind: pa.DataType) -> int | None:
    """Bytes of an entry, None where they differ; those of a list are its elements."""
    if is_list(kind):
        return _width(kind.value_type)
    try:
        return int(kind.bit_width + 7) // 8
    except ValueError:
        return None


def read_slowly(
    parquet: pq.ParquetFile,
    columns: Sequence[str] | None,
    allowed: int,
    longest: int,
    what: Any,
) -> pa.Table:
    """The table in batches so short that they fit the memory even if all text is `longest` bytes.

    Of text encoded as differences Arrow makes no dictionary, and no header says how long it is.
    """
    texts = sum(map(is_text, parquet.schema_arrow.types))
    rows = allowed // (max(longest, 1) * max(texts, 1))
    batches, taken = [], 0
    for batch in parquet.iter_batches(min(max(rows, 1), MOST_BATCH), columns=columns):
        for number, field in enumerate(batch.schema):
            if is_text(field.type):
                encoded = batch.column(number).dictionary_encode()
                batch = batch.set_column(number, field.name, encoded)
        taken += batch.get_total_buffer_size()
        memory.refuse_more(taken, allowed, what)
        batches.append(batch)
    return pa.Table.from_batches(batches)
