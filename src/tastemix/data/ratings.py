"""Ratings: who rated what how, as two sparse halves over dense numbers."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix import checks
from tastemix.data import entries, places
from tastemix.data.dialect import Column, Told
from tastemix.data.entries import Duplicates, Scale
from tastemix.data.halves import Coded, Half, Pointers, Side, compressed, transposed
from tastemix.data.ids import Ids, Indices, encode, kept
from tastemix.data.reading import Times, Values, as_times, as_values, columns_of, load
from tastemix.errors import DataError, IdError, ParameterError

_HASHED_AT_ONCE = 2**22
_WIDENED_AT_ONCE = 2**18


class Known(NamedTuple):
    """What is otherwise made from ratings when it is first asked for."""

    by_item: Half
    fingerprint: str | None = None
    folder: str | None = None
    """Where they are mapped from."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """An immutable table of ratings over known users and items.

    Entries are ordered by (user, item): entry e of every array here is entry e of `by_user`.
    Users and items without a rating keep their (empty) rows.
    """

    users: Ids
    items: Ids
    by_user: Half
    scale: Scale
    timestamp: Times | None = None
    source_row: Pointers | None = None
    """Where timestamps were given: the row each entry came from, which settles equal times."""
    dated: bool = False
    """Whether the timestamps came as dates; they are then microseconds since 1970."""
    known: Known | None = None
    """What was found when these ratings were written to disk."""

    def __len__(self) -> int:
        return len(self.by_user.indices)

    def __repr__(self) -> str:
        low, high = self.scale
        return (
            f"Ratings({len(self):,} ratings, {len(self.users):,} users, {len(self.items):,} items, "
            f"{self.density:.2%} known, scale {low:g} to {high:g})"
        )

    def _repr_html_(self) -> str:
        from tastemix.plot import cards

        return cards.of_ratings(self)

    def plot(self) -> Any:
        """A figure: how often each rating was given, and how many users and items have many."""
        from tastemix import plot

        return plot.figures("of_tables").of_ratings(self)

    @property
    def density(self) -> float:
        """The known share of all pairs."""
        return len(self) / (len(self.users) * len(self.items))

    @property
    def mid(self) -> float:
        """The middle of the scale."""
        return (self.scale[0] + self.scale[1]) / 2

    @property
    def shift(self) -> float:
        """What the solvers subtract: the low end of a scale that starts below zero."""
        return min(self.scale[0], 0.0)

    @cached_property
    def by_item(self) -> Half:
        """The ratings of every item, made when they are first asked for."""
        if self.known is not None:
            return self.known.by_item
        return transposed(self.by_user, len(self.items))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """The mean of the ratings and their standard deviation."""
        stored, low = self.by_user.stored, self.scale[0]
        total = squares = 0.0
        for first in range(0, len(stored), _WIDENED_AT_ONCE):
            some = stored[first : first + _WIDENED_AT_ONCE].astype(np.float64) - low
            total += float(some.sum())
            squares += float(some @ some)
        mean = total / len(stored)
        return mean + low, math.sqrt(max(squares / len(stored) - mean**2, 0.0))

    @cached_property
    def item_sums(self) -> tuple[NDArray[np.float64], Pointers]:
        """The sum of every item's ratings, and how many there are; `by_item` is not made for it."""
        half, count = self.by_user, len(self.items)
        sums, counts = np.zeros(count), np.zeros(count, np.int64)
        at_once = max(_WIDENED_AT_ONCE, count)
        for first in range(0, len(half.stored), at_once):
            item = half.indices[first : first + at_once].astype(np.intp)
            sums += np.bincount(item, half.stored[first : first + at_once], minlength=count)
            counts += np.bincount(item, minlength=count)
        return sums, counts

    def half(self, side: Side) -> Half:
        """`by_user` for "users", `by_item` for "items"."""
        return self.by_user if _checked(side) == "users" else self.by_item

    def ids(self, side: Side) -> Ids:
        """The ids of one side, "users" or "items"."""
        return self.users if _checked(side) == "users" else self.items

    @cached_property
    def fingerprint(self) -> str:
        """A hash of ids, values and scale, the same for any order of the rows."""
        if self.known is not None and self.known.fingerprint is not None:
            return self.known.fingerprint
        digest = hashlib.sha256(repr(self.scale).encode())
        for ids in (self.users, self.items):
            for text in ids.texts():
                digest.update(text)
        for part in (self.by_user.pointers, self.by_user.indices, self.by_user.stored):
            for at in range(0, len(part), _HASHED_AT_ONCE):
                digest.update(part[at : at + _HASHED_AT_ONCE].data)
        return digest.hexdigest()

    def having(self, change: Callable[[Values], Values], scale: Scale) -> Ratings:
        """These ratings with other values on another scale."""
        known = None if self.known is None else Known(self.known.by_item.having(change))
        return replace(self, by_user=self.by_user.having(change), scale=scale, known=known)

    def subset(self, chosen: NDArray[Any]) -> Ratings:
        """Only these entries (a mask or positions), over the same users and items."""
        keep, half = _positions(np.asarray(chosen), len(self)), self.by_user
        pointers = np.searchsorted(keep, half.pointers).astype(np.int64)
        return _sealed(
            *(self.users, self.items),
            Half(pointers, half.indices[keep], half.stored[keep]),
            self.scale,
            None if self.timestamp is None else self.timestamp[keep],
            None if self.source_row is None else self.source_row[keep],
            self.dated,
        )

    def to_table(self) -> pa.Table:
        """An Arrow table of user, item, rating and, where known, timestamp."""
        columns = {
            "user": self.users.take(self.by_user.rows),
            "item": self.items.take(self.by_user.indices),
            "rating": pa.array(self.by_user.values),
        }
        if self.timestamp is not None:
            columns["timestamp"] = pa.array(self.timestamp)
        return pa.table(columns)

    @staticmethod
    def from_table(
        table: Any,
        user: Column = "user",
        item: Column = "item",
        rating: Column | None = "rating",
        timestamp: Column | None = None,
        scale: Scale | None = None,
        duplicates: Duplicates | None = None,
        *,
        missing: float | None = None,
    ) -> Ratings:
        """Ratings from a table of pandas, polars (lazy or not), duckdb, pyarrow, or any that speaks
        the Arrow stream protocol.

        The scale is the range of the ratings unless given. A pair rated twice is refused. "last"
        keeps the latest by timestamp, or else the one further down, "mean" averages, "sum" adds up
        and "count" counts. With rating=None every row is a play or a click, and these are counted,
        on a scale from 0.

        user, item, rating, timestamp: columns by name, or by position from 0.
        missing: a rating that means that there is none, such as 0; such rows are left out.
        """
        names = [user, item, rating, *([] if timestamp is None else [timestamp])]
        return _from_columns(columns_of(table, names), scale, duplicates, missing)

    @staticmethod
    def from_arrays(
        user: Any,
        item: Any,
        rating: Any = None,
        *,
        timestamp: Any = None,
        scale: Scale | None = None,
        duplicates: Duplicates | None = None,
        missing: float | None = None,
    ) -> Ratings:
        """Ratings from three equally long sequences; otherwise as from_table."""
        columns = [user, item, rating, *([] if timestamp is None else [timestamp])]
        return _from_columns(columns, scale, duplicates, missing)

    @staticmethod
    def from_sparse(
        matrix: Any,
        users: Any = None,
        items: Any = None,
        scale: Scale | None = None,
        duplicates: Duplicates = "refuse",
    ) -> Ratings:
        """Ratings from a scipy sparse matrix, users in rows: what is stored is rated, even a zero.

        Rows and columns without a rating are kept. Ids are the row and column numbers unless given.
        """
        if not hasattr(matrix, "tocoo") or len(matrix.shape) != 2:
            raise DataError(
                f"a {type(matrix).__name__} is not a sparse matrix of users and items: "
                "pass a two-dimensional matrix of scipy.sparse"
            )
        stored = matrix.tocoo()
        values = as_values(stored.data)
        if len(values) == 0:
            raise DataError("there are no ratings: the matrix stores no entry")
        known_users, row = _names(users, "user", matrix.shape[0])
        known_items, column = _names(items, "item", matrix.shape[1])
        user, item = row[stored.row], column[stored.col]
        return _canonical(known_users, known_items, user, item, values, scale, duplicates)

    @staticmethod
    def over(
        users: Ids,
        items: Ids,
        user: Any,
        item: Any,
        rating: Any,
        timestamp: Any,
        scale: Scale,
        duplicates: Duplicates = "refuse",
    ) -> Ratings:
        """Ratings of users and items that are known already, rated or not; perhaps none at all."""
        user_number, item_number = users.find(user), items.find(item)
        for ids, number in ((users, user_number), (items, item_number)):
            unknown = np.flatnonzero(number < 0)
            if len(unknown):
                raise IdError(f"the {ids.what} in row {unknown[0]} is not a known {ids.what}")
        return _canonical(
            *(users, items, user_number, item_number, as_values(rating), scale, duplicates),
            *((None, False) if timestamp is None else as_times(timestamp)),
        )

    @staticmethod
    def from_numbers(
        users: Ids,
        items: Ids,
        user: NDArray[Any],
        item: NDArray[Any],
        values: Any,
        scale: Scale,
        timestamp: Any = None,
        *,
        duplicates: Duplicates = "refuse",
        dated: bool = False,
        source_row: Pointers | None = None,
    ) -> Ratings:
        """Ratings by dense numbers into known ids, which are not looked at.

        Entries that are ordered by (user, item) already are taken as they come. `dated` says that
        integer timestamps are those of ratings that were dated.
        source_row: where each entry came from, as in other ratings (default: its place here).
        """
        when, are_dates = (None, False) if timestamp is None else as_times(timestamp)
        return _canonical(
            users,
            items,
            _numbers(user, users),
            _numbers(item, items),
            as_values(values),
            scale,
            duplicates,
            when,
            when is not None and (dated or are_dates),
            source_row,
        )


