"""The one sort under the ranking metrics: exact, and fair to ties."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tastemix.evaluation import metrics
from tastemix.evaluation.metrics.order import order_within

SCALE = {"relevant": 4, "scale": (1, 5)}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5) | st.just(2**31),
            st.floats(allow_nan=False, allow_infinity=False) | st.floats(1, 1 + 1e-14),
        ),
        max_size=60,
    )
)
@example([(0, 0.0), (0, -0.0)])
def test_order_is_that_of_a_stable_sort_by_group_and_value(rows):
    group = np.array([g for g, _ in rows], np.int64)
    value = np.array([v for _, v in rows], np.float64)
    expected = sorted(range(len(rows)), key=lambda i: (group[i], value[i]))
    assert order_within(group, value).tolist() == expected


def test_doubles_that_differ_in_the_last_bit_are_not_ties():
    user = np.repeat(np.arange(1000), 3)
    prediction = np.tile([1, np.nextafter(1, 2), np.nextafter(1, 0)], 1000)
    truth = np.tile([1, 5, 1], 1000)
    ranking = metrics.rank(user, truth, prediction, **SCALE)
    assert (metrics.auc(ranking) == 1).all()
    assert (metrics.average_precision(ranking) == 1).all()


def test_negative_zero_ties_with_zero():
    ranking = metrics.rank([1, 1], [5, 1], [0.0, -0.0], **SCALE)
    assert metrics.auc(ranking).tolist() == [0.5]


def all_tied(users, truth):
    """Every user has these true ratings, stored in this order, and constant predictions."""
    user = np.repeat(np.arange(users), len(truth))
    return user, np.tile(truth, users), np.ones(len(user))


@pytest.mark.parametrize("truth", [[5, 1], [1, 5]])
def test_a_constant_prediction_gains_nothing_from_the_storage_order_of_the_truth(truth):
    ranking = metrics.rank(*all_tied(4000, truth), **SCALE)
    assert metrics.average(metrics.auc(ranking)) == 0.5
    # The relevant item is first or second with equal chance: AP 1 or 1/2.
    assert metrics.map_arithmetic(ranking) == pytest.approx(0.75, abs=0.02)
    assert metrics.average(metrics.precision_at(ranking, 1)) == pytest.approx(0.5, abs=0.04)


def test_every_place_in_a_tie_is_equally_likely():
    ranking = metrics.rank(*all_tied(6000, [1, 1, 5]), **SCALE)
    assert np.bincount(ranking.hit_place)[1:] == pytest.approx([2000] * 3, abs=150)


def test_tied_rows_stay_between_the_predictions_around_them():
    user = np.zeros(6, int)
    truth, prediction = [1, 5, 1, 1, 5, 1], [3, 3, 9, 1, 3, 3]
    places = {
        tuple(metrics.rank(user, truth, prediction, seed=s, **SCALE).hit_place) for s in range(50)
    }
    assert places == {(i, j) for i in range(2, 6) for j in range(i + 1, 6)}


def test_ties_of_one_user_do_not_reach_the_next():
    ranking = metrics.rank([1, 1, 2, 2], [1, 1, 5, 5], [2, 2, 2, 2], **SCALE)
    assert ranking.users.tolist() == [2]
    ranking = metrics.rank([1, 2, 1, 2], [5, 1, 1, 5], [1, 1, 2, 3], **SCALE)
    assert metrics.average_precision(ranking).tolist() == [0.5, 1]
    assert metrics.auc(ranking).tolist() == [0, 1]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=40
    ),
    st.randoms(use_true_random=False),
)
def test_ties_come_out_the_same_whatever_the_storage_order(rows, random):
    shuffled = rows.copy()
    random.shuffle(shuffled)
    one, other = (metrics.rank(*zip(*r, strict=True), **SCALE) for r in (rows, shuffled))
    assert one.gain.tolist() == other.gain.tolist()
    assert one.hit_place.tolist() == other.hit_place.tolist()


def test_the_seed_decides_ties_and_only_ties():
    tied, untied = all_tied(200, [1, 5, 3]), all_tied(200, [1, 5, 3])
    untied[2][:] = np.arange(600)
    ap = {s: metrics.map_arithmetic(metrics.rank(*tied, seed=s, **SCALE)) for s in (0, 1)}
    assert ap[0] == metrics.map_arithmetic(metrics.rank(*tied, seed=0, **SCALE))
    assert ap[0] != ap[1]
    one, other = (metrics.rank(*untied, seed=s, **SCALE).hit_place.tolist() for s in (0, 1))
    assert one == other


def test_the_draw_of_seed_0_never_changes():
    ranking = metrics.rank(*all_tied(1, [1, 1, 1, 5, 5, 5, 1, 5]), seed=0, **SCALE)
    raw = np.random.PCG64(0).random_raw(8)  # of the places of 1 1 1 1 5 5 5 5
    assert ranking.hit_place.tolist() == (np.flatnonzero(np.argsort(raw) >= 4) + 1).tolist()
    assert ranking.hit_place.tolist() == [4, 6, 7, 8]
