"""Workers that are shown only the rows they need: the same bits, and fewer bytes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.halves import Half
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.sides import OTHER, SIDES
from tests.engine.problems import steps

distributed = pytest.importorskip("distributed")
from tastemix.engine.dask import Dask, placed, routing  # noqa: E402
from tests.engine.test_dask import METHODS, assert_same, made  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def of_neighbours(seed: int, count: int = 24_000) -> tm.Ratings:
    """3000 users and 2600 items, who mostly rate those with about the same number."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 3000, count)
    near = (user * 2600 // 3000 + rng.integers(-60, 60, count)) % 2600
    item = np.where(rng.random(count) < 0.005, rng.integers(0, 2600, count), near)
    user, item = np.append(user, np.arange(3000)), np.append(item, np.arange(3000) * 2600 // 3000)
    _, one = np.unique(user * 2600 + item, return_index=True)
    return tm.Ratings.from_arrays(user[one], item[one], rng.integers(1, 6, len(one)).astype(float))


RATINGS = of_neighbours(1)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with made(3) as local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "SMALL", 0)


def needed(there: Any, side: Any, owner: str) -> int:
    """The rows of the other side that a worker's blocks are rated with."""
    half = RATINGS.half(side)
    entries = [
        half.indices[half.pointers[block.first] : half.pointers[block.last]]
        for block in there.layout.by_owner(side)[owner]
    ]
    return len(np.unique(np.concatenate(entries)))


@pytest.mark.parametrize(("name", "blocks"), [("RNMF", 3), ("PRD", 5), ("CNMF", 3), ("CNMF", 5)])
def test_a_fit_has_the_same_bits(name: str, blocks: int, client: Any, small: None) -> None:
    engine = Dask(client, blocks=blocks)
    far = steps(engine, RATINGS, 5, METHODS[name], 2, offsets=True)
    assert all(far._placed.layout.routed(side) for side in SIDES)  # type: ignore[attr-defined]
    near = steps(CpuEngine(), RATINGS, 5, METHODS[name], 2, offsets=True)
    assert_same(far, near)
    reports = [session.half_step("items", METHODS[name], 1e-3) for session in (far, near)]
    assert reports[0] == reports[1]
    for side in SIDES:
        spreads = [session.spread(side) for session in (far, near)]
        np.testing.assert_array_equal(spreads[0].squared, spreads[1].squared)


def test_a_worker_is_shown_the_rows_that_its_blocks_need(client: Any, small: None) -> None:
    there = Dask(client).place(RATINGS)
    layout = there.layout  # type: ignore[attr-defined]
    for (side, owner), rows in layout.shown.items():
        assert rows == needed(there, side, owner) < 0.5 * layout.rows(OTHER[side])
    session = there.open(RandomStart(4, 1))
    client.run(_count)
    try:
        for _ in range(2):
            for side in SIDES:
                session.half_step(side, METHODS["RNMF"], 1e-3)
        shown, whole = client.run(_counted), 4 * 4 * (3000 + 2600)
    finally:
        client.run(_end_counting)
    for owner, count in shown.items():
        own = sum(4 * 4 * layout.shown[side, owner] for side in SIDES)
        assert count == 2 * own < whole
    there.close()


def _count() -> None:
    """Have this worker count the bytes it is shown, those of its own blocks too."""
    from tastemix.engine.dask import question

    before, counted = (question._put, question._put_own), [0]

    def counting(places: Any, pieces: Any, seen: Any) -> None:
        counted[0] += sum(piece.nbytes for piece in pieces)
        before[0](places, pieces, seen)

    def counting_own(wanted: Any, seen: Any) -> None:
        rows = [len(question._numbers(seen.table, place)) for place in wanted.places]
        counted[0] += 4 * seen.rows.rank * sum(rows)
        before[1](wanted, seen)

    question._put, question._put_own = counting, counting_own
    question._before, question._counted = before, counted  # type: ignore[attr-defined]


def _counted() -> int:
    from tastemix.engine.dask import question

    return int(question._counted[0])  # type: ignore[attr-defined]


def _end_counting() -> None:
    from tastemix.engine.dask import question

    question._put, question._put_own = question._before  # type: ignore[attr-defined]


def test_a_table_is_sent_once(client: Any, small: None) -> None:
    there = Dask(client).place(RATINGS)
    session = there.open(RandomStart(4, 1))
    session.half_step("items", METHODS["RNMF"], 1e-3)
    known = client.run(_remember, there.layout.fit)  # type: ignore[attr-defined]
    assert [*known.values()] == [2, 2, 2]  # what each of the others needs of users
    session.half_step("users", METHODS["RNMF"], 1e-3)
    session.half_step("items", METHODS["RNMF"], 1e-3)
    now = client.run(_remembered, there.layout.fit)  # type: ignore[attr-defined]
    assert [*now.values()] == [(4, 2)] * 3  # and of items; the first are as they were
    there.close()


def _remember(fit: str) -> int:
    """How many tables this worker knows of a fit."""
    from tastemix.engine.dask import worker

    (desk,) = (desk for (_, of), desk in worker._DESKS.items() if of == fit)
    worker._remembered = desk.routes.copy()  # type: ignore[attr-defined]
    return len(desk.routes)


def _remembered(fit: str) -> tuple[int, int]:
    """How many it knows now, and how many of those before were not sent again."""
    from tastemix.engine.dask import worker

    before = worker._remembered  # type: ignore[attr-defined]
    (desk,) = (desk for (_, of), desk in worker._DESKS.items() if of == fit)
    return len(desk.routes), sum(desk.routes[key] is route for key, route in before.items())


def test_one_side_alone(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "SMALL", 2800)  # fewer than there are users, more than items
    far = steps(Dask(client), RATINGS, 5, METHODS["CNMF"], 2, offsets=True)
    layout = far._placed.layout  # type: ignore[attr-defined]
    assert [layout.routed(side) for side in SIDES] == [False, True]
    assert_same(far, steps(CpuEngine(), RATINGS, 5, METHODS["CNMF"], 2, offsets=True))


def test_workers_that_need_most_rows_are_shown_all(client: Any, small: None) -> None:
    rng = np.random.default_rng(0)
    chosen = rng.random((1200, 1100)) < 0.02
    some = tm.Ratings.from_arrays(*np.nonzero(chosen), rng.integers(1, 6, chosen.sum()) * 1.0)
    there = Dask(client).place(some)
    layout = there.layout  # type: ignore[attr-defined]
    assert not any(layout.routed(side) for side in SIDES)
    there.close()


def test_a_part_of_other_items_is_evaluated(client: Any, small: None) -> None:
    """Its users rated items that no rating of their worker's blocks is of."""
    train, test = tm.holdout(RATINGS, seed=1)
    sessions, parts = [], []
    for engine in (Dask(client), CpuEngine()):
        there = engine.place(train)
        sessions.append(there.open(RandomStart(4, 1)))
        parts.append(there.part(test))
    for side in (*SIDES, "users", "items"):
        reports = [session.half_step(side, METHODS["RNMF"], 1e-3) for session in sessions]
        assert reports[0] == reports[1]
        for _ in range(2):
            far, near = (s.rmse(part) for s, part in zip(sessions, parts, strict=True))
            assert far == near


class Killer:
    """Kills a worker after some steps."""

    def __init__(self, client: Any, at: int) -> None:
        self.client, self.at, self.tables = client, at, []

    def __call__(self, step: Any, session: Any) -> None:
        self.tables.append(dict(session._placed.layout.shown))
        if step.number == self.at:
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)


