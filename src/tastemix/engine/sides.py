"""What comes in two: the factors of users and items, and what their rows are pulled towards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Side

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]

SIDES: tuple[Side, Side] = ("users", "items")
OTHER: dict[Side, Side] = {"users": "items", "items": "users"}


MOST_ENTRY = 1e15
"""Of a factor's entries, times the rank: squares, and their sums over a row, stay finite."""


def bounded(rows: NDArray[np.floating]) -> bool:
    """Whether 32-bit arithmetic on these rows, the last axis of which is the rank, stays finite."""
    if rows.size == 0:
        return True
    return bool(max(rows.max(), -rows.min()) * rows.shape[-1] <= MOST_ENTRY)  # false for a NaN


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


class Pull(NamedTuple):
    """What the rows of one side are pulled towards: mean + (|Ω| + c)^(−½) Σ_{j∈Ω} z_j.

    Where ridges were estimated, by a ridge of `least` + Σ_{j∈Ω} variances_j.
    """

    mean: Floats
    z: Matrix
    """A row per entity of the other side."""
    least: Floats | None = None
    variances: Matrix | None = None
    """Of the rows of the other side."""

    def columns(self, some: slice | NDArray[np.intp]) -> Pull:
        """That of some coordinates."""
        parts: list[Any] = [x if x is None else np.ascontiguousarray(x[..., some]) for x in self]
        return Pull(*parts)

    def widened(self, mean: float) -> Pull:
        """With one coordinate more, of which choices say nothing and which is sure."""
        least, variances = self.least, self.variances
        return Pull(
            np.append(self.mean, mean),
            np.pad(self.z, ((0, 0), (0, 1))),
            None if least is None else np.append(least, least.max()),
            None if variances is None else np.pad(variances, ((0, 0), (0, 1))),
        )

    def scaled(self, by: Floats, other: Floats) -> Pull:
        """That of rows whose coordinates are so many times as large, as are those of the others."""
        return Pull(
            self.mean * by,
            (self.z * by).astype(np.float32),
            None if self.least is None else self.least * other**2,
            None if self.variances is None else (self.variances * other**2).astype(np.float32),
        )

    @staticmethod
    def joined(pulls: Sequence[Pull]) -> Pull:
        """Those of several products, side by side."""
        columns = zip(*pulls, strict=True)
        parts: list[Any] = [None if part[0] is None else np.hstack(part) for part in columns]
        return Pull(*parts)


class Pulls(NamedTuple):
    """What both sides are pulled towards."""

    users: Pull
    items: Pull

    def of(self, side: Side) -> Pull:
        """That of one side."""
        return self.users if side == "users" else self.items

    def for_rows(self, side: Side, count: int) -> Pulls:
        """Those where one side has so many other rows, which pull nobody yet."""
        pull = self.of(OTHER[side])
        none = np.zeros((count, pull.z.shape[1]), np.float32)
        new = pull._replace(z=none, variances=None if pull.variances is None else none)
        return self._replace(items=new) if side == "users" else self._replace(users=new)

    def columns(self, some: slice | NDArray[np.intp]) -> Pulls:
        """Those of some coordinates."""
        return Pulls(*(pull.columns(some) for pull in self))
