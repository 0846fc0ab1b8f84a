"""Tables as Parquet: written plain, and read from anyone.

Arrow allocates by what row groups, columns and page headers say, before it sees a value. So these
are read here first, strictly: a field that Parquet does not have, or a number that does not fit its
type, is refused, so that Arrow reads the same. The pages, what they unpack to and the entries they
claim are summed, and may be no more than the stated multiples of the file's size; column chunks may
not overlap. No column type that runs code to be read is accepted.
"""

from __future__ import annotations

import base64
import os
import reprlib
from dataclasses import dataclass
from io import BufferedReader
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tastemix.errors import ModelFileError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MOST_FOOTER = 2**20
"""Bytes of the end of a table, which describes it."""
MOST_COLUMNS = 64
"""Of a table, each level of a nested one counted."""
SMALL_TABLE = 64 * 2**20
"""Bytes in memory that any file may take, however small."""
MOST_EXPANSION = 100
"""Bytes in memory per byte of a larger file. Parquet stores what repeats once; of ours only the
columns of the ratings repeat, and 20 is much."""
SMALL_COUNT = 100_000
"""Pages that any file may have; a larger file may have one per PAGE_BYTES."""
PAGE_BYTES = 4096
MOST_BATCH = 65536
"""Rows that are read at a time where text is encoded as differences."""

_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_PAGE = {_DATA_PAGE: (5, 2), _DICTIONARY_PAGE: (7, 2), _DATA_PAGE_V2: (8, 4)}
"""Kind of page → the field of its header, and the field of its encoding therein."""
_DELTAS = (6, 7)  # DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY
_ENCODINGS = (0, 2, 3, 5, *_DELTAS, 8, 9)  # all but bit-packed levels, long deprecated
_BOOLEANS, _I16, _I32, _I64, _TEXT, _LIST, _STRUCT = (1, 2), 4, 5, 6, 8, 9, 12
_BITS = {_I16: 16, _I32: 32, _I64: 64}
_FIXED = {3: 1, 7: 8}  # bytes of a byte, of a double
_MOST_FIELD = 64  # Parquet's own end at 20; Arrow counts them in 16 bits and would begin again
_MOST_DEPTH, _MOST_VARINT = 16, 10
_MOST_PAGE_HEADER = 16 * 1024


def to_parquet(table: pa.Table, name: str) -> pa.Buffer:
    """A table as the bytes of a Parquet file, not compressed."""
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
    and some false sizes end the process.
    """
    import pyarrow.parquet as pq

    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != b"PAR1" or length > min(size - 12, MOST_FOOTER):
        raise ValueError("it does not end like a Parquet file")
    file.seek(size - 8 - length)
    footer = file.read(length)
    _refuse_extensions(footer)
    try:
        claims = _checked(file, size, footer)
    except (LookupError, TypeError):
        raise ValueError("its Parquet metadata is invalid or unusual") from None
    # Columns by number, of which Arrow makes dictionaries where there is text.
    encoded = [] if claims.has_deltas else list(range(MOST_COLUMNS))
    parquet = pq.ParquetFile(file, read_dictionary=encoded)
    for column in parquet.schema_arrow:
        if not _is_plain(column.type) and not (claims.has_deltas and _is_text(column.type)):
            shown = reprlib.repr(str(column.type))
            raise ValueError(f"a column has the unexpected type {shown}")
    table = _read_slowly(parquet, size, claims.longest) if claims.has_deltas else parquet.read()
    table.validate(full=True)
    return table


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a column of this type takes as many bytes as it has entries, times a constant."""
    types = pa.types
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return bool(types.is_primitive(kind.value_type))
    bounded = types.is_primitive, types.is_decimal, types.is_fixed_size_binary, types.is_dictionary
    return kind == pa.null() or any(is_bounded(kind) for is_bounded in bounded)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


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


