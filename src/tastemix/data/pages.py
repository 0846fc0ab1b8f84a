"""The headers of Parquet pages, and Thrift's compact protocol, which they are written in.

Arrow allocates by what page headers say, before it sees a value. So they are read here first,
strictly: a field that Parquet does not have, or a number that does not fit its type, is refused, so
that Arrow reads the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

SMALL_COUNT = 100_000
"""Pages that any file may have; a larger file may have one per PAGE_BYTES."""
PAGE_BYTES = 4096
DELTAS = (6, 7)
"""The encodings of text as differences: DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY."""
BOOLEANS, I16, I32, I64, TEXT, LIST, STRUCT = (1, 2), 4, 5, 6, 8, 9, 12

_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_PAGE = {_DATA_PAGE: (5, 2), _DICTIONARY_PAGE: (7, 2), _DATA_PAGE_V2: (8, 4)}
"""Kind of page → the field of its header, and the field of its encoding therein."""
_ENCODINGS = (0, 2, 3, 5, *DELTAS, 8, 9)  # all but bit-packed levels, long deprecated
_BITS = {I16: 16, I32: 32, I64: 64}
_FIXED = {3: 1, 7: 8}  # bytes of a byte, of a double
_MOST_FIELD = 64  # Parquet's own end at 20; Arrow counts them in 16 bits and would begin again
_MOST_DEPTH, _MOST_VARINT = 16, 10
_PAGE_HEADERS = (2**10, 2**14, 2**24)  # bytes that are looked at; Arrow takes no more


class Chunk(NamedTuple):
    """Where the pages of a column in a row group are, and how many entries it claims."""

    first: int
    dictionary: int | None
    stored: int
    values: int


class Claims:
    """What the column chunks of a file claim, summed; LookupError: it is no Parquet."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        self.stored = 0
        """Bytes of the file."""
        self.pages = 0
        self.unpacked = 0
        """Bytes of the pages once they are decompressed."""
        self.longest = 0
        """The same of the largest chunk: no value is longer."""
        self.has_deltas = False
        """Whether text may be encoded as differences."""

    def add(self, chunk: Chunk) -> None:
        """Add a chunk, by the headers of its pages."""
        before, values = self.unpacked, 0
        for count, unpacked, is_delta in self._pages(chunk):
            values += count
            self.unpacked += unpacked
            self.has_deltas |= is_delta
        self.longest = max(self.longest, self.unpacked - before)
        if values != chunk.values:
            raise ValueError("its pages hold more or less than its metadata says")

    def _pages(self, chunk: Chunk) -> Iterator[tuple[int, int, bool]]:
        """Of every page its entries, its bytes unpacked and whether it holds differences.

        Fields by number: header {1: kind, 2: unpacked bytes, 3: bytes, 5, 7 or 8: page}, page
        {1: values, 2 or 4: encoding}.
        """
        at = chunk.first
        if chunk.dictionary and 0 < chunk.dictionary < at:
            at = chunk.dictionary
        end = at + chunk.stored
        if not 0 <= at <= end <= self._size:
            raise ValueError("a column lies outside the file")
        self.stored += end - at
        if self.stored > self._size:
            raise ValueError("its columns overlap")
        while at < end and chunk.values != 0:  # An empty one has no pages, though it says where.
            header, length = self._header(at)
            kind, unpacked, stored = (header[number, I32] for number in (1, 2, 3))
            field, encoded = _PAGE[kind]
            page = header[field, STRUCT]
            values, encoding = page[1, I32], page[encoded, I32]
            at += length + stored
            if min(values, stored, unpacked) < 0 or at > end or encoding not in _ENCODINGS:
                raise ValueError("a page lies outside its column or is encoded in an unusual way")
            self.pages += 1
            if self.pages > max(SMALL_COUNT, self._size // PAGE_BYTES):
                raise ValueError("it has too many pages for its size")
            if kind == _DICTIONARY_PAGE and values > unpacked:
                raise ValueError("a dictionary has more entries than bytes")
            yield 0 if kind == _DICTIONARY_PAGE else values, unpacked, encoding in DELTAS

    def _header(self, at: int) -> tuple[Any, int]:
        """The header of a page and its length: short, but for one with long text as statistics."""
        for most in _PAGE_HEADERS[:-1]:
            self._file.seek(at)
            with suppress(IndexError):
                return value(self._file.read(most), 0, STRUCT)
        self._file.seek(at)
        return value(self._file.read(_PAGE_HEADERS[-1]), 0, STRUCT)


def footer_of(file: BinaryIO, size: int, most: int) -> bytes:
    """The end of a file, at most so many bytes, which describes it."""
    file.seek(max(size - 8, 0))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != b"PAR1" or length > min(size - 12, most):
        raise ValueError("it does not end like a Parquet file")
    file.seek(size - 8 - length)
    return file.read(length)


def row_groups(about: Any) -> Iterator[tuple[int, list[Chunk]]]:
    """The rows of every row group that a footer tells of, and its column chunks.

    Fields by number: footer {4: row groups}, row group {1: columns, 3: rows}, column {3: chunk},
    chunk {5: values, 7: bytes, 9: where, 11: where its dictionary is}.
    """
    for group in about[4, LIST]:
        chunks = [column[3, STRUCT] for column in group[1, LIST]]
        yield (
            group[3, I64],
            [Chunk(c[9, I64], c.get((11, I64)), c[7, I64], c[5, I64]) for c in chunks],
        )


def value(data: bytes, at: int, kind: int, depth: int = 0) -> tuple[Any, int]:
    """A value in Thrift's compact protocol, which Parquet describes itself in, and where it ends.

    A struct is {(field, kind): value}, as a field of another kind than expected is no such field.
    Text, doubles and lists of anything but structs are left out; LookupError: it is none of these.
    """
    if depth > _MOST_DEPTH:
        raise LookupError
    if kind == STRUCT:
        fields: dict[tuple[int, int], Any] = {}
        number = 0
        while head := data[at]:
            number, inner, at = number + (head >> 4), head & 15, at + 1
            if head < 16 or number > _MOST_FIELD:
                raise LookupError
            if inner not in BOOLEANS:
                fields[number, inner], at = value(data, at, inner, depth + 1)
        return fields, at + 1
    if kind == LIST:
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _varint(data, at)
        if count > len(data):
            raise LookupError
        entries = []
        for _ in range(count):
            entry, at = value(data, at, inner, depth + 1)
            entries.append(entry)
        return entries if inner == STRUCT else None, at
    if kind in _FIXED:
        return None, at + _FIXED[kind]
    number, at = (data[at], at + 1) if data[at] < 128 else _varint(data, at)
    if kind == TEXT:
        return None, at + number
    if kind in _BITS and number < 1 << _BITS[kind]:
        return (number >> 1) ^ -(number & 1), at
    raise LookupError


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(_MOST_VARINT):
        number |= (data[at + place] & 127) << 7 * place
        if data[at + place] < 128:
            return number, at + place + 1
    raise LookupError
