"""Lists of the best items of many users, by engines that find them faster than this machine."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.engine.sides import Matrix


class Scored(NamedTuple):
    """score_ui = x_u·y_i + weight Σ_j a_uj w_ij + base_i; a part that is None adds nothing."""

    size: int
    """Of the catalogue."""
    users: Matrix | None = None
    """A row x for each of the users asked for."""
    items: Matrix | None = None
    base: NDArray[np.float32] | None = None
    rated: Half | None = None
    """Likewise, a: what they rated."""
    links: Half | None = None
    """Row i: the items j with a weight w_ij."""
    weight: float = 0.0


class Listed(NamedTuple):
    """(users, n) item numbers, the best first, −1 for no more; and their scores."""

    items: Indices
    scores: NDArray[np.float32]


@runtime_checkable
class Searching(Protocol):
    """An engine that makes lists for many users at once."""

    most_listed: int
    """Items of a list."""

    def best(self, scored: Scored, seen: Half, allowed: NDArray[np.uint8] | None, n: int) -> Listed:
        """The n items with the highest scores, of those allowed (by item) and not seen.

        seen: a row for each of the users asked for. Equal scores go to the lower number.
        """
        ...
