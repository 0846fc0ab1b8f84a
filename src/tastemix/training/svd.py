"""Truncated singular value decomposition of the sparse ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tastemix import draws
from tastemix.data.ratings import Ratings
from tastemix.engine.sides import Pair


def truncated(ratings: Ratings, rank: int, shift: float, seed: int) -> Pair:
    """Factors UΣ and V of the best rank-k fit to (rating − shift), with 0 for unknown ratings."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    half = ratings.by_user
    shape = len(ratings.users), len(ratings.items)
    values = half.values.astype(np.float64) - shift
    matrix = csr_array((values, half.indices, half.pointers), shape=shape)
    if not values.any():  # every rating is the shift: ARPACK would find nothing to start from
        return _as_pair(*(np.zeros((rows, rank)) for rows in shape))
    if rank == min(shape):
        return _all_of_it(matrix)
    # A start of our own, the same on any machine; ARPACK's own depends on the version.
    raw = draws.words(seed, min(shape))
    first = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 0.5
    u, s, vt = svds(matrix, k=rank, v0=first, solver="arpack")
    order = np.argsort(-s)
    return _as_pair(u[:, order] * s[order], vt[order].T)


def _all_of_it(matrix: Any) -> Pair:
    """Every singular vector, which ARPACK cannot give: from the Gram matrix of the shorter side."""
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    _, short = np.linalg.eigh((tall.T @ tall).toarray())
    short = short[:, ::-1]
    pair = (tall @ short, short)
    return _as_pair(*(pair if tall is matrix else pair[::-1]))


def _as_pair(users: Any, items: Any) -> Pair:
    return Pair(*(np.ascontiguousarray(factor, np.float32) for factor in (users, items)))
