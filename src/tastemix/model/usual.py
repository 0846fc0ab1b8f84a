"""The usual user and the usual item, as rows: what is known of someone new is counted from there.

The mean row is not one of them: people with few ratings have rows near the centre, and the product
of mean rows is not the mean of products. The usual user is the row that predicts the items' means.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tastemix.data.ratings import Side
from tastemix.engine.sides import OTHER, SIDES, Floats, Pulls
from tastemix.model.factors import Factors, Population


def counted_from_usual(factors: Factors, users: Population, items: Population) -> Factors:
    """The factors with the usual rows as the means that rows are pulled towards.

    Factors without estimated ridges are left as they are.
    """
    if factors.pulls is None:
        return factors
    sides = []
    for side, others in zip(SIDES, (items, users), strict=True):
        pull = factors.pulls.of(side)
        if pull.least is None:
            return factors
        ridges = np.split(pull.least, factors.members)
        rows = [
            _usual(part, side, others, r) for part, r in zip(factors.parts, ridges, strict=True)
        ]
        sides.append(pull._replace(mean=np.concatenate(rows)))
    return replace(factors, pulls=Pulls(*sides))


def _usual(factors: Factors, side: Side, others: Population, ridge: Floats) -> Floats:
    """The nonnegative row x nearest to Σ n_j (mean_j − x·y_j)² + Σ λ (x − mean row)²."""
    from scipy.optimize import nnls

    held = list(factors.held.of(side))
    free = np.setdiff1d(np.arange(factors.rank), held)
    rated = others.count > 0
    y, n = factors.side(OTHER[side])[rated].astype(np.float64), others.count[rated]
    target = others.mean[rated] - factors.shift - y[:, held].sum(axis=1)
    least, mean = ridge[free], factors.side(side).mean(axis=0, dtype=np.float64)[free]
    y = y[:, free]
    Q = np.einsum("jr,js->rs", y * n[:, None], y) + np.diag(least)  # BLAS would wake its threads
    c = y.T @ (n * target) + least * mean
    root = np.linalg.cholesky(Q)
    row = np.ones(factors.rank)
    row[free] = nnls(root.T, np.linalg.solve(root, c))[0]
    return row
