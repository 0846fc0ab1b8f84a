"""Tables as Parquet: written plain, and read from anyone.

Arrow allocates by what row groups, columns and page headers say, before it sees a value. So these
are read here first, as strictly as in `data/pages.py`. The pages, what they unpack to and the
entries they claim are summed, and may be no more than the stated multiples of the file's size;
column chunks may not overlap. No column type that runs code to be read is accepted.
"""

from __future__ import annotations

import base64
import os
import reprlib
from io import BufferedReader
from typing import IO

import pyarrow as pa

from tastemix.data import memory
from tastemix.data.columns import is_text
from tastemix.data.pages import I32, LIST, STRUCT, Claims, footer_of, row_groups, value
from tastemix.data.reading_parquet import read_slowly
from tastemix.errors import ModelFileError

MOST_FOOTER = 2**20
"""Bytes of the end of a table, which describes it."""
AT_ONCE, MOST_ROWS, MOST_GROUPS = 2**20, 2**20, 2**9
"""A group of rows has at most so many entries of each vector and so many rows, but there are not
many more groups than this, since the footer describes each."""
MOST_COLUMNS = 64
"""Of a table, each level of a nested one counted."""


def to_parquet(table: pa.Table, name: str, file: IO[bytes]) -> None:
    """Write a table as Parquet, not compressed, some rows at a time."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(
            table,
            file,
            row_group_size=_rows_at_once(table),
            compression="none",
            use_dictionary=[f.name for f in table.schema if not pa.types.is_nested(f.type)],
            dictionary_pagesize_limit=2**30,
            data_page_version="1.0",
            write_statistics=False,
        )
    except pa.ArrowException as error:
        raise ModelFileError(f"the {name} cannot be written as Parquet: {reason(error)}") from None


def _rows_at_once(table: pa.Table) -> int:
    """The rows of a group. Arrow takes as much memory again for the longest vectors of one."""
    kinds = [kind for kind in table.schema.types if pa.types.is_fixed_size_list(kind)]
    longest = max((kind.list_size for kind in kinds), default=1)
    few: int = max(AT_ONCE // max(longest, 1), table.num_rows // MOST_GROUPS)
    return max(1, min(few, MOST_ROWS))


def from_parquet(file: BufferedReader, allowed: int) -> pa.Table:
    """The table in a file; text comes as numbers into a dictionary of its distinct values.

    allowed: bytes of memory that it may take.

    What the file says of itself is checked before Arrow sees it: to open it may run code already,
    and some false sizes end the process.
    """
    import pyarrow.parquet as pq

    size = file.seek(0, os.SEEK_END)
    footer = footer_of(file, size, MOST_FOOTER)
    _refuse_extensions(footer)
    try:
        claims = _checked(file, size, footer, allowed)
    except (LookupError, TypeError):
        raise ValueError("its Parquet metadata is invalid or unusual") from None
    # Columns by number, of which Arrow makes dictionaries where there is text.
    encoded = [] if claims.has_deltas else list(range(MOST_COLUMNS))
    parquet = pq.ParquetFile(file, read_dictionary=encoded)
    for column in parquet.schema_arrow:
        if not _is_plain(column.type) and not (claims.has_deltas and is_text(column.type)):
            shown = reprlib.repr(str(column.type))
            raise ValueError(f"a column has the unexpected type {shown}")
    table = (
        read_slowly(parquet, None, allowed, claims.longest, "it")
        if claims.has_deltas
        else parquet.read()
    )
    table.validate(full=True)
    return table


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a column of this type takes as many bytes as it has entries, times a constant."""
    types = pa.types
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return bool(types.is_primitive(kind.value_type))
    bounded = types.is_primitive, types.is_decimal, types.is_fixed_size_binary, types.is_dictionary
    return kind == pa.null() or any(is_bounded(kind) for is_bounded in bounded)


def _refuse_extensions(footer: bytes) -> None:
    """Refuse column types that Arrow hands to Python code, which may unpickle what it is given.

    The footer holds an Arrow schema in base64. What makes a type an extension there is this name,
    at one of three shifts against the groups of base64.
    """
    name = b"ARROW:extension:name"
    for shift in range(3):
        inside = slice((4 * shift + 2) // 3, 4 * (shift + len(name)) // 3)
        if base64.b64encode(bytes(shift) + name)[inside] in footer:
            raise ValueError("a column is of an extension type, which may run code")


def _checked(file: BufferedReader, size: int, footer: bytes, allowed: int) -> Claims:
    """What a file claims to hold; refused if it is far more than its size.

    A run of 2³¹ equal entries takes a few bytes of a page, so entries are counted at their width.
    Text takes the unpacked bytes once, being read as a dictionary.

    Fields by number: footer {2: schema}, column of the schema {2: bytes of an entry}.
    """
    about, _ = value(footer, 0, STRUCT)
    if len(about[2, LIST]) > MOST_COLUMNS:
        raise ValueError("it has too many columns")
    width = max(8, *(column.get((2, I32), 0) for column in about[2, LIST]))
    claims, entries = Claims(file, size), 0
    for rows, chunks in row_groups(about):
        for chunk in chunks:
            claims.add(chunk)
            entries += max(chunk.values, rows)
            memory.refuse_more(entries * width + claims.unpacked, allowed, "it")
    return claims


def reason(error: BaseException) -> str:
    """The first line of what an error says."""
    said = str(getattr(error, "strerror", None) or error).strip()
    return said.splitlines()[0] if said else type(error).__name__
