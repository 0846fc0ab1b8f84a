"""What runs on a worker: its blocks, and the rows of the other side that they look at.

A task finds what it works on by name. What is not there was on a worker that is gone: the fit is
told, and puts the block here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import get_worker

from tastemix.data.disk.store import Store
from tastemix.data.ratings import Side
from tastemix.engine.block import Block, Rated, Shown
from tastemix.engine.dask.cluster import LostWorkerError
from tastemix.engine.dask.shelf import Shelf
from tastemix.engine.sides import OTHER, Held
from tastemix.engine.start import RandomStart
from tastemix.errors import DataError, EngineError

Opened = tuple[str, int]
"""A session, and how often it was opened: what was begun before a worker was lost is another."""


class Place(NamedTuple):
    """A block of a fit."""

    fit: str
    side: Side
    number: int
    first: int
    last: int


class Opening(NamedTuple):
    """How the blocks of a session begin."""

    session: Opened
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


@dataclass
class Desk:
    """What a worker holds of one fit."""

    rated: dict[tuple[Any, ...], Rated] = field(default_factory=dict)
    blocks: dict[tuple[Opened, Side, int], Block] = field(default_factory=dict)
    seen: dict[tuple[Opened, Side, str], Shown] = field(default_factory=dict)
    """The rows that the blocks of a side look at, by name."""


_DESKS: dict[tuple[str, str], Desk] = {}


def desk_of(address: str, fit: str) -> Desk:
    """What the worker of this address holds; there may be others in this process."""
    desk = _DESKS.get((address, fit))
    if desk is None:
        raise LostWorkerError
    return desk


def _desk(fit: str) -> Desk:
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
        return desk.seen[opening.session, side, name]

    made = Block(
        rated, held["rows"], opening.held.of(side), opening.shift, opening.group[side], look
    )
    made.hold(held)
    made.kept = taken(opening.kept[side])
    _forget(desk, opening.session[0], but=opening.session)
    desk.blocks[opening.session, side, block.number] = made


def part_of(desk: Desk, block: Place, part: str) -> Rated:
    """The ratings of a part for the rows of a block."""
    rated = desk.rated.get((part, block.number))
    if rated is None:
        raise LostWorkerError
    return rated


def save(block: Place, session: Opened, shelf: Shelf, prefix: str) -> tuple[list[str], list[str]]:
    """Put what a block holds and has kept on the shelf; the names of both."""
    made = block_of(_desk(block.fit), block, session)
    held = made.held()
    for kind, arrays in (("held", held), ("kept", made.kept)):
        for name, values in arrays.items():
            shelf.save(f"{prefix}-{block.side}-{kind}-{name}-{block.first}", values)
    return sorted(held), sorted(made.kept)


def put(block: Place, session: Opened, name: str, shelf: Shelf, at: str) -> None:
    """Take rows of this name from the shelf."""
    made = block_of(_desk(block.fit), block, session)
    made.put(name, shelf.rows(at, block.first, block.last))


def forget(fit: str, session: str | None) -> None:
    """Let go of a session, or of all of a fit."""
    address = get_worker().address
    if session is None:
        _DESKS.pop((address, fit), None)
    elif (desk := _DESKS.get((address, fit))) is not None:
        _forget(desk, session)


def _forget(desk: Desk, session: str, but: Opened | None = None) -> None:
    """Let go of a session, but not of what was made in one opening of it."""

    def stays(opened: Opened) -> bool:
        return opened[0] != session or opened == but

    held: tuple[dict[Any, Any], ...] = desk.blocks, desk.seen
    for things in held:
        for key in list(things):
            if not stays(key[0]):
                things.pop(key, None)


def block_of(desk: Desk, block: Place, session: Opened) -> Block:
    """A block of a session."""
    made = desk.blocks.get((session, block.side, block.number))
    if made is None:
        raise LostWorkerError
    return made
