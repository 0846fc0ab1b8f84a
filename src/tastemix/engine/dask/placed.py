"""Ratings on a cluster: a folder that every worker maps its blocks from."""

from __future__ import annotations

import shutil
import tempfile
import uuid
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tastemix.data.disk import writing
from tastemix.data.disk.store import Store
from tastemix.data.ratings import Half, Ratings, Side
from tastemix.engine import splitting
from tastemix.engine.dask import worker
from tastemix.engine.dask.checkpoint import Progress, key_of
from tastemix.engine.dask.cluster import Cluster, LostSchedulerError, LostWorkerError
from tastemix.engine.dask.home import Home
from tastemix.engine.dask.session import DaskSession
from tastemix.engine.dask.shelf import Shelf, written
from tastemix.engine.dask.team import Layout
from tastemix.engine.neighbours import Settings, Stars, neighbours_in
from tastemix.engine.sides import OTHER, SIDES, Held, Pair, Pulls
from tastemix.engine.start import RandomStart, Start
from tastemix.engine.team import cut, group_of
from tastemix.errors import EngineError

WORKING = 7
"""The most factors that a block's worker holds at a time without centre="choices", in rows of its
side: one is a copy for other workers."""
FEW = 0.5
"""Workers are shown only the rows they need where these are not more than this share of a side."""
SMALL = 2**16
"""A side of so many rows or fewer is shown whole."""


@dataclass(frozen=True, eq=False)
class DaskPart:
    """Ratings on a cluster to evaluate on."""

    ratings: Ratings
    name: str
    folder: str


