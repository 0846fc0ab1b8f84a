"""A question to all blocks of a side: how workers answer it, and get the rows that they look at.

A question goes to all workers as one message, outside of Dask's tasks, which would cost several
milliseconds of processor time each. Rows go straight from the workers that have them to those that
look at them: all of them, or those of a table, which is sent the first time.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, NamedTuple

import numpy as np
from distributed.core import clean_exception

from tastemix.data.ids import Indices
from tastemix.data.ratings import Side
from tastemix.engine import _native
from tastemix.engine.dask.routing import Table
from tastemix.engine.dask.worker import (
    Opened,
    Place,
    Route,
    Seen,
    Sight,
    block_of,
    desk_of,
    part_of,
)
from tastemix.engine.sides import Matrix


class View(NamedTuple):
    """Rows of the other side that workers do not have as they are now."""

    sight: Sight
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
        desk.copies[question.session, place.side, place.number].outdate()
        for work, arguments in question.steps:
            if work == "errors_on":
                arguments = part_of(desk, place, question.session, *arguments)
            result = getattr(block, work)(*arguments)
        results.append(result)
    return results


class Wanted(NamedTuple):
    """Rows that a worker asks another for."""

    places: list[Place]
    """The blocks that have them."""
    session: Opened
    name: str
    asker: str
    of: str
    """For which ratings of the one that asks."""
    table: str | None
    """By which of its tables; None for all rows."""
    numbers: list[Indices] | None
    """Those that it has of each block; None where they were sent before."""


async def _see(question: Question, view: View, dask_worker: Any) -> None:
    """Bring rows of the other side up to date here."""
    one, sight = question.blocks[dask_worker.address][0], view.sight
    desk, key = desk_of(dask_worker.address, one.fit), (question.session, one.side, sight)
    of = sight.part or one.side
    table, seen = desk.ratings(of).table, desk.seen.get(key)
    if seen is None or seen.table is not table:
        rows = question.rows if table is None else len(table.numbers)
        line = sight.name in ("scale", "weight")
        rank = block_of(desk, one, question.session).rank
        seen = Seen(table, np.empty(rows, np.float32) if line else _native.Rows(rows, rank))
    name = None if table is None else table.name
    bring = (
        _bring(
            address,
            Wanted(places, question.session, sight.name, dask_worker.address, of, name, None),
            seen,
            dask_worker,
        )
        for address, places in view.places.items()
    )
    await asyncio.gather(*bring)
    desk.seen[key] = seen


async def _bring(address: str, wanted: Wanted, seen: Seen, dask_worker: Any) -> None:
    """Put the rows that a worker has where they belong."""
    if address == wanted.asker:
        await asyncio.to_thread(_put_own, wanted, seen)
        return
    pieces = await _asked(address, wanted, dask_worker)
    if pieces is None and seen.table is not None:
        numbers = [_numbers(seen.table, place) for place in wanted.places]
        pieces = await _asked(address, wanted._replace(numbers=numbers), dask_worker)
    await asyncio.to_thread(_put, wanted.places, pieces, seen)


def _numbers(table: Table, place: Place) -> Indices:
    """The rows of a table that a block has, by where they are in it."""
    numbers: Indices = table.numbers[table.within(place.first, place.last)] - np.int32(place.first)
    return numbers


async def _asked(address: str, wanted: Wanted, dask_worker: Any) -> Any:
    """What a worker shows; None if it has to know the table first."""
    answered = await dask_worker.rpc(address).run(function=_SHOW, args=pickle.dumps((wanted,)))
    if answered["status"] != "OK":
        raise clean_exception(**answered)[1] or RuntimeError(address)
    return answered["result"]


def _put_own(wanted: Wanted, seen: Seen) -> None:
    """Likewise, from blocks of the same worker."""
    table, rows = seen
    for place in wanted.places:
        block = block_of(desk_of(wanted.asker, place.fit), place, wanted.session)
        found, numbers = block.shown(wanted.name), None if table is None else _numbers(table, place)
        if isinstance(rows, _native.Rows):
            assert isinstance(found, _native.Rows)
            rows.put(_first(table, place), found, numbers)
        else:
            _put([place], [block.vector(wanted.name, numbers)], seen)


def _put(places: list[Place], pieces: list[Matrix], seen: Seen) -> None:
    table, rows = seen
    for place, piece in zip(places, pieces, strict=True):
        first = _first(table, place)
        if isinstance(rows, _native.Rows):
            rows.put(first, piece)
        else:
            rows[first : first + len(piece)] = piece


def _first(table: Table | None, place: Place) -> int:
    """Where the rows of a block begin among those that are looked at."""
    return place.first if table is None else table.within(place.first, place.last).start


async def show(wanted: Wanted, dask_worker: Any) -> list[Matrix] | None:
    """What blocks of this worker hold of this name; None if it is not known which rows of it."""
    places, session, name = wanted[:3]
    desk = desk_of(dask_worker.address, places[0].fit)
    blocks = [block_of(desk, place, session) for place in places]
    if wanted.table is None:
        copies = [desk.copies[session, place.side, place.number] for place in places]
        return await asyncio.to_thread(
            lambda: [copy.of(block, name) for copy, block in zip(copies, blocks, strict=True)]
        )
    key = wanted.asker, wanted.of
    if wanted.numbers is not None:
        desk.routes[key] = Route(wanted.table, places, wanted.numbers)
    route = desk.routes.get(key)
    if route is None or route[:2] != (wanted.table, places):
        return None
    return await asyncio.to_thread(
        lambda: [block.vector(name, of) for block, of in zip(blocks, route.numbers, strict=True)]
    )


_SHOW = pickle.dumps(show)
