"""The seam between methods and machines.

    engine.place(ratings)  →  Placed      the ratings where the work is, once per fit
    placed.open(start)     →  Session     two factors being fitted to them
    session.half_step(…)                  all rows of one side, the other side fixed

What training needs to know of the ratings it asks the session for; only `session.factors()` and
`session.pulls()` bring factors home.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine.objective import Objective
from tastemix.engine.sides import Floats, Held, Matrix, Pair, Pulls
from tastemix.engine.start import Start


@dataclass(frozen=True)
class StepReport:
    """What a half-step did."""

    objective: float
    """The objective after it; a dynamic prior counts as it was before it."""
    updates: int
    """Coordinate updates taken."""
    largest: float
    """The largest entry of the factor that moved."""


class Errors(NamedTuple):
    """Ratings that were not learnt from, and what was predicted for them."""

    user: Indices
    item: Indices
    truth: Floats
    prediction: Floats


class Spread(NamedTuple):
    """How far predictions are off, over all ratings of each row of one side."""

    squared: Floats
    """Σ (prediction, clipped to the scale, − rating)²."""
    counts: NDArray[np.int64]


class Session(Protocol):
    """Two factors being fitted to ratings, wherever they live."""

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """Move every row of one side, the other side fixed; then what the rows are pulled towards.

        A row takes at most `max_updates` coordinate updates, rank² (and at least 32) by default.
        """
        ...

    def rmse(self, part: Any) -> float:
        """The root mean squared error, unclipped, on a part that was placed or split off."""
        ...

    def errors(self, part: Any) -> Errors:
        """The predictions of a part, which should be small: they are brought home."""
        ...

    def spread(self, side: Side) -> Spread:
        """How far off the predictions of the ratings it learns from are, row by row."""
        ...

    def keep(self) -> None:
        """Remember the factors as they are now, in place of those remembered before."""
        ...

    def restore(self) -> None:
        """Go back to the remembered factors."""
        ...

    def factors(self) -> Pair:
        """A copy of the factors as they are now."""
        ...

    def pulls(self) -> Pulls | None:
        """What rows are pulled towards, where that is what their choices suggest."""
        ...


class Placed(Protocol):
    """Ratings where the work is."""

    def open(self, start: Start, held: Held = Held(), pulls: Pulls | None = None) -> Session:
        """A session on these ratings; a random start knows what it holds."""
        ...

    def part(self, ratings: Ratings) -> Any:
        """Other ratings over the same users and items, to be judged by."""
        ...

    def split(self, seed: int, share: float) -> tuple[Placed, Any]:
        """These ratings without a share of them drawn at random, and that share as a part."""
        ...

    def close(self) -> None:
        """Give back what was taken; sessions end with it."""
        ...


@dataclass(frozen=True)
class Fold:
    """Rows to be fitted to a factor that stays: those of `half`, from `start`."""

    half: Half
    start: Matrix
    held: tuple[int, ...]
    objective: Objective
    shift: float
    max_updates: int
    centres: Matrix | None = None
    """What each row is pulled towards; None: λ₂ pulls towards the mean of `start`, or zero."""
    times: int = 1
    """Half-steps on end, under a dynamic prior."""


class Fixed(Protocol):
    """A factor made ready to have rows of the other side fitted to it."""

    def rows(self, fold: Fold) -> Matrix:
        """The rows that minimise the objective."""
        ...


class Engine(Protocol):
    """Where the work is done."""

    def place(self, ratings: Ratings) -> Placed:
        """Put ratings where the work is."""
        ...

    def fix(self, factor: Matrix) -> Fixed:
        """Make a factor ready for folding rows in."""
        ...


def update_bound(max_updates: int | None, rank: int) -> int:
    """The safety bound of greedy descent on one row."""
    return max(rank * rank, 32) if max_updates is None else max_updates
