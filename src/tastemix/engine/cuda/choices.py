"""What the rows of a side are pulled towards, and how strongly; see native/choices.hpp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np

from tastemix.engine.cuda.halves import CudaHalf
from tastemix.engine.cuda.kernels import FLOAT, INT, LONG, Kernels
from tastemix.engine.cuda.space import Space
from tastemix.engine.objective import Objective
from tastemix.engine.reference import LEAST_LEFT
from tastemix.engine.sides import Floats

AT_ONCE = 1 << 20
"""Rows whose numbers are worked out at a time."""


class Choices:
    """μ and Z of one side, and the centres that they make."""

    def __init__(self, kernels: Kernels, own: CudaHalf, other: CudaHalf, space: Space) -> None:
        self._kernels, self._own, self._other, self._space = kernels, own, other, space
        width = kernels.width
        self.mean = cp.zeros(width, cp.float64)
        self.z = cp.zeros((other.rows, width), cp.float32)
        self.centres = cp.zeros((own.rows, width), cp.float32)
        self._objective: Objective | None = None

    def set(self, objective: Objective) -> None:
        """The numbers that the pull depends on. Cheap where they are as they were."""
        if objective == self._objective:
            return
        self._objective, own, other = objective, self._own, self._other
        mean = len(own.indices) / max(own.rows, 1)
        self._mean_ridge = objective.l2 + objective.l2_per_rating * mean
        self._scale, self._share = (cp.empty(own.rows, cp.float32) for _ in range(2))
        self._total_weight = 0.0
        for begin, end in _ranges(own.rows):
            counts = cp.diff(own.pointers[begin : end + 1]).astype(cp.float64)
            scale = 1 / cp.sqrt(cp.maximum(counts + objective.choice_shrinkage, 1))
            pull = objective.l2 + objective.l2_per_rating * counts
            share = counts > 0 if objective.estimated else pull / self._mean_ridge
            self._scale[begin:end], self._share[begin:end] = scale, share
            self._total_weight += float(self._total(share.astype(cp.float64)))
        self._weight = self._scale * self._share
        diagonal = cp.empty(other.rows, cp.float64)
        each = self._weight * self._scale
        numbers = other.struct, each, diagonal, INT(other.rows)
        self._kernels.by_warp("gather_numbers", other.rows, *numbers)
        del each
        ridge = objective.choice_penalty
        self._inverse = cp.empty(other.rows, cp.float32)
        self._freedom = 0.0
        for begin, end in _ranges(other.rows):
            explained = diagonal[begin:end]
            self._inverse[begin:end] = 1 / (explained + ridge)
            self._freedom += float(self._total(explained / (explained + ridge)))

    def put(self, mean: Any, z: Any) -> None:
        """μ and Z from outside."""
        rank = z.shape[1]
        self.mean[:rank] = cp.asarray(mean, cp.float64)
        self.z[:, :rank] = cp.asarray(z, cp.float32)
        base = self.mean.astype(cp.float32)
        self._own.gather(self._kernels, self.z, self.centres, scale=self._scale, base=base)

    def penalty(self) -> float:
        """½ ρ ρ̄ ‖Z‖²."""
        squares = self._kernels.sums("squares", len(self.z), self.z, LONG(len(self.z)))
        return 0.5 * self._ridge * self._mean_ridge * float(squares.get().sum())

    def spread(self, rows: Any, variances: Any) -> Floats:
        """The variance of rows with ratings around their centres."""
        count = self._own.rows
        arguments = rows, self.centres, variances, self._own.pointers, LONG(count)
        squares = self._kernels.sums("choices_spread", count, *arguments).get()
        left = max(self._total_weight - self._freedom, LEAST_LEFT * self._total_weight)
        return np.asarray(squares / left if left > 0 else 0 * squares)

    def follow(self, rows: Any, iterations: int) -> None:
        """μ, then so many iterations of conjugate gradients on Z from where it is."""
        kernels, own, other = self._kernels, self._own, self._other
        count, others = LONG(own.rows), LONG(other.rows)
        ridge, inverse, centres = FLOAT(self._ridge), self._inverse, self.centres
        gap = kernels.sums("choices_left", own.rows, rows, centres, self._share, count)
        shift, length = cp.empty(kernels.width, cp.float32), cp.empty(kernels.width, cp.float32)
        weight = np.float64(self._total_weight)
        kernels("choices_mean", 1, kernels.width, gap, weight, self.mean, shift)
        rest = [other.rows if iterations else 0] * 2
        suggested, residual, direction = self._space.matrices(own.rows, *rest)
        kernels.by_entry("choices_away", own.rows, rows, shift, count, centres, suggested)
        if not iterations:
            return
        z, by = self.z, {"weight": self._weight, "ridge": -self._ridge}
        other.gather(kernels, suggested, residual, along=z, **by)
        first = residual, inverse, others, direction
        found = kernels.sums("choices_first", other.rows, *first, kinds=2)
        power, squared = found[: kernels.width], found[kernels.width :]
        by["ridge"] = self._ridge
        for left in reversed(range(iterations)):
            own.gather(kernels, direction, suggested, scale=self._scale)
            bend = kernels.sums("choices_bend", own.rows, suggested, self._share, count)
            lengths = power, bend, squared, ridge, length
            kernels("choices_length", 1, kernels.width, *lengths)
            kernels.by_entry("choices_along", own.rows, suggested, length, count, centres)
            if not left:  # nothing follows, so the residual is not needed
                kernels.by_entry("choices_along", other.rows, direction, length, others, z)
                return
            other.gather(kernels, suggested, residual, along=direction, length=length, **by)
            before, power = power, kernels.sums("choices_power", other.rows, *first[:3])
            turn = residual, inverse, length, power, before, others, z, direction
            squared = kernels.sums("choices_turn", other.rows, *turn)

    @property
    def _ridge(self) -> float:
        assert self._objective is not None
        return self._objective.choice_penalty

    def _total(self, numbers: Any) -> Any:
        parts = cp.empty((-(-len(numbers) // 4096), 1), cp.float64)
        self._kernels("add_numbers", len(parts), 256, numbers, LONG(len(numbers)), parts)
        return self._kernels.added(parts)[0]


def _ranges(rows: int) -> Iterator[tuple[int, int]]:
    """Rows in parts, so that numbers of all of them are never alive in double."""
    for begin in range(0, rows, AT_ONCE):
        yield begin, min(rows, begin + AT_ONCE)


class Ridges:
    """Of the rows of a side, where they are estimated, and the variances of these rows."""

    def __init__(self, kernels: Kernels, own: CudaHalf) -> None:
        self._kernels, self._own = kernels, own
        self.variances = cp.zeros((own.rows, kernels.width), cp.float32)

    def estimate(self, others: Any, least: Floats, each: Any) -> None:
        """λ + Σ_{j∈Ω} v_j for every row, in `each`."""
        base = np.zeros(self._kernels.width, np.float32)
        base[: len(least)] = least
        self._own.gather(self._kernels, others, each, base=cp.asarray(base))
