"""The best unseen items, against a full sort of every user's scores."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.ratings import Half
from tastemix.engine import scoring
from tastemix.model import topn
from tastemix.model.links import Links, Weights
from tastemix.model.ordering import Ordering
from tests.conftest import random_ratings
from tests.engine.problems import ISAS, isa

RATINGS = random_ratings(25, 37, 0.5)
EVERYONE = np.arange(25, dtype=np.int32)
EMPTY = np.empty(0, np.int32), np.empty(0, np.float32)


def expected(block: np.ndarray, seen: Half, allowed: np.ndarray, n: int) -> np.ndarray:
    best = np.full((len(block), n), -1)
    for user, scores in enumerate(block):
        rated = set(seen.row(user)[0].tolist())
        left = [i for i in range(len(scores)) if i not in rated and allowed[i]]
        order = sorted(left, key=lambda i: (-scores[i], i))
        best[user, : min(n, len(order))] = order[:n]
    return best


def factors(values: int, rank: int) -> tm.Factors:
    """Small integers, so that float32 sums are exact and ties are ties."""
    rng = np.random.default_rng(rank)
    users = rng.integers(-1, values, (25, rank)).astype(np.float32)
    items = rng.integers(-1, values, (37, rank)).astype(np.float32)
    return tm.Factors(users, items, shift=2.5)


@pytest.mark.parametrize("instructions", ISAS)
@pytest.mark.parametrize("n", [1, 5, 20, 37, 50])
@pytest.mark.parametrize("values", [1, 50])
@pytest.mark.parametrize("rank", [1, 7, 20])
def test_the_best_by_factors_are_a_full_sort(
    n: int, values: int, rank: int, instructions: str
) -> None:
    """With entries of −1 and 0 nearly all scores tie."""
    scores = factors(values, rank)
    allowed = np.ones(37, np.uint8)
    allowed[[3, 30]] = 0
    with isa(instructions):
        found = scores.best(EVERYONE, RATINGS.by_user, allowed, n)
    block = scores.block(EVERYONE)
    np.testing.assert_array_equal(found, expected(block, RATINGS.by_user, allowed, n))


def ordering(values: int, rank: int, parts: str) -> Ordering:
    """Scores of small integers, in which parts besides the tastes count."""
    rng = np.random.default_rng(rank)
    popularity = rng.integers(0, 9, 37).astype(np.float32)
    links = None
    if "rated" in parts:
        weights = rng.integers(0, 3, (37, 37)).astype(np.float32)
        rows, columns = np.nonzero(weights)
        ends = np.cumsum([0, *np.bincount(rows, minlength=37)])
        links = Links(Half(ends, columns.astype(np.int32), weights[rows, columns]))
    weights = Weights(2.0, 3.0 * bool(links), 5.0 * ("popular" in parts))
    return Ordering(factors(values, rank), links, RATINGS.by_user, popularity, weights)


@pytest.mark.parametrize("instructions", ISAS)
@pytest.mark.parametrize("parts", ["tastes", "popular", "rated", "rated, popular"])
@pytest.mark.parametrize("values", [1, 50])
@pytest.mark.parametrize("rank", [1, 7, 20])
def test_the_best_by_sums_of_parts_are_a_full_sort(
    parts: str, values: int, rank: int, instructions: str
) -> None:
    scores = ordering(values, rank, parts)
    allowed = np.ones(37, np.uint8)
    allowed[[3, 30]] = 0
    with isa(instructions):
        found, scored = scores.best_scored(EVERYONE, RATINGS.by_user, allowed, 20)
    block = scores.block(EVERYONE)
    right = expected(block, RATINGS.by_user, allowed, 20)
    np.testing.assert_array_equal(found, right)
    values = np.take_along_axis(block, np.maximum(right, 0), axis=1)
    np.testing.assert_array_equal(scored, np.where(right < 0, np.nan, values))
    user, item = EVERYONE.repeat(37), np.tile(np.arange(37, dtype=np.int32), 25)
    np.testing.assert_array_equal(scores.pairs(user, item), block.ravel())


@pytest.mark.parametrize("at_once", [1, 150, 10**6])
@pytest.mark.parametrize("n", [1, 20, 50])
def test_the_best_of_any_scores_are_a_full_sort(
    n: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topn, "AT_ONCE", at_once)
    scores = tm.Random().fit(RATINGS).scores
    allowed = np.ones(37, np.uint8)
    allowed[7] = 0
    found = scores.best(EVERYONE, RATINGS.by_user, allowed, n)
    block = scores.block(EVERYONE)
    np.testing.assert_array_equal(found, expected(block, RATINGS.by_user, allowed, n))


@pytest.mark.parametrize(
    "scores",
    [
        factors(9, 3),
        tm.Random().fit(RATINGS).scores,
        ordering(9, 3, "popular"),
        ordering(9, 3, "rated, popular"),
    ],
)
@pytest.mark.parametrize("some", [[7, 2, 2], [3], [4, 5, 6], [24, 0], []])
def test_only_the_users_asked_for_in_their_order(scores, some: list[int]) -> None:
    users = np.array(some, np.int32)
    everyone = scores.best(EVERYONE, RATINGS.by_user, None, 4)
    seen = topn.chosen(RATINGS.by_user, users)
    np.testing.assert_array_equal(scores.best(users, seen, None, 4), everyone[users])


@pytest.mark.parametrize("some", [[3], [4, 5, 6], [7, 2]])
def test_rows_that_are_chosen_hold_their_own_entries_alone(some: list[int]) -> None:
    """So that of values in codes no others are decoded for one user's list."""
    half = RATINGS.by_user
    found = topn.chosen(half, np.array(some, np.int32))
    assert len(found.stored) == len(found.indices) == sum(len(half.row(u)[0]) for u in some)
    for at, user in enumerate(some):
        for own, of_all in zip(found.row(at), half.row(user), strict=True):
            np.testing.assert_array_equal(own, of_all)


