"""Tastes of several coordinates: those whose items are alike are read as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tastemix.model.factors import AT_ONCE, Factors, Floats, sizes


def grouped(factors: Factors, counts: NDArray[np.int64], most: int) -> Factors:
    """With the coordinates of a member in at most so many tastes, by Ward's linkage.

    A coordinate is the vector of what it adds to the items, which have so many ratings each,
    centred and of length one: the squared distance of two is 2 (1 − their correlation). A
    prediction stays the sum it was.
    """
    if len(factors.coordinates) <= most:
        return replace(factors, groups=None)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distance = np.sqrt((2 - 2 * _correlation(factors, counts)).clip(0))
    np.fill_diagonal(distance, 0)
    found = fcluster(linkage(squareform(distance, checks=False), "ward"), most, "maxclust")
    _, first, labels = np.unique(found, return_index=True, return_inverse=True)
    return replace(factors, groups=tuple(np.argsort(np.argsort(first))[labels].tolist()))


def _correlation(factors: Factors, counts: NDArray[np.int64]) -> Floats:
    """Of the item weights of the coordinates of a member, in an average of the members' means."""
    width, share = len(factors.coordinates), counts / max(int(counts.sum()), 1)
    scale = sizes(factors.users, np.full(len(factors.users), 1 / max(len(factors.users), 1)))
    sums, products = np.zeros(width), np.zeros((width, width))
    at_once = max(1, AT_ONCE // factors.rank)
    for at in range(0, len(factors.items), at_once):
        some = slice(at, at + at_once)
        weights = (factors.items[some] * scale)[:, factors.coordinates].mean(axis=2)
        weighed = weights * share[some, None]
        sums += weighed.sum(axis=0)
        products += np.einsum("ir,is->rs", weighed, weights)  # BLAS would wake its threads
    covariance = products - np.outer(sums, sums)
    spread = np.sqrt(np.diag(covariance).clip(1e-30))
    return covariance / np.outer(spread, spread)
