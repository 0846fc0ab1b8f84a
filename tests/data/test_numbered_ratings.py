"""Ratings by dense numbers into ids that are known already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.data import entries
from tastemix.errors import DuplicateError, ParameterError
from tests.data.test_ratings import FRAME, contents, random_frame


def test_ratings_by_numbers_are_those_by_ids() -> None:
    ratings = tm.Ratings.from_table(random_frame(), scale=(0, 5))
    half = ratings.by_user
    order = np.random.default_rng(1).permutation(len(ratings))
    for way in (slice(None), order):
        made = tm.Ratings.from_numbers(
            *(ratings.users, ratings.items, half.rows[way], half.indices[way].astype(np.int64)),
            *(half.values[way], ratings.scale),
        )
        assert made.fingerprint == ratings.fingerprint
        assert made.by_item.indices.tolist() == ratings.by_item.indices.tolist()
    empty = tm.Ratings.from_numbers(ratings.users, ratings.items, [], [], [], (0, 5))
    assert (len(empty), len(empty.users)) == (0, len(ratings.users))


def test_entries_in_order_are_not_sorted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = tm.Ratings.from_table(FRAME)
    half = ratings.by_user
    columns = (ratings.users, ratings.items, half.rows, half.indices, half.values)

    def sort(*_: Any) -> None:
        raise AssertionError("sorted")

    monkeypatch.setattr(entries, "sorted_by_pair", sort)
    assert tm.Ratings.from_numbers(*columns, (1, 5)).fingerprint == ratings.fingerprint
    with pytest.raises(AssertionError, match="sorted"):
        tm.Ratings.from_numbers(*columns[:2], *(c[::-1] for c in columns[2:]), (1, 5))


def test_numbers_leave_the_callers_arrays_alone() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    columns = [np.array(part) for part in (ratings.by_user.rows, ratings.by_user.indices)]
    values, times = np.ones(5, np.float32), np.arange(5)
    made = tm.Ratings.from_numbers(ratings.users, ratings.items, *columns, values, (0, 9), times)
    for column in (*columns, values, times):
        column[:] = 7
    assert made.by_user.indices.tolist() == ratings.by_user.indices.tolist()
    assert made.by_user.values.tolist() == [1] * 5
    assert made.timestamp is not None
    assert made.timestamp.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ([0, 3], "the user number in row 1 is 3: it must be one of 0 to 2"),
        ([-1, 0], "the user number in row 0 is -1"),
        ([0.5, 1], "the user numbers are of type float64: give integers"),
    ],
)
def test_numbers_of_nobody_are_refused(user: Any, message: str) -> None:
    ratings = tm.Ratings.from_table(FRAME)
    with pytest.raises(ParameterError, match=message):
        tm.Ratings.from_numbers(ratings.users, ratings.items, user, [0, 1], [1, 2], (1, 5))


def test_of_a_numbered_pair_rated_twice_the_last_is_kept() -> None:
    ratings = tm.Ratings.from_table(FRAME)
    columns = (ratings.users, ratings.items, [0, 1, 0], [1, 1, 1], [1, 2, 3], (1, 5))
    assert contents(tm.Ratings.from_numbers(*columns, duplicates="last")) == [
        ("ann", "Heat", 3),
        ("bob", "Heat", 2),
    ]
    with pytest.raises(DuplicateError, match="user 'ann' rated item 'Heat' twice"):
        tm.Ratings.from_numbers(*columns)
