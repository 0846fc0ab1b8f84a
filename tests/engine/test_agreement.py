"""Every engine against the reference engine, which is the specification."""

from functools import cache

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import Held, Pair, ReferenceEngine
from tastemix.engine.reference import objective_value
from tests.conftest import random_ratings
from tests.engine.problems import ENGINES, JUDGED, OBJECTIVES, engine, half_of_squares, steps

PROBLEMS = {
    "stars": random_ratings(60, 45, 0.3),
    "one user": random_ratings(1, 30, 0.8),
    "one item": random_ratings(30, 1, 0.8),
    "one rating": random_ratings(1, 1, 1.0),
    "constant": random_ratings(40, 30, 0.3, constant=3.0),
    "sparse, many empty rows": random_ratings(80, 60, 0.03),
    "negative scale": tm.Ratings.from_arrays(
        [0, 0, 1, 1, 2, 3], [0, 1, 1, 2, 0, 2], [-10.0, 3.5, 7.0, -2.5, 10.0, 0.0]
    ),
}
EVERY_WIDTH = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40]
"""Ranks on either side of where another kernel takes over: 4, 8 and 16 lanes, 1 to 4 vectors."""


@cache
def reference_value(problem: str, objective: str, rank: int, offsets: bool) -> float:
    ratings, chosen = PROBLEMS[problem], OBJECTIVES[objective]
    session = steps(ReferenceEngine(), ratings, rank, chosen, 5, offsets=offsets)
    return objective_value(ratings, session.factors(), chosen, session.pulls())


def assert_agreement(
    problem: str, objective: str, rank: int, name: str, *, offsets: bool = False
) -> None:
    ratings, chosen = PROBLEMS[problem], OBJECTIVES[objective]
    with engine(name) as judged:
        session = steps(judged, ratings, rank, chosen, 5, offsets=offsets)
    factors = session.factors()
    for factor in factors:
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()
    value = objective_value(ratings, factors, chosen, session.pulls())
    expected = reference_value(problem, objective, rank, offsets)
    assert value == pytest.approx(expected, abs=1e-3 * half_of_squares(ratings))


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("rank", EVERY_WIDTH)
@pytest.mark.parametrize("objective", ["l1", "prior 3", "dynamic", "towards choices"])
def test_every_width_agrees(objective: str, rank: int, name: str) -> None:
    assert_agreement("stars", objective, rank, name)


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_agrees(objective: str, name: str) -> None:
    assert_agreement("stars", objective, 13, name)


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("objective", ["towards the average", "towards choices", "weak prior"])
def test_offsets_and_rank_22_agree(objective: str, name: str) -> None:
    """Held coordinates × centres × 24 coordinates: what our own methods run."""
    assert_agreement("stars", objective, 22, name, offsets=True)


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("objective", ["l1", "weak prior", "weak dynamic", "towards choices"])
@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name != "stars"])
def test_every_shape_agrees(problem: str, objective: str, name: str) -> None:
    for rank in (1, 3, 10):
        assert_agreement(problem, objective, rank, name)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_reported_objective_is_the_objective(objective: str, name: str) -> None:
    ratings, chosen = PROBLEMS["stars"], OBJECTIVES[objective]
    with engine(name) as judged:
        session = steps(judged, ratings, 7, chosen, 3)
        before = session.factors()
        report = session.half_step("items", chosen, 1e-3)
    after = session.factors()
    expected = objective_value(ratings, after, chosen, session.pulls())
    if chosen.dynamic:
        known = ratings.by_user.rows, ratings.by_user.indices
        moved = before.users @ before.items.T - after.users @ after.items.T
        moved[known] = 0
        expected += 0.5 * chosen.weight * float((moved.astype(np.float64) ** 2).sum())
    assert report.objective == pytest.approx(expected, abs=2e-6 * half_of_squares(ratings))
    assert report.largest == pytest.approx(after.items.max(), rel=1e-6)


@pytest.mark.parametrize("name", ENGINES)
def test_held_coordinates_stay_and_the_others_fit_around_them(name: str) -> None:
    ratings = PROBLEMS["stars"]
    start = Pair(
        np.random.default_rng(0).random((60, 5), np.float32),
        np.random.default_rng(1).random((45, 5), np.float32),
    )
    start.users[:, 4] = 1
    start.items[:, 3] = 1
    held = Held(users=(4,), items=(3,))
    chosen = OBJECTIVES["l2 per rating"]
    with engine(name) as judged:
        after = steps(judged, ratings, 5, chosen, 4, start=start, held=held).factors()
        free = steps(judged, ratings, 5, chosen, 4, start=start).factors()
    assert (after.users[:, 4] == 1).all()
    assert (after.items[:, 3] == 1).all()
    assert not (free.users[:, 4] == 1).all()
    value = objective_value(ratings, after, chosen)
    reference = steps(ReferenceEngine(), ratings, 5, chosen, 4, start=start, held=held)
    expected = objective_value(ratings, reference.factors(), chosen)
    assert value == pytest.approx(expected, abs=1e-3 * half_of_squares(ratings))
    assert value < objective_value(ratings, start, chosen)
