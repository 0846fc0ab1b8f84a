"""CNMF in NumPy, so that its parts can be changed: what benchmarks/choices.py tries.

    X, Y   rows of the side that moves, and of the other      d   ridges of the rows
    S      Σ_{j∈Ω} y_j y_jᵀ of each row                       μ   centres: mean + B Z
    B      (|Ω| + c)^(−power) where a row has a rating, and, for items, their attributes

All rows of a side are solved at once: their Gram matrices are one sparse product, and a few passes
of cyclic coordinate descent go over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

import tastemix as tm
from choice_drift import Drift, drifted

PASSES = 5
"""Of coordinate descent over a row: the rows start from those of the step before."""
SIDES = ("users", "items")
LEAST_LEFT, RIDGE_RANGE = 0.2, 1e6
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Variant:
    """What a fit does. σ² of 0 stands for fixed ridges, ridge + per_rating |Ω|."""

    noise: float
    penalty: float
    ridge: float = 0.05
    per_rating: float = 0.0
    rank: int = 12
    steps: int = 20
    shrinkage: float = 15.0
    power: float = 0.5
    sides: tuple[str, ...] = SIDES
    iterations: int = 2
    """Of conjugate gradients on Z; 0: solved exactly."""
    direct: str = ""
    """How Z is fitted to the ratings themselves: see `Side.follow`."""
    attributes: float = 0.0
    """The weight of an attribute of an item beside its choices."""
    shuffled: bool = False
    """Whether items have the attributes of others: what comes of it is not due to attributes."""
    usual: bool = False
    """Whether a row without ratings is a usual one, but for its attributes."""
    drift: tuple[Drift, ...] = ()
    seed: int = 0


class Side:
    """The rows of one side, and what they are pulled towards."""

    def __init__(
        self, rows: Array, columns: Array, shape: tuple[int, int], x: Array, held: int, of: Variant
    ) -> None:
        self.of, self.x, self.held = of, x, held
        self.order = np.lexsort((columns, rows))
        self.counts = np.bincount(rows, minlength=shape[0]).astype(np.float32)
        pointers = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        self._where = columns[self.order].astype(np.int32), pointers.astype(np.int32)
        self._shape = shape
        self.known = self.filled(np.ones(len(rows), np.float32)[self.order])
        self.movable = np.arange(x.shape[1]) != held
        self.variances = np.zeros_like(x)
        self.choose(True, None)

    def choose(self, choices: bool, attributes: Any) -> None:
        """B out of choices, attributes or both, and Z of zeros."""
        scale = np.maximum(self.counts + self.of.shrinkage, 1) ** -self.of.power
        parts = [sp.diags_array(scale) @ self.known] if choices else []
        parts += [] if attributes is None else [attributes]
        self.attributes = None if attributes is None else sp.csr_array(attributes)
        self.chosen = bool(parts)
        self.B = sp.hstack(parts or [sp.csr_array((len(scale), 1))], "csr").astype(np.float32)
        self.Bt = self.B.T.tocsr()
        weight = self.of.ridge + self.of.per_rating * self.counts
        rated = (self.counts > 0).astype(np.float32)
        self.share = (rated if self.of.noise else weight / weight.mean())[:, None]
        self.diagonal = (self.B.multiply(self.B).T @ self.share).astype(np.float32)
        self.z = np.zeros((self.B.shape[1], self.x.shape[1]), np.float32)
        self.mean = np.average(self.x, axis=0, weights=self.share[:, 0]).astype(np.float32)
        self.factor: Any = None

    def filled(self, values: Array) -> Any:
        """Values in this side's order as a sparse matrix."""
        return sp.csr_array((values, *self._where), shape=self._shape)

    @property
    def centres(self) -> Array:
        return self.mean + self.B @ self.z

    def half_step(self, other: Side, values: Array) -> None:
        """All rows given the other side's, then the centres given the rows."""
        grams = gram_matrices(self.known, other.x)
        linear = self.filled(values[self.order]) @ other.x
        ridges, centres = self._ridges(other), self.centres
        Q = grams + ridges[:, :, None] * np.eye(grams.shape[1], dtype=np.float32)
        bound = np.zeros_like(centres)
        if self.of.direct == "positive":
            bound = centres - self.mean
        elif self.of.direct == "free":
            bound -= np.inf
        self.x = descended(Q, linear + ridges * centres, self.x, bound, self.movable)
        if self.of.noise:
            inner = np.linalg.inv(Q[:, self.movable][:, :, self.movable])
            rated = (self.counts > 0)[:, None]
            found = self.of.noise * np.diagonal(inner, axis1=1, axis2=2) * rated
            self.variances[:, self.movable] = found
        self.follow(grams, linear, ridges)

    def place_unrated(self) -> None:
        """Rows without ratings: the mean of the others, with attributes of their own."""
        rated, rows = self.counts > 0, self.x
        of_attributes = np.zeros_like(rows)
        if self.attributes is not None:
            of_attributes = self.attributes @ self.z[-self.attributes.shape[1] :]
        usual = (rows - of_attributes)[rated].mean(axis=0)
        self.x = np.where(rated[:, None], rows, np.maximum(usual + of_attributes, 0))

    def _ridges(self, other: Side) -> Array:
        of, shape = self.of, self.x.shape
        if not of.noise:
            fixed = of.ridge + of.per_rating * self.counts
            return np.repeat(fixed[:, None], shape[1], 1).astype(np.float32)
        known, rated = self.variances.any(axis=1, keepdims=True), self.share[:, 0] > 0
        squares = (self.x - self.centres) ** 2 + np.where(known, self.variances, self.x**2)
        left = rows = float(rated.sum())
        if self.chosen:
            left -= float((self.diagonal / (self.diagonal + of.penalty)).sum())
        spread = squares[rated].sum(axis=0) / max(left, LEAST_LEFT * rows)
        least = np.clip(of.noise / np.maximum(spread, 1e-12), of.ridge, of.ridge * RIDGE_RANGE)
        least[self.held] = of.ridge
        return (least + self.known @ other.variances).astype(np.float32)

    def follow(self, grams: Array, linear: Array, ridges: Array) -> None:
        """The mean and Z given the rows; with `direct`, Z given the ratings.

        A row is then its own part plus what its choices suggest, and only the latter moves:
            woven     after Z followed the rows as always
            alone     instead of that
            positive  likewise, and both its own part and Z are nonnegative
            free      as alone, and rows may have any sign, as in SVD++
        """
        left = self.share * (self.x - self.centres)
        self.mean = self.mean + left.sum(axis=0) / self.share.sum()
        if not self.chosen:
            return
        if self.of.direct in ("", "woven"):
            self._regress()
        if self.of.direct:
            own = self.x - self.centres
            penalty = self.of.penalty * ridges[self.counts > 0].mean(axis=0)
            self._reach(grams, linear, own, penalty)
            low = -np.inf if self.of.direct == "free" else 0.0
            moved = np.maximum(own + self.centres, low)
            self.x[:, self.movable] = moved[:, self.movable]

    def _regress(self) -> None:
        """(BᵀDB + ρI) Z = BᵀD (X − mean), a little or exactly."""
        penalty = self.of.penalty
        if not self.of.iterations:
            if self.factor is None:
                whole = (self.Bt @ (self.B * self.share)).toarray()
                whole[np.diag_indices_from(whole)] += penalty
                self.factor = sl.cho_factor(whole, overwrite_a=True, check_finite=False)
            self.z = sl.cho_solve(self.factor, self.Bt @ (self.share * (self.x - self.mean)))
            return
        inverse = 1 / (self.diagonal + penalty)
        r = self.Bt @ (self.share * (self.x - self.centres)) - penalty * self.z
        p = inverse * r
        power = (r * p).sum(axis=0)
        for _ in range(self.of.iterations):
            q = self.Bt @ (self.share * (self.B @ p)) + penalty * p
            step = power / np.maximum((p * q).sum(axis=0), 1e-30)
            self.z, r = self.z + step * p, r - step * q
            before, power = power, (inverse * r * r).sum(axis=0)
            p = inverse * r + power / np.maximum(before, 1e-30) * p

    def _reach(self, grams: Array, linear: Array, own: Array, penalty: Array) -> None:
        """Z that lowers ½ Σ (a − (own + mean + BZ)·y)² + ½ ρ ‖Z‖², by conjugate gradients."""

        def image(p: Array) -> Array:
            moved = np.einsum("mij,mj->mi", grams, self.B @ p)
            return self.Bt @ (moved * self.movable) + penalty * p

        squares = self.B.multiply(self.B).T @ np.diagonal(grams, axis1=1, axis2=2)
        inverse = self.movable / (squares + penalty)
        slope = np.einsum("mij,mj->mi", grams, own + self.centres) - linear
        r = -(self.Bt @ (slope * self.movable)) - penalty * self.z
        p = inverse * r
        power = float((r * p).sum())
        for _ in range(self.of.iterations):
            if self.of.direct == "positive":
                p = np.where((self.z > 0) | (r > 0), inverse * r, 0)
                power = float((r * p).sum())
            q = image(p)
            step = power / max(float((p * q).sum()), 1e-30)
            if self.of.direct == "positive":
                moved = np.maximum(self.z + step * p, 0)
                r, self.z = r - image(moved - self.z), moved
                continue
            self.z, r = self.z + step * p, r - step * q
            before, power = power, float((inverse * r * r).sum())
            p = inverse * r + power / max(before, 1e-30) * p


