"""Memory on the card for what lasts a half-step."""

from __future__ import annotations

from typing import Any

import cupy as cp


class Space:
    """Matrices of one width that are made again and again, in memory that is kept."""

    def __init__(self, width: int) -> None:
        self._rows = cp.empty((0, width), cp.float32)

    def reserve(self, rows: int) -> None:
        """Have room for so many rows in all."""
        if rows > len(self._rows):
            width = self._rows.shape[1]
            self._rows = None  # first let go of the old one
            self._rows = cp.empty((rows, width), cp.float32)

    def matrices(self, *rows: int) -> list[Any]:
        """Matrices of so many rows, not filled; those made before must no longer be used."""
        self.reserve(sum(rows))
        first, found = 0, []
        for count in rows:
            found.append(self._rows[first : first + count])
            first += count
        return found
