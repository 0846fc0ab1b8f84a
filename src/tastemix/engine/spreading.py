"""Engines of many machines, which can do the same to many pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
Piece = TypeVar("Piece")
Result = TypeVar("Result")


@runtime_checkable
class Spreading(Protocol):
    """An engine that gives pieces of work to whoever is free."""

    def spread(
        self,
        begin: Callable[[Any], T],
        about: Any,
        work: Callable[[T, Piece], Result],
        pieces: Sequence[Piece],
    ) -> list[Result]:
        """What `work` gives for each piece, with what `begin(about)` gives once on each machine.

        Both are functions of this package. A piece may be worked on twice.
        """
        ...
