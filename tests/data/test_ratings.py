"""Ratings come in from anywhere, checked, and are the same object whatever the way they came."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import tastemix as tm
from tastemix.data.ids import Ids
from tastemix.errors import DuplicateError, IdError, ParameterError

Way = Callable[[pd.DataFrame, Path], tm.Ratings]

COLUMNS = ["user", "item", "rating"]
HEADER = "user,item,rating\n"
FRAME = pd.DataFrame(
    {
        "user": ["bob", "ann", "bob", "cid", "ann"],
        "item": ["Heat", "Alien", "Alien", "Up", "Up"],
        "rating": [4.0, 2.5, 5.0, 1.0, 3.0],
        "time": [50, 40, 30, 20, 10],
    }
)


def written(folder: Path, content: str | bytes, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def random_frame(rows: int = 500, seed: int = 0) -> pd.DataFrame:
    """Distinct pairs of few users and many items, half stars, in random order."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(40 * 90, rows, replace=False)
    return pd.DataFrame(
        {
            "user": pairs // 90 * 7 - 100,
            "item": pairs % 90 + 10**10,
            "rating": rng.integers(1, 11, rows) / 2,
        }
    )


def test_halves_equal_scipys_compressed_matrices() -> None:
    frame = random_frame()
    user_ids, user = np.unique(frame["user"], return_inverse=True)
    item_ids, item = np.unique(frame["item"], return_inverse=True)
    matrix = sp.coo_array((frame["rating"], (user, item)))
    ratings = tm.Ratings.from_table(frame)
    assert ratings.users.values.to_pylist() == user_ids.tolist()
    assert ratings.items.values.to_pylist() == item_ids.tolist()
    for half, expected in ((ratings.by_user, matrix.tocsr()), (ratings.by_item, matrix.tocsc())):
        expected.sort_indices()
        np.testing.assert_array_equal(half.pointers, expected.indptr)
        np.testing.assert_array_equal(half.indices, expected.indices)
        np.testing.assert_array_equal(half.values, expected.data)
        np.testing.assert_array_equal(half.counts, np.diff(expected.indptr))
        np.testing.assert_array_equal(
            half.rows, np.repeat(np.arange(len(half.counts)), half.counts)
        )
        indices, values = half.row(3)
        begin, end = expected.indptr[3:5]
        np.testing.assert_array_equal(indices, expected.indices[begin:end])
        np.testing.assert_array_equal(values, expected.data[begin:end])


def test_parts_have_the_promised_types_and_cannot_be_written() -> None:
    ratings = tm.Ratings.from_table(FRAME, timestamp="time")
    for half in (ratings.by_user, ratings.by_item):
        assert [part.dtype for part in vars(half).values()] == [np.int64, np.int32, np.float32]
    assert ratings.timestamp is not None
    assert ratings.source_row is not None
    assert ratings.timestamp.dtype == ratings.source_row.dtype == np.int64
    parts = [*vars(ratings.by_user).values(), *vars(ratings.by_item).values()]
    for part in (*parts, ratings.timestamp, ratings.source_row):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1


def test_the_callers_arrays_stay_theirs() -> None:
    user, item = np.array([2, 1]), np.array([1, 1])
    rating = np.array([1, 2], np.float32)
    ratings = tm.Ratings.from_arrays(user, item, rating)
    rating[0] = 9
    assert ratings.by_user.values.tolist() == [2, 1]


def test_a_side_can_be_named() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    assert ratings.half("users") is ratings.by_user
    assert ratings.half("items") is ratings.by_item
    assert ratings.ids("users") is ratings.users
    assert ratings.ids("items") is ratings.items
    with pytest.raises(ParameterError, match="side is 'user': choose 'users' or 'items'"):
        ratings.half("user")  # type: ignore[arg-type]


def test_ids_can_be_sliced() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    assert ratings.items[:2] == ["Alien", "Heat"]
    assert ratings.users[::-1] == ["cid", "bob", "ann"]
    assert ratings.users[-1] == "cid"


