"""The row problem in plain NumPy, all rows side by side, its coordinates minimised or sampled.

For trials of what the core does not do: Gibbs sampling of a nonnegative model (each coordinate a
Gaussian cut off at zero, with the same Q and c), and a prior of its own for every item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import tastemix as tm
from tastemix.engine import Held, Pair, RandomStart

Floats = NDArray[np.float32]
AT_ONCE = 100_000  # outer products held at a time


class Plain:
    """Two factors with offsets, moved by sweeps over the coordinates of all rows at once."""

    def __init__(self, ratings: tm.Ratings, start: Pair, held: Held, seed: int) -> None:
        self.ratings, self.held = ratings, held
        self.factors = [np.array(start.users), np.array(start.items)]
        self.halves = (ratings.by_user, ratings.by_item)
        self.rng = np.random.default_rng(seed)

    def half_step(
        self,
        side: int,
        ridge: Floats,
        centre: Floats,
        *,
        temperature: float = 0.0,
        weight: float = 0.0,
        item_prior: Floats | None = None,
        sweeps: int = 2,
    ) -> None:
        """Move one side: 0 users, 1 items.

        ridge: (rows, k), what is added to the diagonal; centre: what it pulls towards.
        temperature: the variance of the ratings, to sample; 0 to minimise.
        item_prior: t_i, what an unknown rating of item i counts as, with `weight`.
        """
        x, y, half = self.factors[side], self.factors[1 - side], self.halves[side]
        gram, linear = self._sums(half, y, half.values)
        if item_prior is not None:
            t = item_prior[half.indices] if side == 0 else item_prior[half.rows]
            _, known = self._sums(half, y, t.astype(np.float32), gram=False)
            every = (item_prior @ y)[None] if side == 0 else item_prior[:, None] * y.sum(axis=0)
            gram = (1 - weight) * gram + weight * (y.T @ y)
            linear += weight * (every - known)
        gram[:, range(x.shape[1]), range(x.shape[1])] += ridge
        linear += ridge * centre
        gradient = np.einsum("rij,rj->ri", gram, x) - linear
        movable = [r for r in range(x.shape[1]) if r not in self.held[side]]
        for _ in range(sweeps if temperature == 0 else 1):
            for r in movable:
                curve = np.maximum(gram[:, r, r], 1e-12)
                best = x[:, r] - gradient[:, r] / curve
                new = (
                    np.maximum(best, 0)
                    if temperature == 0
                    else self._drawn(best, curve, temperature)
                )
                gradient += (new - x[:, r])[:, None] * gram[:, r]
                x[:, r] = new

    def errors(self, part: tm.Ratings) -> tuple[Floats, Floats]:
        """Predictions and ratings of a part."""
        half = part.by_user
        product = tm.Factors(*self.factors).pairs(half.rows, half.indices)
        return product.astype(np.float32), half.values

    def _drawn(self, mean: Floats, curve: Floats, temperature: float) -> Floats:
        """Gaussians cut off at zero, by their inverse distribution function."""
        mean, std = mean.astype(np.float64), np.sqrt(temperature / curve.astype(np.float64))
        low = ndtr(-mean / std)
        u = self.rng.random(len(mean))
        drawn = mean + std * ndtri(np.clip(low + (1 - low) * u, 1e-12, 1 - 1e-12))
        tail = -np.log(u + 1e-12) * std**2 / np.maximum(-mean, std)  # far out, nearly exponential
        return np.maximum(np.where(low > 1 - 1e-6, tail, drawn), 0).astype(np.float32)

    def _sums(self, half, y: Floats, values: Floats, gram: bool = True) -> tuple[Floats, Floats]:
        """Σ y yᵀ and Σ value·y of every row."""
        k, rows = y.shape[1], len(half.pointers) - 1
        upper = np.triu_indices(k)
        outer = np.zeros((rows, len(upper[0])), np.float32)
        linear = np.zeros((rows, k), np.float32)
        bounds = np.searchsorted(half.pointers, np.arange(0, len(half.values), AT_ONCE))
        for first, last in zip(bounds, [*bounds[1:], rows], strict=True):
            begin, end = half.pointers[first], half.pointers[last]
            near = y[half.indices[begin:end]]
            full = np.flatnonzero(np.diff(half.pointers[first : last + 1])) + first
            if len(full) == 0:
                continue
            at = half.pointers[full] - begin
            linear[full] = np.add.reduceat(near * values[begin:end, None], at)
            if gram:
                outer[full] = np.add.reduceat(near[:, upper[0]] * near[:, upper[1]], at)
        square = np.zeros((rows, k, k), np.float32)
        square[:, upper[0], upper[1]] = outer
        square[:, upper[1], upper[0]] = outer
        return square, linear


def opened(ratings: tm.Ratings, rank: int, seed: int, steps: int) -> Plain:
    """After some steps of the method itself, from where sampling starts."""
    recipe = tm.ANMF(rank=rank, steps=steps).recipe(ratings.scale)
    first = RandomStart(rank, seed, offsets=True)
    start, held = first.pair(len(ratings.users), len(ratings.items)), first.held
    if steps:
        fitted = tm.ANLS(rank, recipe.phases, seed, offsets=True).fit(ratings).factors
        start = Pair(fitted.users, fitted.items)
    return Plain(ratings, start, held, seed)
