"""What runs on a worker: its blocks, and the rows of the other side that they look at.

A task finds what it works on by name. What is not there was on a worker that is gone: the fit is
told, and puts the block here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tastemix.data.disk.store import Store
from tastemix.data.ratings import Side
from tastemix.engine import _native
from tastemix.engine.block import Block, Rated, Shown
from tastemix.engine.dask.cluster import LostWorkerError
from tastemix.engine.dask.shelf import Shelf
from tastemix.engine.sides import OTHER, Held
from tastemix.engine.start import RandomStart
from tastemix.errors import DataError, EngineError


class Place(NamedTuple):
    """A block of a fit."""

    fit: str
    side: Side
    number: int
    first: int
    last: int


class Opening(NamedTuple):
    """How the blocks of a session begin."""

    session: str
    start: RandomStart | None
    """None: from the shelf."""
    shelf: Shelf
    names: dict[Side, dict[str, str]]
    """What is on the shelf of each side, by the name of what it holds."""
    kept: dict[Side, dict[str, str]]
    """Likewise, what was remembered."""
    held: Held
    shift: float
    rank: int
    group: dict[Side, int]
    rows: dict[Side, int]


View = list[Any]
"""A name, a version, and the rows of the other side in pieces, none where they are known to be
here: a plain list, in which Dask finds the pieces that lie on other workers."""


@dataclass
class Desk:
    """What a worker holds of one fit."""

    rated: dict[tuple[Any, ...], Rated] = field(default_factory=dict)
    blocks: dict[tuple[str, Side, int], Block] = field(default_factory=dict)
    whole: dict[tuple[str, Side, str], tuple[int, Shown]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_DESKS: dict[tuple[str, str], Desk] = {}


def _desk(fit: str) -> Desk:
    from distributed import get_worker

    return _DESKS.setdefault((get_worker().address, fit), Desk())


def place(block: Place, folder: str) -> None:
    """Map the ratings of a block."""
    desk, key = _desk(block.fit), (block.side, block.number)
    if key in desk.rated:
        return
    try:
        store = Store.at(folder)
        half = store.half(block.side, block.first, block.last)
    except DataError as error:
        from distributed import get_worker

        raise EngineError(
            f"worker {get_worker().address} cannot read the ratings ({error}): put them in a "
            "folder that all machines see, with tm.ingest, or give such a folder as checkpoint"
        ) from None
    desk.rated[key] = Rated(half, store.rows(OTHER[block.side]), block.first)


def place_part(block: Place, part: str, folder: str) -> None:
    """Map the ratings of a part for the rows of a block."""
    desk, key = _desk(block.fit), (part, block.number)
    if key not in desk.rated:
        store = Store.at(folder)
        half = store.half("users", block.first, block.last)
        desk.rated[key] = Rated(half, store.rows("items"), block.first)


def start(block: Place, opening: Opening) -> None:
    """Begin a session, or go on with it from what is on the shelf."""
    desk, side = _desk(block.fit), block.side
    rated = desk.rated.get((side, block.number))
    if rated is None:
        raise LostWorkerError
    shelf, names = opening.shelf, opening.names[side]

    def taken(listed: dict[str, str]) -> dict[str, Any]:
        return {name: shelf.rows(at, block.first, block.last) for name, at in listed.items()}

    held = taken(names)
    if opening.start is not None and "rows" not in held:
        draw = opening.start.users if side == "users" else opening.start.items
        held["rows"] = draw(block.first, block.last)

    def look(name: str) -> Shown:
        return desk.whole[opening.session, OTHER[side], name][1]

    made = Block(
        rated, held["rows"], opening.held.of(side), opening.shift, opening.group[side], look
    )
    made.hold(held)
    made.kept = taken(opening.kept[side])
    desk.blocks[opening.session, side, block.number] = made
    for known in [known for known in desk.whole if known[0] == opening.session]:
        del desk.whole[known]


def work(block: Place, session: str, rows: int, steps: list[Any]) -> Any:
    """What the last of some methods of `Block` gives; each is called once the block sees what it
    looks at.
    """
    desk = _desk(block.fit)
    made, result = _block(desk, block, session), None
    for name, arguments, views in steps:
        for view in views:
            _see(desk, session, OTHER[block.side], rows, made.rank, view)
        if name == "errors_on":
            arguments = (_part(desk, block, *arguments),)
        result = getattr(made, name)(*arguments)
    return result


def show(block: Place, session: str, rows: int, steps: list[Any], name: str) -> Any:
    """What a block holds of this name, for others to look at, after some methods were called."""
    work(block, session, rows, steps)
    return _block(_desk(block.fit), block, session).vector(name)


def _part(desk: Desk, block: Place, part: str) -> Rated:
    rated = desk.rated.get((part, block.number))
    if rated is None:
        raise LostWorkerError
    return rated


def save(block: Place, session: str, shelf: Shelf, prefix: str) -> tuple[list[str], list[str]]:
    """Put what a block holds and has kept on the shelf; the names of both."""
    made = _block(_desk(block.fit), block, session)
    held = made.held()
    for kind, arrays in (("held", held), ("kept", made.kept)):
        for name, values in arrays.items():
            shelf.save(f"{prefix}-{block.side}-{kind}-{name}-{block.first}", values)
    return sorted(held), sorted(made.kept)


def put(block: Place, session: str, name: str, shelf: Shelf, at: str) -> None:
    """Take rows of this name from the shelf."""
    made = _block(_desk(block.fit), block, session)
    made.put(name, shelf.rows(at, block.first, block.last))


def forget(fit: str, session: str | None) -> None:
    """Let go of a session, or of all of a fit."""
    from distributed import get_worker

    address = get_worker().address
    if session is None:
        _DESKS.pop((address, fit), None)
        return
    desk = _DESKS.get((address, fit))
    if desk is not None:
        desk.blocks = {key: block for key, block in desk.blocks.items() if key[0] != session}
        desk.whole = {key: whole for key, whole in desk.whole.items() if key[0] != session}


def _block(desk: Desk, block: Place, session: str) -> Block:
    made = desk.blocks.get((session, block.side, block.number))
    if made is None:
        raise LostWorkerError
    return made


def _see(desk: Desk, session: str, side: Side, rows: int, rank: int, view: View) -> None:
    """Bring what is looked at up to date, unless another block here already has."""
    name, wanted, pieces = view
    key = session, side, name
    with desk.lock:
        version, whole = desk.whole.get(key, (-1, None))
        if version == wanted:
            return
        if not pieces:
            raise LostWorkerError
        if pieces[0].ndim == 1:
            desk.whole[key] = wanted, np.concatenate(pieces)
            return
        if not isinstance(whole, _native.Rows):
            whole = _native.Rows(rows, rank)
        first = 0
        for piece in pieces:
            whole.put(first, piece)
            first += len(piece)
        desk.whole[key] = wanted, whole
