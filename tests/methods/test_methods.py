"""The methods: what each one's phases are, and the ones that are no factorisation by phases."""

import numpy as np
import pytest
import scipy.sparse as sp

import tastemix as tm
from tastemix.engine.objective import Objective
from tastemix.errors import ParameterError
from tastemix.training.phase import Phase
from tests.conftest import random_ratings

RATINGS = random_ratings(70, 40, 0.3)


@pytest.mark.parametrize(
    ("method", "phases"),
    [
        (tm.NMF(3), [Phase(Objective(), 100)]),
        (tm.RNMF(3), [Phase(Objective(l1=0.2), 100)]),
        (tm.RNMF(3, l1=0.5, steps=7), [Phase(Objective(l1=0.5), 7)]),
        (tm.PR(3), [Phase(Objective(prior=3.0), 100)]),
        (tm.PR(3, prior=0, weight=0.5), [Phase(Objective(prior=0, weight=0.5), 100)]),
        (tm.PRD(3), [Phase(Objective(prior="dynamic"), 100)]),
        (tm.MIXR(3), [Phase(Objective(prior=3.0), 20), Phase(Objective(l1=0.2), 80)]),
        (tm.MIXD(3), [Phase(Objective(prior=3.0), 20), Phase(Objective(prior="dynamic"), 80)]),
    ],
)
def test_a_name_is_a_sequence_of_phases(method, phases: list[Phase]) -> None:
    assert list(method.recipe((1, 5)).phases) == phases
    model = method.fit(RATINGS)
    assert model.phases == tuple(phases)
    assert len(model.history) == sum(phase.steps for phase in phases)
    assert model.method == type(method).__name__


@pytest.mark.parametrize(
    "method",
    [tm.MIXD(2, 3, steps=7), tm.RNMF(2, steps=4), tm.ANLS(2, [Phase(Objective(), 3)] * 2)],
)
def test_the_total_steps_are_those_of_a_whole_fit(method) -> None:
    assert method.total_steps == len(method.fit(random_ratings(9, 8, 0.5)).history)


def test_methods_are_values() -> None:
    assert tm.MIXD(10) == tm.MIXD(rank=10, prior_steps=20, steps=100, seed=0)
    assert len({tm.RNMF(6), tm.RNMF(6), tm.RNMF(7)}) == 2
    with pytest.raises(AttributeError):
        tm.RNMF(6).rank = 7


@pytest.mark.parametrize("shift", [-10.0, 7.0])
def test_a_scale_below_zero_is_shifted_inside_and_back_outside(shift: float) -> None:
    """Ratings moved below zero give the fit of the ratings that start at zero, moved likewise.

    A scale that starts above zero is left as it is, so it gives another fit.
    """
    half = RATINGS.by_user
    from_zero = tm.Ratings.from_arrays(half.rows, half.indices, half.values - 1)
    moved = tm.Ratings.from_arrays(half.rows, half.indices, half.values - 1 + shift)
    users, items = half.rows[:50], half.indices[:50]
    raw = {"clip": False, "fallback": None}
    straight = tm.MIXD(4).fit(from_zero).predict(users, items, **raw)
    shifted = tm.MIXD(4).fit(moved).predict(users, items, **raw) - shift
    if shift < 0:
        np.testing.assert_allclose(shifted, straight, atol=1e-4)
    else:
        assert np.abs(shifted - straight).max() > 1e-3


@pytest.mark.parametrize("rank", [1, 5, 39, 40])
@pytest.mark.parametrize("tall", [True, False])
def test_psvd_is_the_truncated_svd_of_the_zero_filled_matrix(rank: int, tall: bool) -> None:
    half = RATINGS.by_user
    dense = np.zeros((70, 40))
    dense[half.rows, half.indices] = half.values
    ratings = RATINGS
    if not tall:
        dense = dense.T
        ratings = tm.Ratings.from_sparse(
            sp.coo_array((half.values, (half.indices, half.rows)), shape=(40, 70))
        )
    u, s, vt = np.linalg.svd(dense, full_matrices=False)
    expected = (u[:, :rank] * s[:rank]) @ vt[:rank]
    factors = tm.PSVD(rank).fit(ratings).factors
    np.testing.assert_allclose(factors.users @ factors.items.T, expected, atol=1e-4)


