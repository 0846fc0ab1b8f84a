"""A factor that stays as it is on the card, while rows of the other side are fitted to it."""

from __future__ import annotations

import cupy as cp
import numpy as np

from tastemix.engine.base import Fold
from tastemix.engine.cuda import halves
from tastemix.engine.cuda.kernels import kernels_for
from tastemix.engine.cuda.mover import Mover, Pulled
from tastemix.engine.cuda.rows import movable, padded, room, totals_of
from tastemix.engine.sides import Matrix
from tastemix.engine.totals import Totals, gram_of, linear_of


class CudaFixed:
    """A factor on the card, with the sums that a prior needs."""

    def __init__(self, factor: Matrix) -> None:
        self._rank = factor.shape[1]
        self._kernels = kernels_for(self._rank)
        self._rows = padded(self._kernels, factor)
        self._known: Totals | None = None

    def rows(self, fold: Fold) -> Matrix:
        """See Fixed.rows."""
        with room():
            return self._folded(fold)

    def _folded(self, fold: Fold) -> Matrix:
        objective, kernels, half = fold.objective, self._kernels, halves.on_card(fold.half)
        if objective.unknown_weight and self._known is None:
            self._known = totals_of(kernels, self._rows, self._rank, None, None, gram=True)
        fixed = self._known if objective.unknown_weight else None
        centre = fold.start.mean(axis=0, dtype=np.float64) if objective.centred else None
        target = objective.target(fold.shift)
        moving = padded(kernels, fold.start)
        wide = [None if x is None else padded(kernels, x) for x in (fold.centres, fold.ridges)]
        mover = Mover(kernels, half.rows)
        for _ in range(fold.times):
            mover.move(
                half,
                moving,
                self._rows,
                movable(kernels, self._rank, fold.held),
                cp.empty_like(moving),
                objective,
                fold.shift,
                gram_of(objective, fixed),
                linear_of(objective, target, self._rank, fixed, centre),
                Pulled(*wide),
                0.0,
                fold.max_updates,
            )
        return np.ascontiguousarray(moving.get()[:, : self._rank])
