"""Rows solved to a tight tolerance against scipy's active-set solver."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

import tastemix as tm
from tastemix.engine import Pair
from tastemix.engine.objective import Objective
from tastemix.engine.reference import ReferenceSession, RowProblem, row_problem
from tests.conftest import random_ratings
from tests.engine.problems import ENGINES, JUDGED, OBJECTIVES, engine

Array = NDArray[np.float64]


def solved_by_scipy(problem: RowProblem) -> Array:
    """min ½xᵀQx − cᵀx over x ≥ 0 as a least-squares problem.

    With Q = LLᵀ it is min ‖Lᵀx − L⁻¹c‖; the factor comes from the eigenvectors, so that a singular
    Q is fine. A part of c outside Q's range (L1 on a singular Q) rules this form out: see below.
    """
    values, vectors = np.linalg.eigh(problem.Q)
    keep = values > 1e-9 * values.max()
    root = np.sqrt(values[keep])[:, None] * vectors[:, keep].T
    target = (vectors[:, keep].T @ problem.c) / np.sqrt(values[keep])
    solution: Array = nnls(root, target)[0]
    return solution


def problems_of_items(ratings: tm.Ratings, start: Pair, objective: Objective) -> list[RowProblem]:
    users = start.users.astype(np.float64)
    centre = start.items.mean(axis=0, dtype=np.float64) if objective.centred else np.zeros(1)
    rows = []
    for item, x in enumerate(start.items.astype(np.float64)):
        indices, values = ratings.by_item.row(item)
        a = values.astype(np.float64) - ratings.shift
        target = objective.target(ratings.shift)
        rows.append(row_problem(a, users[indices], users, x, centre, objective, target))
    return rows


def value(problem: RowProblem, x: Array) -> float:
    return float(0.5 * x @ problem.Q @ x - problem.c @ x)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("rank", [1, 9, 16, 20])
@pytest.mark.parametrize("objective", [name for name in OBJECTIVES if name != "towards choices"])
def test_rows_agree_with_scipy(objective: str, rank: int, name: str) -> None:
    ratings, chosen = random_ratings(120, 40, 0.4), OBJECTIVES[objective]
    rng = np.random.default_rng(rank)
    start = Pair(
        rng.random((120, rank), np.float32),
        rng.random((40, rank), np.float32),
    )
    with engine(name) as judged:
        session = judged.place(ratings).open(start)
        session.half_step("items", chosen, 1e-20, max_updates=100_000)
    exact = isinstance(session, ReferenceSession)
    after = session.rows["items"] if exact else session.factors().items.astype(np.float64)
    for problem, before, x in zip(
        problems_of_items(ratings, start, chosen), start.items, after, strict=True
    ):
        curvature = np.linalg.eigvalsh(problem.Q)
        if curvature[-1] == 0:  # an item nobody rated, no penalty: nothing to move
            np.testing.assert_array_equal(x, before)
            continue
        expected = solved_by_scipy(problem)
        scale = abs(value(problem, expected)) + abs(value(problem, before)) + problem.constant
        assert value(problem, x) <= value(problem, expected) + (1e-9 if exact else 1e-6) * scale
        assert value(problem, x) >= value(problem, expected) - 1e-6 * scale
        if curvature[0] > 1e-3 * curvature[-1]:
            np.testing.assert_allclose(x, expected, atol=1e-5 if exact else 1e-3)


@pytest.mark.parametrize("name", JUDGED)
def test_a_singular_problem_reaches_the_optimal_objective(name: str) -> None:
    """Fewer ratings than coordinates: many minimisers, one minimum."""
    ratings = random_ratings(50, 30, 0.1)
    chosen, rng = Objective(), np.random.default_rng(0)
    start = Pair(rng.random((50, 20), np.float32), np.zeros((30, 20), np.float32))
    with engine(name) as judged:
        session = judged.place(ratings).open(start)
        session.half_step("items", chosen, 1e-9, max_updates=100_000)
    singular = 0
    for problem, x in zip(
        problems_of_items(ratings, start, chosen), session.factors().items, strict=True
    ):
        if problem.constant == 0:
            continue
        singular += np.linalg.matrix_rank(problem.Q) < 20
        expected = value(problem, solved_by_scipy(problem))
        assert value(problem, x.astype(np.float64)) == pytest.approx(
            expected, abs=1e-4 * problem.constant
        )
    assert singular > 20
