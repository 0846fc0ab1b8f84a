"""Copies of what a block holds, to be sent to other workers: one for all that ask."""

from __future__ import annotations

import threading

from tastemix.engine import _native
from tastemix.engine.block import Block, Vector
from tastemix.engine.sides import Matrix


class Copies:
    """Of one block, each made when it is first asked for after the block was asked for anything.

    Their memory is used again: new memory costs more than filling it. Nobody reads a copy any more
    when its block is asked, since all have answered what they were asked before.
    """

    def __init__(self) -> None:
        self._made: dict[str, Matrix | Vector] = {}
        self._spare: list[Matrix] = []
        self._lock = threading.Lock()

    def of(self, block: Block, name: str) -> Matrix | Vector:
        """What the block holds of this name."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._copied(block.shown(name))
            return self._made[name]

    def _copied(self, shown: _native.Rows | Vector) -> Matrix | Vector:
        if not isinstance(shown, _native.Rows):
            return shown
        if not self._spare:
            return shown.get()
        copy = self._spare.pop()
        shown.get(copy)
        return copy

    def outdate(self) -> None:
        """The block may be about to change."""
        with self._lock:
            if self._made:
                self._spare = [copy for copy in self._made.values() if copy.ndim == 2]
            self._made = {}
