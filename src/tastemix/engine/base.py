"""The interface between methods and engines.

    engine.place(ratings)  →  Placed      the ratings where the work is done, once per fit
    placed.open(start)     →  Session     two factors being fitted to them
    session.half_step(…)                  moves all rows of one side, the other side fixed

Training asks the session for what it needs to know about the ratings. Factors leave a session only
by `session.factors()` and `session.pulls()`.
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
    """The result of a half-step."""

    objective: float
    """The objective after it, with a dynamic prior as it was before it; where ridges are estimated,
    without the penalties of the side that did not move."""
    updates: int
    """Coordinate updates taken."""
    largest: float
    """The largest entry of the factor that moved."""


class Errors(NamedTuple):
    """Ratings of a part, and the predictions for them."""

    user: Indices
    item: Indices
    truth: Floats
    prediction: Floats


class Spread(NamedTuple):
    """Squared errors, summed over the ratings of each row of one side."""

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
        """The root mean squared error, unclipped, on a part from `Placed.part` or `split`."""
        ...

    def errors(self, part: Any) -> Errors:
        """The predictions for a part, copied to this process: the part should be small."""
        ...

    def spread(self, side: Side) -> Spread:
        """The squared errors on the training ratings, row by row."""
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
        """What rows are pulled towards under `centre="choices"`; otherwise None."""
        ...


class Placed(Protocol):
    """Ratings where the work is done."""

    def open(
        self,
        start: Start,
        held: Held = Held(),
        pulls: Pulls | None = None,
        shift: float | None = None,
    ) -> Session:
        """A session on these ratings. A `RandomStart` brings its own held coordinates.

        shift: what ratings are counted from, by default the ratings' own.
        """
        ...

    def part(self, ratings: Ratings) -> Any:
        """Other ratings over the same users and items, to evaluate on."""
        ...

    def split(self, seed: int, share: float) -> tuple[Placed, Any]:
        """These ratings without a random share of them, and that share as a part."""
        ...

    def close(self) -> None:
        """Release resources. Its sessions must not be used afterwards."""
        ...


@dataclass(frozen=True)
class Fold:
    """Rows to be fitted to a fixed factor: those of `half`, starting from `start`."""

    half: Half
    start: Matrix
    held: tuple[int, ...]
    objective: Objective
    shift: float
    max_updates: int
    centres: Matrix | None = None
    """What each row is pulled towards; None: the mean of `start` or zero, as the objective says."""
    ridges: Matrix | None = None
    """How strongly, coordinate by coordinate; None: as the objective says."""
    times: int = 1
    """The number of successive half-steps, under a dynamic prior."""


class Fixed(Protocol):
    """A factor prepared for fitting rows of the other side to it."""

    def rows(self, fold: Fold) -> Matrix:
        """The rows that minimise the objective."""
        ...


class Engine(Protocol):
    """Where the work is done."""

    def place(self, ratings: Ratings) -> Placed:
        """Put ratings where the work is done."""
        ...

    def fix(self, factor: Matrix) -> Fixed:
        """Prepare a factor for folding in rows."""
        ...


def update_bound(max_updates: int | None, rank: int) -> int:
    """The safety bound of greedy descent on one row."""
    return max(rank * rank, 32) if max_updates is None else max_updates
