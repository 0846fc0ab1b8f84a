"""Titles and words of items out of a table or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data import memory, places, reading_csv, reading_parquet
from tastemix.data.columns import first_line, is_list, is_text, positions, validated
from tastemix.data.dialect import Told
from tastemix.data.ids import CONVERSION_ERRORS, Ids, Indices, as_arrow, encode
from tastemix.data.items import Items, Words
from tastemix.data.reading import columns_of
from tastemix.errors import DataError, ParameterError, TastemixError

TITLES = ("title", "name")
"""What the column of titles is called, or the end of its name: Book-Title."""
SEPARATOR = "|"
OPTIONS = "id=, title= and attributes="
_BYTES_A_WORD = 16
_BYTES_LISTED = 48
"""What an element of a list takes on its way to a word."""


def read_items(
    source: Any,
    id: str | None = None,
    title: str | None = None,
    attributes: Sequence[str] | None = None,
    *,
    separator: str = SEPARATOR,
    max_memory: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
) -> Items:
    """Titles and attributes of items, from a csv or parquet file or a table.

    id: the column of the item ids, as in the ratings (default: the first).
    title: the column of the titles (default: one named title or name, or ending so, if any).
    attributes: columns of words such as genres (default: all others whose words are shared by
        several items). The words of an item are a list, or a text in which the separator divides
        them. An item in several rows has the words of all of them.
    max_memory, delimiter, encoding, quote: see `read`.
    """
    if not isinstance(separator, str) or not separator:
        raise ParameterError(
            f"separator is {checks.shown(separator)}: give text that divides words"
        )
    told = Told(delimiter, encoding, quote, header=True)
    asked = [name for name in (id, title, *(attributes or ())) if name is not None]
    names, load, allowed = _opened(source, asked, max_memory, told)
    if not names:
        raise DataError("the table of items has no columns: put the item ids in the first one")
    id = names[0] if id is None else id
    if title is None:
        title = next((n for n in names if n != id and _is_title(n)), None)
    others = [n for n in names if n not in (id, title)] if attributes is None else [*attributes]
    wanted = [id, *([] if title is None else [title]), *others]
    positions(wanted, names, OPTIONS)
    columns = load(wanted)
    ids, row = encode(columns[0], "item")
    titles, texts = _titles(ids, row, None if title is None else columns[1], title)
    words = []
    for name, column in zip(others, columns[len(columns) - len(others) :], strict=True):
        plain = _plain(column, name)
        if attributes is not None or _may_be_words(plain.type):
            found = _words(plain, name, separator, allowed)
            if attributes is not None or _shared(found[1]):
                words.append(found)
    return Items(ids, titles, texts, _joined(words, row, len(ids)))


def as_items(given: Any) -> Items:
    """Items as they are, or from {id: title}, a table or a file."""
    if isinstance(given, Items):
        return given
    if isinstance(given, Mapping):
        return read_items(pa.table({"id": _ids(given), "title": _as_text(given.values())}))
    return read_items(given)


def as_attributes(given: Any) -> Items:
    """Items as they are, or from {id: words}, a table or a file; the words are what is wanted."""
    if not isinstance(given, Mapping):
        return as_items(given)
    words = [_listed(value) for value in given.values()]
    table = pa.table({"id": _ids(given), "words": pa.array(words, pa.list_(pa.string()))})
    return read_items(table, attributes=["words"])


def _opened(
    source: Any, wanted: Sequence[str], max_memory: int | None, told: Told
) -> tuple[list[str], Any, int | None]:
    """The names of the columns, what loads some of them, and the memory they may take."""
    if isinstance(source, str | os.PathLike):
        return _file(source, wanted, max_memory, told)
    table = source.collect() if hasattr(source, "collect") else source  # polars, lazy
    if not hasattr(table, "iloc"):
        try:
            table = pa.table(table)
        except CONVERSION_ERRORS as error:
            raise DataError(
                f"the items cannot be read as a table ({first_line(error)}): "
                "pass a table with the item ids in its first column, or a path"
            ) from None
    names = [str(name) for name in getattr(table, "column_names", getattr(table, "columns", []))]
    return names, lambda wanted: columns_of(table, wanted), None


def _file(
    path: str | os.PathLike[str], wanted: Sequence[str], max_memory: int | None, told: Told
) -> tuple[list[str], Any, int]:
    with places.files(path) as files:
        try:
            allowed = memory.most(max_memory, sum(file.stat().st_size for file in files))
            if reading_parquet.is_parquet(files[0]):
                parts = [reading_parquet.load(f, None, max_memory, ids=None) for f in files]
                table = pa.concat_tables(parts)
            else:
                table = reading_csv.texts(files[0], wanted, max_memory, told)
        except TastemixError:
            raise
        except (pa.ArrowException, MemoryError, ValueError, OSError) as error:
            raise DataError(
                f"{files[0]} cannot be read ({first_line(error)}): give a parquet file, or a csv "
                "file and how it is written with delimiter= and encoding="
            ) from None
    return table.column_names, lambda wanted: columns_of(table, wanted), allowed


def _is_title(name: str) -> bool:
    return name.lower().endswith(TITLES)


def _titles(ids: Ids, row: Indices, column: Any, name: str | None) -> tuple[Indices, pa.Array]:
    """By item the place of its title among the texts, which are distinct."""
    place = np.full(len(ids), -1, np.int32)
    if column is None:
        return place, pa.array([], pa.string())
    texts, code = _texts(column, str(name))
    there = np.flatnonzero(code >= 0)
    place[row[there[::-1]]] = code[there[::-1]]  # the first row of each item
    other = there[place[row[there]] != code[there]]
    if len(other):
        at = int(other[0])
        item, titles = int(row[at]), (str(texts[int(c)]) for c in (place[row[at]], code[at]))
        raise DataError(
            f"item {ids[item]!r} has two titles, {' and '.join(map(repr, titles))} (row {at}): "
            "leave one, or name other columns with id= and title="
        )
    return place, texts


def _texts(column: Any, name: str) -> tuple[pa.Array, Indices]:
    """The distinct texts of a column, trimmed, and the place of each entry's, −1 without any."""
    encoded = _plain(column, name)
    if not is_list(encoded.type) and pa.types.is_nested(encoded.type):
        raise DataError(f"the column {name!r} is of type {encoded.type}: leave it out, or name it")
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    whole = encoded.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.array([], encoded.type)
    bare = pc.utf8_trim_whitespace(_cast(whole.dictionary, name))
    merged = pc.if_else(pc.equal(bare, ""), None, bare).dictionary_encode()
    place = np.append(np.asarray(pc.fill_null(merged.indices, -1), np.int32), np.int32(-1))
    return merged.dictionary, place[np.asarray(pc.fill_null(whole.indices, -1), np.int64)]


