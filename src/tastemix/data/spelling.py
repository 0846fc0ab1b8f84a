"""Columns of text as what they spell: ids as they are written, ratings and times as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data.columns import ERRORS, is_text
from tastemix.data.dialect import DECIMAL_COMMA

_EXACT_IN_FLOAT = 2**53
NUMERIC = (pa.int64(), pa.float64(), pa.null())
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


def time_kind(guess: pa.DataType) -> pa.DataType:
    """The type of a column of times that the first block shows as one of this type."""
    return pa.timestamp("ns") if pa.types.is_timestamp(guess) else guess


def ids_of(column: pa.ChunkedArray, guess: pa.DataType, what: str) -> pa.ChunkedArray:
    """Numbers where every entry is written as its number prints, else the text: 007 is not 7.

    What csv cannot tell from text, such as dates, is text.
    """
    column = _cast(column, pa.string(), what)
    integers = _printed_integers(column) if guess == pa.int64() else None
    chunks = column.dictionary_encode().chunks if integers is None else []
    if not chunks:
        return column if integers is None else integers
    texts = chunks[0].dictionary
    ids = _printed_numbers(texts) if guess in NUMERIC else None
    if ids is None:
        ids = pc.if_else(pc.equal(texts, ""), None, texts)
    if ids.null_count:  # As a plain column, so that the row without an id can be named.
        return pa.chunked_array([ids.take(chunk.indices) for chunk in chunks])
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c.indices, ids) for c in chunks])


def _printed_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as integers where that is all they are: the quick way for most files.

    Written in another way, with a leading zero say, a decimal number is longer than it prints; so
    the texts have as many bytes as their numbers if and only if all are written so.
    """
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    for text in column.chunks:
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
        if data.max(initial=0) > ord("9"):  # Arrow reads 0x1F too.
            return None
    written = pc.sum(pc.binary_length(column)).as_py() or 0
    printed = sum(_printed_length(chunk.to_numpy()) for chunk in numbers.chunks)
    return numbers if written == printed else None


def _printed_length(numbers: NDArray[np.int64]) -> int:
    """How many digits and signs these numbers print as, all together."""
    size, length = numbers, len(numbers)
    if numbers.min(initial=0) < 0:
        size, length = np.abs(numbers), length + int(np.count_nonzero(numbers < 0))
    power, most = 10, int(size.max(initial=0))
    while power <= most:
        length += int(np.count_nonzero(size >= power))
        power *= 10
    return length


def _printed_numbers(texts: pa.Array) -> pa.Array | None:
    """Distinct texts as numbers, None if one is written in another way or two are one number."""
    bare = _spelled(texts)
    if pc.count_distinct(bare, mode="all").as_py() < len(texts):
        return None  # Two that differ in their spaces alone stay two.
    for kind in (pa.int64(), pa.uint64()):
        try:
            numbers = bare.cast(kind)
        except pa.ArrowInvalid:
            continue
        return numbers if numbers.cast(pa.string()).equals(bare) else None
    try:
        numbers = bare.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    exact = (
        pc.all(pc.match_substring_regex(bare, _DECIMAL)).as_py()
        and pc.count_distinct(numbers).as_py() == pc.count_distinct(bare).as_py()
        and pc.max(pc.abs(numbers)).as_py() < _EXACT_IN_FLOAT
    )
    return numbers if exact else None


def numbers(
    column: pa.ChunkedArray, kind: pa.DataType, what: str, decimal: str = "."
) -> pa.ChunkedArray:
    """A column of text as numbers or times; others as they are."""
    if not is_text(column.type):
        return column
    spelled = _spelled(_cast(column, pa.string(), what))
    if kind == pa.float64():
        dotted = pc.match_substring(spelled, ".")
        if not _any(dotted):
            spelled = pc.replace_substring(spelled, ",", ".", max_replacements=1)
        elif decimal == "," and _any(pc.match_substring(spelled, ",")):
            row = pc.index(dotted, True).as_py()
            raise ERRORS[what](
                f"the {what} in row {row} is {spelled[row].as_py()!r}, and others have ',' before "
                "fractions: write all alike"
            )
    return _cast(spelled, kind, what)


def _any(found: pa.ChunkedArray) -> bool:
    return bool(pc.any(found).as_py())


def _spelled(text: Any) -> Any:
    """Numbers as csv spells them: spaces around them, and words such as NA for none."""
    from pyarrow import csv

    bare = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.is_in(bare, pa.array(csv.ConvertOptions().null_values)), None, bare)


def _cast(column: pa.ChunkedArray, kind: pa.DataType, what: str) -> pa.ChunkedArray:
    """A column of a csv file as another type, or an error that names the first row that is not."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        row, rest = 0, column
        while len(rest) > 1:
            half = rest.slice(0, len(rest) // 2)
            try:
                half.cast(kind)
            except pa.ArrowInvalid:
                rest = half
            else:
                row, rest = row + len(half), rest.slice(len(half))
    value, numeric = rest[0].as_py(), kind in (pa.int64(), pa.float64())
    wanted = "a number" if numeric else "UTF-8" if kind == pa.string() else str(kind)
    way = ", or give another encoding=" if kind == pa.string() else ""
    if numeric and DECIMAL_COMMA.fullmatch(value):
        way = "; if fractions are written so, give decimal=','"
    raise ERRORS[what](f"the {what} in row {row} is {value!r}: it must be {wanted}{way}") from None