def test_small_facts() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    assert len(ratings) == 5
    assert ratings.density == 5 / 9
    assert ratings.scale == (1, 5)
    assert (ratings.mid, ratings.shift) == (3, 0)
    assert repr(ratings) == ("Ratings(5 ratings, 3 users, 3 items, 55.56% known, scale 1 to 5)")
    assert tm.Ratings.from_table(FRAME, scale=(-2, 6)).shift == -2


def test_one_rating_is_enough() -> None:
    ratings = tm.Ratings.from_arrays(["ann"], ["Heat"], [4])
    assert (len(ratings), ratings.scale) == (1, (4, 4))
    assert ratings.to_table().to_pylist() == [{"user": "ann", "item": "Heat", "rating": 4}]


def through_file(name: str, encode: Callable[[pd.DataFrame], bytes]) -> Way:
    def way(frame: pd.DataFrame, folder: Path) -> tm.Ratings:
        return tm.read(written(folder, encode(frame), name))

    return way


def through_table(convert: Callable[[pd.DataFrame], Any]) -> Way:
    return lambda frame, _: tm.Ratings.from_table(convert(frame))


def through_parquet(frame: pd.DataFrame, folder: Path) -> tm.Ratings:
    pq.write_table(pa.Table.from_pandas(frame), folder / "ratings.pq", row_group_size=2)
    return tm.read(folder / "ratings.pq")


def through_matrix(frame: pd.DataFrame, _: Path) -> tm.Ratings:
    (user, users), (item, items) = frame["user"].factorize(), frame["item"].factorize()
    return tm.Ratings.from_sparse(sp.coo_array((frame["rating"], (user, item))), users, items)


def through_arrays(frame: pd.DataFrame, _: Path) -> tm.Ratings:
    return tm.Ratings.from_arrays(*(frame[name].to_numpy() for name in COLUMNS))


def through_lists(frame: pd.DataFrame, _: Path) -> tm.Ratings:
    return tm.Ratings.from_arrays(*(frame[name].tolist() for name in COLUMNS))


def as_csv(frame: pd.DataFrame, **options: Any) -> bytes:
    return bytes(frame.to_csv(index=False, **options).encode())


def with_notes(frame: pd.DataFrame) -> pd.DataFrame:
    """A column that is not asked for, with quotes, commas and line breaks in it."""
    return frame.assign(note='said "so,\n1,1,so"')[["note", "rating", "user", "item"]]


