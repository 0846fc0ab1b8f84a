"""Ids: the user's own names at the edge, dense integers inside."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data import lookup
from tastemix.data.columns import first_line, validated
from tastemix.errors import IdError

Indices = NDArray[np.int32]

# Python and Arrow, asked to make a column of something that is none.
CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, OSError)
_MISSING = ("NoneType", "NAType", "NaTType")
# Arrow cannot filter views.
_UNVIEWED = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_HASHED_AT_ONCE = 2**16
_MANY, _FEW = 1000, 100
_APART = 4
"""Times as many numbers as entries in which integers lie close to each other."""


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids in ascending order; an id's position is its dense number."""

    values: pa.Array
    what: str

    @staticmethod
    def known(values: Any, what: str) -> Ids:
        """Ids that are distinct and in ascending order already, as another Ids left them."""
        if isinstance(values, pa.Int64Array) and not values.null_count:
            plain = values.to_numpy()
            if (plain[1:] > plain[:-1]).all():  # a table of what differs would be many times larger
                return Ids(values, what)
        ids, numbers = encode(values, what)
        wrong = np.flatnonzero(numbers != np.arange(len(numbers)))
        if len(wrong):
            raise IdError(
                f"the {what} id in row {wrong[0]}, {ids[numbers[wrong[0]]]!r}, is out of order: "
                "the ids must be distinct and ascending"
            )
        return ids

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, number: int | slice) -> Any:
        """The id of a number, or a list of the ids of a slice."""
        if isinstance(number, slice):
            return self.values[number].to_pylist()
        return self.values[int(number)].as_py()

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "what": self.what}  # What is cached cannot be pickled.

    def take(self, numbers: Indices) -> pa.Array:
        """The ids of these numbers."""
        if self._sorted is not None and len(numbers) <= _FEW:
            return self._sorted.take(numbers)
        return self.values.take(pa.array(numbers))

    def find(self, ids: Any) -> Indices:
        """The number of each id, −1 for one that is not among them."""
        if self._sorted is not None and (few := _few(ids, self._sorted.kind)) is not None:
            return np.array([self._sorted.find(value) for value in few], np.int32)
        asked, position = encode(ids, self.what)
        if len(asked) == 0 or len(self) == 0:
            return np.full(len(position), -1, np.int32)
        if _family(asked[0]) != _family(self[0]):
            raise IdError(
                f"the {self.what} ids are {_family(self[0])}, but {asked[0]!r} was asked for: "
                f"pass ids such as {self[0]!r}"
            )
        return self._find_distinct(asked.values)[position]

    def find_one(self, value: Any) -> int:
        """The number of one id, −1 if it is not among them."""
        if self._sorted is not None and type(value) is self._sorted.kind:
            return self._sorted.find(value)
        return int(self.find([value])[0])

    def number(self, value: Any) -> int:
        """The number of one id, which must be known."""
        found = self.find_one(value)
        if found < 0:
            raise IdError(
                f"{self.what} {value!r} is not in the ratings: "
                f"{len(self):,} {self.what}s are known, such as {self[0]!r}"
            )
        return found

    def typed(self, text: str) -> Any:
        """The known id that a text spells, as on a command line."""
        try:
            found = pa.array([text]).cast(self.values.type)[0].as_py()
        except pa.ArrowException:
            raise IdError(
                f"{text!r} is no {self.what} id of this model: they look like {self[0]!r}"
            ) from None
        self.number(found)
        return found

    def texts(self) -> Iterator[bytes]:
        """The ids spelled out, to be hashed: the same bytes however Arrow holds them."""
        for start in range(0, len(self), _HASHED_AT_ONCE):
            yield repr(self.values.slice(start, _HASHED_AT_ONCE).to_pylist()).encode()

    @cached_property
    def _sorted(self) -> lookup.Lookup | None:
        return lookup.of(self.values)

    def _find_distinct(self, asked: pa.Array) -> Indices:
        if len(asked) > _MANY:
            try:
                found = pc.index_in(asked.cast(self.values.type), self.values)
                return np.asarray(pc.fill_null(found, -1))
            except pa.ArrowException:
                pass  # One of them fits no id's type, or Arrow cannot hash the type.
        return np.array([self._bisect(value) for value in asked.to_pylist()], np.int32)

    def _bisect(self, value: Any) -> int:
        at = bisect_left(self.values, value, key=lambda known: known.as_py())
        return at if at < len(self) and self[at] == value else -1


