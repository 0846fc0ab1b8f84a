"""What training asks a session for besides half-steps, and where rows and sums come from."""

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import RandomStart, ReferenceEngine, _native
from tastemix.engine.objective import Objective
from tastemix.engine.reference import Choices
from tastemix.engine.start import drawn
from tastemix.engine.totals import Totals, summed
from tests.conftest import random_ratings
from tests.engine.problems import ENGINES, OBJECTIVES, engine, steps

RATINGS = random_ratings(60, 45, 0.3)
CHOICES = OBJECTIVES["towards choices"]


def predicted(session, ratings: tm.Ratings) -> np.ndarray:
    users, items = (factor.astype(np.float64) for factor in session.factors())
    half = ratings.by_user
    return np.array([users[u] @ items[i] for u, i in zip(half.rows, half.indices, strict=True)])


@pytest.mark.parametrize("name", ENGINES)
def test_errors_are_those_of_the_factors(name: str) -> None:
    with engine(name) as judged:
        placed = judged.place(RATINGS)
        seen, unseen = placed.split(3, 0.2)
        session = seen.open(RandomStart(4, 0))
        session.half_step("items", Objective(l2=1.0), 1e-3)
        part = placed.part(RATINGS)
    expected = predicted(session, RATINGS) - RATINGS.by_user.values
    assert session.rmse(part) == pytest.approx(np.sqrt((expected**2).mean()), rel=1e-6)
    found = session.errors(unseen)
    taken = drawn(len(RATINGS), 3, 0.2)
    np.testing.assert_allclose(found.prediction - found.truth, expected[taken], atol=1e-5)
    np.testing.assert_array_equal(found.item, RATINGS.by_user.indices[taken])
    clipped = predicted(session, RATINGS).clip(*RATINGS.scale) - RATINGS.by_user.values
    users = session.spread("users")
    rows = RATINGS.by_user.rows[~taken]
    np.testing.assert_allclose(
        users.squared, np.bincount(rows, clipped[~taken] ** 2, 60), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(users.counts, np.bincount(rows, minlength=60))
    assert session.spread("items").squared.sum() == pytest.approx(users.squared.sum())


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("objective", ["l1", "towards choices"])
def test_a_session_goes_back_to_what_it_kept(objective: str, name: str) -> None:
    with engine(name) as judged:
        session = steps(judged, RATINGS, 4, OBJECTIVES[objective], 2)
        before, pulls = session.factors(), session.pulls()
        session.keep()
        following = [
            session.half_step(side, OBJECTIVES[objective], 1e-3) for side in ("items", "users")
        ]
        session.restore()
        for factor, kept in zip(session.factors(), before, strict=True):
            np.testing.assert_array_equal(factor, kept)
        if pulls is not None:
            np.testing.assert_allclose(session.pulls().users.z, pulls.users.z)
        again = [
            session.half_step(side, OBJECTIVES[objective], 1e-3) for side in ("items", "users")
        ]
    for one, other in zip(following, again, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_a_start_is_drawn_wherever_its_rows_live() -> None:
    start = RandomStart(5, seed=7, offsets=True)
    whole = start.pair(50, 20)
    blocks = np.vstack([start.users(0, 13), start.users(13, 40), start.users(40, 50)])
    np.testing.assert_array_equal(blocks, whole.users)
    assert (whole.users[:, 6] == 1).all()
    assert not whole.users[:, 5].any()
    assert (whole.items[:, 5] == 1).all()


def test_sums_are_those_of_numpy_and_made_of_spans_of_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((2 * 2**16 + 700, 3), np.float32)
    native = _native.Rows(rows)
    spans = native.sums(None, None, True)
    assert len(spans) == 3
    total = Totals.of(len(rows), 3, summed(spans, _native.SPAN_ROWS))
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(total.columns, exact.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(total.gram.reshape(3, 3), exact.T @ exact, rtol=1e-6)
    assert total.squares == pytest.approx((exact**2).sum(), rel=1e-12)
    alone = _native.Rows(np.ascontiguousarray(rows[2**16 : 2**17])).sums(None, None, True)
    np.testing.assert_array_equal(alone[0], spans[1])
    chunks = native.sums(None, None, True, _native.CHUNK_ROWS)
    np.testing.assert_array_equal(summed(chunks, _native.CHUNK_ROWS), summed(spans, 2**16))


def test_rows_are_copied_from_other_rows_and_into_memory_that_is_there() -> None:
    whole = np.arange(60, dtype=np.float32).reshape(20, 3)
    native, other = _native.Rows(20, 3), _native.Rows(whole)
    native.put(12, _native.Rows(whole[:8]))
    native.put(2, other, np.array([7, 0, 19], np.int32))
    expected = np.zeros((20, 3), np.float32)
    expected[12:], expected[2:5] = whole[:8], whole[[7, 0, 19]]
    into = np.full((20, 3), np.nan, np.float32)
    native.get(into)
    np.testing.assert_array_equal(into, expected)
    np.testing.assert_array_equal(native.get(), expected)
    with pytest.raises(IndexError):
        native.put(0, other, np.array([20], np.int32))
    for first, rows in ((-1, other), (1, other), (0, _native.Rows(2, 4))):
        with pytest.raises(ValueError, match=r"rows of another shape|different ranks"):
            native.put(first, rows)
    with pytest.raises(ValueError, match="shape"):
        native.get(into[1:])


def test_the_mean_of_many_rows_is_exact() -> None:
    """In float32 the mean of 20 million rows of .7 is .714."""
    factors = tm.Factors(np.full((2**24, 1), 0.7, np.float32), np.ones((1, 1), np.float32))
    assert factors.average("users")[0] == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("name", ENGINES)
def test_choices_approach_the_exact_solution(name: str) -> None:
    """Rows that stay where they are: conjugate gradients go to where the solve would."""
    ratings = random_ratings(40, 30, 0.3)
    with engine(name) as judged:
        session = steps(judged, ratings, 3, CHOICES, 2)
        for _ in range(15):
            session.half_step("users", CHOICES, 0.99)
    X = session.factors().users.astype(np.float64)
    exact = Choices(ratings.by_user, 30, CHOICES, 3)
    exact.mean = session.pulls().users.mean
    found = session.pulls().users.z
    np.testing.assert_allclose(found, exact.solved(X), atol=2e-3 * np.abs(found).max())
    assert np.abs(found).max() > 1e-3


def test_choices_find_a_taste_in_what_people_rate() -> None:
    """Two kinds of people rate two kinds of items; what they choose tells which kind they are."""
    rng = np.random.default_rng(0)
    kind = np.arange(80) % 2
    user, item = np.nonzero(
        rng.random((80, 40)) < np.where(kind[:, None] == np.arange(40) % 2, 0.5, 0.02)
    )
    ratings = tm.Ratings.from_arrays(user, item, rng.integers(3, 6, len(user)).astype(float))
    session = steps(ReferenceEngine(), ratings, 2, CHOICES, 5)
    z = session.pulls().users.z
    even, odd = z[::2].mean(axis=0), z[1::2].mean(axis=0)
    assert np.abs(even - odd).max() > 3 * np.abs(even + odd).max()


def test_a_pull_towards_choices_needs_a_strength() -> None:
    with pytest.raises(tm.errors.ParameterError, match="needs l2 and choice_penalty above 0"):
        Objective(centre="choices")


@pytest.mark.parametrize("name", ["gpu", ""])
def test_an_engine_that_is_none_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASTEMIX_ENGINE", "cluster")
    message = "engine is 'gpu'" if name else "TASTEMIX_ENGINE is 'cluster'"
    with pytest.raises(tm.errors.ParameterError, match=message):
        tm.NMF(2).fit(RATINGS, engine=name or None)