WAYS: dict[str, Way] = {
    "csv": through_file("ratings.csv", as_csv),
    "csv with windows line ends": through_file("r.csv", lambda f: as_csv(f, lineterminator="\r\n")),
    "csv with a byte order mark": through_file("r.csv", lambda f: b"\xef\xbb\xbf" + as_csv(f)),
    "csv with blank lines": through_file("r.csv", lambda f: as_csv(f).replace(b"\n", b"\n\n")),
    "csv with line breaks": through_file("r.csv", lambda f: as_csv(with_notes(f), quoting=2)),
    "csv, zipped, of any name": through_file("r.data", lambda f: gzip.compress(as_csv(f))),
    "csv in bzip2": through_file("r.csv.bz2", lambda f: bz2.compress(as_csv(f))),
    "parquet": through_parquet,
    "scipy": through_matrix,
    "arrays": through_arrays,
    "lists": through_lists,
    "pandas": through_table(lambda f: f),
    "pandas in another order": through_table(lambda f: f[::-1]),
    "pandas with an odd index": through_table(lambda f: f.set_index(f["rating"])),
    "pandas categories": through_table(lambda f: f.astype(dict.fromkeys(COLUMNS, "category"))),
    "pandas with a mixed column": through_table(
        lambda f: f.assign(note=pd.Series([1, "b"], dtype=object))
    ),
    "polars": through_table(pl.from_pandas),
    "polars, lazy": through_table(lambda f: pl.from_pandas(f).lazy()),
    "polars categories": through_table(
        lambda f: pl.from_pandas(f).with_columns(pl.selectors.string().cast(pl.Categorical))
    ),
    "pyarrow": through_table(pa.Table.from_pandas),
    "pyarrow batch": through_table(pa.RecordBatch.from_pandas),
    "pyarrow reader": through_table(lambda f: pa.Table.from_pandas(f).to_reader(2)),
    "duckdb": through_table(lambda f: duckdb.from_df(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_every_way_in_gives_the_same_ratings(way: str, ids: str, tmp_path: Path) -> None:
    frame = random_frame()
    if ids == "text":
        frame = frame.assign(
            user="ü" + frame["user"].astype(str), item="," + frame["item"].astype(str)
        )
    expected = tm.Ratings.from_table(pa.Table.from_pandas(frame))
    ratings = WAYS[way](frame, tmp_path)
    assert ratings.fingerprint == expected.fingerprint
    assert ratings.to_table().equals(expected.to_table())
    assert ratings.by_item.values.tolist() == expected.by_item.values.tolist()


triples = st.dictionaries(
    st.tuples(st.integers(-5, 5), st.text("abü", max_size=2)),
    st.sampled_from([0.5, 1.0, 3.0, -2.0]),
    min_size=1,
)


@given(triples, st.randoms(use_true_random=False))
def test_triples_come_back_in_order_whatever_the_order_they_came_in(
    rated: dict[tuple[int, str], float], random: Any
) -> None:
    rows = [(user, item, rating) for (user, item), rating in rated.items()]
    ratings = tm.Ratings.from_arrays(*zip(*rows, strict=True))
    found = [tuple(row.values()) for row in ratings.to_table().to_pylist()]
    assert found == sorted(rows)
    assert ratings.scale == (min(rated.values()), max(rated.values()))
    random.shuffle(rows)
    again = tm.Ratings.from_arrays(*zip(*rows, strict=True))
    assert again.fingerprint == ratings.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"user": ["bob", "ann", "bob", "dan", "ann"]},
        {"item": ["Heat", "Alien", "Alien", "Up", "Zulu"]},
        {"rating": [4.0, 2.5, 5.0, 1.0, 3.5]},
        {"user": [b"bob", b"ann", b"bob", b"cid", b"ann"]},
    ],
)
def test_fingerprints_tell_other_ratings_apart(change: dict[str, Any]) -> None:
    known = tm.Ratings.from_table(FRAME).fingerprint
    assert tm.Ratings.from_table(FRAME.assign(**change)).fingerprint != known
    assert tm.Ratings.from_table(FRAME, scale=(0, 5)).fingerprint != known


def test_times_follow_their_entries() -> None:
    ratings = tm.Ratings.from_table(FRAME, timestamp="time")
    table = ratings.to_table().to_pandas()
    expected = FRAME.sort_values(["user", "item"])
    assert table["timestamp"].tolist() == expected["time"].tolist()
    assert ratings.source_row is not None
    assert ratings.source_row.tolist() == expected.index.tolist()
    kept = ratings.subset(np.array([4, 1]))
    assert kept.timestamp is not None
    assert kept.source_row is not None
    assert kept.timestamp.tolist() == [expected["time"].iloc[1], expected["time"].iloc[4]]
    assert kept.source_row.tolist() == [expected.index[1], expected.index[4]]
    assert tm.Ratings.from_table(FRAME).timestamp is None
    assert tm.Ratings.from_table(FRAME).fingerprint == ratings.fingerprint


TWICE = pd.DataFrame(
    {
        "user": [2, 1, 1, 2, 1, 1],
        "item": [1, 1, 2, 1, 1, 1],
        "rating": [1.0, 5.0, 3.0, 2.0, 1.0, 4.0],
        "time": [9, 3, 1, 4, 8, 8],
    }
)


def contents(ratings: tm.Ratings) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in ratings.to_table().to_pylist()]


def test_of_a_pair_rated_twice_the_last_row_is_kept() -> None:
    ratings = tm.Ratings.from_table(TWICE, duplicates="last")
    assert contents(ratings) == [(1, 1, 4), (1, 2, 3), (2, 1, 2)]
    expected = TWICE.groupby(["user", "item"])["rating"].last()
    assert ratings.by_user.values.tolist() == expected.tolist()


