"""What runs on a worker: its blocks, and the rows of the other side that they look at.

A task finds what it works on by name. What is not there was on a worker that is gone: the fit is
told, and puts the block here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import get_worker

from tastemix.data.columns import first_line
from tastemix.data.disk.store import Store
from tastemix.data.halves import Half
from tastemix.data.ids import Indices
from tastemix.data.ratings import Side
from tastemix.engine import _native
from tastemix.engine.block import Block, Rated, Shown
from tastemix.engine.dask.cluster import LostWorkerError
from tastemix.engine.dask.copies import Copies
from tastemix.engine.dask.routing import Table, renumbered, table_of
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


class Sight(NamedTuple):
    """What is looked at of the other side."""

    name: str
    part: str | None = None
    """Of a part, where its ratings are of other rows than those of the blocks."""


class Mapped(NamedTuple):
    """The ratings of a worker's blocks of a side, or those of a part for their rows."""

    places: list[Place]
    most: int
    """A table was to have no more rows than this."""
    table: Table | None
    """The rows of the other side that they are of, where they are numbered by it."""
    rated: dict[int, Rated]
    """By the number of the block."""


class Seen(NamedTuple):
    """Rows of the other side, as they are numbered here."""

    table: Table | None
    rows: Shown


class Route(NamedTuple):
    """Which rows another worker needs of some blocks here."""

    table: str
    places: list[Place]
    numbers: list[Indices]
    """Within each block."""


@dataclass
class Desk:
    """What a worker holds of one fit."""

    mapped: dict[str, Mapped] = field(default_factory=dict)
    """By side, or by the name of a part."""
    blocks: dict[tuple[Opened, Side, int], Block] = field(default_factory=dict)
    copies: dict[tuple[Opened, Side, int], Copies] = field(default_factory=dict)
    """Of what these blocks hold."""
    seen: dict[tuple[Opened, Side, Sight], Seen] = field(default_factory=dict)
    """The rows that the blocks of a side look at."""
    routes: dict[tuple[str, str], Route] = field(default_factory=dict)
    """By the address of the worker that needs rows, and for which of its `mapped`."""

    def ratings(self, of: str) -> Mapped:
        """The ratings of a side or a part."""
        if of not in self.mapped:
            raise LostWorkerError
        return self.mapped[of]

    def look(self, session: Opened, side: Side, sight: Sight, table: Table | None) -> Shown:
        """What was shown, to ratings that are numbered by this table."""
        seen = self.seen[session, side, sight]
        if seen.table is not table:  # blocks were placed anew since
            raise LostWorkerError
        return seen.rows


_DESKS: dict[tuple[str, str], Desk] = {}


def desk_of(address: str, fit: str) -> Desk:
    """What the worker of this address holds; there may be others in this process."""
    desk = _DESKS.get((address, fit))
    if desk is None:
        raise LostWorkerError
    return desk


def _desk(fit: str) -> Desk:
    return _DESKS.setdefault((get_worker().address, fit), Desk())


def place(places: list[Place], of: str, folder: str, most: int) -> int:
    """Map the ratings of this worker's blocks of a side, or those of a part for their rows.

    most: where they are of so many rows of the other side or fewer, they are numbered by a table.
    How many rows they look at.
    """
    desk, side = _desk(places[0].fit), places[0].side
    known = desk.mapped.get(of)
    try:
        store = Store.at(folder)
        rows = store.rows(OTHER[side])
        if known is None or known[:2] != (places, most):
            halves = [store.half(side, block.first, block.last) for block in places]
            known = desk.mapped[of] = _mapped(places, halves, rows, most)
    except DataError as error:
        raise EngineError(
            f"worker {get_worker().address} cannot read the ratings ({error}): put them in a "
            "folder that all machines see, with tm.ingest, or give such a folder as checkpoint"
        ) from None
    return rows if known.table is None else len(known.table.numbers)


def _mapped(places: list[Place], halves: list[Half], rows: int, most: int) -> Mapped:
    table = table_of(halves, rows, most) if most else None
    if table is not None:
        worker = get_worker()
        try:
            halves = renumbered(halves, table, rows, worker.local_directory)
        except OSError as error:
            raise EngineError(
                f"worker {worker.address} cannot number its ratings anew ({first_line(error)}): "
                f"give its folder {worker.local_directory} more room"
            ) from None
        rows = len(table.numbers)
    rated = {
        block.number: Rated(half, rows, block.first)
        for block, half in zip(places, halves, strict=True)
    }
    return Mapped(places, most, table, rated)


def start(block: Place, opening: Opening) -> None:
    """Begin a session, or go on with it from what is on the shelf."""
    desk, side = _desk(block.fit), block.side
    mapped = desk.ratings(side)
    rated = _of_block(mapped, block)
    shelf, names = opening.shelf, opening.names[side]

    def taken(listed: dict[str, str]) -> dict[str, Any]:
        return {name: shelf.rows(at, block.first, block.last) for name, at in listed.items()}

    held = taken(names)
    if opening.start is not None and "rows" not in held:
        draw = opening.start.users if side == "users" else opening.start.items
        held["rows"] = draw(block.first, block.last)

    def look(name: str) -> Shown:
        return desk.look(opening.session, side, Sight(name), mapped.table)

    made = Block(
        rated, held["rows"], opening.held.of(side), opening.shift, opening.group[side], look
    )
    made.hold(held)
    made.kept = taken(opening.kept[side])
    _forget(desk, opening.session[0], but=opening.session)
    desk.routes.clear()  # some may be of workers that are gone; the others say theirs again
    desk.blocks[opening.session, side, block.number] = made
    desk.copies[opening.session, side, block.number] = Copies()


def part_of(
    desk: Desk, block: Place, session: Opened, part: str
) -> tuple[Rated, _native.Rows | None]:
    """The ratings of a part for the rows of a block, and the rows that they are of.

    None: those that the block looks at.
    """
    mapped = desk.ratings(part)
    rated = _of_block(mapped, block)
    if mapped.table is None:
        return rated, None
    rows = desk.look(session, block.side, Sight("rows", part), mapped.table)
    assert isinstance(rows, _native.Rows)
    return rated, rows


def _of_block(mapped: Mapped, block: Place) -> Rated:
    if block.number not in mapped.rated:
        raise LostWorkerError
    return mapped.rated[block.number]


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
    desk = _desk(block.fit)
    made = block_of(desk, block, session)
    desk.copies[session, block.side, block.number].outdate()
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

    held: tuple[dict[Any, Any], ...] = desk.blocks, desk.copies, desk.seen
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
