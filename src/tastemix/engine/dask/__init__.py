"""A cluster of Dask as an engine: `tm.fit(ratings, engine="dask")`, or `tm.engines.Dask(client)`.

Every worker holds a block of users and one of items, with their ratings, and the rows of the other
side that these look at. Factors have the bits of the local engine at any number of blocks.
`dask.distributed` is imported only here, and only when an engine is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tastemix import checks
from tastemix.data.memory import amount, machine
from tastemix.data.ratings import Ratings
from tastemix.engine.base import Fixed, Placed
from tastemix.engine.cpu import CpuEngine
from tastemix.engine.sides import Matrix
from tastemix.engine.spreading import Piece, Result, T
from tastemix.errors import EngineError

if TYPE_CHECKING:
    from distributed import Client

    from tastemix.engine.dask.cluster import Cluster

NEEDED = "this needs Dask: pip install 'tastemix[dask]', or use engine 'cpu'"
FACTORS = 4
"""Finished factors may take this part of the machine's memory."""


class Dask:
    """A cluster as an engine.

    client: a `distributed.Client`; by default the current one.
    checkpoint: a folder, or an address such as s3://…, that this process and all workers can write
        to. What is needed to go on is written there; the same call goes on from it after the
        scheduler was lost. Without it a lost worker is made up for, a lost scheduler is not.
    every: steps between checkpoints.
    blocks: of each side, by default as many as there are workers.
    memory: bytes, or text such as "8GB", that finished factors may take in the memory of this
        process, by default a quarter of the machine's. Larger ones are mapped from a file without
        a name in the checkpoint's folder, or else in the temporary folder of this machine.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 5,
        blocks: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self._client = client
        self.checkpoint = None if checkpoint is None else os.fspath(checkpoint)
        self.every = checks.whole("every", every)
        self.blocks = None if blocks is None else checks.whole("blocks", blocks)
        self.memory = machine() // FACTORS if memory is None else amount(memory)

    def place(self, ratings: Ratings) -> Placed:
        """See Engine.place."""
        cluster = self._cluster()
        from tastemix.engine.dask.placed import DaskPlaced

        return DaskPlaced.of(
            ratings, cluster, self.checkpoint, self.every, self.blocks, self.memory
        )

    def spread(
        self,
        begin: Callable[[Any], T],
        about: Any,
        work: Callable[[T, Piece], Result],
        pieces: Sequence[Piece],
    ) -> list[Result]:
        """See Spreading.spread."""
        cluster = self._cluster()
        from tastemix.engine.dask.spreading import spread

        return spread(cluster, begin, about, work, pieces)

    def _cluster(self) -> Cluster:
        try:
            from tastemix.engine.dask.cluster import Cluster
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in ("dask", "distributed"):
                raise
            raise EngineError(NEEDED) from None
        return Cluster(self._client)

    def fix(self, factor: Matrix) -> Fixed:
        """See Engine.fix: rows are folded in here."""
        return CpuEngine().fix(factor)