def test_of_a_pair_rated_twice_the_latest_is_kept_where_times_are_known() -> None:
    ratings = tm.Ratings.from_table(TWICE, timestamp="time", duplicates="last")
    assert contents(ratings) == [(1, 1, 4, 8), (1, 2, 3, 1), (2, 1, 1, 9)]
    assert ratings.source_row is not None
    assert ratings.source_row.tolist() == [5, 2, 0]


def test_of_a_pair_rated_twice_the_mean_is_kept() -> None:
    ratings = tm.Ratings.from_table(TWICE, timestamp="time", duplicates="mean")
    expected = TWICE.groupby(["user", "item"])["rating"].mean().astype(np.float32)
    assert ratings.by_user.values.tolist() == expected.tolist()
    assert ratings.timestamp is not None
    assert ratings.timestamp.tolist() == [8, 1, 9]


@pytest.mark.parametrize("duplicates", ["last", "mean"])
def test_the_scale_is_that_of_all_rows(duplicates: Any) -> None:
    rows = ([1, 1, 1], [1, 1, 2], [1, 5, 4])
    assert tm.Ratings.from_arrays(*rows, duplicates=duplicates).scale == (1, 5)


def test_a_matrix_keeps_its_empty_rows_and_columns_and_its_zeros() -> None:
    matrix = sp.csr_array((np.array([0.0, 3.0]), ([0, 2], [1, 1])), shape=(4, 3))
    ratings = tm.Ratings.from_sparse(matrix)
    assert contents(ratings) == [(0, 1, 0), (2, 1, 3)]
    assert ratings.users.values.to_pylist() == [0, 1, 2, 3]
    assert ratings.by_user.counts.tolist() == [1, 0, 1, 0]
    assert ratings.by_item.counts.tolist() == [0, 2, 0]
    assert (ratings.scale, ratings.density) == ((0, 3), 2 / 12)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.lil_array, sp.dok_matrix])
def test_a_matrix_of_any_format_takes_the_ids_given(make: Callable[[Any], Any]) -> None:
    matrix = make(np.array([[0, 4.0], [2, 0], [1, 3]]))
    ratings = tm.Ratings.from_sparse(matrix, users=["c", "a", "b"], items=["y", "x"])
    assert contents(ratings) == [("a", "y", 2), ("b", "x", 3), ("b", "y", 1), ("c", "x", 4)]


def test_a_matrix_may_store_a_pair_twice_where_that_is_allowed() -> None:
    matrix = sp.coo_array((np.array([1.0, 2.0]), ([0, 0], [0, 0])))
    with pytest.raises(DuplicateError, match="user 0 rated item 0 twice, in rows 0 and 1"):
        tm.Ratings.from_sparse(matrix)
    assert contents(tm.Ratings.from_sparse(matrix, duplicates="mean")) == [(0, 0, 1.5)]


def test_a_subset_keeps_every_id_and_the_scale() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    mask = ratings.by_user.values > 2.5
    for chosen in (
        mask,
        np.flatnonzero(mask),
        np.flatnonzero(mask)[::-1],
        np.flatnonzero(mask) - 5,
    ):
        kept = ratings.subset(chosen)
        assert contents(kept) == [("ann", "Up", 3), ("bob", "Alien", 5), ("bob", "Heat", 4)]
        assert kept.users is ratings.users
        assert kept.by_item.counts.tolist() == [1, 1, 1]
        assert kept.by_user.counts.tolist() == [1, 2, 0]
        assert kept.scale == ratings.scale
    assert len(ratings.subset(np.zeros(5, bool))) == len(ratings.subset(np.array([]))) == 0
    assert ratings.subset(np.ones(5, bool)).fingerprint == ratings.fingerprint
    assert ratings.subset(np.array([1, 1])).by_user.values.tolist() == [3]
    assert len(ratings.subset(np.array(2))) == 1
    assert len(ratings.subset(np.array([[0, 2], [1, 3]]))) == 4
    for mask in (np.ones(4, bool), np.ones((5, 1), bool), np.array([5])):
        with pytest.raises(tm.errors.ParameterError, match="do not fit 5 ratings"):
            ratings.subset(mask)


