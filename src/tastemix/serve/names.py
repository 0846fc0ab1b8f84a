"""Ids between JSON, URLs and a model; titles of items."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tastemix.data.ids import Ids, Indices
from tastemix.data.items import Items
from tastemix.data.lookup import Texts
from tastemix.errors import IdError
from tastemix.serve.shapes import Id


class Named:
    """The ids of one side of a model as text and as JSON."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.kind = "other"
        if pa.types.is_int64(ids.values.type):
            self.kind = "integer"
        elif ids.values.type in (pa.string(), pa.large_string()):
            self.kind = "text"

    @property
    def type(self) -> str:
        """What the ids are, in a word."""
        return str(self.ids.values.type) if self.kind == "other" else self.kind

    def shown(self, numbers: Indices) -> list[Id]:
        """The ids of these numbers, as JSON has them."""
        found: list[Id] = self.ids.take(numbers).to_pylist()
        return found if self.kind != "other" else [_text(value) for value in found]

    def texts(self) -> pa.Array:
        """All ids as text."""
        if self.kind == "other":
            return pa.array(map(_text, self.ids[:]), pa.large_string())
        return self.ids.values.cast(pa.large_string())

    def one(self, number: int) -> Id:
        """The id of a number, as JSON has it."""
        value: Any = self.ids[number]
        return value if self.kind != "other" else _text(value)

    def spelled(self, text: str) -> int:
        """The number of the id that a text spells; −1 if it is not known."""
        if self.kind == "text":
            return self.ids.find_one(text)
        if self.kind == "integer":
            return self.ids.find_one(int(text)) if _is_integer(text) else -1
        return self._by_text.get(text, -1)

    def find(self, value: Id) -> int:
        """The number of an id out of JSON; −1 if it is not known. A text may spell a number."""
        if isinstance(value, str):
            return self.spelled(value)
        if self.kind == "integer" and type(value) is int:
            return self.ids.find_one(value) if abs(value) < 2**63 else -1
        if self.kind == "other" and not isinstance(value, bool):
            return self._by_text.get(_text(value), -1)
        return -1

    def number(self, value: Id) -> int:
        """The number of an id, which must be known."""
        number = self.find(value)
        if number < 0:
            shown = value if len(str(value)) <= 60 else f"{str(value)[:60]}…"
            raise IdError(
                f"{self.ids.what} {shown!r} is not known: the ids look like {self.one(0)!r}"
            )
        return number

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {_text(value): at for at, value in enumerate(self.ids[:])}


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    if digits[:1] == "0" and text != "0":
        return False
    return len(digits) <= 18 and digits.isascii() and digits.isdigit()


class Titles:
    """What items are called, and what is said about them."""

    def __init__(self, named: Named, labels: Items | None) -> None:
        self.named, self._labels = named, labels
        self.given = labels is not None and bool((labels.titles >= 0).any())
        if labels is not None:
            places: Any = labels.titles
            self._places, self._texts = memoryview(places), Texts(labels.texts)

    def title(self, number: int) -> str:
        """The title of an item, or else its id."""
        place = -1 if self._labels is None else self._places[number]
        return str(self.named.one(number)) if place < 0 else str(self._texts[place], "utf-8")

    def every(self) -> pa.Array:
        """The titles of all items."""
        if self._labels is None:
            return self.named.texts()
        numbers = np.arange(len(self.named.ids), dtype=np.int32)
        return self._labels.column(numbers).cast(pa.large_string())

    def words(self, number: int) -> list[str]:
        """The attributes of an item."""
        if self._labels is None:
            return []
        words = self._labels.words
        return [words.word(code) for code in words.row(number).tolist()]
