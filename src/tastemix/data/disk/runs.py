"""Runs: some rows each, grouped by ranges of numbers, so that one range can be read from all runs.

A run is a folder of arrays: `bounds`, where each range begins, and the columns of its rows. Within
a range rows stay in the order they came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.disk.arrays import part_of, save_folder, stable_order

MOST_RANGES = 2**16
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Runs:
    """The runs in a folder, over `count` numbers in the column `key`."""

    folder: Path
    key: str
    count: int

    @property
    def width(self) -> int:
        """Numbers in a range."""
        return -(-self.count // MOST_RANGES)

    def path(self, number: int) -> Path:
        """The folder of a run."""
        return self.folder / f"run-{number:06}"

    def write(self, number: int, columns: Columns) -> None:
        """Make a run of these rows."""
        ranges = -(-self.count // self.width)
        key = columns[self.key].astype(np.int64)
        if self.width > 1:
            key //= self.width
        key, order = stable_order(key, ranges)
        bounds = np.searchsorted(key, np.arange(ranges + 1))
        grouped = {name: column[order] for name, column in columns.items()}
        save_folder(self.path(number), {"bounds": bounds, **grouped})

    def pieces(self, rows: int) -> list[tuple[int, int]]:
        """Numbers first to last, again and again, that have at most so many rows in all runs.

        A single number may have more.
        """
        total = sum(np.load(run / "bounds.npy") for run in self._all())
        edges, found = np.minimum(np.arange(len(total)) * self.width, self.count), []
        first = 0
        while first < len(total) - 1:
            last = int(np.searchsorted(total, total[first] + rows, side="right")) - 1
            if last > first:
                found.append((int(edges[first]), int(edges[last])))
                first = last
                continue
            found += self._within(int(edges[first]), int(edges[first + 1]), rows)
            first += 1
        return found

    def read(self, first: int, last: int) -> Columns:
        """The rows of numbers `first` to `last`, run after run."""
        parts = [*self._parts(first, last)]
        names = [*parts[0]] if parts else []
        whole: Columns = {}
        for name in names:
            whole[name] = np.concatenate([part.pop(name) for part in parts])
        return whole

    def _within(self, first: int, last: int, rows: int) -> Iterator[tuple[int, int]]:
        """The pieces of one range that has more rows than a piece."""
        total = np.zeros(last - first + 1, np.int64)
        for part in self._parts(first, last, (self.key,)):
            total[1:] += np.bincount(part[self.key] - first, minlength=last - first)
        total = np.cumsum(total)
        at = 0
        while at < last - first:
            end = int(np.searchsorted(total, total[at] + rows, side="right")) - 1
            end = max(end, at + 1)
            yield first + at, first + end
            at = end

    def _parts(self, first: int, last: int, names: tuple[str, ...] = ()) -> Iterator[Columns]:
        for run in self._all():
            bounds = np.load(run / "bounds.npy")
            begin = int(bounds[first // self.width])
            end = int(bounds[min(-(-last // self.width), len(bounds) - 1)])
            files = sorted(file.stem for file in run.glob("*.npy") if file.stem != "bounds")
            wanted = names or tuple(files)
            part = {name: part_of(run / f"{name}.npy", begin, end) for name in wanted}
            key = part[self.key]
            if first % self.width or (last % self.width and last != self.count):
                there = (key >= first) & (key < last)
                part = {name: column[there] for name, column in part.items()}
            yield part

    def _all(self) -> list[Path]:
        return sorted(run for run in self.folder.glob("run-*") if run.suffix != ".new")
