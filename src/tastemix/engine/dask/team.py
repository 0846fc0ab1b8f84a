"""The blocks of a session on a cluster, one of each side on every worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Side
from tastemix.engine.dask import worker
from tastemix.engine.dask.cluster import Cluster, LostWorkerError
from tastemix.engine.dask.shelf import Shelf
from tastemix.engine.dask.worker import Opening, Place, View
from tastemix.engine.sides import OTHER, SIDES, Matrix

Step = tuple[str, tuple[Any, ...], Sequence[str]]
"""A method of `Block`, its arguments, and what it looks at."""


@dataclass
class Layout:
    """Which rows are in which block, and which worker has it."""

    fit: str
    borders: dict[Side, list[int]]
    group: dict[Side, int]
    counts: dict[Side, NDArray[np.int64]]
    owners: dict[tuple[Side, int], str]

    def blocks(self, side: Side) -> list[Place]:
        """The blocks of a side, in order."""
        borders = self.borders[side]
        return [
            Place(self.fit, side, number, first, last)
            for number, (first, last) in enumerate(itertools.pairwise(borders))
        ]

    def owner(self, block: Place) -> str:
        """The worker that has a block."""
        return self.owners[block.side, block.number]

    def rows(self, side: Side) -> int:
        """The rows of a side."""
        return self.borders[side][-1]

    def share_out(self, workers: Sequence[str]) -> None:
        """Give every block to a worker that is there; those that have one stay where they are."""
        for side in SIDES:
            held = dict.fromkeys(workers, 0)
            places = self.blocks(side)
            homeless = []
            for block in places:
                owner = self.owners.get((side, block.number))
                if owner in held:
                    held[owner] += 1
                else:
                    homeless.append(block)
            for block in homeless:
                least = min(workers, key=lambda address: (held[address], workers.index(address)))
                self.owners[side, block.number] = least
                held[least] += 1


class DaskTeam:
    """The blocks of one session."""

    def __init__(self, cluster: Cluster, layout: Layout, session: str, shelf: Shelf) -> None:
        self._cluster, self._layout, self._session = cluster, layout, session
        self._shelf = shelf
        self._versions: dict[tuple[Side, str], int] = {}
        self._pieces: dict[tuple[Side, str], list[Any]] = {}
        self._known: dict[tuple[str, Side, str], int] = {}
        self._waiting: dict[Side, list[Step]] = {side: [] for side in SIDES}
        self._next = 0

    def open(self, opening: Opening) -> None:
        """Make the blocks, or make them anew."""
        self._versions, self._pieces, self._known = {}, {}, {}
        self._waiting = {side: [] for side in SIDES}
        places = [block for side in SIDES for block in self._layout.blocks(side)]
        self._run(places, worker.start, lambda block: (opening,))

    def rows(self, side: Side) -> int:
        """See Team.rows."""
        return self._layout.rows(side)

    def group(self, side: Side) -> int:
        """See Team.group."""
        return self._layout.group[side]

    def counts(self, side: Side) -> NDArray[np.int64]:
        """See Team.counts."""
        return self._layout.counts[side]

    def on(
        self,
        side: Side,
        work: str,
        *arguments: Any,
        sees: Sequence[str] = (),
        changes: Sequence[str] = (),
        later: bool = False,
    ) -> list[Any]:
        """See Team.on."""
        if not later:  # what is looked at may itself be made by what waits to be done here
            self._prepare(side, sees)
        self._waiting[side].append((work, arguments, sees))
        results = [] if later else self._done(side)
        self._changed(side, changes)
        return results

    def on_part(self, part: Any, sees: Sequence[str]) -> list[Any]:
        """See Team.on_part."""
        return self.on("users", "errors_on", part.name, sees=sees)

    def _done(self, side: Side) -> list[Any]:
        """The last result of what waits to be done on a side."""
        rows, steps = self.rows(OTHER[side]), self._taken(side)
        results = self._run(
            self._layout.blocks(side),
            worker.work,
            lambda block: (self._session, rows, self._seeing(block, steps)),
        )
        for owner in {self._layout.owner(block) for block in self._layout.blocks(side)}:
            for _, _, sees in steps:
                for name in sees:
                    self._known[owner, OTHER[side], name] = self._version(OTHER[side], name)
        return results

    def _prepare(self, side: Side, sees: Sequence[str]) -> None:
        """Have shown what blocks of a side will look at."""
        for name in sees:
            for block in self._layout.blocks(side):
                self._views(block, [name])

    def _taken(self, side: Side) -> list[Step]:
        for _, _, sees in self._waiting[side]:
            self._prepare(side, sees)
        steps, self._waiting[side] = self._waiting[side], []
        return steps

    def _seeing(self, block: Place, steps: list[Step]) -> list[Any]:
        """Works for a block, with what they look at."""
        return [[work, arguments, self._views(block, sees)] for work, arguments, sees in steps]

    def put(self, side: Side, name: str, values: Matrix) -> None:
        """See Team.put."""
        if self._waiting[side]:
            self._done(side)
        shelf, at = self._shelf, f"{self._session}-put-{side}-{name}"
        shelf.save(at, values)
        self._run(self._layout.blocks(side), worker.put, lambda _: (self._session, name, shelf, at))
        shelf.remove(f"{at}.npy")
        self._changed(side, (name,))

    def save(self, prefix: str) -> dict[Side, tuple[list[str], list[str]]]:
        """Put what the blocks hold on a shelf; the names of what they hold and have kept."""
        found = {}
        for side in SIDES:
            if self._waiting[side]:
                self._done(side)
            places = self._layout.blocks(side)
            names = self._run(places, worker.save, lambda _: (self._session, self._shelf, prefix))
            found[side] = names[0]
        return found

    def _run(
        self, places: list[Place], task: Any, arguments: Callable[[Place], tuple[Any, ...]]
    ) -> list[Any]:
        owners = [self._layout.owner(block) for block in places]
        futures = [
            self._cluster.submit(owner, task, block, *arguments(block))
            for owner, block in zip(owners, places, strict=True)
        ]
        try:
            return self._cluster.results(futures, self._layout.owners.values())
        except LostWorkerError:
            self._cluster.give_up(futures)
            raise

    def _views(self, block: Place, sees: Sequence[str]) -> list[View]:
        """What a block looks at; the pieces only where its worker does not have them yet."""
        side, owner, views = OTHER[block.side], self._layout.owner(block), []
        for name in sees:
            version = self._version(side, name)
            known = self._known.get((owner, side, name)) == version
            views.append([name, version, [] if known else self._shown(side, name)])
        return views

    def _version(self, side: Side, name: str) -> int:
        if (side, name) not in self._versions:
            self._next += 1
            self._versions[side, name] = self._next
        return self._versions[side, name]

    def _shown(self, side: Side, name: str) -> list[Any]:
        """The rows of every block, where they lie, after all that waits to be done there."""
        if (side, name) not in self._pieces:
            rows, steps = self.rows(OTHER[side]), self._taken(side)
            self._pieces[side, name] = [
                self._cluster.submit(
                    self._layout.owner(block),
                    worker.show,
                    *(block, self._session, rows, self._seeing(block, steps), name),
                )
                for block in self._layout.blocks(side)
            ]
        return self._pieces[side, name]

    def _changed(self, side: Side, names: Sequence[str]) -> None:
        for name in names:
            self._versions.pop((side, name), None)
            self._pieces.pop((side, name), None)
