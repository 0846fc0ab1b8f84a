"""Predicted ratings as sums: the baseline, and what every taste adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.model.factors import Factors
from tastemix.model.tastes import Tastes
from tastemix.serve.shapes import Bar


class Bars:
    """A taste adds Σ w_ur h_ir over its coordinates r; the rest is the baseline."""

    def __init__(self, factors: Factors, tastes: Tastes) -> None:
        self._items, self._shift, self._members = factors.items, factors.shift, factors.members
        self._tastes, self._offsets = tastes.of(factors), np.flatnonzero(factors.taste_of < 0)

    def of(self, row: NDArray[np.float32], items: Indices) -> list[Bar]:
        """The bars of these items for a row of the users."""
        products = self._items[items].astype(np.float64)
        products *= row
        values = self._tastes.by_taste(products)
        baselines = products[:, self._offsets].sum(axis=1) / self._members + self._shift
        totals = values.sum(axis=1) + baselines
        shown = zip(baselines.tolist(), values.tolist(), totals.tolist(), strict=True)
        return [Bar(baseline, tastes, total) for baseline, tastes, total in shown]