@pytest.mark.parametrize(("method", "centre"), [(tm.SSVD(5), 3.0), (tm.SSVD(5, shift=2.5), 2.5)])
def test_ssvd_centres_the_known_ratings_and_adds_the_centre_back(method, centre: float) -> None:
    half = RATINGS.by_user
    dense = np.zeros((70, 40))
    dense[half.rows, half.indices] = half.values - centre
    u, s, vt = np.linalg.svd(dense, full_matrices=False)
    expected = (u[:, :5] * s[:5]) @ vt[:5] + centre
    block = method.fit(RATINGS).scores.block(np.arange(70, dtype=np.int32))
    np.testing.assert_allclose(block, expected, atol=1e-4)


def test_ratings_that_are_all_the_middle_leave_an_svd_nothing_to_do() -> None:
    ratings = tm.Ratings.from_arrays([0, 1, 2, 2], [0, 1, 2, 0], [3.0] * 4, scale=(1, 5))
    np.testing.assert_array_equal(tm.SSVD(2).fit(ratings).predict([0, 2], [1, 2]), [3, 3])
    with pytest.raises(tm.errors.DataError, match="there are no ratings to learn from"):
        tm.PSVD(2).fit(ratings.subset(np.array([], int)))


@pytest.mark.parametrize("value", [np.float64(3), np.float32(3), np.int64(3), 3])
def test_numpy_numbers_are_numbers(value) -> None:
    expected = tm.PR(3, prior=3.0, steps=3).fit(RATINGS).factors.users
    np.testing.assert_array_equal(
        tm.PR(3, prior=value, steps=3).fit(RATINGS).factors.users, expected
    )


@pytest.mark.parametrize("method", [tm.PSVD(41), tm.SSVD(41)])
def test_an_svd_beyond_the_shorter_side_is_refused(method) -> None:
    message = "rank is 41.* 70 users and 40 items .*at most 40"
    with pytest.raises(ParameterError, match=message):
        method.fit(RATINGS)


def test_a_factorisation_may_have_more_tastes_than_items() -> None:
    model = tm.RNMF(60, steps=5).fit(RATINGS)
    assert model.factors.users.shape == (70, 60)


def test_random_scores_are_a_hash_of_seed_user_and_item() -> None:
    users, items = np.arange(70, dtype=np.int32), np.arange(40, dtype=np.int32)
    scores = tm.Random(seed=3).fit(RATINGS).scores
    block = scores.block(users)
    np.testing.assert_array_equal(scores.pairs(users[5:6], items[7:8]), block[5, 7])
    np.testing.assert_array_equal(tm.Random(seed=3).fit(RATINGS).scores.block(users), block)
    assert (tm.Random(seed=4).fit(RATINGS).scores.block(users) != block).mean() > 0.5
    assert set(np.unique(block)) == set(range(7))


def test_random_scores_are_uniform_and_then_rounded() -> None:
    """U[0, 6] rounded: the ends get half the share of the others."""
    block = (
        tm.Random().fit(random_ratings(500, 400, 0.1)).scores.block(np.arange(500, dtype=np.int32))
    )
    share = np.bincount(block.astype(int).ravel(), minlength=7) / block.size
    np.testing.assert_allclose(share, np.array([1, 2, 2, 2, 2, 2, 1]) / 12, atol=0.003)
    assert abs(np.corrcoef(block[:-1].ravel(), block[1:].ravel())[0, 1]) < 0.01


def test_popular_scores_items_by_their_number_of_ratings() -> None:
    block = tm.Popular().fit(RATINGS).scores.block(np.arange(3, dtype=np.int32))
    counts = np.bincount(RATINGS.by_user.indices, minlength=40)
    np.testing.assert_array_equal(block, np.tile(counts, (3, 1)))


def test_baseline_is_the_ridge_regression_on_user_and_item() -> None:
    half, shrinkage = RATINGS.by_user, 5.0
    design = np.zeros((len(RATINGS), 110))
    design[np.arange(len(RATINGS)), half.rows] = 1
    design[np.arange(len(RATINGS)), 70 + half.indices] = 1
    target = half.values - half.values.mean()
    b = np.linalg.solve(design.T @ design + shrinkage * np.eye(110), design.T @ target)
    expected = half.values.mean() + design @ b
    model = tm.Baseline(shrinkage).fit(RATINGS)
    np.testing.assert_allclose(model.scores.pairs(half.rows, half.indices), expected, atol=1e-4)
