"""The specification in NumPy and float64: slow and simple. Other engines are tested against it.

    X (rows x)  the moving factor     Ω  the ratings of a row: indices j, values a_j
    Y (rows y)  the fixed factor      w  the weight of the unknown ratings, t their prior
    S = Σ_{j∈Ω} y_j y_jᵀ   G = YᵀY   σ = Σ_j y_j   d = λ₂ + λ₂′|Ω|
    μ                       what λ₂, or all of d, pulls a row towards

Each row minimises ½xᵀQx − cᵀx over x ≥ 0 with Q = (1−w)S + wG + dI. Where ridges are estimated, d
is a vector: λ + Σ_{j∈Ω} v_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine.base import Errors, Fold, Spread, StepReport, update_bound
from tastemix.engine.objective import CHOICE_ITERATIONS, Objective
from tastemix.engine.sides import OTHER, SIDES, Held, Matrix, Pair, Pull, Pulls
from tastemix.engine.start import RandomStart, Start, drawn
from tastemix.engine.totals import least_ridge

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
smallest_curvature = 1e-24  # of a coordinate that may move; see the native kernels
LEAST_LEFT = 0.2
"""Of the rows, however many numbers Z has."""


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
    estimated: Array | None = None,
) -> RowProblem:
    """The problem of one row with ratings `a` of the rows `y` of the fixed factor `Y`."""
    w = objective.unknown_weight
    S, G, sigma = y.T @ y, Y.T @ Y, Y.sum(axis=0)
    ridge = np.full(Y.shape[1], objective.l2 + objective.l2_per_rating * len(a))
    if estimated is not None:
        ridge = estimated
    pull = ridge if objective.chosen else objective.l2
    if objective.dynamic:
        prior = G @ x_before - y.T @ (y @ x_before)
        power = float(x_before @ prior)
    else:
        prior = target * (sigma - y.sum(axis=0))
        power = target**2 * (len(Y) - len(a))
    return RowProblem(
        Q=(1 - w) * S + w * G + np.diag(ridge),
        c=y.T @ a + w * prior - objective.l1 + pull * centre,
        constant=0.5 * (float(a @ a) + w * power + float((pull * centre) @ centre)),
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


class Choices:
    """What the rows of a side are pulled towards: μ + s_u Σ_{j∈Ω_u} z_j, s_u = (|Ω_u| + c)^(−½).

    μ and Z lower ½ Σ ρ_u ‖x_u − μ_u‖² + ½ ρ ρ̄ ‖Z‖² by conjugate gradients; `solved` is their limit.
    """

    def __init__(self, half: Half, columns: int, objective: Objective, rank: int) -> None:
        counts = half.counts
        self.rated = counts > 0
        self.ridge = objective.l2 + objective.l2_per_rating * counts
        self.share = self.ridge / self.ridge.mean()
        if objective.estimated:
            self.share = self.rated.astype(np.float64)
        scale = np.maximum(counts + objective.choice_shrinkage, 1.0) ** -0.5
        self.B = np.zeros((len(counts), columns))
        self.B[half.rows, half.indices] = scale[half.rows]
        self.rho = objective.choice_penalty
        self.mean, self.Z = np.zeros(rank), np.zeros((columns, rank))

    @property
    def centres(self) -> Array:
        """A row for each row of the side."""
        return np.asarray(self.mean + self.B @ self.Z)

    def penalty(self) -> float:
        """½ ρ ρ̄ ‖Z‖²."""
        return 0.5 * self.rho * float(self.ridge.mean() * (self.Z**2).sum())

    def total(self, X: Array, l1: float) -> float:
        """λ₁ Σ x + ½ Σ ρ_u ‖x_u − μ_u‖² + ½ ρ ρ̄ ‖Z‖²."""
        squares = self.ridge @ ((X - self.centres) ** 2).sum(axis=1)
        return float(l1 * X.sum() + 0.5 * squares) + self.penalty()

    def follow(self, X: Array, iterations: int) -> None:
        """μ, then so many iterations for each column of (BᵀDB + ρI) Z = BᵀD (X − μ)."""
        self.mean = self.mean + self.share @ (X - self.centres) / max(self.share.sum(), 1e-30)
        DB = self.share[:, None] * self.B
        inverse = 1 / ((DB * self.B).sum(axis=0) + self.rho)[:, None]
        r = DB.T @ (X - self.centres) - self.rho * self.Z
        p = inverse * r
        power = (r * p).sum(axis=0)
        for _ in range(iterations):
            q = DB.T @ (self.B @ p) + self.rho * p
            step = _ratio(power, (p * q).sum(axis=0))
            self.Z = self.Z + step * p
            r = r - step * q
            before, power = power, (r * inverse * r).sum(axis=0)
            p = inverse * r + _ratio(power, before) * p

    def spread(self, X: Array, V: Array) -> Array:
        """The variance of rows with ratings around their centres; see Objective."""
        known = V.any(axis=1, keepdims=True)
        squares = ((X - self.centres) ** 2 + np.where(known, V, X**2 / 4))[self.rated].sum(axis=0)
        d = (self.share[:, None] * self.B**2).sum(axis=0)
        rows = float(self.rated.sum())
        left = rows - (d / (d + self.rho)).sum()
        return np.asarray(squares / max(left, LEAST_LEFT * rows, 1e-30))

    def solved(self, X: Array) -> Array:
        """Z where no more can be gained, μ as it is."""
        DB = self.share[:, None] * self.B
        A = DB.T @ self.B + self.rho * np.eye(self.B.shape[1])
        return np.asarray(np.linalg.solve(A, DB.T @ (X - self.mean)))


def _ratio(a: Array, b: Array) -> Array:
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)


def variances(Q: Array, movable: Flags, noise: float) -> Array:
    """σ² diag(Q⁻¹) over the coordinates that move."""
    v = np.zeros(len(Q))
    v[movable] = noise * np.diag(np.linalg.inv(Q[np.ix_(movable, movable)]))
    return v


class ReferenceSession:
    """A session of plain loops over rows."""

    def __init__(
        self, ratings: Ratings, start: Start, held: Held, pulls: Pulls | None, shift: float | None
    ) -> None:
        self.ratings = ratings
        self.shift = ratings.shift if shift is None else shift
        if isinstance(start, RandomStart):
            held, start = start.held, start.pair(len(ratings.users), len(ratings.items))
        self.held = held
        self.rows: dict[Side, Array] = {s: start.of(s).astype(np.float64) for s in SIDES}
        self.choices: dict[Side, Choices] = {}
        self.variances: dict[Side, Array] = {}
        self.least: dict[Side, Array] = {}
        self._pulls, self._kept = pulls, (start, pulls)

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        X, Y = self.rows[side], self.rows[OTHER[side]]
        half = self.ratings.half(side)
        if objective.chosen:
            self._make_choices(objective)
        movable = np.ones(X.shape[1], bool)
        movable[list(self.held.of(side))] = False
        centres = self._centres(side, objective)
        ridges = self._estimate(side, objective) if objective.estimated else [None] * len(X)
        problems = []
        for row, x in enumerate(X):
            indices, values = half.row(row)
            a = values.astype(np.float64) - self.shift
            rest = centres[row], objective, objective.target(self.shift), ridges[row]
            problems.append(row_problem(a, Y[indices], Y, x, *rest))
        first = [
            best_steps(p.Q @ x - p.c, x, np.diag(p.Q), movable)[1].max()
            for p, x in zip(problems, X, strict=True)
        ]
        threshold, bound = tolerance * max(first), update_bound(max_updates, X.shape[1])
        updates = 0
        value = 0.0 if objective.estimated else self._penalty(OTHER[side], objective)
        for row, problem in enumerate(problems):
            X[row], taken = descend(problem, X[row], movable, threshold, bound)
            updates += taken
            if objective.estimated and (first[row] > threshold or self._unknown(side, row)):
                self.variances[side][row] = variances(problem.Q, movable, objective.noise)
            value += 0.5 * X[row] @ problem.Q @ X[row] - problem.c @ X[row] + problem.constant
        if objective.centred:  # the average follows the rows, and is nearer to them
            value -= 0.5 * objective.l2 * len(X) * ((X.mean(axis=0) - centres[0]) ** 2).sum()
        if objective.estimated:
            self.choices[side].follow(X, CHOICE_ITERATIONS)
        elif objective.chosen:
            value += self.choices[side].penalty()
            before = self._penalty(side, objective)
            self.choices[side].follow(X, CHOICE_ITERATIONS)
            value += self._penalty(side, objective) - before
        return StepReport(float(value), updates, float(X.max()))

    def _estimate(self, side: Side, objective: Objective) -> Array:
        """The ridges of every row of a side."""
        half, others = self.ratings.half(side), self.variances[OTHER[side]]
        spread = self.choices[side].spread(self.rows[side], self.variances[side])
        self.least[side] = least_ridge(spread, self.held.of(side), objective)
        ridges = np.tile(self.least[side], (len(self.rows[side]), 1))
        np.add.at(ridges, half.rows, others[half.indices])
        return ridges

    def _unknown(self, side: Side, row: int) -> bool:
        rated = self.ratings.half(side).counts[row] > 0
        return bool(rated and not self.variances[side][row].any())

    def _make_choices(self, objective: Objective) -> None:
        for side in SIDES:
            if side in self.choices:
                continue
            columns, rank = len(self.rows[OTHER[side]]), self.rows[side].shape[1]
            made = Choices(self.ratings.half(side), columns, objective, rank)
            if self._pulls is not None:
                pull = self._pulls.of(side)
                made.mean, made.Z = pull.mean, pull.z.astype(np.float64)
            else:
                made.follow(self.rows[side], 0)
            self.choices[side] = made
            known = None if self._pulls is None else self._pulls.of(OTHER[side]).variances
            blank = np.zeros_like(self.rows[side])
            self.variances[side] = blank if known is None else known.astype(np.float64)

    def _centres(self, side: Side, objective: Objective) -> Array:
        X = self.rows[side]
        if objective.chosen:
            return self.choices[side].centres
        return np.tile(X.mean(axis=0) if objective.centred else np.zeros(X.shape[1]), (len(X), 1))

    def _penalty(self, side: Side, objective: Objective) -> float:
        """The penalties of a side as it is, what it is pulled towards included."""
        X, half = self.rows[side], self.ratings.half(side)
        if not objective.chosen:
            return _penalty(X, half, objective)
        return self.choices[side].total(X, objective.l1)

    def rmse(self, part: Ratings) -> float:
        """See Session.rmse."""
        found = self.errors(part)
        return float(np.sqrt(((found.prediction - found.truth) ** 2).mean()))

    def errors(self, part: Ratings) -> Errors:
        """See Session.errors."""
        half, (W, H) = part.by_user, self.rows.values()
        products = np.einsum("ij,ij->i", W[half.rows], H[half.indices])
        truth = half.values.astype(np.float64)
        return Errors(half.rows, half.indices, truth, products + self.shift)

    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        found = self.errors(self.ratings)
        squared = (found.prediction.clip(*self.ratings.scale) - found.truth) ** 2
        rows = found.user if side == "users" else found.item
        counts = self.ratings.half(side).counts
        summed = np.bincount(rows, squared, len(counts)).astype(np.float64)
        return Spread(summed, counts)

    def keep(self) -> None:
        """See Session.keep."""
        self._kept = self.factors(), self.pulls()

    def restore(self) -> None:
        """See Session.restore."""
        factors, self._pulls = self._kept
        self.rows = {side: factors.of(side).astype(np.float64) for side in SIDES}
        self.choices, self.variances, self.least = {}, {}, {}

    def factors(self) -> Pair:
        """See Session.factors."""
        return Pair(*(self.rows[side].astype(np.float32) for side in SIDES))

    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        if not self.choices:
            return self._pulls
        return Pulls(*(self._pull(side) for side in SIDES))

    def _pull(self, side: Side) -> Pull:
        mean, z = self.choices[side].mean, self.choices[side].Z.astype(np.float32)
        if not self.least:
            return Pull(mean, z)
        others = self.variances[OTHER[side]].astype(np.float32)
        return Pull(mean, z, self.least.get(side), others)


class ReferencePlaced:
    """Ratings as they are."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings

    def open(
        self,
        start: Start,
        held: Held = Held(),
        pulls: Pulls | None = None,
        shift: float | None = None,
    ) -> ReferenceSession:
        """See Placed.open."""
        return ReferenceSession(self.ratings, start, held, pulls, shift)

    def part(self, ratings: Ratings) -> Ratings:
        """See Placed.part."""
        return ratings

    def split(self, seed: int, share: float) -> tuple[ReferencePlaced, Ratings]:
        """See Placed.split."""
        taken = drawn(len(self.ratings), seed, share)
        return ReferencePlaced(self.ratings.subset(~taken)), self.ratings.subset(taken)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ReferenceFixed:
    """A factor as it is."""

    factor: Array

    def rows(self, fold: Fold) -> Matrix:
        """See Fixed.rows."""
        X, Y, objective = fold.start.astype(np.float64), self.factor, fold.objective
        movable = np.ones(X.shape[1], bool)
        movable[list(fold.held)] = False
        near = np.zeros_like(X) if fold.centres is None else np.asarray(fold.centres, np.float64)
        if objective.centred:
            near[:] = X.mean(axis=0)
        for _ in range(fold.times):
            for row, x in enumerate(X):
                indices, values = fold.half.row(row)
                a, target = values.astype(np.float64) - fold.shift, objective.target(fold.shift)
                ridge = None if fold.ridges is None else fold.ridges[row].astype(np.float64)
                problem = row_problem(a, Y[indices], Y, x, near[row], objective, target, ridge)
                X[row], _ = descend(problem, x, movable, 0.0, fold.max_updates)
        return X.astype(np.float32)


