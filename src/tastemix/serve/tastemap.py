"""Where tastes and items lie on a map: related tastes side by side on a circle, items within."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.model.tastes import Tastes

Floats = NDArray[np.float64]
SHARPNESS = 3.0
"""The power of an item's shares: with a larger one, items lie closer to the taste they have most
of."""
INNER = 0.97
"""The radius that items fill, where tastes have 1."""


def similarities(tastes: Tastes) -> Floats:
    """(tastes, tastes): the cosine between what each adds to the items."""
    columns = tastes.typical / np.maximum(np.linalg.norm(tastes.typical, axis=0), 1e-300)
    return np.asarray(columns.T @ columns).clip(0.0, 1.0)


def turns(alike: Floats) -> Indices:
    """(tastes,): the place of each taste around the circle, from 0; neighbours are alike.

    A short tour: the nearest taste next, then parts of the tour are turned around (2-opt) for as
    long as that brings more similar tastes together. The first taste has place 0.
    """
    count = len(alike)
    tour, left = list(range(min(count, 1))), set(range(1, count))
    while left:
        tour.append(max(left, key=lambda other: (alike[tour[-1], other], -other)))
        left.remove(tour[-1])
    better = True
    while better:
        better = False
        for i in range(count - 2):
            for j in range(i + 2, count):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % count]
                if d != a and alike[a, c] + alike[b, d] > alike[a, b] + alike[c, d] + 1e-12:
                    tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
                    better = True
    return np.argsort(tour).astype(np.int32)


def places(alike: Floats) -> Floats:
    """(tastes, 2): positions from 0 to 1 on a circle, in the order of `turns`, from the top."""
    angle = 2 * np.pi * (turns(alike) / max(len(alike), 1) - 0.25)
    return np.asarray(0.5 + 0.5 * np.column_stack([np.cos(angle), np.sin(angle)]))


def points(tastes: Tastes, numbers: Indices, where: Floats) -> tuple[Floats, Indices]:
    """(items, 2): positions from 0 to 1 within the circle, and the taste an item has most of.

    An item lies in the direction of the mean of its tastes' places, by what each adds to it
    compared with what it adds to the average item. Distances from the centre are spread evenly
    over the disc in their order, so that items with most of one taste are at the rim.
    """
    weights = np.maximum(tastes.item_weights(tastes.factors.items[numbers]), 0.0)
    shares = weights / np.maximum(tastes.adds, 1e-300)
    main = np.argmax(shares, axis=1).astype(np.int32)
    shares = (shares / np.maximum(shares.max(axis=1, keepdims=True), 1e-300)) ** SHARPNESS
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    found = shares @ (2 * where - 1)
    far = np.linalg.norm(found, axis=1)
    order = np.argsort(np.argsort(far, kind="stable"), kind="stable")
    spread = INNER * np.sqrt((order + 0.5) / max(len(order), 1))
    placed: Floats = 0.5 + 0.5 * found * (spread / np.maximum(far, 1e-12))[:, None]
    return placed, main