@pytest.mark.parametrize(
    "chosen", [np.array([5]), np.array([-6]), np.ones(4, bool), np.array([0.5])]
)
def test_a_subset_of_entries_that_are_not_there_is_refused(chosen: Any) -> None:
    with pytest.raises(ParameterError, match="the entries do not fit 5 ratings"):
        tm.Ratings.from_table(FRAME).subset(chosen)


def test_ratings_of_known_ids_are_the_same_ratings_again() -> None:
    ratings = tm.Ratings.from_table(FRAME, timestamp="time", scale=(0, 5))
    half = ratings.subset(np.array([0, 2]))
    table = half.to_table()[::-1]
    again = tm.Ratings.over(
        *(ratings.users, ratings.items, table["user"], table["item"], table["rating"]),
        *(table["timestamp"], ratings.scale),
    )
    assert again.fingerprint == half.fingerprint
    assert again.timestamp is not None
    assert half.timestamp is not None
    assert again.timestamp.tolist() == half.timestamp.tolist()


def test_known_ids_need_no_ratings() -> None:
    users, items = Ids.known(["ann"], "user"), Ids.known([5, 7], "item")
    ratings = tm.Ratings.over(users, items, [], [], [], None, (1, 5))
    assert (len(ratings), ratings.scale) == (0, (1, 5))
    assert ratings.by_item.counts.tolist() == [0, 0]


def test_ratings_of_ids_that_are_not_known_are_refused() -> None:
    users, items = Ids.known(["ann"], "user"), Ids.known(["Heat"], "item")
    with pytest.raises(IdError, match="the item in row 1 is not a known item"):
        tm.Ratings.over(users, items, ["ann", "ann"], ["Heat", "Up"], [1, 2], None, (1, 5))


PLAYS = {"user": ["a", "a", "b", "a"], "item": ["x", "y", "x", "x"], "n": [3.0, 1.0, 2.0, 4.0]}


def test_repeated_pairs_are_added_up_or_counted() -> None:
    table = pa.table(PLAYS)
    sums = tm.Ratings.from_table(table, rating="n", duplicates="sum")
    assert sums.to_table()["rating"].to_pylist() == [7, 1, 2]
    assert sums.scale == (1, 7)
    counts = tm.Ratings.from_table(table, rating="n", duplicates="count")
    assert counts.to_table()["rating"].to_pylist() == [2, 1, 1]
    assert counts.scale == (0, 2)
    once = tm.Ratings.from_table(table.slice(0, 3), rating="n", duplicates="count")
    assert once.to_table()["rating"].to_pylist() == [1, 1, 1]


def test_without_ratings_every_row_is_a_play(tmp_path: Path) -> None:
    table = pa.table({**PLAYS, "at": [4, 3, 2, 9]}).drop_columns("n")
    pacsv.write_csv(table, tmp_path / "plays.csv")
    pq.write_table(table, tmp_path / "plays.parquet")
    found = [
        tm.Ratings.from_table(table, rating=None, timestamp="at"),
        tm.Ratings.from_table(table.to_pandas(), rating=None, timestamp="at"),
        tm.read(tmp_path / "plays.csv", rating=None, timestamp="at"),
        tm.read(tmp_path / "plays.parquet", rating=None, timestamp="at"),
    ]
    for ratings in found:
        assert ratings.to_table()["rating"].to_pylist() == [2, 1, 1]
        assert ratings.to_table()["timestamp"].to_pylist() == [9, 3, 2]
        assert ratings.scale == (0, 2)
    plain = tm.read(tmp_path / "plays.csv", rating=None)
    assert plain.to_table().equals(found[0].to_table().drop_columns("timestamp"))
    with pytest.raises(DuplicateError, match="twice, in rows 0 and 3"):
        tm.read(tmp_path / "plays.csv", rating=None, duplicates="refuse")
