"""Attributes of items, such as genres: words by item, out of a mapping, a table or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tastemix.data import reading_csv, reading_parquet
from tastemix.data.columns import first_line
from tastemix.data.ids import CONVERSION_ERRORS, Ids
from tastemix.errors import DataError

TITLE = "title"
SEPARATOR = "|"


@dataclass(frozen=True, eq=False)
class Attributes:
    """The words of every item, and the titles of those that have one, by number."""

    ids: Ids
    words: list[tuple[str, ...]]
    titles: Mapping[int, str]

    @staticmethod
    def of(given: Any, ids: Ids) -> Attributes:
        """Attributes out of {item: words}, or of a table or a csv or parquet file.

        The words of an item are a list, or a text in which | separates them. The first column of a
        table has the items; a column `title` has their titles; all others are attributes.
        """
        if isinstance(given, Mapping):
            numbers = ids.find(list(given)).tolist()
            rows, titles = zip(numbers, map(_words, given.values()), strict=True), {}
        else:
            table = _file(given) if isinstance(given, str | os.PathLike) else _table(given)
            numbers, named = _numbers(table, ids), _lists(table)
            titles = {
                number: str(title)
                for number, title in zip(numbers, named.pop(TITLE, []), strict=False)
                if number >= 0 and title is not None
            }
            cells = zip(*named.values(), strict=True) if named else [()] * len(numbers)
            words = ([word for cell in row for word in _words(cell)] for row in cells)
            rows = zip(numbers, words, strict=True)
        found: list[tuple[str, ...]] = [()] * len(ids)
        for number, some in rows:
            if number >= 0:
                found[number] = tuple(dict.fromkeys(some))
        if max(numbers, default=-1) < 0:
            raise DataError(
                f"none of the items with attributes is in the model: its items look like {ids[0]!r}"
            )
        return Attributes(ids, found, titles)

    def title(self, item: int) -> str:
        """The title of an item, or else its id."""
        return self.titles.get(item) or str(self.ids[item])


def _lists(table: pa.Table) -> dict[str, list[Any]]:
    """All columns but the first, by name."""
    try:
        return {name: table[name].to_pylist() for name in table.column_names[1:]}
    except (KeyError, *CONVERSION_ERRORS) as error:
        raise DataError(
            f"the attributes cannot be read ({first_line(error)}): "
            "give every column a name of its own and make it text"
        ) from None


def _words(cell: Any) -> list[str]:
    if cell is None:
        return []
    if isinstance(cell, str) or not isinstance(cell, Iterable):
        cell = str(cell).split(SEPARATOR)
    return [str(word).strip() for word in cell if str(word).strip()]


def _numbers(table: pa.Table, ids: Ids) -> list[int]:
    """The numbers of the items in the first column."""
    if not table.num_columns:
        raise DataError("the attributes have no columns: put the items in the first one")
    column = table.column(0)
    with suppress(*CONVERSION_ERRORS):  # `find` says what the ids of the model look like.
        column = column.cast(ids.values.type)
    return [int(number) for number in ids.find(column)]


def _table(given: Any) -> pa.Table:
    try:
        return _sound(pa.table(given))
    except CONVERSION_ERRORS as error:
        raise DataError(
            f"the attributes cannot be read as a table ({first_line(error)}): pass "
            "{item: words}, an Arrow table with the items in its first column, or a path"
        ) from None


def _sound(table: pa.Table) -> pa.Table:
    """A table of another's, whose text is text and whose codes lie inside their dictionaries."""
    table.validate(full=True)
    return table


def _file(path: str | os.PathLike[str]) -> pa.Table:
    from pyarrow import csv

    file = Path(path)
    try:
        with file.open("rb") as stream:
            head = stream.read(4096)
        if head[:4] == b"PAR1":
            return _sound(reading_parquet.load(file, None, None, ids=0))
        opened = reading_csv.opener(file, head, None)
        with csv.open_csv(opened()) as reader:
            first = reader.schema.names[0]
        # Ids as they are written: 007 may be text.
        return csv.read_csv(
            opened(), convert_options=csv.ConvertOptions(column_types={first: "string"})
        )
    except (pa.ArrowException, MemoryError, UnicodeError, OSError) as error:
        raise DataError(
            f"{file} cannot be read ({first_line(error)}): "
            "give a parquet file, or a csv file in UTF-8 with a header row"
        ) from None
