"""The best unseen items, against a full sort of every user's scores."""

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.ratings import Half
from tastemix.model import topn
from tests.conftest import random_ratings
from tests.engine.problems import ISAS, isa

RATINGS = random_ratings(25, 37, 0.5)
EVERYONE = np.arange(25, dtype=np.int32)


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


@pytest.mark.parametrize("scores", [factors(9, 3), tm.Random().fit(RATINGS).scores])
def test_only_the_users_asked_for_in_their_order(scores) -> None:
    some, allowed = np.array([7, 2, 2], np.int32), np.ones(37, np.uint8)
    everyone = scores.best(EVERYONE, RATINGS.by_user, allowed, 4)
    np.testing.assert_array_equal(scores.best(some, RATINGS.by_user, allowed, 4), everyone[some])
    assert scores.best(some[:0], RATINGS.by_user, allowed, 4).shape == (0, 4)
