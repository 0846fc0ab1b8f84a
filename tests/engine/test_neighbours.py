"""Nonnegative weights between items, against scipy's nonnegative least squares."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

import tastemix as tm
from tastemix.data.ratings import Half
from tastemix.engine import _native, scoring
from tastemix.engine.neighbours import neighbours
from tests.conftest import random_ratings
from tests.engine.problems import ISAS, isa

RATINGS = random_ratings(120, 40, 0.3, seed=2)
SETTINGS = {"l2": 7.0, "l2_per_rating": 0.3, "l1": 0.0, "candidates": 10**6, "tolerance": 0.0}


def dense(half: Half, columns: int) -> np.ndarray:
    matrix = sp.csr_array((half.values, half.indices, half.pointers), (len(half.counts), columns))
    return matrix.toarray().astype(np.float64)


def weights(ratings: tm.Ratings = RATINGS, **changed: object) -> np.ndarray:
    """Row i: the weights of item i."""
    found = neighbours(ratings.by_user, ratings.by_item, **{**SETTINGS, **changed})
    assert (found.values > 0).all()
    return dense(found, len(ratings.items))


def expected(ratings: tm.Ratings, l2: float, l2_per_rating: float, l1: float) -> np.ndarray:
    """Each item's problem as least squares: RᵀR = G + D, Rᵀb = G_i − λ₁."""
    a = dense(ratings.by_user, len(ratings.items))
    gram, out = a.T @ a, np.zeros((a.shape[1], a.shape[1]))
    for i in range(len(gram)):
        others = np.delete(np.arange(len(gram)), i)
        q = gram[np.ix_(others, others)]
        q = q + np.diag(l2 + l2_per_rating * np.diag(q))
        factor = np.linalg.cholesky(q).T
        out[i, others] = nnls(factor, np.linalg.solve(factor.T, gram[others, i] - l1))[0]
    return out


@pytest.mark.parametrize("instructions", ISAS)
@pytest.mark.parametrize(
    ("l2", "l2_per_rating", "l1"),
    [(7.0, 0.0, 0.0), (7.0, 0.3, 0.0), (50.0, 1.0, 0.0), (7, 0.3, 60)],
)
def test_weights_are_those_of_nonnegative_least_squares(
    l2: float, l2_per_rating: float, l1: float, instructions: str
) -> None:
    with isa(instructions):
        found = weights(l2=l2, l2_per_rating=l2_per_rating, l1=l1)
    np.testing.assert_allclose(
        found, expected(RATINGS, l2, l2_per_rating, l1), rtol=1e-3, atol=1e-5
    )
    assert (found > 0).sum() > 20


def test_no_item_speaks_for_itself_and_nobody_for_an_item_without_ratings() -> None:
    found = weights()
    assert (np.diag(found) == 0).all()
    empty = RATINGS.by_item.counts == 0
    assert empty.any()
    assert (found[empty] == 0).all()
    assert (found[:, empty] == 0).all()


def test_a_sparse_gram_matrix_gives_the_same_weights() -> None:
    ratings = random_ratings(300, 400, 0.02, seed=4)
    np.testing.assert_array_equal(weights(ratings, gram_floats=400 * 400 - 1), weights(ratings))


def test_a_truncated_gram_matrix_gives_finite_weights_of_items_rated_together() -> None:
    ratings = random_ratings(200, 120, 0.3, seed=5)
    found = weights(ratings, gram_floats=0)  # 16 entries a row of 119
    together = dense(ratings.by_user, 120)
    assert np.isfinite(found).all()
    assert 0 < (found > 0).sum(axis=1).max() <= 16
    assert not ((together.T @ together == 0) & (found > 0)).any()
    assert found.max() < 2


