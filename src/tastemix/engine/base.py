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

from tastemix import checks, draws
from tastemix.data.ids import Indices
from tastemix.data.ratings import Half, Ratings
from tastemix.data.ratings import Side as Side
from tastemix.engine.objective import Objective

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]

SIDES: tuple[Side, Side] = ("users", "items")
OTHER: dict[Side, Side] = {"users": "items", "items": "users"}


class Pair(NamedTuple):
    """The two factors: a row per user and a row per item, of one rank."""

    users: Matrix
    items: Matrix

    def of(self, side: Side) -> Matrix:
        """The factor of one side."""
        return self.users if side == "users" else self.items


class Held(NamedTuple):
    """Coordinates that do not move, by side."""

    users: tuple[int, ...] = ()
    items: tuple[int, ...] = ()

    def of(self, side: Side) -> tuple[int, ...]:
        """Those of one side."""
        return self.users if side == "users" else self.items


def with_offsets(rows: Matrix, side: Side) -> Matrix:
    """Two more coordinates, a user's and an item's offset: each meets a held column of ones."""
    rank = rows.shape[1]
    wide = np.zeros((len(rows), rank + 2), np.float32)
    wide[:, :rank] = rows
    wide[:, held_offsets(rank).of(side)] = 1
    return wide


def held_offsets(rank: int) -> Held:
    """The columns of ones beside `rank` tastes: a user's meets the item's offset."""
    return Held(users=(rank + 1,), items=(rank,))


@dataclass(frozen=True)
class RandomStart:
    """Users uniform on (0, size), items zero: items move first.

    With offsets there are two more coordinates, a user's and an item's offset: each starts at zero
    and meets a held column of ones.
    """

    rank: int
    seed: int = 0
    offsets: bool = False
    size: float = 1.0

    def __post_init__(self) -> None:
        checks.whole("rank", self.rank)
        checks.seed(self.seed)

    @property
    def held(self) -> Held:
        """The coordinates that stay at one."""
        return held_offsets(self.rank) if self.offsets else Held()

    def users(self, first: int, last: int) -> Matrix:
        """The rows of users `first` to `last`, drawn from the bit generator itself: the same on any
        machine and wherever the other rows are.
        """
        raw = draws.words(self.seed, (last - first, self.rank), skip=first * self.rank)
        drawn = ((raw >> np.uint64(41)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
        return self._widened(drawn * np.float32(self.size) if self.size != 1 else drawn, "users")

    def items(self, first: int, last: int) -> Matrix:
        """The rows of items `first` to `last`."""
        return self._widened(np.zeros((last - first, self.rank), np.float32), "items")

    def pair(self, users: int, items: int) -> Pair:
        """Both factors, whole."""
        return Pair(self.users(0, users), self.items(0, items))

    def _widened(self, rows: Matrix, side: Side) -> Matrix:
        return with_offsets(rows, side) if self.offsets else rows


Start = RandomStart | Pair


class Pull(NamedTuple):
    """What the rows of one side are pulled towards: mean + (|Ω| + c)^(−½) Σ_{j∈Ω} z_j."""

    mean: Floats
    z: Matrix
    """A row per entity of the other side."""


class Pulls(NamedTuple):
    """What both sides are pulled towards."""

    users: Pull
    items: Pull

    def of(self, side: Side) -> Pull:
        """That of one side."""
        return self.users if side == "users" else self.items

    def columns(self, first: int, last: int) -> Pulls:
        """Those of some neighbouring coordinates."""
        here = slice(first, last)
        return Pulls(*(Pull(p.mean[here], np.ascontiguousarray(p.z[:, here])) for p in self))


@dataclass(frozen=True)
class StepReport:
    """The result of a half-step."""

    objective: float
    """The objective after it, with a dynamic prior as it was before it."""
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

    def open(self, start: Start, held: Held = Held(), pulls: Pulls | None = None) -> Session:
        """A session on these ratings. A `RandomStart` brings its own held coordinates."""
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


class Fixed(Protocol):
    """A factor prepared for fitting rows of the other side to it."""

    def rows(
        self,
        half: Half,
        start: Matrix,
        held: tuple[int, ...],
        objective: Objective,
        shift: float,
        *,
        centres: Matrix | None = None,
        max_updates: int,
        times: int = 1,
    ) -> Matrix:
        """The rows that minimise the objective for the ratings of `half`, from `start`.

        centres: what each row is pulled towards; by default the mean of `start` or zero, as the
            objective says.
        times: the number of successive half-steps, under a dynamic prior.
        """
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


def drawn(count: int, seed: int, share: float) -> NDArray[np.bool_]:
    """Which of `count` ratings a split takes out: at least one, and not all of them."""
    taken: NDArray[np.bool_] = draws.words(seed, count) < np.uint64(int(share * 2**64))
    if count and (taken.all() or not taken.any()):
        taken = np.arange(count) == 0
    return taken
