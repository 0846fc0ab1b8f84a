"""Blocks of both sides, wherever they are, and what they are asked together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Side
from tastemix.engine.sides import Floats, Matrix
from tastemix.engine.totals import summed


class Team(Protocol):
    """The blocks of both sides."""

    def rows(self, side: Side) -> int:
        """The rows of all blocks of a side."""
        ...

    def group(self, side: Side) -> int:
        """The rows of a group, over which the blocks of a side give sums."""
        ...

    def on(
        self,
        side: Side,
        work: str,
        *arguments: Any,
        sees: Sequence[str] = (),
        changes: Sequence[str] = (),
    ) -> list[Any]:
        """What a method of `Block` gives for every block of a side, in order.

        sees: what the blocks look at of the other side. changes: what they show from then on.
        """
        ...

    def on_part(self, part: Any, sees: Sequence[str]) -> list[Any]:
        """`Block.errors_on` of a part, for every block of users in order."""
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