def gram_matrices(known: Any, y: Array) -> Array:
    """Σ_{j∈Ω} y_j y_jᵀ of every row."""
    one, other = np.triu_indices(y.shape[1])
    sums = known @ (y[:, one] * y[:, other])
    found = np.empty((len(sums), y.shape[1], y.shape[1]), np.float32)
    found[:, one, other] = found[:, other, one] = sums
    return found


def descended(Q: Array, c: Array, x: Array, low: Array, movable: Array) -> Array:
    """½xᵀQx − cᵀx lowered over x ≥ low, for all rows, a coordinate after the other."""
    x = np.where(movable, np.maximum(x, low), x)
    g = np.einsum("mij,mj->mi", Q, x) - c
    for _ in range(PASSES):
        for r in np.flatnonzero(movable):
            step = np.maximum(-g[:, r] / Q[:, r, r], low[:, r] - x[:, r])
            x[:, r] += step
            g += step[:, None] * Q[:, :, r]
    return x


def fitted(train: tm.Ratings, test: tm.Ratings, of: Variant, attributes: Any = None) -> Array:
    """What a variant predicts of the test part, clipped. Its times are known, its ratings not."""
    half, shape = train.by_user, (len(train.users), len(train.items))
    recipe = tm.CNMF(rank=of.rank, ranking=False, seed=of.seed).recipe_for(train)
    start, held = recipe.start.pair(*shape), recipe.start.held
    places = half.rows, half.indices
    users = Side(*places, shape, start.users.copy(), held.users[0], of)
    items = Side(*places[::-1], shape[::-1], start.items.copy(), held.items[0], of)
    if of.shuffled:
        attributes = attributes[np.random.default_rng(0).permutation(shape[1])]
    weighted = of.attributes * attributes if of.attributes else None
    users.choose("users" in of.sides, None)
    items.choose("items" in of.sides, weighted)
    values = half.values.astype(np.float32)
    offsets = [np.zeros(len(train), np.float32) for _ in of.drift]
    later = np.zeros(len(test), np.float32)
    asked = test.by_user.rows, test.by_user.indices
    for step in range(of.steps):
        left = values - sum(offsets)
        items.half_step(users, left)
        users.half_step(items, left)
        if of.drift:
            error = values - products(users.x, items.x, *places)
            last = test if step == of.steps - 1 else None
            offsets, later = drifted(train, error, offsets, of.drift, last)
    for side in (users, items) if of.usual else ():
        side.place_unrated()
    return np.clip(products(users.x, items.x, *asked) + later, *train.scale)


def products(w: Array, h: Array, rows: Array, columns: Array) -> Array:
    return np.einsum("ij,ij->i", w[rows], h[columns])
