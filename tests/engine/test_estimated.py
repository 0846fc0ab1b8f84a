"""Ridges that are estimated: every engine against the reference, and that against plain algebra."""

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import Engine, Held, RandomStart, ReferenceEngine, Session
from tastemix.engine.objective import Objective
from tastemix.engine.reference import Choices, ReferenceSession, row_problem
from tastemix.errors import ParameterError
from tests.conftest import random_ratings
from tests.engine.problems import ENGINES, JUDGED, engine

OBJECTIVE = Objective(
    l2=0.05, centre="choices", choice_penalty=2.0, choice_shrinkage=3.0, noise=0.6
)
STARS = random_ratings(70, 40, 0.25)
SPARSE = random_ratings(80, 60, 0.04)
"""Many rows without a rating."""


def opened(engine: Engine, ratings: tm.Ratings, rank: int) -> Session:
    return engine.place(ratings).open(RandomStart(rank, 3, True, 0.7, 0.3, 0.2), shift=0.5)


def run(session: Session, steps: int) -> Session:
    for _ in range(steps):
        session.half_step("items", OBJECTIVE, 1e-9, max_updates=10_000)
        session.half_step("users", OBJECTIVE, 1e-9, max_updates=10_000)
    return session


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("rank", [1, 2, 5, 6, 13, 14, 15, 22, 30, 31, 62, 63])
def test_every_width_agrees(rank: int, name: str) -> None:
    for ratings in (STARS, SPARSE):
        with engine(name) as judged:
            session = run(opened(judged, ratings, rank), 2)
        expected = run(opened(ReferenceEngine(), ratings, rank), 2)
        for one, other in zip(session.factors(), expected.factors(), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)
        for one, other in zip(session.pulls(), expected.pulls(), strict=True):
            np.testing.assert_allclose(one.least, other.least, rtol=5e-3)
            np.testing.assert_allclose(one.variances, other.variances, rtol=1e-2, atol=1e-5)
            np.testing.assert_allclose(one.z, other.z, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ENGINES)
def test_the_rows_solve_the_problem_that_the_ridges_make(name: str) -> None:
    """λ from the rows' spread, plus the others' variances: the row problem, solved to the end."""
    with engine(name) as judged:
        session = run(opened(judged, STARS, 6), 2)
        before, pull = session.factors(), session.pulls().users
        session.half_step("users", OBJECTIVE, 1e-12, max_updates=10_000)
    after, least = session.factors(), session.pulls().users.least
    half, movable = STARS.by_user, np.arange(8) != 7
    B = np.zeros((len(STARS.users), len(STARS.items)))
    B[half.rows, half.indices] = (half.counts[half.rows] + 3.0) ** -0.5
    centres = pull.mean + B @ pull.z
    own = session.pulls().items.variances
    spread = ((before.users - centres) ** 2).mean(axis=0)
    assert (least[:6] < 0.6 / spread[:6]).all()  # the variances of the rows count too
    for row, x in enumerate(after.users.astype(np.float64)):
        indices, values = half.row(row)
        y = before.items[indices].astype(np.float64)
        ridge = least + pull.variances[indices].sum(axis=0)
        Q = y.T @ y + np.diag(ridge)
        g = Q @ x - y.T @ (values - 0.5) - ridge * centres[row]
        scale = np.abs(Q).max()
        assert (g[movable] > -2e-4 * scale).all()
        assert np.abs(g[movable & (x > 0)]).max() < 2e-4 * scale
        inverse = 0.6 * np.diag(np.linalg.inv(Q[:7, :7]))
        np.testing.assert_allclose(own[row, :7], inverse, rtol=2e-3)
        assert own[row, 7] == 0


@pytest.mark.parametrize("name", ENGINES)
def test_a_half_step_lowers_its_objective(name: str) -> None:
    with engine(name) as judged:
        session = run(opened(judged, STARS, 6), 1)
        for side in ("items", "users"):
            before, pulls = session.factors(), session.pulls()
            report = session.half_step(side, OBJECTIVE, 1e-3)
            least = session.pulls().of(side).least
            start = value(before, side, pulls.of(side), least)
            end = value(session.factors(), side, pulls.of(side), least)
            assert report.objective == pytest.approx(end, rel=1e-5)
            assert end < start


def value(factors, side, pull, least) -> float:
    """What a half-step of this side minimises."""
    half, X = STARS.half(side), factors.of(side).astype(np.float64)
    made = Choices(half, len(pull.z), OBJECTIVE, X.shape[1])
    made.mean, made.Z = pull.mean, pull.z.astype(np.float64)
    ridges = np.tile(least, (len(X), 1))
    np.add.at(ridges, half.rows, pull.variances[half.indices])
    total, Y = 0.0, factors.of("items" if side == "users" else "users").astype(np.float64)
    for row, x in enumerate(X):
        indices, values = half.row(row)
        target = made.centres[row], OBJECTIVE, 0.0, ridges[row]
        problem = row_problem(values - 0.5, Y[indices], Y, x, *target)
        total += 0.5 * x @ problem.Q @ x - problem.c @ x + problem.constant
    return float(total)


@pytest.mark.parametrize("name", ENGINES)
def test_a_session_goes_on_from_what_another_kept(name: str) -> None:
    with engine(name) as judged:
        placed = judged.place(STARS)
        session = run(opened(judged, STARS, 5), 2)
        other = placed.open(session.factors(), RandomStart(5, 0, True).held, session.pulls(), 0.5)
        session.keep()
        for each in (session, other):
            run(each, 1)
        np.testing.assert_allclose(session.factors().users, other.factors().users, atol=1e-4)
        session.restore()
        run(session, 1)
        np.testing.assert_allclose(session.factors().users, other.factors().users, atol=1e-4)


def test_what_choices_explain_of_any_rows_does_not_count() -> None:
    """Rows that are noise: Z explains some of them, and the spread is what they had without it."""
    rng = np.random.default_rng(0)
    ratings = random_ratings(2000, 150, 0.1)
    X = rng.normal(size=(2000, 4))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    choices = Choices(ratings.by_user, 150, OBJECTIVE, 4)
    for _ in range(50):
        choices.follow(X, 2)
    left = ((X - choices.centres) ** 2).mean(axis=0)
    assert (left < 0.97).all()
    spread = choices.spread(X, np.full_like(X, 1e-9))
    np.testing.assert_allclose(spread, 1.0, rtol=0.03)


def test_half_of_an_entry_counts_where_its_spread_is_not_known() -> None:
    session = ReferenceSession(STARS, RandomStart(3, 0, False, 1.0, 0.4), Held(), None, None)
    session._make_choices(OBJECTIVE)
    spread = session.choices["items"].spread(session.rows["items"], session.variances["items"])
    assert (spread >= 0.2**2).all()
    assert (spread <= 5 * 0.2**2).all()  # what Z could explain is left out, but a fifth remains


@pytest.mark.parametrize(
    "options", [{"centre": "average"}, {"prior": 1.0}, {"l2_per_rating": 0.1}, {"noise": -1.0}]
)
def test_noise_needs_choices_and_nothing_else(options) -> None:
    valid = {"l2": 0.1, "centre": "choices", "noise": 0.5}
    with pytest.raises(ParameterError, match="noise"):
        Objective(**{**valid, **options})
