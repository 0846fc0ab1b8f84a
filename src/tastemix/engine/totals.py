"""The small arithmetic of a half-step: what sums over all rows of a side add to its terms.

Chunks are added up to spans and spans to the total, each in order, so that the totals have the same
bits wherever the sums of chunks or spans came from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tastemix.engine._native import CHUNK_ROWS, SPAN_ROWS
from tastemix.engine.objective import Objective
from tastemix.engine.sides import Floats, Matrix

RIDGE_RANGE = 1e6
"""The largest estimated λ over the smallest: beyond it, 32-bit sums lose the other coordinates."""
CHUNKS_A_SPAN = SPAN_ROWS // CHUNK_ROWS


def summed(groups: Floats, group: int) -> Floats:
    """The sums over all rows, from a line for each group of `group` rows, a chunk or a span."""
    if group == CHUNK_ROWS:
        spans = np.zeros((-(-len(groups) // CHUNKS_A_SPAN), groups.shape[1]))
        for place in range(min(CHUNKS_A_SPAN, len(groups))):
            chunk = groups[place::CHUNKS_A_SPAN]
            spans[: len(chunk)] += chunk
        groups = spans
    total: Floats = groups[0].copy()
    for span in groups[1:]:
        total += span
    return total


@dataclass(frozen=True)
class Totals:
    """Σ x, Σ ‖x − μ_x‖², Σ |Ω| ‖x − μ_x‖² and, where it was asked for, Σ x xᵀ."""

    rows: int
    columns: Floats
    squares: float
    counted: float
    gram: Floats

    @staticmethod
    def of(rows: int, rank: int, sums: Floats) -> Totals:
        """From `Rows.sums` over all rows."""
        columns, squares, counted, gram = np.split(sums, (rank, rank + 1, rank + 2))
        return Totals(rows, columns, float(squares[0]), float(counted[0]), gram)

    @property
    def mean(self) -> Floats:
        """The average row."""
        return self.columns / self.rows

    def penalty(self, objective: Objective) -> float:
        """λ₁ Σ x + ½ Σ (λ₂ + λ₂′|Ω|) ‖x − μ_x‖²; where the average pulls, λ₂ counts from there."""
        total = objective.l1 * float(self.columns.sum())
        total += 0.5 * (objective.l2 * self.squares + objective.l2_per_rating * self.counted)
        if objective.centred:
            total -= 0.5 * objective.l2 * self.rows * float(self.mean @ self.mean)
        return total


def least_ridge(spread: Floats, held: tuple[int, ...], objective: Objective) -> Floats:
    """λ = σ² / τ² for each coordinate, τ² the variance of the rows around their centres."""
    noise, most = objective.noise, objective.l2 * RIDGE_RANGE
    least: Floats = np.maximum(noise / np.maximum(spread, noise / most), objective.l2)
    least[list(held)] = objective.l2
    return least


def gram_of(objective: Objective, fixed: Totals | None) -> Matrix:
    """wG."""
    if fixed is None or objective.unknown_weight == 0:
        return np.empty(0, np.float32)
    gram: Matrix = fixed.gram.astype(np.float32)
    gram *= np.float32(objective.unknown_weight)
    return gram


def linear_of(
    objective: Objective, target: float, rank: int, fixed: Totals | None, centre: Floats | None
) -> Matrix:
    """The gradient's part that all rows share: λ₁ − wασ − λ₂μ."""
    linear = np.full(rank, objective.l1, np.float32)
    if fixed is not None and objective.unknown_weight != 0 and not objective.dynamic:
        pull = np.float32(objective.unknown_weight) * np.float32(target)
        linear -= pull * fixed.columns.astype(np.float32)
    if centre is not None:
        linear -= np.float32(objective.l2) * centre.astype(np.float32)
    return linear


def unknown_power(objective: Objective, target: float, pairs: int) -> float:
    """(w/2) Σ_∉Ω t², the constant of a static prior over so many unknown ratings."""
    return 0.0 if objective.dynamic else 0.5 * objective.unknown_weight * target**2 * pairs