def _words(
    plain: pa.ChunkedArray, name: str, separator: str, allowed: int | None
) -> tuple[NDArray[np.int64], pa.DictionaryArray]:
    """The words of a column and the rows they are in."""
    if is_list(plain.type):
        if allowed is not None:
            count = pc.sum(pc.list_value_length(plain)).as_py() or 0
            memory.refuse_more(count * _BYTES_LISTED, allowed, f"the column {name!r}")
        rows = np.asarray(pc.list_parent_indices(plain.combine_chunks()), np.int64)
        return _without_none(rows, _cast(pc.list_flatten(plain.combine_chunks()), name))
    texts, code = _texts(plain, name)
    split = pc.split_pattern(texts, separator)
    lengths = np.asarray(pc.list_value_length(split), np.int64)
    there = np.flatnonzero(code >= 0)
    count = lengths[code[there]]
    if allowed is not None:
        memory.refuse_more(int(count.sum()) * _BYTES_A_WORD, allowed, f"the column {name!r}")
    first = np.cumsum(lengths) - lengths
    ends = np.cumsum(count)
    place = np.repeat(first[code[there]] - ends + count, count) + np.arange(count.sum())
    words = pc.list_flatten(split).dictionary_encode()
    chosen = pa.DictionaryArray.from_arrays(words.indices.take(pa.array(place)), words.dictionary)
    return _without_none(np.repeat(there, count), chosen)


def _without_none(rows: NDArray[np.int64], words: Any) -> tuple[NDArray[np.int64], pa.Array]:
    """The words that are none left out, the others trimmed, as codes into distinct ones."""
    texts, code = _texts(pa.chunked_array([words]), "attributes")
    there = code >= 0
    return rows[there], pa.DictionaryArray.from_arrays(pa.array(code[there]), texts)


def _may_be_words(kind: pa.DataType) -> bool:
    """Whether a column of this type is looked at if it is not named: text, numbers, lists."""
    if is_list(kind) or pa.types.is_dictionary(kind):
        return _may_be_words(kind.value_type)
    return bool(is_text(kind) or pa.types.is_primitive(kind) or pa.types.is_string_view(kind))


def _shared(words: pa.DictionaryArray) -> bool:
    """Whether words describe more than one item, as those of a genre do and a web address not."""
    return 5 * len(words.dictionary) <= 4 * len(words)


def _joined(found: Sequence[tuple[Any, pa.DictionaryArray]], row: Indices, items: int) -> Words:
    """The words of several columns by item."""
    if not found:
        none = np.empty(0, np.int32)
        return Words.of(none, none, pa.array([], pa.string()), items)
    both = pa.chunked_array([words for _, words in found]).unify_dictionaries().combine_chunks()
    rows = np.concatenate([rows for rows, _ in found])
    return Words.of(row[rows], np.asarray(both.indices, np.int32), both.dictionary, items)


def _plain(column: Any, name: str) -> pa.ChunkedArray:
    try:
        return validated(as_arrow(column), "item")
    except CONVERSION_ERRORS as error:
        raise DataError(
            f"the column {name!r} cannot be read ({first_line(error)}): "
            "leave it out with attributes=, or make it text"
        ) from None


def _cast(values: pa.Array, name: str) -> pa.Array:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values
    try:
        return values.cast(pa.string())
    except pa.ArrowException as error:
        raise DataError(
            f"the column {name!r} cannot be read as text ({first_line(error)}): "
            "leave it out with attributes="
        ) from None


def _ids(given: Mapping[Any, Any]) -> Any:
    encode(list(given), "item")  # says what is wrong with them
    return pa.array(list(given))


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value).split(SEPARATOR)
    return [str(word) for word in value]


def _as_text(values: Iterable[Any]) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values], pa.string())
