"""Tables as plain Parquet: written without compression, read with suspicion.

A file may come from anyone. No column type that runs code to be read is accepted, and no table may
take far more memory than its file: what it says of itself is checked before Arrow opens it.
"""

from __future__ import annotations

import base64
import os
import reprlib
from io import BufferedReader
from typing import Any

import pyarrow as pa

from tastemix.errors import ModelFileError

MOST_FOOTER = 2**20
"""Bytes of the end of a table, which describes it."""
MOST_COLUMNS = 64
"""Of a table, each level of a nested one counted."""
SMALL_TABLE = 64 * 2**20
"""Bytes in memory that are no matter, however small the file."""
MOST_EXPANSION = 100
"""Bytes in memory per byte of a larger table. Parquet stores what repeats once; of ours only the
columns of the ratings repeat, and 20 is much."""

_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_ENCODINGS = (0, 2, 3, 8)  # plain, dictionary (two names), run lengths: none that multiplies text
_BOOLEANS, _I16, _I32, _I64, _TEXT, _LIST, _STRUCT = (1, 2), 4, 5, 6, 8, 9, 12
_FIXED = {3: 1, 7: 8}  # bytes of a byte, of a double
_MOST_DEPTH, _MOST_VARINT = 16, 10
_MOST_PAGE_HEADER = 1024


def to_parquet(table: pa.Table, name: str) -> pa.Buffer:
    """Not compressed, so that the memory it takes can be told from its size."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    try:
        pq.write_table(
            table,
            sink,
            compression="none",
            use_dictionary=[f.name for f in table.schema if not pa.types.is_nested(f.type)],
            dictionary_pagesize_limit=2**30,
            data_page_version="1.0",
            write_statistics=False,
        )
    except pa.ArrowException as error:
        raise ModelFileError(f"the {name} cannot be written as Parquet: {reason(error)}") from None
    return sink.getvalue()


def from_parquet(file: BufferedReader) -> pa.Table:
    """The table in a file; text comes as numbers into a dictionary of its distinct values.

    What the file says of itself is checked before Arrow sees it: to open it may run code already,
    and some lies end the process.
    """
    import pyarrow.parquet as pq

    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != b"PAR1" or length > min(size - 12, MOST_FOOTER):
        raise ValueError("it does not end as Parquet files do")
    file.seek(size - 8 - length)
    footer = file.read(length)
    _refuse_extensions(footer)
    try:
        _refuse_expansion(file, size, footer)
    except (LookupError, TypeError):
        raise ValueError("it describes itself in an unusual way") from None
    # Columns by number, of which Arrow makes dictionaries where there is text.
    parquet = pq.ParquetFile(file, read_dictionary=list(range(MOST_COLUMNS)))
    for column in parquet.schema_arrow:
        if not _is_plain(column.type):
            shown = reprlib.repr(str(column.type))
            raise ValueError(f"a column is of type {shown}, which none of ours is")
    table = parquet.read()
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


def _refuse_expansion(file: BufferedReader, size: int, footer: bytes) -> None:
    """Refuse a table that takes far more memory than its file.

    Arrow allocates by what row groups, column chunks and pages say of themselves, and a run of 2³¹
    equal entries takes a few bytes. Text takes the file's bytes once, being read as a dictionary.

    Fields by number: footer {2: schema, 4: row groups}, row group {1: columns, 3: rows}, column
    {3: chunk}, chunk {4: codec, 5: values, 7: bytes, 9: where, 11: where its dictionary is}.
    """
    about, _ = _value(footer, 0, _STRUCT)
    if len(about[2, _LIST]) > MOST_COLUMNS:
        raise ValueError("it has more columns than any of ours")
    width = max(8, *(column.get((2, _I32), 0) for column in about[2, _LIST]))
    stored = memory = 0
    for group in about[4, _LIST]:
        for column in group[1, _LIST]:
            chunk = column[3, _STRUCT]
            if chunk[4, _I32] != 0:
                raise ValueError("it is compressed, which ours are not")
            values = _values_in(file, size, chunk)
            if values != chunk[5, _I64]:
                raise ValueError("its pages hold more or less than it says")
            stored += chunk[7, _I64]
            memory += max(values, group[3, _I64]) * width
    if stored > size or memory > max(SMALL_TABLE, MOST_EXPANSION * size):
        raise ValueError(f"it would take {memory:,} bytes of memory, its file has {size:,}")


def _values_in(file: BufferedReader, size: int, chunk: dict[Any, Any]) -> int:
    """The number of entries in a column chunk, by the headers of its pages.

    Fields by number: header {1: kind, 3: bytes, 5 or 7: page}, page {1: values, 2: encoding}.
    """
    at, dictionary = chunk[9, _I64], chunk.get((11, _I64), 0)
    at = dictionary if 0 < dictionary < at else at
    end = at + chunk[7, _I64]
    if not 0 <= at <= end <= size:
        raise ValueError("a column lies outside the file")
    count = 0
    while at < end and chunk[5, _I64] != 0:  # An empty table has no pages, though it says where.
        file.seek(at)
        header, length = _value(file.read(_MOST_PAGE_HEADER), 0, _STRUCT)
        page = header[{_DATA_PAGE: 5, _DICTIONARY_PAGE: 7}[header[1, _I32]], _STRUCT]
        values, stored = page[1, _I32], header[3, _I32]
        at += length + stored
        if values < 0 or stored < 0 or at > end or page[2, _I32] not in _ENCODINGS:
            raise ValueError("a page lies outside its column or is encoded in an unusual way")
        if header[1, _I32] == _DATA_PAGE:
            count += values
        elif values > stored:
            raise ValueError("a dictionary has more entries than bytes")
    return count


def _value(data: bytes, at: int, kind: int, depth: int = 0) -> tuple[Any, int]:
    """A value in Thrift's compact protocol, which Parquet describes itself in, and where it ends.

    A struct is {(field, kind): value}, as a field of another kind than expected is no such field.
    Text, doubles and lists of anything but structs are left out; LookupError: it is none of these.
    """
    if depth > _MOST_DEPTH:
        raise LookupError
    if kind == _STRUCT:
        fields: dict[tuple[int, int], Any] = {}
        number = 0
        while head := data[at]:
            number, inner, at = number + (head >> 4), head & 15, at + 1
            if head < 16:
                raise LookupError
            if inner not in _BOOLEANS:
                fields[number, inner], at = _value(data, at, inner, depth + 1)
        return fields, at + 1
    if kind == _LIST:
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _varint(data, at)
        if count > len(data):
            raise LookupError
        entries = []
        for _ in range(count):
            entry, at = _value(data, at, inner, depth + 1)
            entries.append(entry)
        return entries if inner == _STRUCT else None, at
    if kind in _FIXED:
        return None, at + _FIXED[kind]
    number, at = _varint(data, at)
    if kind == _TEXT:
        return None, at + number
    if kind in (_I16, _I32, _I64):
        return (number >> 1) ^ -(number & 1), at
    raise LookupError


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MOST_VARINT):
        value |= (data[at + place] & 127) << 7 * place
        if data[at + place] < 128:
            return value, at + place + 1
    raise LookupError


def reason(error: BaseException) -> str:
    """The first line of what an error says."""
    said = str(getattr(error, "strerror", None) or error).strip()
    return said.splitlines()[0] if said else type(error).__name__
