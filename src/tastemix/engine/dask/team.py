"""The blocks of a session on a cluster, one of each side on every worker."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from tastemix.data.ratings import Side
from tastemix.engine.dask import worker
from tastemix.engine.dask.cluster import Cluster, LostWorkerError
from tastemix.engine.dask.home import Home
from tastemix.engine.dask.question import Question, View, answer
from tastemix.engine.dask.shelf import Shelf, written
from tastemix.engine.dask.worker import Opened, Opening, Place, Sight
from tastemix.engine.sides import OTHER, SIDES, Matrix
from tastemix.engine.team import Looks


class Step(NamedTuple):
    """A method of `Block` that was asked for, its arguments, and what it looks at."""

    number: int
    work: str
    arguments: tuple[Any, ...]
    sees: Sequence[Sight]


@dataclass
class Layout:
    """Which rows are in which block, and which worker has it."""

    fit: str
    borders: dict[Side, list[int]]
    group: dict[Side, int]
    counts: dict[Side, NDArray[np.int64]]
    owners: dict[tuple[Side, int], str]
    shown: dict[tuple[Side, str], int] = field(default_factory=dict)
    """How many rows of the other side a worker's blocks of a side look at."""

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

    def by_owner(self, side: Side) -> dict[str, list[Place]]:
        """The blocks of a side, in order, by the worker that has them."""
        found: dict[str, list[Place]] = {}
        for block in self.blocks(side):
            found.setdefault(self.owner(block), []).append(block)
        return found

    def rows(self, side: Side) -> int:
        """The rows of a side."""
        return self.borders[side][-1]

    def routed(self, side: Side) -> bool:
        """Whether some worker's blocks of a side look at a table of rows."""
        rows = self.rows(OTHER[side])
        return any(shown < rows for (of, _), shown in self.shown.items() if of == side)

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

    def __init__(
        self,
        cluster: Cluster,
        layout: Layout,
        session: str,
        shelf: Shelf,
        home: Home | None = None,
    ) -> None:
        self._cluster, self._layout, self._shelf = cluster, layout, shelf
        self._home = home
        """Where whole factors are mapped from; None: they are in memory."""
        self._session, self._openings, self._asked = session, 0, 0
        self._seen: set[tuple[Side, Sight]] = set()
        """What those that look at a side have as it is."""
        self._waiting: dict[Side, list[Step]] = {side: [] for side in SIDES}

    def open(self, opening: Opening) -> None:
        """Make the blocks, or make them anew."""
        self._openings += 1
        self._seen, self._waiting = set(), {side: [] for side in SIDES}
        places = [block for side in SIDES for block in self._layout.blocks(side)]
        opening = opening._replace(session=self._opened)
        self._run(places, worker.start, lambda block: (opening,))

    @property
    def _opened(self) -> Opened:
        return self._session, self._openings

    def rows(self, side: Side) -> int:
        """See Team.rows."""
        return self._layout.rows(side)

    def group(self, side: Side) -> int:
        """See Team.group."""
        return self._layout.group[side]

    def counts(self, side: Side) -> NDArray[np.int64]:
        """See Team.counts."""
        return self._layout.counts[side]

    def on(self, side: Side, work: str, *arguments: Any, **looks: Unpack[Looks]) -> list[Any]:
        """See Team.on."""
        changes = looks.get("changes", ())
        waiting = (sight for step in self._waiting[OTHER[side]] for sight in step.sees)
        if any(sight.name in changes for sight in waiting):
            self._done(OTHER[side])  # while what they look at is still there
        self._wait(side, work, arguments, [Sight(name) for name in looks.get("sees", ())])
        results = [] if looks.get("later") else self._done(side)
        self._changed(side, changes)
        return results

    def on_part(self, part: Any, sees: Sequence[str]) -> list[Any]:
        """See Team.on_part."""
        own = part.name if self._layout.routed("users") else None
        self._wait("users", "errors_on", (part.name,), [Sight(name, own) for name in sees])
        return self._done("users")

    def _wait(
        self, side: Side, work: str, arguments: tuple[Any, ...], sees: Sequence[Sight]
    ) -> None:
        self._asked += 1
        self._waiting[side].append(Step(self._asked, work, arguments, sees))

    def _changed(self, side: Side, names: Sequence[str]) -> None:
        """Those that look at a side have these no more as they are."""
        self._seen = {
            known for known in self._seen if known[0] != side or known[1].name not in names
        }

    def _done(self, side: Side, before: float = math.inf) -> list[Any]:
        """The last result of what waits to be done on a side, for every block.

        What these look at is shown as it was when they were asked: what was asked before it of the
        other side is done first, and nothing that was asked later.
        """
        other, layout = OTHER[side], self._layout
        last = max(
            (step.number for step in self._due(side, before) if self._fresh(side, step)), default=0
        )
        if self._due(other, last):
            self._done(other, last)
        steps = self._due(side, before)
        self._waiting[side] = self._waiting[side][len(steps) :]
        fresh = dict.fromkeys(sight for step in steps for sight in self._fresh(side, step))
        there = layout.by_owner(other)
        question = Question(
            self._opened,
            side,
            layout.by_owner(side),
            layout.rows(other),
            [View(sight, there) for sight in fresh],
            [(step.work, step.arguments) for step in steps],
        )
        answers = self._cluster.ask(answer, question, question.blocks, {*there})
        self._seen |= {(other, sight) for sight in fresh}
        found = {
            place.number: result
            for owner, places in question.blocks.items()
            for place, result in zip(places, answers[owner], strict=True)
        }
        return [found[number] for number in sorted(found)]

    def _due(self, side: Side, before: float) -> list[Step]:
        """What waits on a side and was asked before this."""
        return [step for step in self._waiting[side] if step.number < before]

    def _fresh(self, side: Side, step: Step) -> list[Sight]:
        """What a step looks at that workers do not have as it is."""
        return [sight for sight in step.sees if (OTHER[side], sight) not in self._seen]

    def whole(self, side: Side, name: str) -> Matrix:
        """See Team.whole."""
        if self._home is not None:
            return self._home.filled(self.rows(side), self._pieces(self._home, side, name))
        parts = self.on(side, "vector", name)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pieces(self, home: Home, side: Side, name: str) -> Iterator[tuple[int, Matrix]]:
        """The rows of a side, some of every block at a time, with the number of the first."""
        blocks = self._layout.blocks(side)
        at_once = home.rows_at_once(len(blocks))
        for at in range(0, max(block.last - block.first for block in blocks), at_once):
            pieces = self.on(side, "piece", name, at, at + at_once)
            for block, piece in zip(blocks, pieces, strict=True):
                if len(piece):
                    yield block.first + at, piece

    def put(self, side: Side, name: str, values: Matrix) -> None:
        """See Team.put."""
        self._do_all()
        shelf, at = self._shelf, f"{self._session}-put-{side}-{name}"
        with written(shelf.where):
            shelf.save(at, values)
        self._run(self._layout.blocks(side), worker.put, lambda _: (self._opened, name, shelf, at))
        shelf.remove(f"{at}.npy")
        self._changed(side, (name,))

    def save(self, prefix: str) -> dict[Side, tuple[list[str], list[str]]]:
        """Put what the blocks hold on a shelf; the names of what they hold and have kept."""
        self._do_all()
        places = [block for side in SIDES for block in self._layout.blocks(side)]
        names = self._run(places, worker.save, lambda _: (self._opened, self._shelf, prefix))
        return {block.side: found for block, found in zip(places, names, strict=True)}

    def _do_all(self) -> None:
        for side in SIDES:
            if self._waiting[side]:
                self._done(side)

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
