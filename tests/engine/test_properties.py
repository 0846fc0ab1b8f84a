"""What must hold of any session on any ratings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tastemix as tm
from tastemix.engine import CpuEngine, Pair, RandomStart
from tastemix.engine.objective import Objective
from tastemix.engine.reference import objective_value
from tests.conftest import random_ratings
from tests.engine.problems import HERE, OBJECTIVES, engine, half_of_squares, steps

objectives = st.sampled_from(sorted(OBJECTIVES))
engines = st.sampled_from(HERE)
problems = st.builds(
    random_ratings,
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([0.05, 0.3, 1.0]),
    st.integers(0, 5),
)


@settings(max_examples=150, deadline=None)
@given(problems, objectives, st.integers(1, 40), engines)
def test_no_half_step_raises_its_objective(
    ratings: tm.Ratings, name: str, rank: int, judge: str
) -> None:
    chosen = OBJECTIVES[name]
    rounding = 1e-9 * half_of_squares(ratings)  # float32 cannot fit closer
    with engine(judge) as judged:
        session = judged.place(ratings).open(RandomStart(rank, 0))
        value = np.inf  # what rows are pulled towards is there after the first half-step
        for side in ("items", "users") * 4:
            session.half_step(side, chosen, 1e-3)
            factors = session.factors()
            for factor in factors:
                assert np.isfinite(factor).all()
                assert (factor >= 0).all()
            after = objective_value(ratings, factors, chosen, session.pulls())
            assert after <= value * (1 + 1e-6) + rounding
            value = after


@settings(max_examples=60, deadline=None)
@given(problems, objectives, st.integers(1, 20), engines)
def test_a_solved_row_satisfies_the_optimality_conditions(
    ratings: tm.Ratings, name: str, rank: int, judge: str
) -> None:
    """x ≥ 0, gradient ≥ 0, and gradient 0 where x > 0: to the precision of float32."""
    chosen = OBJECTIVES[name]
    if chosen.dynamic or chosen.chosen:
        return
    with engine(judge) as judged:
        session = judged.place(ratings).open(RandomStart(rank, 0))
        session.half_step("items", chosen, 1e-13, max_updates=2_000)
    W, H = (factor.astype(np.float64) for factor in session.factors())
    w, t = chosen.unknown_weight, chosen.target(ratings.shift)
    for item, x in enumerate(H):
        indices, values = ratings.by_item.row(item)
        y = W[indices]
        Q = (1 - w) * y.T @ y + w * W.T @ W
        Q += (chosen.l2 + chosen.l2_per_rating * len(y)) * np.eye(rank)
        c = y.T @ (values - ratings.shift) + w * t * (W.sum(0) - y.sum(0)) - chosen.l1
        gradient = np.where(np.diag(Q) > 1e-20, Q @ x - c, 0)
        size = np.abs(Q) @ x + np.abs(c) + 1e-6
        assert (gradient >= -1e-3 * size).all()
        assert (np.abs(gradient[x > 0]) <= 1e-3 * size[x > 0]).all()


def test_permuting_users_and_items_permutes_the_factors() -> None:
    ratings = random_ratings(50, 30, 0.3)
    start = RandomStart(6, 0).pair(50, 30)
    rng = np.random.default_rng(0)
    users, items = rng.permutation(50), rng.permutation(30)
    half = ratings.by_user
    moved = tm.Ratings.from_sparse(
        _sparse(
            np.argsort(users)[half.rows], np.argsort(items)[half.indices], half.values, (50, 30)
        )
    )
    straight = steps(CpuEngine(), ratings, 6, Objective(l1=0.1), 2, start=start).factors()
    permuted_start = Pair(start.users[users], start.items[items])
    permuted = steps(CpuEngine(), moved, 6, Objective(l1=0.1), 2, start=permuted_start).factors()
    np.testing.assert_allclose(permuted.users, straight.users[users], rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(permuted.items, straight.items[items], rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("judge", HERE)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_users_and_items_are_solved_by_the_same_code(name: str, judge: str) -> None:
    """Swapping the sides of the ratings swaps the factors, to the last bit."""
    ratings = random_ratings(50, 30, 0.3)
    half = ratings.by_user
    swapped = tm.Ratings.from_sparse(_sparse(half.indices, half.rows, half.values, (30, 50)))
    rng = np.random.default_rng(0)
    start = Pair(rng.random((50, 9), np.float32), rng.random((30, 9), np.float32))
    with engine(judge) as judged:
        one = judged.place(ratings).open(start)
        other = judged.place(swapped).open(Pair(*start[::-1]))
        for side, opposite in (("items", "users"), ("users", "items")) * 2:
            one.half_step(side, OBJECTIVES[name], 1e-3)
            other.half_step(opposite, OBJECTIVES[name], 1e-3)
    for factor, mirror in zip(one.factors(), other.factors()[::-1], strict=True):
        np.testing.assert_array_equal(factor, mirror)


def _sparse(rows, columns, values, shape):  # type: ignore[no-untyped-def]
    import scipy.sparse as sp

    return sp.coo_array((values, (rows, columns)), shape=shape)
