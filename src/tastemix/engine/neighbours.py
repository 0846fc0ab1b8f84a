"""Which rated items speak for an item: nonnegative weights, fitted where the ratings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Half, Ratings
from tastemix.engine import _native
from tastemix.engine.block import checked

MOST_UPDATES = 2000
"""Coordinate updates of an item; usually the tolerance ends it earlier."""
GRAM_FLOATS = 1 << 28
"""Of the Gram matrix of the items, 1 GiB. Beyond 16,384 items only its largest entries are kept."""
LEAST_KEPT = 16
"""Entries of a row of it, however large the catalogue; see native/neighbours.cpp."""


Stars = Callable[[Any], NDArray[np.float32]]


class Settings(NamedTuple):
    """The numbers of the problem below; λ₂ and λ₁ in ratings of average square."""

    l2: float
    l2_per_rating: float
    l1: float
    candidates: int
    tolerance: float


@runtime_checkable
class Linking(Protocol):
    """Placed ratings that find neighbours where they are."""

    def neighbours(self, settings: Settings, stars: Stars | None) -> Half | None:
        """As `neighbours` does, with ratings as `stars` gives them from their values, or as they
        are; None where there is no room for it.
        """
        ...


def neighbours_in(ratings: Ratings, settings: Settings, stars: Stars | None) -> Half:
    """See Linking.neighbours: of ratings that are at hand."""
    by_user, by_item = ratings.by_user, ratings.by_item
    if stars is not None:
        by_user, by_item = by_user.having(stars), by_item.having(stars)
    square = by_user.mean(lambda values: np.square(values, dtype=np.float64))
    return neighbours(
        by_user,
        by_item,
        l2=settings.l2 * square,
        l2_per_rating=settings.l2_per_rating,
        l1=settings.l1 * square,
        candidates=settings.candidates,
        tolerance=settings.tolerance,
    )


def neighbours(
    by_user: Half,
    by_item: Half,
    *,
    l2: float,
    l2_per_rating: float,
    l1: float,
    candidates: int,
    tolerance: float,
    gram_floats: int = GRAM_FLOATS,
) -> Half:
    """Row i: the items j with w_j > 0 and these weights, for the w that minimises

        ½ wᵀ(G + D) w − G_iᵀw + λ₁ Σ w    over w ≥ 0, w_i = 0,   G = AᵀA, D_jj = λ₂ + λ₂′ G_jj

    by greedy coordinate descent over the candidates with the largest first gain. An item is done
    when no gain reaches the tolerance times G_ii.
    """
    users, items = len(by_user.pointers) - 1, len(by_item.pointers) - 1
    return Half(
        *_native.neighbours(
            checked(by_user, items),
            checked(by_item, users),
            l2,
            l2_per_rating,
            l1,
            max(1, min(candidates, items)),
            MOST_UPDATES,
            tolerance,
            gram_floats,
        )
    )