def test_a_killed_worker_changes_no_bit(small: None) -> None:
    """One of four, whose users and items go to others, which then need more rows."""
    train, test = tm.holdout(RATINGS, seed=1)
    method = tm.ANLS(4, [tm.Phase(METHODS["CNMF"], 5)], offsets=True)
    options: dict[str, Any] = {"held_out": test, "patience": 5}
    with made(4) as local, distributed.Client(local) as client:
        killer = Killer(client, 2)
        engine = Dask(client, every=1)
        far = method.fit(train, engine=engine, on_step=killer, **options)
    before, after = killer.tables[1], killer.tables[-1]
    assert [len(before), len(after)] == [8, 6]
    assert sorted(after[key] > before[key] for key in after) == [False] * 4 + [True] * 2
    near = method.fit(train, **options)
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    np.testing.assert_array_equal(far.factors.items, near.factors.items)
    assert [step.objective for step in far.history] == [step.objective for step in near.history]


def test_sessions_beside_each_other_are_all_made_anew(small: None) -> None:
    objective = METHODS["RNMF"]
    near = [steps(CpuEngine(), RATINGS, 4, objective, 2, seed=seed) for seed in (1, 2)]
    with made(4) as local, distributed.Client(local) as client:
        there = Dask(client).place(RATINGS)
        far = [there.open(RandomStart(4, seed)) for seed in (1, 2)]
        for number in range(2):
            for side in ("items", "users"):
                for session in far:
                    session.half_step(side, objective, 1e-3)
            if number == 0:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        for one, other in zip(far, near, strict=True):
            assert_same(one, other)
        there.close()


def test_the_memory_of_a_block_is_that_of_the_rows_it_is_shown(client: Any, small: None) -> None:
    there: Any = Dask(client).place(RATINGS)
    block = there.layout.blocks("users")[0]
    shown, rows = needed(there, "users", there.layout.owner(block)), block.last - block.first
    assert there.bytes_of(block, 8) == 4 * 8 * (7 * rows + shown) + 8 * rows
    there.close()


def halves(*rows: list[int]) -> list[Half]:
    """A half for each row."""
    return [
        Half(np.array([0, len(row)]), np.array(row, np.int32), np.ones(len(row), np.float32))
        for row in rows
    ]


def test_a_table_has_the_rows_that_are_rated_in_their_order(tmp_path: Any) -> None:
    some = halves([7, 2, 30], [], [2, 9])
    table = routing.table_of(some, 40, 4)
    assert table is not None
    assert table.numbers.tolist() == [2, 7, 9, 30]
    assert table.within(3, 30) == slice(1, 3)
    there = routing.renumbered(some, table, 40, str(tmp_path))
    assert [half.indices.tolist() for half in there] == [[1, 0, 3], [], [0, 2]]
    assert there[0].mapped
    assert os.listdir(tmp_path) == []
    assert routing.table_of(some, 40, 3) is None


def test_a_table_is_given_up_as_soon_as_it_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "AT_ONCE", 10)
    looked: list[int] = []
    parts = routing._parts

    def counted(some: Any) -> Iterator[Any]:
        for part in parts(some):
            looked.append(len(part))
            yield part

    monkeypatch.setattr(routing, "_parts", counted)
    assert routing.table_of(halves([*range(40)] * 100), 40, 20) is None
    assert sum(looked) == 50  # of 4,000: a rating for each row and one more


@pytest.mark.parametrize("number", [-1, 40])
def test_rows_that_are_not_there_are_left_to_be_refused(number: int) -> None:
    assert routing.table_of(halves([3, number]), 40, 20) is None
