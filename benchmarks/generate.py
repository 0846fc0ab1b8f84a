"""Ratings of the shape of MovieLens: skewed activity, skewed popularity, planted tastes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Triples = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]


def triples(count: int, users: int, items: int, seed: int = 0) -> Triples:
    """Distinct (user, item) pairs with integer stars, in random order."""
    rng = np.random.default_rng(seed)
    activity, popularity = rng.lognormal(0, 1.0, users), rng.lognormal(0, 1.5, items)
    keys = np.empty(0, np.int64)
    while len(keys) < count:
        more = int(1.3 * (count - len(keys))) + 1000
        user = _drawn(rng, activity, more).astype(np.int64)
        keys = np.unique(np.concatenate([keys, user * items + _drawn(rng, popularity, more)]))
    keys = rng.permutation(keys)[:count]
    user, item = (part.astype(np.int32) for part in np.divmod(keys, items))
    taste = rng.random((users, 4), np.float32), rng.random((items, 4), np.float32)
    stars = np.empty(count, np.float32)
    for block in np.array_split(np.arange(count), max(1, count // 1_000_000)):
        mean = 1.5 + 2 * np.einsum("ij,ij->i", taste[0][user[block]], taste[1][item[block]])
        stars[block] = np.rint(mean + rng.standard_normal(len(block), np.float32)).clip(1, 5)
    return user, item, stars


def ml_1m_like(millions: float, seed: int = 0) -> Triples:
    """Users and items grow with the ratings from MovieLens 1M's shape."""
    count = int(millions * 1_000_000)
    return triples(count, int(6_040 * millions), int(3_706 * millions), seed)


def _drawn(rng: np.random.Generator, weight: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    edges = np.cumsum(weight)
    return np.searchsorted(edges, rng.random(count) * edges[-1]).clip(max=len(weight) - 1)
