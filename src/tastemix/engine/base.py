"""The seam between methods and machines: an Engine opens a Session, a Session takes half-steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Ratings
from tastemix.engine.objective import Objective

Side = Literal["users", "items"]
Matrix = NDArray[np.float32]


class Pair(NamedTuple):
    """The two factors: a row per user and a row per item, of one rank."""

    users: Matrix
    items: Matrix


class Held(NamedTuple):
    """Coordinates that do not move, by side."""

    users: tuple[int, ...] = ()
    items: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepReport:
    """What a half-step did."""

    objective: float
    """The objective after it; a dynamic prior counts as it was before it."""
    updates: int
    """Coordinate updates taken."""
    largest: float
    """The largest entry of the factor that moved."""


class Session(Protocol):
    """Two factors being fitted to ratings, wherever they live."""

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """Move every row of one side, the other side fixed.

        A row takes at most `max_updates` coordinate updates, rank² (and at least 32) by default.
        """
        ...

    def factors(self) -> Pair:
        """A copy of the factors as they are now."""
        ...


class Engine(Protocol):
    """Where sessions come from."""

    def open(self, ratings: Ratings, start: Pair, held: Held = Held()) -> Session:
        """A session on these ratings that starts from these factors."""
        ...


def update_bound(max_updates: int | None, rank: int) -> int:
    """The safety bound of greedy descent on one row."""
    return max(rank * rank, 32) if max_updates is None else max_updates
