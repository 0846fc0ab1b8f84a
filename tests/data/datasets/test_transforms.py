"""The named transforms, on any ratings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tastemix as tm
from tastemix.data.datasets import at_least, to_stars
from tastemix.errors import DataError, ParameterError


def ratings(rows, scale=None, **options):
    user, item, rating = zip(*rows, strict=True)
    return tm.Ratings.from_arrays(user, item, rating, scale=scale, **options)


def test_jester_ratings_become_the_nearest_star_half_way_to_the_even_one():
    exact = {
        -10: 1,
        -7.6: 1,
        -7.5: 2,
        -7.4: 2,
        -2.5: 2,
        0: 3,
        2.4: 3,
        2.5: 4,
        7.5: 4,
        7.6: 5,
        10: 5,
    }
    scored = ratings([(0, n, r) for n, r in enumerate(exact)], scale=(-10, 10))
    stars = to_stars(scored)
    assert stars.by_user.values.tolist() == list(exact.values())
    assert stars.by_item.values.tolist() == list(exact.values())
    assert stars.scale == (1, 5)
    assert scored.by_user.values[0] == -10
    assert stars.fingerprint != scored.fingerprint


def test_every_hundredth_of_jesters_scale_maps_by_the_stated_formula():
    values = np.arange(-1000, 1001) / 100
    stars = to_stars(ratings([(0, n, r) for n, r in enumerate(values)], scale=(-10, 10)))
    exact = np.rint((np.arange(-1000, 1001) + 1000) / 500 + 1)
    assert np.array_equal(stars.by_user.values, exact)


def test_stars_of_another_scale_span_it():
    assert to_stars(ratings([(0, 0, 0), (0, 1, 50), (0, 2, 100)])).by_user.values.tolist() == [
        1,
        3,
        5,
    ]


def test_at_least_drops_in_turns_until_everyone_left_has_enough():
    # "lone" has one rater; without it, "b" has one rating left; without "b", "x" has one rater.
    rows = [("b", "lone", 1), ("b", "x", 2), ("a", "x", 3)]
    rows += [(user, item, 4) for user in ("a", "c") for item in ("y", "z")]
    kept = at_least(ratings(rows, scale=(1, 5)), users=2, items=2)
    assert kept.users.values.to_pylist() == ["a", "c"]
    assert kept.items.values.to_pylist() == ["y", "z"]
    assert kept.by_user.values.tolist() == [4, 4, 4, 4]
    assert kept.scale == (1, 5)


def test_at_least_keeps_times_and_the_order_of_equal_ones():
    rows = [("b", "y", 1), ("b", "x", 2), ("a", "y", 3), ("a", "x", 4), ("c", "x", 5)]
    before = ratings(rows, timestamp=[7, 7, 8, 7, 7])
    after = at_least(before, users=2, items=2)
    assert after.timestamp.tolist() == [7, 8, 7, 7]
    in_order = np.argsort(after.source_row)
    assert after.by_user.values[in_order].tolist() == [1, 2, 3, 4]


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_at_least_keeps_the_largest_set_that_keeps_its_promise(pairs, users, items):
    def enough(pair, among):
        return (
            sum(u == pair[0] for u, _ in among) >= users
            and sum(i == pair[1] for _, i in among) >= items
        )

    expected = set(pairs)
    while weak := [pair for pair in sorted(expected) if not enough(pair, expected)]:
        expected.remove(weak[-1])  # one at a time: the order does not matter
    table = ratings([(u, i, 3.0) for u, i in pairs], scale=(1, 5))
    if not expected:
        with pytest.raises(DataError, match="no ratings are left"):
            at_least(table, users, items)
        return
    kept = at_least(table, users, items).to_table()
    assert set(zip(kept["user"].to_pylist(), kept["item"].to_pylist(), strict=True)) == expected


def test_at_least_refuses_less_than_nothing():
    with pytest.raises(ParameterError, match="items is -1"):
        at_least(ratings([(0, 0, 1), (0, 1, 2)]), users=1, items=-1)
