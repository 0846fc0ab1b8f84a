"""Blocks of both sides, wherever they are, and what they are asked together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Side
from tastemix.engine._native import CHUNK_ROWS, SPAN_ROWS
from tastemix.engine.sides import Floats, Matrix
from tastemix.engine.totals import summed

ROW_COST = 16
"""Ratings that a row costs as much as."""
WHOLE_SPANS = 8
"""Blocks end at the borders of spans where each holds as many, else at those of chunks."""


class Looks(TypedDict, total=False):
    """What a method of `Block` has to do with those of other blocks."""

    sees: Sequence[str]
    """What the blocks look at of the other side."""
    changes: Sequence[str]
    """What they show from then on."""
    later: bool
    """The result is not looked at, so it may be done at any time before the next work."""


class Team(Protocol):
    """The blocks of both sides."""

    def rows(self, side: Side) -> int:
        """The rows of all blocks of a side."""
        ...

    def group(self, side: Side) -> int:
        """The rows of a group, over which the blocks of a side give sums."""
        ...

    def on(self, side: Side, work: str, *arguments: Any, **looks: Unpack[Looks]) -> list[Any]:
        """What a method of `Block` gives for every block of a side, in order."""
        ...

    def on_part(self, part: Any, sees: Sequence[str]) -> list[Any]:
        """`Block.errors_on` of a part, for every block of users in order."""
        ...

    def whole(self, side: Side, name: str) -> Matrix:
        """The rows of a side of this name, in this process; they may be mapped from a file."""
        ...

    def put(self, side: Side, name: str, values: Matrix) -> None:
        """Give the blocks of a side their rows of this."""
        ...

    def counts(self, side: Side) -> NDArray[np.int64]:
        """The ratings of every row of a side."""
        ...


def joined(parts: Sequence[Floats]) -> Floats:
    """What blocks gave, end to end."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def added(team: Team, side: Side, parts: Sequence[Floats]) -> Floats:
    """The sums over all rows of a side, from those that its blocks gave."""
    return summed(joined(parts), team.group(side))


def group_of(rows: int, blocks: int) -> int:
    """The rows of a group of sums."""
    return SPAN_ROWS if rows >= WHOLE_SPANS * blocks * SPAN_ROWS else CHUNK_ROWS


def cut(pointers: NDArray[np.int64], blocks: int) -> list[int]:
    """Where blocks of about the same work begin, and the last one ends."""
    rows = len(pointers) - 1
    group = group_of(rows, blocks)
    ends = np.append(np.arange(group, rows, group), rows)
    cost = pointers[ends] + ROW_COST * ends
    wanted = cost[-1] * np.arange(1, blocks) / blocks
    return [0, *sorted({int(ends[at]) for at in np.searchsorted(cost, wanted)} - {rows}), rows]
