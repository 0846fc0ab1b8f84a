"""Ratings: who rated what how, as two sparse halves over dense numbers."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data.ids import Ids, Indices, encode
from tastemix.data.reading import Times, Values, as_times, as_values, columns_of, load
from tastemix.errors import DataError, DuplicateError, IdError, ParameterError, RatingError

Duplicates = Literal["refuse", "last", "mean"]
Side = Literal["users", "items"]
Scale = tuple[float, float]
Pointers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Half:
    """Ratings compressed along one side: row r holds entries pointers[r] to pointers[r + 1]."""

    pointers: Pointers
    indices: Indices
    values: Values

    @property
    def counts(self) -> Pointers:
        """The number of ratings of every row."""
        return np.diff(self.pointers)

    @property
    def rows(self) -> Indices:
        """The row of every entry."""
        return _rows(self.pointers)

    def row(self, number: int) -> tuple[Indices, Values]:
        """The indices and values of one row."""
        here = slice(self.pointers[number], self.pointers[number + 1])
        return self.indices[here], self.values[here]


@dataclass(frozen=True, eq=False)
class Ratings:
    """An immutable table of ratings over known users and items.

    Entries are ordered by (user, item): entry e of every array here is entry e of `by_user`.
    Users and items without a rating keep their (empty) rows.
    """

    users: Ids
    items: Ids
    by_user: Half
    by_item: Half
    scale: Scale
    timestamp: Times | None = None
    source_row: Pointers | None = None
    """Where timestamps were given: the row each entry came from, which settles equal times."""

    def __len__(self) -> int:
        return len(self.by_user.values)

    def __repr__(self) -> str:
        low, high = self.scale
        return (
            f"Ratings({len(self):,} ratings, {len(self.users):,} users, {len(self.items):,} items, "
            f"{self.density:.2%} known, scale {low:g} to {high:g})"
        )

    def half(self, side: Side) -> Half:
        """The ratings compressed along one side."""
        return self.by_user if side == "users" else self.by_item

    def ids(self, side: Side) -> Ids:
        """The ids of one side."""
        return self.users if side == "users" else self.items

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
    def fingerprint(self) -> str:
        """A hash of ids, values and scale, the same for any order of the rows."""
        digest = hashlib.sha256(repr(self.scale).encode())
        for ids in (self.users, self.items):
            for text in ids.texts():
                digest.update(text)
        for part in (self.by_user.pointers, self.by_user.indices, self.by_user.values):
            digest.update(part.data)
        return digest.hexdigest()

    def subset(self, entries: NDArray[Any]) -> Ratings:
        """Only these entries (a mask or positions), over the same users and items."""
        chosen = np.asarray(entries)
        kept = np.zeros(len(self), np.bool_)
        try:
            kept[chosen if chosen.size else []] = True
        except IndexError as error:
            raise ParameterError(f"the entries do not fit {len(self):,} ratings: {error}") from None
        keep = np.flatnonzero(kept)
        return _build(
            self.users,
            self.items,
            self.by_user.rows[keep],
            self.by_user.indices[keep],
            self.by_user.values[keep],
            self.scale,
            None if self.timestamp is None else self.timestamp[keep],
            None if self.source_row is None else self.source_row[keep],
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
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        timestamp: str | None = None,
        scale: Scale | None = None,
        duplicates: Duplicates = "refuse",
    ) -> Ratings:
        """Ratings from any table that speaks the Arrow stream protocol.

        The scale is the range of the ratings unless given. Of a pair rated twice, "last" keeps the
        latest by timestamp, or else the one further down, and "mean" averages.
        """
        names = [user, item, rating] + ([timestamp] if timestamp is not None else [])
        return _from_columns(columns_of(table, names), scale, duplicates)

    @staticmethod
    def from_arrays(
        user: Any,
        item: Any,
        rating: Any,
        *,
        timestamp: Any = None,
        scale: Scale | None = None,
        duplicates: Duplicates = "refuse",
    ) -> Ratings:
        """Ratings from three equally long sequences; otherwise as from_table."""
        columns = [user, item, rating] + ([timestamp] if timestamp is not None else [])
        return _from_columns(columns, scale, duplicates)

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
                "pass a two-dimensional scipy.sparse one"
            )
        stored = matrix.tocoo()
        values = as_values(stored.data)
        if len(values) == 0:
            raise DataError("there are no ratings: the matrix stores no entry")
        known_users, row = _names(users, "user", matrix.shape[0])
        known_items, column = _names(items, "item", matrix.shape[1])
        user, item = row[stored.row], column[stored.col]
        return _canonical(known_users, known_items, user, item, values, None, scale, duplicates)

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
                raise IdError(f"the {ids.what} in row {unknown[0]} is not among the known ones")
        values = as_values(rating)
        when = None if timestamp is None else as_times(timestamp)
        return _canonical(users, items, user_number, item_number, values, when, scale, duplicates)


def read(
    path: str | os.PathLike[str],
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    timestamp: str | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates = "refuse",
) -> Ratings:
    """Ratings from a csv or parquet file with these columns; otherwise as Ratings.from_table."""
    names = [user, item, rating] + ([timestamp] if timestamp is not None else [])
    return _from_columns(load(path, names), scale, duplicates)


def _from_columns(columns: list[Any], scale: Scale | None, duplicates: Duplicates) -> Ratings:
    """Ratings from columns of user, item, rating and perhaps timestamp; empties the list."""
    # Each column is let go once it is converted: together they are larger than the ratings.
    when = as_times(columns.pop()) if len(columns) == 4 else None
    values = as_values(columns.pop())
    if len(values) == 0:
        raise DataError("there are no ratings: the table has no rows")
    items, item = encode(columns.pop(), "item")
    users, user = encode(columns.pop(), "user")
    pa.default_memory_pool().release_unused()
    return _canonical(users, items, user, item, values, when, scale, duplicates)


def _names(names: Any, what: str, count: int) -> tuple[Ids, Indices]:
    """The ids of one side of a matrix, and the number of each row or column."""
    ids, numbers = encode(np.arange(count) if names is None else names, what)
    if len(numbers) != count or len(ids) != count:
        raise IdError(
            f"the matrix has {count:,} {what}s, but {len(numbers):,} ids were given, "
            f"{len(ids):,} of them distinct: give every {what} an id of its own"
        )
    return ids, numbers


def _canonical(
    users: Ids,
    items: Ids,
    user: Indices,
    item: Indices,
    values: Values,
    timestamp: Times | None,
    scale: Scale | None,
    duplicates: Duplicates,
) -> Ratings:
    """Checked, ordered by (user, item), each pair once."""
    if duplicates not in get_args(Duplicates):
        raise ParameterError(f"duplicates is {duplicates!r}: choose 'refuse', 'last' or 'mean'")
    for name, column in (("user", user), ("item", item), ("timestamp", timestamp)):
        if column is not None and len(column) != len(values):
            raise DataError(
                f"there are {len(column):,} entries of {name} but {len(values):,} ratings: "
                "pass columns of one length"
            )
    if len(values) >= 2**31:
        raise DataError(f"{len(values):,} ratings are more than the 2,147,483,647 that fit")
    limits = _limits(values, scale)
    item_pointers, order = _counting_sort(item, len(items))
    pointers, item, order = _transpose(item_pointers, user[order], order, len(users))
    user = _rows(pointers)
    repeats = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    if not repeats.any():
        values = values[order]
    elif duplicates == "refuse":
        at = int(repeats.argmax())
        raise DuplicateError(
            f"user {users[user[at]]!r} rated item {items[item[at]]!r} twice, in rows {order[at]} "
            f"and {order[at + 1]} ({np.count_nonzero(repeats):,} such repeats): "
            "pass duplicates='last' or duplicates='mean' to keep one"
        )
    else:
        first, last = np.append(True, ~repeats), np.append(~repeats, True)
        if timestamp is not None:
            tied = np.flatnonzero(~(first & last))
            rows = order[tied]
            order[tied] = rows[np.lexsort((timestamp[rows], item[tied], user[tied]))]
        values = values[order[last]] if duplicates == "last" else _means(values[order], first)
        user, item, order = user[last], item[last], order[last]
    when, source = (None, None) if timestamp is None else (timestamp[order], order.astype(np.int64))
    return _build(users, items, user, item, values, limits, when, source)


def _build(
    users: Ids,
    items: Ids,
    user: Indices,
    item: Indices,
    values: Values,
    scale: Scale,
    timestamp: Times | None,
    source_row: Pointers | None,
) -> Ratings:
    """Both halves of entries that are ordered by (user, item)."""
    pointers = np.searchsorted(user, np.arange(len(users) + 1, dtype=np.int32)).astype(np.int64)
    by_user = Half(pointers, item, values)
    by_item = Half(*_transpose(pointers, item, values, len(items)))
    for part in (*vars(by_user).values(), *vars(by_item).values(), timestamp, source_row):
        if part is not None:
            part.flags.writeable = False
    return Ratings(users, items, by_user, by_item, scale, timestamp, source_row)


def _rows(pointers: Pointers) -> Indices:
    """The row of every entry."""
    return np.repeat(np.arange(len(pointers) - 1, dtype=np.int32), np.diff(pointers))


def _transpose(
    pointers: Pointers, indices: Indices, payload: NDArray[Any], columns: int
) -> tuple[Pointers, Indices, NDArray[Any]]:
    """Compressed rows as compressed columns, the entries of a column in the order of the rows."""
    from scipy.sparse import csr_array

    shape = len(pointers) - 1, columns
    turned = csr_array((payload, indices, pointers), shape=shape).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32, copy=False), turned.data


def _counting_sort(key: Indices, keys: int) -> tuple[Pointers, Indices]:
    """order[pointers[k] : pointers[k + 1]] are the positions of key k, ascending: one entry a row,
    transposed.
    """
    entries = np.arange(len(key) + 1, dtype=np.int64)
    pointers, order, _ = _transpose(entries, key, np.empty(len(key), np.bool_), keys)
    return pointers, order


def _means(values: Values, first: NDArray[np.bool_]) -> Values:
    """The mean of every run of values; `first` marks where a run begins."""
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(values)))
    return (np.add.reduceat(values, starts, dtype=np.float64) / counts).astype(np.float32)


def _limits(values: Values, scale: Scale | None) -> Scale:
    """The given scale, checked, or the range of the values."""
    if scale is None:
        return float(values.min()), float(values.max())
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if isinstance(scale, str) or not (np.isfinite([low, high]).all() and low <= high):
        raise ParameterError(f"scale is {scale!r}: give two finite numbers, the lower one first")
    with np.errstate(over="ignore"):
        ends = np.array([low, high], np.float32)
    outside = np.flatnonzero((values < ends[0]) | (values > ends[1]))
    if len(outside):
        raise RatingError(
            f"the rating in row {outside[0]} is {values[outside[0]]:g}, outside the scale "
            f"{low:g} to {high:g}: correct it or give a wider scale"
        )
    return low, high


__all__ = ["Duplicates", "Half", "Ratings", "Scale", "read"]