@pytest.mark.parametrize("most", [16, 40])
def test_an_entry_is_there_if_either_of_its_rows_kept_it(most: int) -> None:
    """Of every row those with the largest G_ij² / G_jj."""
    ratings, l2 = random_ratings(200, 120, 0.3, seed=5), 6000.0
    found = weights(ratings, gram_floats=most * 2 * 120, l2=l2, l2_per_rating=0.0)
    a = dense(ratings.by_user, 120)
    gram = a.T @ a
    np.fill_diagonal(gram, 0)
    kept = np.zeros(gram.shape, bool)
    for row, share in zip(kept, gram**2 / np.maximum((a**2).sum(axis=0), 1), strict=True):
        row[np.argsort(-share)[:most]] = True
    assert (kept != kept.T).sum() > 500
    there = np.where(kept | kept.T, gram, 0) + np.diag((a**2).sum(axis=0) + l2)
    for i, own in enumerate(kept):
        factor = np.linalg.cholesky(there[np.ix_(own, own)]).T
        best = nnls(factor, np.linalg.solve(factor.T, gram[i, own]))[0]
        np.testing.assert_allclose(found[i, own], best, rtol=1e-3, atol=1e-5)
        assert not found[i, ~own].any()


def test_candidates_are_those_with_the_largest_first_gain() -> None:
    few = weights(candidates=5)
    a = dense(RATINGS.by_user, 40)
    gram = a.T @ a
    gain = gram**2 / (np.diag(gram) * 1.3 + 7.0)
    np.fill_diagonal(gain, 0)
    for i in np.flatnonzero(RATINGS.by_item.counts):
        assert set(np.flatnonzero(few[i])) <= set(np.argsort(-gain[i])[:5])
    assert (few > 0).sum() < (weights() > 0).sum()


def test_the_same_bits_at_any_number_of_threads() -> None:
    before, found = _native.threads(), []
    ratings = random_ratings(900, 300, 0.15, seed=1)
    for threads in (1, 2, 3):
        tm.set_threads(threads)
        found.append(weights(ratings))
        found.append(weights(ratings, gram_floats=0))
    _native.set_threads(before)
    for other in found[2:]:
        assert any(np.array_equal(other, one) for one in found[:2])
    assert not np.array_equal(found[0], found[1])


def test_ctrl_c_ends_it_before_it_is_done() -> None:
    rng = np.random.default_rng(0)
    users, items = 4000, 5000
    ratings = tm.Ratings.from_arrays(
        np.repeat(np.arange(users), 400),
        np.concatenate([rng.choice(items, 400, replace=False) for _ in range(users)]),
        rng.integers(1, 6, users * 400),
    )
    by_item = ratings.by_item
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        neighbours(ratings.by_user, by_item, **SETTINGS)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 10


def test_scores_are_sums_over_what_was_rated() -> None:
    found = neighbours(RATINGS.by_user, RATINGS.by_item, **SETTINGS)
    linked = scoring.Linked(found.pointers, found.indices, found.values)
    half, w, a = RATINGS.by_user, dense(found, 40), dense(RATINGS.by_user, 40)
    scores = np.ones((120, 40), np.float32)
    linked.add(half.pointers, half.indices, half.values, 2.0, scores)
    np.testing.assert_allclose(scores, 1 + 2 * a @ w.T, rtol=1e-5)
    user, item = np.array([5, 0, 119], np.int32), np.array([7, 39, 2], np.int32)
    some = linked.pairs(half.pointers, half.indices, half.values, user, item)
    np.testing.assert_allclose(some, (a @ w.T)[user, item], rtol=1e-6)


def test_the_best_of_scores_are_the_largest_and_of_equals_the_first() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, (30, 50)).astype(np.float32)
    scores[0, ::2] = -np.inf
    pointers = np.arange(0, 31 * 4, 4, dtype=np.int64)
    seen = np.concatenate([rng.choice(50, 4, replace=False) for _ in range(30)]).astype(np.int32)
    allowed = (rng.random(50) < 0.8).astype(np.uint8)
    found = scoring.best_items(scores, pointers, seen, allowed, 45)
    for u in range(30):
        there = [i for i in range(50) if allowed[i] and i not in seen[4 * u : 4 * u + 4]]
        order = sorted((i for i in there if scores[u, i] > -np.inf), key=lambda i: -scores[u, i])
        assert found[u].tolist() == (order + 45 * [-1])[:45]