class ReferenceEngine:
    """The engine of the specification."""

    def place(self, ratings: Ratings) -> ReferencePlaced:
        """See Engine.place."""
        return ReferencePlaced(ratings)

    def fix(self, factor: Matrix) -> ReferenceFixed:
        """See Engine.fix."""
        return ReferenceFixed(factor.astype(np.float64))


def _penalty(factor: Array, half: Half, objective: Objective) -> float:
    ridge = objective.l2 + objective.l2_per_rating * half.counts
    centre = factor.mean(axis=0) if objective.centred else np.zeros(factor.shape[1])
    squares = (ridge * (factor**2).sum(axis=1)).sum()
    squares -= objective.l2 * len(factor) * float(centre @ centre)
    return float(objective.l1 * factor.sum() + 0.5 * squares)


def objective_value(
    ratings: Ratings, factors: Any, objective: Objective, pulls: Pulls | None = None
) -> float:
    """The whole objective of a pair of factors, without anything of size users × items.

    A dynamic prior is the prediction itself here, so the unknown ratings add nothing.
    """
    W, H = (np.asarray(factor, np.float64) for factor in factors)
    half = ratings.by_user
    a = half.values.astype(np.float64) - ratings.shift
    b = np.einsum("ij,ij->i", W[half.rows], H[half.indices])
    value = 0.5 * float(((a - b) ** 2).sum())
    for side, factor in zip(SIDES, (W, H), strict=True):
        if objective.chosen and pulls is not None:
            other = len(H) if side == "users" else len(W)
            choices = Choices(ratings.half(side), other, objective, factor.shape[1])
            choices.mean, choices.Z = pulls.of(side).mean, pulls.of(side).z.astype(np.float64)
            value += choices.total(factor, objective.l1)
        else:
            value += _penalty(factor, ratings.half(side), objective)
    if objective.prior is not None and not objective.dynamic:
        t = objective.target(ratings.shift)
        everywhere = len(W) * len(H) * t**2 - 2 * t * (W.sum(axis=0) @ H.sum(axis=0))
        everywhere += ((W.T @ W) * (H.T @ H)).sum()
        value += 0.5 * objective.weight * float(everywhere - ((t - b) ** 2).sum())
    return value
