"""Scores by what a user rated, alone or beside tastes and popularity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings, Scale
from tastemix.engine import scoring

STARS = 1.0, 5.0
"""The scale on which ratings are multiplied by weights, so that any scale gives the same scores."""


def in_stars(values: NDArray[Any], scale: Scale) -> NDArray[np.float64]:
    """Ratings as stars: the lowest of the scale is 1, the highest 5."""
    (low, high), (one, five) = scale, STARS
    unit = (five - one) / (high - low) if high > low else 0.0
    return five - unit * (high - np.asarray(values, np.float64))


def stars_on(scale: Scale) -> Callable[[Any], NDArray[np.float32]] | None:
    """What makes stars of ratings on a scale; None: they are stars."""
    return None if scale == STARS else lambda values: in_stars(values, scale).astype(np.float32)


def stars_by_user(ratings: Ratings) -> Half:
    """What every user rated, in stars."""
    change = stars_on(ratings.scale)
    return ratings.by_user if change is None else ratings.by_user.having(change)


class Weights(NamedTuple):
    """How much the parts of a score count."""

    tastes: float = 1.0
    rated: float = 0.0
    popularity: float = 0.0


@dataclass(frozen=True, eq=False)
class Links:
    """Nonnegative weights between items: row i holds the items that speak for item i."""

    by_target: Half

    def __len__(self) -> int:
        return len(self.by_target.pointers) - 1

    def __getstate__(self) -> dict[str, Any]:
        return {"by_target": self.by_target}

    @cached_property
    def linked(self) -> scoring.Linked:
        """The same, both ways, for scores of many."""
        half = self.by_target
        return scoring.Linked(half.pointers, half.indices, half.values)

    def over(self, numbers: Indices) -> Links:
        """The links of a catalogue in which item i was number numbers[i] here; −1 is a new one."""
        new = np.full(len(self), -1, np.int32)
        new[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
        rows = [_ordered(self.by_target, number, new) for number in numbers.tolist()]
        pointers = np.cumsum([0, *(len(indices) for indices, _ in rows)], dtype=np.int64)
        indices = np.concatenate([np.empty(0, np.int32), *(row for row, _ in rows)])
        values = np.concatenate([np.empty(0, np.float32), *(row for _, row in rows)])
        return Links(Half(pointers, indices, values))

    def parts(self, item: int, rated: Indices, values: Any) -> Iterator[tuple[int, float, float]]:
        """Those of the rated items that speak for an item, with rating and weight."""
        sources, weights = self.by_target.row(item)
        _, here, there = np.intersect1d(sources, rated, assume_unique=True, return_indices=True)
        for at, of in zip(here.tolist(), there.tolist(), strict=True):
            yield int(sources[at]), float(values[of]), float(weights[at])


def _ordered(half: Half, number: int, new: Indices) -> tuple[Indices, Any]:
    """A row with new numbers, in their order; none for a new item."""
    if number < 0:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    indices, values = half.row(number)
    kept = new[indices] >= 0
    order = np.argsort(new[indices[kept]])
    return new[indices[kept]][order], values[kept][order]