def read(
    path: str | os.PathLike[str],
    user: Column = "user",
    item: Column = "item",
    rating: Column | None = "rating",
    timestamp: Column | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates | None = None,
    max_memory: int | None = None,
    *,
    missing: float | None = None,
    ids: Literal["text"] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> Ratings:
    """Ratings from a file with these columns; otherwise as Ratings.from_table.

    A folder that `tm.ingest` made is opened.

    path: a csv file, also compressed, a parquet file, or a folder of these; or the address of one
        that the file systems of pyarrow or fsspec know, such as s3://bucket/ratings.parquet.
    user, item, rating, timestamp: columns by name, or by position from 0.
    ids: "text" keeps ids as they are written. Otherwise a column of a csv file has numbers as ids
        if every one is written as its number prints, without quotes: 007 is text, and not 7.
    delimiter, encoding, quote, decimal, header: how a csv file is written: what is between fields,
        the name of the encoding, the quotes ('' for none), what is before fractions ("." or ","),
        and whether the first row names the columns. By default each is found out.
    max_memory: bytes that reading may take (default: half of the machine's memory, but no more
    than a hundred times the file's size, or 64 MiB for a small file). A file that would take more
    is refused.
    """
    if places.is_store(path):
        from tastemix.data.disk.store import open as open_store

        if timestamp is not None:
            raise ParameterError(f"{path} was ingested: timestamp= was settled then")
        ratings = open_store(path)
        return ratings if scale is None else _on_scale(ratings, scale)
    told = Told(delimiter, encoding, quote, decimal, header, ids)
    columns = [user, item, rating, *([] if timestamp is None else [timestamp])]
    found = load(path, columns, max_memory, told)
    return _from_columns(found, scale, duplicates, missing)


def _on_scale(ratings: Ratings, scale: Scale) -> Ratings:
    """The same ratings on a scale that holds them all."""
    stored = ratings.by_user.stored
    values = stored.levels if isinstance(stored, Coded) else stored
    return ratings.having(lambda same: same, entries.limits(values, scale))


def as_ratings(data: Any, *, clicks: bool = False, **options: Any) -> Ratings:
    """Ratings as they are, or from a path (`read`), a sparse matrix (`from_sparse`) or a table
    (`from_table`) with the options of that function; an option that is None counts as not given.

    clicks: the table has no ratings, and every row is one play or click.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if clicks:
        given["rating"] = None
    if isinstance(data, Ratings):
        if given:
            raise ParameterError(
                f"{next(iter(given))}= says how to read a table, but these are ratings already: "
                "leave it out"
            )
        return data
    if isinstance(data, str | os.PathLike):
        return read(data, **given)
    if hasattr(data, "tocoo"):
        for name in ("user", "item", "rating", "timestamp"):
            if name in given:
                raise ParameterError(f"{name}= names a column, but a matrix has none: leave it out")
        return Ratings.from_sparse(data, **given)
    if hasattr(data, "npartitions"):
        from tastemix.data.disk import frames

        if frames.is_frame(data):
            return frames.ingested(data, **given)
    return Ratings.from_table(data, **given)


def _from_columns(
    columns: list[Any],
    scale: Scale | None,
    duplicates: Duplicates | None,
    missing: float | None = None,
) -> Ratings:
    """Ratings from columns of user, item, rating and perhaps timestamp; empties the list.

    Without ratings (None) every row counts as one.
    """
    # Each column is let go once it is converted: together they are larger than the ratings.
    times: tuple[Times | None, bool] = (None, False)
    if len(columns) == 4:
        times = as_times(columns.pop())
    rating = columns.pop()
    values = np.ones(len(columns[0]), np.float32) if rating is None else as_values(rating)
    if duplicates is None:
        duplicates = "count" if rating is None else "refuse"
    if missing is None:
        if scale is None and rating is not None:
            entries.warn_of_hole(values)
    else:
        values, times = _without(missing, values, columns, times)
    del rating
    if len(values) == 0:
        raise DataError("there are no ratings: the table has no rows")
    items, item = encode(columns.pop(), "item")
    users, user = encode(columns.pop(), "user")
    pa.default_memory_pool().release_unused()
    return _canonical(users, items, user, item, values, scale, duplicates, *times)


def _without(
    missing: float,
    values: Values,
    columns: list[Any],
    times: tuple[Times | None, bool],
) -> tuple[Values, tuple[Times | None, bool]]:
    """The ratings that are not missing; the columns of ids lose the same rows."""
    there = values != np.float32(checks.number("missing", missing))
    if there.all():
        return values, times
    if len(columns[0]) == len(columns[1]) == len(there):  # Else it is said further on.
        columns[:] = [kept(c, w, there) for c, w in zip(columns, ("user", "item"), strict=True)]
    when = times[0] if times[0] is None or len(times[0]) != len(there) else times[0][there]
    return values[there], (when, times[1])


def _names(names: Any, what: str, count: int) -> tuple[Ids, Indices]:
    """The ids of one side of a matrix, and the number of each row or column."""
    ids, numbers = encode(np.arange(count) if names is None else names, what)
    if len(numbers) != count or len(ids) != count:
        raise IdError(
            f"the matrix has {count:,} {what}s, but {len(numbers):,} ids were given, "
            f"{len(ids):,} of them distinct: give every {what} an id of its own"
        )
    return ids, numbers


def _numbers(numbers: NDArray[Any], ids: Ids) -> Indices:
    """A copy of dense numbers, each of which must be that of an id."""
    given = np.asarray(numbers)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise ParameterError(f"the {ids.what} numbers are of type {given.dtype}: give integers")
    if given.size and not (given.min() >= 0 and given.max() < len(ids)):
        wrong = int(np.flatnonzero((given < 0) | (given >= len(ids)))[0])
        raise ParameterError(
            f"the {ids.what} number in row {wrong} is {given[wrong]}: it must be one of 0 to "
            f"{len(ids) - 1}"
        )
    return np.array(given, np.int32)


def _canonical(
    users: Ids,
    items: Ids,
    user: Indices,
    item: Indices,
    values: Values,
    scale: Scale | None,
    duplicates: Duplicates,
    timestamp: Times | None = None,
    dated: bool = False,
    source_row: Pointers | None = None,
) -> Ratings:
    """Checked, ordered by (user, item), each pair once."""
    entries.check_lengths(user, item, values, timestamp)
    limits = entries.limits(values, scale) if duplicates not in entries.ADDED_UP else None
    user, item, values, row = entries.in_order(
        users, items, user, item, values, timestamp, duplicates
    )
    if limits is None:
        if scale is None and duplicates == "count":
            scale = (0.0, float(values.max()))
        limits = entries.limits(values, scale)
    when, source = None, None
    if timestamp is not None:
        when, source = timestamp[row], row.astype(np.int64)
        source = source if source_row is None else source_row[row]
    by_user = compressed(user, item, values, len(users))
    return _sealed(users, items, by_user, limits, when, source, dated)


def _sealed(
    users: Ids,
    items: Ids,
    by_user: Half,
    scale: Scale,
    timestamp: Times | None,
    source_row: Pointers | None,
    dated: bool,
) -> Ratings:
    """Ratings whose arrays nobody can change."""
    for part in (*vars(by_user).values(), timestamp, source_row):
        if part is not None:
            part.flags.writeable = False
    return Ratings(users, items, by_user, scale, timestamp, source_row, dated)


def _positions(chosen: NDArray[Any], count: int) -> Pointers:
    """The entries that a mask or positions choose, each once and in order."""
    if chosen.dtype == np.bool_ and chosen.shape == (count,):
        return np.flatnonzero(chosen)
    line = chosen.dtype == np.int64 and chosen.ndim == 1 and len(chosen)
    within = line and chosen[0] >= 0 and chosen[-1] < count
    if within and (chosen[1:] > chosen[:-1]).all():
        return chosen
    kept = np.zeros(count, np.bool_)
    try:
        kept[chosen if chosen.size else []] = True
    except IndexError as error:
        raise ParameterError(f"the entries do not fit {count:,} ratings: {error}") from None
    return np.flatnonzero(kept)


def _checked(side: Side) -> Side:
    if side not in get_args(Side):
        raise ParameterError(f"side is {side!r}: choose 'users' or 'items'")
    return side


__all__ = ["Duplicates", "Half", "Ratings", "Scale", "Side", "as_ratings", "read"]
