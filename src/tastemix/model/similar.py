"""Items, or users, with a similar mix of tastes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.items import Items
from tastemix.engine.scoring import Catalogue
from tastemix.engine.sides import Matrix
from tastemix.errors import ParameterError
from tastemix.model import tastes
from tastemix.model.factors import AT_ONCE, Factors, Floats, Population

SMALLEST = float(np.finfo(np.float32).tiny)
"""The smallest length: a row of zeros has no direction and is similar to nothing."""
_ONE = np.zeros(1, np.int32)


class Directions:
    """The tastes of one side, packed once: the most similar rows are then found in one pass.

    The similarity to a row is the cosine between their tastes, times ratings / (ratings + 10),
    since the direction of a row with few ratings is less certain.
    """

    def __init__(
        self,
        rows: Matrix,
        factors: Factors,
        population: Population,
        labels: Items | None = None,
    ) -> None:
        self._tastes = factors.tasted
        if len(self._tastes) == 0:
            raise ParameterError("this model has no tastes to compare: use another method")
        self._rows, self._population, self._labels = rows, population, labels
        self._scale = np.empty(len(rows))
        directions = np.empty((len(rows), len(self._tastes)), np.float32)
        for some in np.array_split(np.arange(len(rows)), -(-directions.size // AT_ONCE)):
            wide = rows[some][:, self._tastes].astype(np.float64)
            length = np.maximum(np.linalg.norm(wide, axis=1), SMALLEST)
            self._scale[some] = tastes.trust(population.count[some]) / length
            directions[some] = wide * self._scale[some, None]
        self._catalogue = Catalogue(directions)

    def like(self, row: NDArray[np.float32], n: int, number: int = -1) -> pa.Table:
        """The n rows most similar to this one, by id; without the one of this number."""
        tastes.check(n)
        asked = row[None, self._tastes]
        seen = np.array([number] if number >= 0 else [], np.int32)
        pointers = np.array([0, len(seen)], np.int64)
        most = min(n, len(self._rows))
        best = self._catalogue.top(asked, _ONE, pointers, seen, None, most)[0]
        best = best[best >= 0]
        similarity = self._similarity(row, best)
        order = np.argsort(-similarity, kind="stable")
        best, ids = best[order], self._population.ids
        titles = {} if self._labels is None else {"title": self._labels.column(best)}
        return pa.table({ids.what: ids.take(best), **titles, "similarity": similarity[order]})

    def _similarity(self, row: NDArray[np.float32], others: Indices) -> Floats:
        wide = np.zeros(len(row))
        wide[self._tastes] = row[self._tastes]
        length = max(float(wide @ wide) ** 0.5, SMALLEST)
        products: Floats = self._rows[others] @ wide
        products *= self._scale[others] / length
        return products
