"""The specification in NumPy and float64: slow, plain, and the judge of every other engine.

    X (rows x)  the moving factor     Ω  the ratings of a row: indices j, values a_j
    Y (rows y)  the fixed factor      w  the weight of the unknown ratings, t their prior
    S = Σ_{j∈Ω} y_j y_jᵀ   G = YᵀY   σ = Σ_j y_j   d = λ₂ + λ₂′|Ω|
    μ                       what λ₂ pulls a row towards

Each row minimises ½xᵀQx − cᵀx over x ≥ 0 with Q = (1−w)S + wG + dI.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Half, Ratings
from tastemix.engine.base import Held, Pair, Side, StepReport, update_bound
from tastemix.engine.objective import Objective

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
smallest_curvature = 1e-24  # of a coordinate that may move; see the native kernels


class RowProblem(NamedTuple):
    """½xᵀQx − cᵀx over x ≥ 0, and the constant that makes it the row's part of the objective."""

    Q: Array
    c: Array
    constant: float


def row_problem(
    a: Array,
    y: Array,
    Y: Array,
    x_before: Array,
    centre: Array,
    objective: Objective,
    target: float,
) -> RowProblem:
    """The problem of one row with ratings `a` of the rows `y` of the fixed factor `Y`."""
    w = objective.unknown_weight
    S, G, sigma = y.T @ y, Y.T @ Y, Y.sum(axis=0)
    ridge = objective.l2 + objective.l2_per_rating * len(a)
    if objective.dynamic:
        prior = G @ x_before - y.T @ (y @ x_before)
        power = float(x_before @ prior)
    else:
        prior = target * (sigma - y.sum(axis=0))
        power = target**2 * (len(Y) - len(a))
    return RowProblem(
        Q=(1 - w) * S + w * G + ridge * np.eye(Y.shape[1]),
        c=y.T @ a + w * prior - objective.l1 + objective.l2 * centre,
        constant=0.5 * (float(a @ a) + w * power + objective.l2 * float(centre @ centre)),
    )


def best_steps(g: Array, x: Array, diagonal: Array, movable: Flags) -> tuple[Array, Array]:
    """Each coordinate's best step s = max(−g/Q_rr, −x) and its gain −gs − ½Q_rr s²."""
    curved = movable & (diagonal > smallest_curvature)
    s = np.where(curved, np.maximum(-g / np.where(curved, diagonal, 1.0), -x), 0.0)
    return s, -g * s - 0.5 * diagonal * s**2


def descend(
    problem: RowProblem, x: Array, movable: Flags, threshold: float, max_updates: int
) -> tuple[Array, int]:
    """Greedy coordinate descent: the coordinate that gains most, until none gains the threshold."""
    Q, c, _ = problem
    x, g = x.copy(), Q @ x - c
    for updates in range(max_updates):
        s, gain = best_steps(g, x, np.diag(Q), movable)
        r = int(np.argmax(gain))
        if gain[r] <= 0 or gain[r] < threshold:
            return x, updates
        x[r] += s[r]
        g += s[r] * Q[:, r]
    return x, max_updates


class ReferenceSession:
    """A session of plain loops over rows."""

    def __init__(self, ratings: Ratings, start: Pair, held: Held) -> None:
        self.ratings = ratings
        self.held = held
        self.users = start.users.astype(np.float64)
        self.items = start.items.astype(np.float64)

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        X, Y = (self.users, self.items) if side == "users" else (self.items, self.users)
        half = self.ratings.by_user if side == "users" else self.ratings.by_item
        other = self.ratings.by_item if side == "users" else self.ratings.by_user
        movable = np.ones(X.shape[1], bool)
        movable[list(getattr(self.held, side))] = False
        centre = X.mean(axis=0) if objective.centred else np.zeros(X.shape[1])
        problems = []
        for row, x in enumerate(X):
            indices, values = half.row(row)
            a = values.astype(np.float64) - self.ratings.shift
            target = objective.target(self.ratings.shift)
            problems.append(row_problem(a, Y[indices], Y, x, centre, objective, target))
        first = [
            best_steps(p.Q @ x - p.c, x, np.diag(p.Q), movable)[1].max()
            for p, x in zip(problems, X, strict=True)
        ]
        threshold, bound = tolerance * max(first), update_bound(max_updates, X.shape[1])
        updates, value = 0, _penalty(Y, other, objective)
        for row, problem in enumerate(problems):
            X[row], taken = descend(problem, X[row], movable, threshold, bound)
            updates += taken
            value += 0.5 * X[row] @ problem.Q @ X[row] - problem.c @ X[row] + problem.constant
        if objective.centred:  # the average follows the rows, and is nearer to them
            value -= 0.5 * objective.l2 * len(X) * ((X.mean(axis=0) - centre) ** 2).sum()
        return StepReport(float(value), updates, float(X.max()))

    def factors(self) -> Pair:
        """See Session.factors."""
        return Pair(self.users.astype(np.float32), self.items.astype(np.float32))


class ReferenceEngine:
    """The engine of the specification."""

    def open(self, ratings: Ratings, start: Pair, held: Held = Held()) -> ReferenceSession:
        """See Engine.open."""
        return ReferenceSession(ratings, start, held)


def _penalty(factor: Array, half: Half, objective: Objective) -> float:
    ridge = objective.l2 + objective.l2_per_rating * half.counts
    centre = factor.mean(axis=0) if objective.centred else np.zeros(factor.shape[1])
    squares = (ridge * (factor**2).sum(axis=1)).sum()
    squares -= objective.l2 * len(factor) * float(centre @ centre)
    return float(objective.l1 * factor.sum() + 0.5 * squares)


def objective_value(ratings: Ratings, factors: Any, objective: Objective) -> float:
    """The whole objective of a pair of factors, without anything of size users × items.

    A dynamic prior is the prediction itself here, so the unknown ratings add nothing.
    """
    W, H = (np.asarray(factor, np.float64) for factor in factors)
    half = ratings.by_user
    a = half.values.astype(np.float64) - ratings.shift
    b = np.einsum("ij,ij->i", W[half.rows], H[half.indices])
    value = 0.5 * float(((a - b) ** 2).sum())
    value += _penalty(W, half, objective) + _penalty(H, ratings.by_item, objective)
    if objective.prior is not None and not objective.dynamic:
        t = objective.target(ratings.shift)
        everywhere = len(W) * len(H) * t**2 - 2 * t * (W.sum(axis=0) @ H.sum(axis=0))
        everywhere += ((W.T @ W) * (H.T @ H)).sum()
        value += 0.5 * objective.weight * float(everywhere - ((t - b) ** 2).sum())
    return value
