"""Rows of finished factors that this process should not hold: they are mapped from a file.

The file has no name. So it is gone with the last array that is mapped from it, or with the process.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tastemix.data.columns import first_line
from tastemix.engine.sides import Matrix
from tastemix.errors import EngineError

AT_ONCE = 2**23
"""Bytes that are on their way at a time."""


class Home(NamedTuple):
    """Where rows are mapped from."""

    folder: str
    rank: int

    def check(self, rows: int) -> None:
        """Refuse so many rows if there is no room for them."""
        free = shutil.disk_usage(self.folder).free
        if free < self._bytes(rows):
            raise self._full(rows, f"{free / 2**20:,.0f} MiB are free")

    def rows_at_once(self, blocks: int) -> int:
        """The rows of each of so many blocks that are on their way together."""
        return max(1, AT_ONCE // self._bytes(blocks))

    def filled(self, rows: int, pieces: Iterable[tuple[int, Matrix]]) -> Matrix:
        """So many rows, of which pieces come one by one with the number of their first row."""
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                for first, piece in pieces:
                    file.seek(self._bytes(first))
                    file.write(np.ascontiguousarray(piece, np.float32).data)
                file.flush()
                return np.asarray(np.memmap(file, np.float32, "r", shape=(rows, self.rank)))
        except OSError as error:
            raise self._full(rows, first_line(error)) from None

    def _bytes(self, rows: int) -> int:
        return 4 * self.rank * rows

    def _full(self, rows: int, reason: str) -> EngineError:
        return EngineError(
            f"the factors take {self._bytes(rows) / 2**20:,.0f} MiB, for which {self.folder} has "
            f"no room ({reason}): make some and run the same call again, or give the engine a "
            "checkpoint in a larger folder, or more memory"
        )