@pytest.mark.parametrize("instructions", ISAS)
@pytest.mark.parametrize("items", [1, 16, 17, 129, 300])
def test_one_user_gets_the_bits_that_many_get(items: int, instructions: str) -> None:
    """Four users are scored side by side, one alone by more items at a time."""
    rng = np.random.default_rng(items)
    users, rows = (rng.random((n, 11), np.float32) - 0.3 for n in (9, items))
    users[:, 0], rows[:, 0] = 1e7, rng.integers(0, 2, items)  # so that rounding decides
    none = Half(np.zeros(10, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    with isa(instructions):
        scores = tm.Factors(users, rows)
        together = scores.best(np.arange(9, dtype=np.int32), none, None, 5)
        for user in range(9):
            asked = np.array([user], np.int32)
            alone = scores.best(asked, topn.chosen(none, asked), None, 5)
            np.testing.assert_array_equal(alone[0], together[user])


def test_a_catalogue_outlives_a_change_of_instructions() -> None:
    scores = factors(50, 7)
    found = []
    for instructions in ISAS:
        with isa(instructions):
            found.append(scores.best(EVERYONE, RATINGS.by_user, None, 5))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_several_threads_may_ask_at_the_same_time() -> None:
    rng = np.random.default_rng(0)
    scores = tm.Factors(rng.random((25, 8), np.float32), rng.random((37, 8), np.float32))
    right = scores.best(EVERYONE, RATINGS.by_user, None, 5)

    def ask(user: int) -> np.ndarray:
        users = np.array([user], np.int32)
        return scores.best(users, topn.chosen(RATINGS.by_user, users), None, 5)[0]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, [user % 25 for user in range(4000)]))
    np.testing.assert_array_equal(found, [right[user % 25] for user in range(4000)])


@pytest.mark.parametrize(
    "change",
    [
        {"user": np.array([25], np.int32)},
        {"user": np.array([-1], np.int32)},
        {"pointers": np.array([0, 4], np.int64)},
        {"pointers": np.array([2, 1], np.int64)},
        {"pointers": np.array([-1, 1], np.int64)},
        {"pointers": np.array([0], np.int64)},
        {"seen": np.array([0, 37, 1], np.int32)},
        {"seen": np.array([0, -1, 1], np.int32)},
        {"allowed": np.ones(36, np.uint8)},
        {"users": np.ones((25, 4), np.float32)},
        {"n": 0},
    ],
    ids=str,
)
def test_what_would_read_outside_is_refused(change: dict) -> None:
    scores = factors(9, 3)
    right = {
        "users": scores.users,
        "user": np.array([3], np.int32),
        "pointers": np.array([0, 3], np.int64),
        "seen": np.array([0, 2, 1], np.int32),
        "allowed": np.ones(37, np.uint8),
        "n": 5,
    }
    assert scores.catalogue.top(**right).shape == (1, 5)
    with pytest.raises((ValueError, IndexError)):
        scores.catalogue.top(**{**right, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"popularity": np.ones(36, np.float32)},
        {"rated_pointers": np.array([0, 1, 2], np.int64)},
        {"rated_pointers": np.array([0, 4], np.int64)},
        {"rated": np.array([0, 37, 1], np.int32)},
        {"stars": np.ones(2, np.float32)},
        {"user": np.array([25], np.int32)},
        {"linked": scoring.Linked(np.zeros(37, np.int64), *EMPTY)},
    ],
    ids=str,
)
def test_what_would_read_outside_of_a_part_is_refused(change: dict) -> None:
    scores, pointers = ordering(9, 3, "rated"), np.array([0, 3], np.int64)
    assert scores.factors is not None
    assert scores.links is not None
    numbers = np.array([0, 2, 1], np.int32)
    right = {
        "users": scores.factors.users,
        "user": np.array([3], np.int32),
        "pointers": pointers,
        "seen": numbers,
        "allowed": None,
        "n": 5,
        "tastes": 1.0,
        "links": 1.0,
        "popular": 0.0,
        "popularity": scores.popularity,
        "linked": scores.links.linked,
        "rated_pointers": pointers,
        "rated": numbers,
        "stars": np.ones(3, np.float32),
    }
    top = scores.factors.catalogue.top_weighed
    assert [found.shape for found in top(**right)] == [(1, 5), (1, 5)]
    with pytest.raises((ValueError, IndexError)):
        top(**{**right, **change})


def test_other_users_share_the_catalogue() -> None:
    scores, rng = factors(9, 3), np.random.default_rng(0)
    others = rng.random((4, 3), np.float32)
    folded = scores.for_users(others)
    assert folded.catalogue is scores.catalogue
    none = Half(np.zeros(5, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    some = np.arange(4, dtype=np.int32)
    fresh = tm.Factors(others, scores.items, scores.shift)
    np.testing.assert_array_equal(folded.best(some, none, None, 6), fresh.best(some, none, None, 6))