class DaskPlaced:
    """Ratings on a cluster."""

    def __init__(
        self,
        ratings: Ratings,
        cluster: Cluster,
        shelf: Shelf,
        every: int,
        blocks: int | None,
        memory: int,
    ) -> None:
        self.ratings, self.cluster, self.shelf, self.every = ratings, cluster, shelf, every
        self._made: list[Path] = []
        self._parts: list[DaskPart] = []
        self._sessions: list[tuple[weakref.ref[DaskSession], str]] = []
        self._opened: dict[str, int] = {}
        self._progress: list[Progress] = []
        self._blocks, self._memory, self.failed, self._closed = blocks, memory, False, False
        self.owns_shelf = False
        self.layout = Layout(fit=uuid.uuid4().hex, borders={}, group={}, counts={}, owners={})
        count = blocks or len(cluster.wait_for_workers())
        try:
            self.folder = self._folder_of(ratings)
            store = Store.at(self.folder)
            for side in SIDES:
                self.layout.borders[side] = cut(store.pointers(side), count)
                self.layout.group[side] = group_of(store.rows(side), count)
                self.layout.counts[side] = np.diff(store.pointers(side))
            self.settle()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def of(
        ratings: Ratings,
        cluster: Cluster,
        checkpoint: str | None,
        every: int,
        blocks: int | None,
        memory: int,
    ) -> DaskPlaced:
        """Ratings placed with a shelf of their own, if no checkpoint is given."""
        temporary = None if checkpoint is not None else tempfile.mkdtemp(prefix="tastemix-")
        try:
            shelf = Shelf.at(checkpoint or str(temporary))
            placed = DaskPlaced(ratings, cluster, shelf, every, blocks, memory)
        except BaseException:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
            raise
        placed.owns_shelf = temporary is not None
        return placed

    def open(
        self,
        start: Start,
        held: Held = Held(),
        pulls: Pulls | None = None,
        shift: float | None = None,
    ) -> DaskSession:
        """See Placed.open."""
        self._forget_what_is_done()
        held = start.held if isinstance(start, RandomStart) else held
        shift = self.ratings.shift if shift is None else shift
        rank = start.users.shape[1] if isinstance(start, Pair) else start.items(0, 1).shape[1]
        self._check_memory(rank)
        key = key_of(self.ratings.fingerprint, start, held, pulls, shift)
        number = self._opened[key] = self._opened.get(key, -1) + 1
        progress = Progress(self.shelf, f"{key}-{number}")
        self._progress.append(progress)
        session = DaskSession(self, start, held, pulls, shift, rank, progress)
        self._sessions.append((weakref.ref(session), session.name))
        return session

    def home(self, rank: int) -> Home | None:
        """Where the factors are mapped from when they are finished; None: they fit in memory."""
        rows = sum(self.layout.rows(side) for side in SIDES)
        if 4 * rank * rows <= self._memory:
            return None
        home = Home(self.shelf.where if self.shelf.local else tempfile.gettempdir(), rank)
        home.check(rows)
        return home

    def part(self, ratings: Ratings) -> DaskPart:
        """See Placed.part."""
        part = DaskPart(ratings, f"part-{len(self._parts)}", self._folder_of(ratings))
        self._parts.append(part)
        self.settle()
        return part

    def split(self, seed: int, share: float) -> tuple[DaskPlaced, DaskPart]:
        """See Placed.split. The split is made here."""
        seen, unseen = splitting.split(self.ratings, seed, share)
        about = self.shelf, self.every, self._blocks, self._memory
        placed = DaskPlaced(seen, self.cluster, *about)
        try:
            return placed, placed.part(unseen)
        except BaseException:
            placed.close()
            raise

    def neighbours(self, settings: Settings, stars: Stars | None) -> Half:
        """See Linking.neighbours. They are found here."""
        return neighbours_in(self.ratings, settings, stars)

    def close(self) -> None:
        """Let the workers go, and remove what was written; a failed fit leaves its checkpoints."""
        if self._closed:
            return
        self._closed = True
        self._run(worker.forget, None)
        for progress in () if self.failed else self._progress:
            progress.remove()
        for folder in self._made:
            shutil.rmtree(folder, ignore_errors=True)
        if self.owns_shelf:
            shutil.rmtree(self.shelf.where, ignore_errors=True)

    def settle(self) -> None:
        """Give every block to a worker that is there, and let it map its ratings."""
        self.cluster.persist(self._settled)

    def _settled(self) -> None:
        layout = self.layout
        layout.share_out(self.cluster.wait_for_workers())
        shown = self._map([(side, side, self.folder, self._most(side)) for side in SIDES])
        layout.shown = {(side, owner): rows for (side, _, owner), rows in shown.items()}
        # A part may be of other rows than the ratings, so it has a table of its own.
        most = layout.rows("items") if layout.routed("users") else 0
        self._map([("users", part.name, part.folder, most) for part in self._parts])

    def _most(self, side: Side) -> int:
        """A worker that needs no more rows of the other side than this is not shown the others."""
        rows = self.layout.rows(OTHER[side])
        return int(FEW * rows) if rows > SMALL else 0

    def _map(self, wanted: list[tuple[Side, str, str, int]]) -> dict[tuple[Side, str, str], int]:
        """Let workers map ratings; how many rows of the other side each is shown."""
        asked = {
            (side, of, owner): self.cluster.submit(owner, worker.place, places, of, folder, most)
            for side, of, folder, most in wanted
            for owner, places in self.layout.by_owner(side).items()
        }
        futures = [*asked.values()]
        try:
            shown = self.cluster.results(futures, self.layout.owners.values())
        except LostWorkerError:
            self.cluster.give_up(futures)
            raise
        return dict(zip(asked, shown, strict=True))

    def _folder_of(self, ratings: Ratings) -> str:
        """Where ratings are mapped from; those in memory are written to the shelf first."""
        known = ratings.known
        if known is not None and known.folder is not None:
            return known.folder
        if self.shelf.local:
            where = self.shelf.where
        else:
            where = tempfile.mkdtemp(prefix="tastemix-")
            self._made.append(Path(where))
        folder = Path(where) / f"ratings-{uuid.uuid4().hex}"
        self._made.append(folder)
        with written(where):
            writing.write(ratings, folder)
        return str(folder)

    def _check_memory(self, rank: int) -> None:
        """Refuse blocks that would not fit the memory of their workers."""
        for side in SIDES:
            for block in self.layout.blocks(side):
                owner = self.layout.owner(block)
                limit = self.cluster.memory(owner)
                needed = self.bytes_of(block, rank)
                if limit and needed > limit:
                    raise EngineError(
                        f"the {side} {block.first:,} to {block.last:,} take "
                        f"{needed / 2**20:,.0f} MiB at rank {rank}, and worker {owner} may take "
                        f"{limit / 2**20:,.0f}: add workers, give them more memory, or use a "
                        "smaller rank"
                    )

    def bytes_of(self, block: worker.Place, rank: int) -> int:
        """What a block takes beside its ratings, which are mapped: own rows, and the others'."""
        rows, owner = block.last - block.first, self.layout.owner(block)
        return 4 * rank * (WORKING * rows + self.layout.shown[block.side, owner]) + 8 * rows

    def _forget_what_is_done(self) -> None:
        for session, name in self._sessions:
            if session() is None:
                self._run(worker.forget, name)
        self._sessions = [known for known in self._sessions if known[0]() is not None]

    def _run(self, task: Any, name: str | None) -> None:
        """Tell all workers to forget; none has to answer."""
        for owner in set(self.layout.owners.values()):
            try:
                future = self.cluster.submit(owner, task, self.layout.fit, name)
                self.cluster.results([future], [owner])
            except LostSchedulerError:
                return
            except (LostWorkerError, EngineError):
                continue


__all__ = ["DaskPart", "DaskPlaced"]
