"""Splits: every rating in one part, drawn by the seed alone."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.data import splits
from tastemix.errors import DataError, ParameterError
from tests.conftest import random_ratings

RATINGS = random_ratings(40, 30, 0.3)


def entries(ratings: tm.Ratings) -> set[tuple[int, int, float]]:
    half = ratings.by_user
    return set(zip(half.rows.tolist(), half.indices.tolist(), half.values.tolist(), strict=True))


def assert_parts(split: splits.Split, ratings: tm.Ratings = RATINGS) -> None:
    train, test = entries(split.train), entries(split.test)
    assert not train & test
    assert train | test == entries(ratings)
    for part in split:
        assert part.users is ratings.users
        assert part.items is ratings.items
        assert part.scale == ratings.scale


def test_holdout_takes_the_share() -> None:
    split = tm.holdout(RATINGS, 0.25, seed=1)
    assert_parts(split)
    assert len(split.test) == round(0.25 * len(RATINGS))


@pytest.mark.parametrize("count", [2, 3, 7])
def test_folds_test_every_rating_once(count: int) -> None:
    parts = list(tm.folds(RATINGS, count))
    for split in parts:
        assert_parts(split)
    sizes = [len(split.test) for split in parts]
    assert sum(sizes) == len(RATINGS)
    assert max(sizes) - min(sizes) <= 1
    assert set().union(*(entries(split.test) for split in parts)) == entries(RATINGS)


def test_a_fold_by_number_is_that_fold() -> None:
    parts = list(tm.folds(RATINGS, 4, seed=3))
    for number, split in enumerate(parts):
        assert entries(splits.fold(RATINGS, number, 4, seed=3).test) == entries(split.test)


def test_the_seed_alone_decides() -> None:
    """Pinned to the raw output of PCG64: entry e is tested when its word is among the smallest."""
    words = np.random.PCG64(7).random_raw(len(RATINGS))
    smallest = np.argsort(words)[: round(0.2 * len(RATINGS))]
    half = RATINGS.by_user
    expected = {(int(half.rows[e]), int(half.indices[e]), float(half.values[e])) for e in smallest}
    assert entries(tm.holdout(RATINGS, 0.2, seed=7).test) == expected
    assert entries(tm.holdout(RATINGS, 0.2, seed=8).test) != expected


def test_the_order_of_the_rows_does_not_matter() -> None:
    half = RATINGS.by_user
    order = np.random.default_rng(0).permutation(len(RATINGS))
    columns = half.rows, half.indices, half.values
    one = tm.Ratings.from_arrays(*columns)
    other = tm.Ratings.from_arrays(*(column[order] for column in columns))
    assert entries(tm.holdout(one).test) == entries(tm.holdout(other).test)


@pytest.mark.parametrize("count", [1, 3])
def test_leave_out_takes_as_many_of_every_user_who_has_more(count: int) -> None:
    split = tm.leave_out(RATINGS, count, seed=2)
    assert_parts(split)
    counts = RATINGS.by_user.counts
    np.testing.assert_array_equal(split.test.by_user.counts, np.where(counts > count, count, 0))
    assert entries(tm.leave_out(RATINGS, count, seed=3).test) != entries(split.test)


TIMED = tm.Ratings.from_table(
    pa.table(
        {
            "user": ["b", "a", "a", "a", "a", "b", "a"],
            "item": [1, 1, 2, 3, 4, 2, 5],
            "rating": [1, 2, 3, 4, 5, 1, 2],
            "t": [50, 10, 40, 20, 40, 60, 30],
        }
    ),
    timestamp="t",
)


def test_temporal_takes_each_users_newest_and_the_later_row_of_equal_times() -> None:
    """a's five ratings, newest first: item 4 (row 4), item 2 (row 2, same time), 5, 3, 1."""
    tested = tm.temporal(TIMED, 0.2).test.to_table().to_pylist()
    assert [(row["user"], row["item"]) for row in tested] == [("a", 4)]
    tested = tm.temporal(TIMED, 0.5).test.to_table().to_pylist()
    assert [(row["user"], row["item"]) for row in tested] == [("a", 2), ("a", 4), ("b", 2)]
    assert_parts(tm.temporal(TIMED, 0.5), TIMED)


def test_temporal_takes_whole_hundredths() -> None:
    """.29 · 100 is 28.999… in binary; 29 are meant."""
    ratings = tm.Ratings.from_arrays([0] * 100, range(100), [1, 2] * 50, timestamp=range(100))
    assert len(tm.temporal(ratings, 0.29).test) == 29


def test_temporal_with_a_cut_takes_what_came_at_or_after_it() -> None:
    tested = tm.temporal(TIMED, cut=40).test
    assert sorted(tested.timestamp.tolist()) == [40, 40, 50, 60]


DATED = tm.Ratings.from_arrays(
    *([1, 1, 2], [1, 2, 1], [3, 4, 5]),
    timestamp=[datetime(2015, 12, 31, 23), datetime(2016, 1, 1), datetime(2016, 1, 1, 1)],
)
CUTS = {
    "text": "2016-01-01",
    "text with a time": "2016-01-01T00:00:00",
    "date": date(2016, 1, 1),
    "datetime": datetime(2016, 1, 1),
    "zoned": datetime(2016, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    "numpy": np.datetime64("2016-01-01"),
    "pandas": pd.Timestamp("2016-01-01"),
    "zoned pandas": pd.Timestamp("2016-01-01 01:00", tz="Europe/Rome"),
    "microseconds": int(datetime(2016, 1, 1, tzinfo=UTC).timestamp() * 10**6),
}


@pytest.mark.parametrize("kind", CUTS)
def test_temporal_may_be_cut_at_a_date(kind: str) -> None:
    split = tm.temporal(DATED, cut=CUTS[kind])
    assert split.test.by_user.values.tolist() == [4, 5]
    assert split.train.by_user.values.tolist() == [3]
    assert split.train.dated


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tm.holdout(RATINGS, 0), ParameterError, "share is 0: it must lie between 0 and 1"),
        (lambda: tm.folds(RATINGS, 1), ParameterError, "folds is 1: it must be at least 2"),
        (lambda: splits.fold(RATINGS, 5, 5), ParameterError, "fold is 5: with 5 folds"),
        (lambda: tm.leave_out(RATINGS, 0), ParameterError, "count is 0"),
        (lambda: tm.temporal(RATINGS), DataError, "these ratings have no timestamps"),
        (lambda: tm.temporal(TIMED, cut=99), ParameterError, "the times run from 10 to 60"),
        (lambda: tm.temporal(TIMED, cut=10), ParameterError, "the times run from 10 to 60"),
        (
            lambda: tm.temporal(TIMED, cut="2016-01-01"),
            ParameterError,
            "give a number .*such as 10",
        ),
        (lambda: tm.temporal(DATED, cut="soon"), ParameterError, "cut is 'soon': give a date"),
        (lambda: tm.temporal(DATED, cut=pd.NaT), ParameterError, "cut is NaT: give a date"),
        (
            lambda: tm.temporal(DATED, cut="2017-01-01"),
            ParameterError,
            "2015-12-31 23:00:00 to 2016-01-01 01:00:00",
        ),
    ],
)
def test_a_mistake_is_named(make, error, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
