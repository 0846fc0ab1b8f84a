"""Where tastes and items lie on a map: related tastes near each other, items among their tastes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.model.tastes import Tastes

Floats = NDArray[np.float64]
SHARPNESS = 3.0
"""The power of an item's shares: with a larger one, items lie closer to the taste they have most
of."""
SPREAD = 0.05
"""How far items with the same mix are apart, as a share of the map."""
GOLDEN = 2.399963229728653
"""The angle that spreads points evenly around a centre."""


def similarities(tastes: Tastes) -> Floats:
    """(tastes, tastes): the cosine between what each adds to the items."""
    columns = tastes.typical / np.maximum(np.linalg.norm(tastes.typical, axis=0), 1e-300)
    return np.asarray(columns.T @ columns).clip(0.0, 1.0)


def places(alike: Floats) -> Floats:
    """(tastes, 2): positions from 0 to 1 whose distances follow 1 − similarity.

    Classical scaling: the two largest axes of the centred squared distances. Signs are fixed by the
    first taste, so that the map does not flip from one load to the next.
    """
    count = len(alike)
    if count < 2:
        return np.full((count, 2), 0.5)
    squares = (1.0 - alike) ** 2
    centred = np.eye(count) - 1.0 / count
    values, axes = np.linalg.eigh(-0.5 * centred @ squares @ centred)
    found = np.zeros((count, 2))
    for at in range(min(2, count)):
        axis = axes[:, -1 - at] * np.sqrt(max(values[-1 - at], 0.0))
        found[:, at] = axis * (-1.0 if axis[0] < 0 else 1.0)
    low, high = found.min(axis=0), found.max(axis=0)
    placed: Floats = 0.1 + 0.8 * (found - low) / np.maximum(high - low, 1e-12)
    return placed


def points(tastes: Tastes, numbers: Indices, where: Floats) -> tuple[Floats, Indices]:
    """(items, 2): the mean of the places of an item's tastes by their shares, and its main taste.

    Each point is moved a little, by the golden angle and its number, so that items of one mix
    do not cover each other.
    """
    weights = np.maximum(tastes.item_weights(tastes.factors.items[numbers]), 0.0)
    main = np.argmax(weights, axis=1).astype(np.int32)
    shares = (weights / np.maximum(weights.max(axis=1, keepdims=True), 1e-300)) ** SHARPNESS
    total = np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    turn = GOLDEN * np.arange(len(numbers))
    far = SPREAD * np.sqrt((np.arange(len(numbers)) % 97 + 1) / 97)
    found = shares @ where / total + far[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return found.clip(0.0, 1.0), main
