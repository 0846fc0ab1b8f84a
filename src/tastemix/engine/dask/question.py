"""A question to all blocks of a side: how workers answer it, and get the rows that they look at.

A question goes to all workers as one message, outside of Dask's tasks, which would cost several
milliseconds of processor time each. Rows go straight from the workers that have them to those that
look at them.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, NamedTuple

import numpy as np
from distributed.core import clean_exception

from tastemix.data.ratings import Side
from tastemix.engine import _native
from tastemix.engine.block import Shown
from tastemix.engine.dask.worker import Opened, Place, block_of, desk_of, part_of
from tastemix.engine.sides import Matrix


class View(NamedTuple):
    """Rows of the other side that workers do not have as they are now."""

    name: str
    places: dict[str, list[Place]]
    """The blocks that have them, by worker."""


class Question(NamedTuple):
    """What all blocks of a side are asked."""

    session: Opened
    side: Side
    blocks: dict[str, list[Place]]
    """By worker."""
    rows: int
    """Of the other side."""
    views: list[View]
    """To be looked at."""
    steps: list[tuple[str, tuple[Any, ...]]]
    """Methods of `Block`, with their arguments."""


async def answer(question: Question, dask_worker: Any) -> list[Any]:
    """What the last step gives for each block of this worker."""
    for view in question.views:
        await _see(question, view, dask_worker)
    run = asyncio.get_running_loop().run_in_executor
    return await run(dask_worker.executors["default"], _done, question, dask_worker.address)


def _done(question: Question, here: str) -> list[Any]:
    """One block after the other, each with all threads of the worker."""
    results = []
    for place in question.blocks[here]:
        desk, result = desk_of(here, place.fit), None
        block = block_of(desk, place, question.session)
        for work, arguments in question.steps:
            if work == "errors_on":
                arguments = (part_of(desk, place, *arguments),)
            result = getattr(block, work)(*arguments)
        results.append(result)
    return results


async def _see(question: Question, view: View, dask_worker: Any) -> None:
    """Bring rows of the other side up to date here."""
    one = question.blocks[dask_worker.address][0]
    desk, key = desk_of(dask_worker.address, one.fit), (question.session, one.side, view.name)
    whole = desk.seen.get(key)
    if whole is None:
        rank = block_of(desk, one, question.session).rank
        line = view.name in ("scale", "weight")
        rows = question.rows
        whole = np.empty(rows, np.float32) if line else _native.Rows(rows, rank)
    bring = (
        _bring(address, places, question.session, view.name, whole, dask_worker)
        for address, places in view.places.items()
    )
    await asyncio.gather(*bring)
    desk.seen[key] = whole


async def _bring(
    address: str, places: list[Place], session: Opened, name: str, whole: Shown, dask_worker: Any
) -> None:
    """Put the rows that a worker has where they belong."""
    if address == dask_worker.address:
        pieces = await show(places, session, name, dask_worker)
    else:
        answered = await dask_worker.rpc(address).run(
            function=_SHOW, args=pickle.dumps((places, session, name))
        )
        if answered["status"] != "OK":
            raise clean_exception(**answered)[1] or RuntimeError(address)
        pieces = answered["result"]
    await asyncio.to_thread(_put, places, pieces, whole)


def _put(places: list[Place], pieces: list[Matrix], whole: Shown) -> None:
    for place, piece in zip(places, pieces, strict=True):
        if isinstance(whole, _native.Rows):
            whole.put(place.first, piece)
        else:
            whole[place.first : place.last] = piece


async def show(places: list[Place], session: Opened, name: str, dask_worker: Any) -> list[Matrix]:
    """What blocks of this worker hold of this name."""
    here = dask_worker.address
    blocks = [block_of(desk_of(here, place.fit), place, session) for place in places]
    return await asyncio.to_thread(lambda: [block.vector(name) for block in blocks])


_SHOW = pickle.dumps(show)