def single(ids: Any) -> bool:
    """Whether this is one id, not a column of them."""
    column = ("__iter__", "__arrow_c_stream__", "__arrow_array__", "__array__")
    return isinstance(ids, str | bytes | np.generic) or not any(hasattr(ids, n) for n in column)


def _few(ids: Any, kind: type) -> list[Any] | tuple[Any, ...] | None:
    """The ids one by one, where they are few and all of this very type."""
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iuU":
        ids = ids.tolist() if len(ids) <= _FEW else None
    if type(ids) not in (list, tuple) or len(ids) > _FEW or any(type(v) is not kind for v in ids):
        return None
    return ids  # type: ignore[no-any-return]


def encode(column: Any, what: str) -> tuple[Ids, Indices]:
    """The distinct ids of a column, ascending, and the number of each of its entries."""
    entries = _as_column(column, what)
    kind = entries.type
    if isinstance(kind, pa.BaseExtensionType):
        entries = pa.chunked_array([chunk.storage for chunk in entries.chunks], kind.storage_type)
    missing = pc.index(entries.is_null(), True).as_py() if _may_have_nulls(entries) else -1
    if missing >= 0:
        raise IdError(f"the {what} id in row {missing} is missing: every rating needs its {what}")
    if kind == pa.int64() and (counted := _counted(entries)) is not None:
        return Ids(pa.array(counted[0]), what), counted[1]
    try:
        distinct, places = _distinct(entries)
        plain = distinct if isinstance(kind, pa.BaseExtensionType) else _plain(distinct)
        # Two spellings of one id (1 and 1.0) become the same only here.
        merged = plain.dictionary_encode()
        order = pc.sort_indices(merged.dictionary)
    except pa.ArrowException:
        raise IdError(
            f"the {what} ids are of type {kind}: convert them to integers or text"
        ) from None
    if pa.types.is_floating(plain.type):
        nowhere = np.flatnonzero(~np.isfinite(plain.to_numpy()))
        if len(nowhere):
            row = np.flatnonzero(np.isin(np.concatenate(places), nowhere))[0]
            value = entries[int(row)].as_py()
            raise IdError(f"the {what} id in row {row} is {value}: every rating needs its {what}")
    rank = np.empty(len(order), np.int32)
    rank[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    values = merged.dictionary.take(order)
    if isinstance(kind, pa.BaseExtensionType):
        values = kind.wrap_array(values)
    _refuse_far(values, what)
    return Ids(values, what), _gathered(rank[merged.indices.to_numpy()], places, len(entries))


def kept(values: Any, what: str, there: NDArray[np.bool_]) -> pa.ChunkedArray:
    """The ids of these rows alone."""
    column = _as_column(values, what)
    plain = _UNVIEWED.get(column.type)
    return (column if plain is None else column.cast(plain)).filter(pa.array(there))


def as_arrow(values: Any) -> pa.ChunkedArray:
    """A column of anything Arrow knows how to read; raises one of CONVERSION_ERRORS otherwise."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if not isinstance(values, pa.Array) and hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    try:
        array = values if isinstance(values, pa.Array) else pa.array(values)
    except OverflowError:
        array = pa.array(values, pa.uint64())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _as_column(values: Any, what: str) -> pa.ChunkedArray:
    if isinstance(values, str | bytes):
        raise IdError(
            f"expected a sequence of {what} ids, not the single id {values!r}: put it in a list"
        )
    try:
        column = as_arrow(values)
    except CONVERSION_ERRORS as error:
        raise IdError(
            _mixture(values, what)
            or f"the {what} ids cannot be read ({error}): convert them to integers or text"
        ) from None
    # Among Python objects Arrow takes text for bytes and times for dates without a word.
    if pa.types.is_binary(column.type) or pa.types.is_date(column.type):
        mixture = _mixture(values, what) if _holds_objects(values) else None
        if mixture:
            raise IdError(mixture)
    return validated(column, what)


def _holds_objects(values: Any) -> bool:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return False
    return not hasattr(values, "dtype") or str(values.dtype) == "object"


def _mixture(values: Any, what: str) -> str | None:
    """What to say of a column that holds ids of two types."""
    first = None
    for row, value in enumerate(values if hasattr(values, "__iter__") else ()):
        family = _family(value.item() if isinstance(value, np.generic) else value)
        if type(value).__name__ in _MISSING or (family == "numbers" and value != value):
            continue
        first = first or family
        if family != first:
            return (
                f"the {what} ids mix {first} and {family} (row {row}: {value!r}): "
                "convert them all to one type"
            )
    return None


def _refuse_far(ids: pa.Array, what: str) -> None:
    """Refuse times that Python cannot show; the first or the last one is the furthest."""
    if pa.types.is_temporal(ids.type) and len(ids):
        try:
            ids[0].as_py(), ids[-1].as_py()
        except (OverflowError, ValueError, LookupError, pa.ArrowException) as error:
            raise IdError(
                f"the {what} ids are of type {ids.type}, and one is beyond what Python can show "
                f"({first_line(error)}): convert them to integers or text"
            ) from None


def _may_have_nulls(column: pa.ChunkedArray) -> bool:
    if pa.types.is_dictionary(column.type):
        return any(chunk.null_count or chunk.dictionary.null_count for chunk in column.chunks)
    return bool(column.null_count)


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, list[Indices]]:
    """The distinct values of a column, in any order, and by chunk the place of its entries."""
    if not pa.types.is_dictionary(column.type):
        chunks = column.dictionary_encode().chunks
        places = [chunk.indices.to_numpy() for chunk in chunks]
        return (chunks[0].dictionary if chunks else pa.array([], column.type)), places
    chunks = column.unify_dictionaries().chunks
    values = chunks[0].dictionary if chunks else pa.array([], column.type.value_type)
    values = values.cast(_UNVIEWED.get(values.type, values.type))
    places = [chunk.indices.to_numpy() for chunk in chunks]
    used = np.zeros(len(values), np.bool_)
    for place in places:
        used[place] = True
        if used.all():
            return values, places
    left = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return values.filter(pa.array(used)), [left[place] for place in places]


def _gathered(numbers: Indices, places: Iterable[Any], count: int) -> Indices:
    """The numbers at these places, one chunk after another, in fresh memory once."""
    found, at = np.empty(count, np.int32), 0
    for place in places:
        numbers.take(place, out=found[at : at + len(place)], mode="clip")
        at += len(place)
    return found


def _counted(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], Indices] | None:
    """The same for integers that lie close to each other, which needs no table of them."""
    chunks = [chunk.to_numpy() for chunk in column.chunks if len(chunk)]
    if not chunks:
        return None
    low, high = min(int(c.min()) for c in chunks), max(int(c.max()) for c in chunks)
    if high - low > _APART * len(column):
        return None
    used = np.zeros(high - low + 1, np.bool_)
    for chunk in chunks:
        used[chunk - low] = True
    rank = np.cumsum(used, dtype=np.int32) - np.int32(1)
    places = (chunk - low for chunk in chunks)
    return np.flatnonzero(used) + low, _gathered(rank, places, len(column))


def _plain(ids: pa.Array) -> pa.Array:
    """Ids in the types we compare: whole numbers are int64, text is string, times count in µs."""
    kind, types = ids.type, pa.types
    bytes_alike = types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary
    wanted = [kind]
    if types.is_integer(kind) or types.is_decimal(kind):
        wanted = [pa.int64(), kind]
    elif types.is_floating(kind):
        wanted = [pa.int64(), pa.float64()]
        ids = pc.add(ids.cast(pa.float64()), 0.0)  # One zero, not two.
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        wanted = [pa.string(), pa.large_string()]
    elif types.is_timestamp(kind):
        wanted = [pa.timestamp("us", kind.tz), kind]
    elif types.is_date(kind):
        wanted = [pa.date32()]
    elif types.is_time(kind):
        wanted = [pa.time64("us"), kind]
    elif types.is_duration(kind):
        wanted = [pa.duration("us"), kind]
    elif any(is_alike(kind) for is_alike in bytes_alike):
        wanted = [pa.binary(), pa.large_binary()]
    for target in wanted[:-1]:
        try:
            return ids.cast(target)
        except pa.ArrowInvalid:
            pass  # A fraction, a number beyond 64 bits, a nanosecond, or gigabytes of text.
    return ids.cast(wanted[-1])


def _family(value: Any) -> str:
    """What an id is called along with all those that can be compared with it."""
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float | Decimal):
        return "numbers"
    named = {"str": "strings", "bytes": "bytes"}.get(type(value).__name__)
    zoned = " with a time zone" if getattr(value, "tzinfo", None) is not None else ""
    return named or f"{type(value).__name__}s{zoned}"