def _read_slowly(parquet: pq.ParquetFile, size: int, longest: int) -> pa.Table:
    """The table in batches so short that they fit the memory even if all text is `longest` bytes.

    Of text encoded as differences Arrow makes no dictionary, and no header says how long it is.
    """
    texts = [number for number, kind in enumerate(parquet.schema_arrow.types) if _is_text(kind)]
    rows = _most_memory(size) // (max(longest, 1) * max(len(texts), 1))
    batches, taken = [], 0
    for batch in parquet.iter_batches(min(max(rows, 1), MOST_BATCH)):
        for number in texts:
            encoded = batch.column(number).dictionary_encode()
            batch = batch.set_column(number, batch.schema.names[number], encoded)
        taken += batch.get_total_buffer_size()
        _refuse_memory(taken, size)
        batches.append(batch)
    return pa.Table.from_batches(batches)


def _most_memory(size: int) -> int:
    return max(SMALL_TABLE, MOST_EXPANSION * size)


def _refuse_memory(memory: int, size: int) -> None:
    if memory > _most_memory(size):
        raise ValueError(f"it would take {memory:,} bytes of memory, but the file has {size:,}")


@dataclass
class _Claims:
    """What the column chunks of a file claim, summed."""

    stored: int = 0
    """Bytes of the file."""
    pages: int = 0
    unpacked: int = 0
    """Bytes of the pages once they are decompressed."""
    longest: int = 0
    """The same of the largest chunk: no value is longer."""
    has_deltas: bool = False
    """Whether text may be encoded as differences."""


def _checked(file: BufferedReader, size: int, footer: bytes) -> _Claims:
    """What a file claims to hold; refused if it is far more than its size.

    A run of 2³¹ equal entries takes a few bytes of a page, so entries are counted at their width.
    Text takes the unpacked bytes once, being read as a dictionary.

    Fields by number: footer {2: schema, 4: row groups}, row group {1: columns, 3: rows}, column
    {3: chunk}, chunk {5: values, 7: bytes, 9: where, 11: where its dictionary is}.
    """
    about, _ = _value(footer, 0, _STRUCT)
    if len(about[2, _LIST]) > MOST_COLUMNS:
        raise ValueError("it has too many columns")
    width = max(8, *(column.get((2, _I32), 0) for column in about[2, _LIST]))
    claims, entries = _Claims(), 0
    for group in about[4, _LIST]:
        for column in group[1, _LIST]:
            chunk = column[3, _STRUCT]
            before = claims.unpacked
            values = _values_in(file, size, chunk, claims)
            claims.longest = max(claims.longest, claims.unpacked - before)
            if values != chunk[5, _I64]:
                raise ValueError("its pages hold more or less than its metadata says")
            entries += max(values, group[3, _I64])
            _refuse_memory(entries * width + claims.unpacked, size)
    return claims


def _values_in(file: BufferedReader, size: int, chunk: dict[Any, Any], claims: _Claims) -> int:
    """The number of entries in a column chunk, by the headers of its pages.

    Fields by number: header {1: kind, 2: unpacked bytes, 3: bytes, 5, 7 or 8: page}, page
    {1: values, 2 or 4: encoding}.
    """
    at, dictionary = chunk[9, _I64], chunk.get((11, _I64), 0)
    at = dictionary if 0 < dictionary < at else at
    end = at + chunk[7, _I64]
    if not 0 <= at <= end <= size:
        raise ValueError("a column lies outside the file")
    claims.stored += end - at
    if claims.stored > size:
        raise ValueError("its columns overlap")
    count = 0
    while at < end and chunk[5, _I64] != 0:  # An empty table has no pages, though it says where.
        file.seek(at)
        header, length = _value(file.read(_MOST_PAGE_HEADER), 0, _STRUCT)
        kind, unpacked, stored = (header[number, _I32] for number in (1, 2, 3))
        field, encoded = _PAGE[kind]
        page = header[field, _STRUCT]
        values, encoding = page[1, _I32], page[encoded, _I32]
        at += length + stored
        if min(values, stored, unpacked) < 0 or at > end or encoding not in _ENCODINGS:
            raise ValueError("a page lies outside its column or is encoded in an unusual way")
        claims.unpacked += unpacked
        claims.pages += 1
        claims.has_deltas |= encoding in _DELTAS
        if claims.pages > max(SMALL_COUNT, size // PAGE_BYTES):
            raise ValueError("it has too many pages for its size")
        if kind != _DICTIONARY_PAGE:
            count += values
        elif values > unpacked:
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
            if head < 16 or number > _MOST_FIELD:
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
    if kind in _BITS and number < 1 << _BITS[kind]:
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
