"""Items as people know them: their titles, and words such as genres, beside their ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data.halves import Pointers, rows_of
from tastemix.data.ids import Ids, Indices
from tastemix.errors import DataError


@dataclass(frozen=True, eq=False)
class Words:
    """The words of every item: item i has codes[pointers[i]:pointers[i + 1]] of the vocabulary."""

    pointers: Pointers
    codes: Indices
    vocabulary: pa.Array

    @staticmethod
    def of(item: Indices, code: Indices, vocabulary: pa.Array, items: int) -> Words:
        """Words by pairs of item and code, in any order, repeated or not."""
        order = np.lexsort((code, item))
        item, code = item[order], code[order]
        new = np.ones(len(item), np.bool_)
        new[1:] = (item[1:] != item[:-1]) | (code[1:] != code[:-1])
        pointers = np.searchsorted(item[new], np.arange(items + 1)).astype(np.int64)
        return Words(pointers, code[new].astype(np.int32), vocabulary)

    def row(self, item: int) -> Indices:
        """The codes of an item's words."""
        return self.codes[self.pointers[item] : self.pointers[item + 1]]

    def word(self, code: int) -> str:
        """The word of a code."""
        return str(self.vocabulary[code])

    def weighed(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """By code: the sum of the weights of the items that have the word."""
        by_item = weights[rows_of(self.pointers)]
        return np.bincount(self.codes, by_item, len(self.vocabulary)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Items:
    """Titles and words of items, made by `read_items`.

    The ids stay what items are known by; titles are only shown. Two items with one title stay two.
    """

    ids: Ids
    titles: Indices
    """By item: the place of its title among the texts, −1 without one."""
    texts: pa.Array
    words: Words

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        titled = int(np.count_nonzero(self.titles >= 0))
        words = len(self.words.vocabulary)
        return f"Items({len(self):,} items, {titled:,} with a title, {words:,} words)"

    def __getstate__(self) -> dict[str, Any]:
        names = ("ids", "titles", "texts", "words")  # What is cached can be made again.
        return {name: getattr(self, name) for name in names}

    def title(self, item: int) -> str | None:
        """The title of an item, by its number."""
        place = self.titles[item]
        return None if place < 0 else str(self.texts[int(place)])

    def shown(self, item: int) -> str:
        """The title of an item, with its id where others have the same; without one, the id."""
        title = self.title(item)
        if title is None:
            return str(self.ids[item])
        return f"{title} ({self.ids[item]})" if self._sharing[self.titles[item]] > 1 else title

    def column(self, items: Indices) -> pa.Array:
        """The titles of items as a column; without a title, the id as text."""
        if len(items) > _MANY and (self.titles[items] >= 0).all():
            return self.texts.take(pa.array(self.titles[items])).cast(pa.string())
        return pa.array([self.title(i) or str(self.ids[i]) for i in items.tolist()], pa.string())

    def named(self, title: str) -> Indices:
        """The items with this title."""
        place = pc.index(self.texts, pa.scalar(title, self.texts.type)).as_py()
        return np.flatnonzero(self.titles == place).astype(np.int32) if place >= 0 else _NONE

    def over(self, ids: Ids) -> Items:
        """The same for other ids, in their order: the titles and words of those that are here."""
        there = _matched(ids, self.ids)
        if len(ids) and not (there >= 0).any():
            raise DataError(
                f"none of the items has an id of the model, where items look like {ids[0]!r}, and "
                f"here like {self.ids[0] if len(self) else None!r}: name the column of the ids "
                "with id="
            )
        titles = np.where(there >= 0, self.titles[there], -1).astype(np.int32)
        lengths = np.where(there >= 0, np.diff(self.words.pointers)[there], 0)
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        place = np.repeat(self.words.pointers[there] - pointers[:-1], lengths)
        codes = self.words.codes[place + np.arange(pointers[-1])]
        words = Words(pointers, codes, self.words.vocabulary)
        return Items(ids, titles, self.texts, words)

    @cached_property
    def _sharing(self) -> NDArray[np.int64]:
        """By text: the number of items that have it as their title."""
        return np.bincount(self.titles[self.titles >= 0], minlength=len(self.texts))


_MANY = 100
_NONE = np.empty(0, np.int32)


def _matched(asked: Ids, known: Ids) -> Indices:
    """Where the ids asked for are among those known, −1: nowhere; 7 is "7", but not "007"."""
    if len(known) == 0:
        return np.full(len(asked), -1, np.int32)
    texts = [pa.types.is_string(k.values.type) or _is_large(k) for k in (asked, known)]
    if texts[0] == texts[1]:
        return known.find(asked.values)
    try:
        written, others = (ids.values.cast(pa.large_string()) for ids in (asked, known))
    except pa.ArrowException:
        return known.find(asked.values)  # It says which ids cannot be compared.
    found = pc.index_in(written, others)
    return np.asarray(pc.fill_null(found, -1), np.int32)


def _is_large(ids: Ids) -> bool:
    return bool(pa.types.is_large_string(ids.values.type))
