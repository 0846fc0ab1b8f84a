"""Rows cut into blocks, in one process: the same bits however they are cut."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.halves import Half
from tastemix.engine import CpuEngine, RandomStart, _native
from tastemix.engine.block import Block, Look, Rated
from tastemix.engine.objective import Objective
from tastemix.engine.session import BlockSession
from tastemix.engine.sides import OTHER, SIDES, Side
from tastemix.engine.team import cut, group_of
from tests.conftest import random_ratings
from tests.engine.problems import OBJECTIVES
from tests.engine.test_estimated import OBJECTIVE as ESTIMATED

RATINGS = random_ratings(3000, 2600, 0.006, seed=1)
"""Six chunks of users and of items."""
START = RandomStart(5, 2, True)


class Pieces:
    """Blocks that look at copies of each other's rows, put together piece by piece."""

    def __init__(self, ratings: tm.Ratings, count: int, group: int | None = None) -> None:
        self.ratings, self.blocks, self._group = ratings, {}, {}
        for side in SIDES:
            half, columns = ratings.half(side), len(ratings.ids(OTHER[side]))
            borders = cut(half.pointers, count)
            self._group[side] = group or group_of(borders[-1], count)
            self.blocks[side] = [
                self.block(half, columns, side, first, last)
                for first, last in itertools.pairwise(borders)
            ]

    def block(self, half: Half, columns: int, side: Side, first: int, last: int) -> Block:
        begin, end = half.pointers[first], half.pointers[last]
        own = Half(half.pointers[first : last + 1] - begin, *self.entries(half, begin, end))
        rows = (START.users if side == "users" else START.items)(first, last)
        rated, held = Rated(own, columns, first), START.held.of(side)
        return Block(rated, rows, held, 0.0, self._group[side], self.look(OTHER[side]))

    def entries(self, half: Half, begin: int, end: int) -> tuple[Any, Any]:
        return half.indices[begin:end], half.values[begin:end]

    def look(self, side: Side) -> Look:
        def look(name: str) -> Any:
            whole = self.whole(side, name)
            return _native.Rows(whole) if whole.ndim == 2 else whole

        return look

    def rows(self, side: Side) -> int:
        return len(self.ratings.ids(side))

    def group(self, side: Side) -> int:
        return self._group[side]

    def on(self, side: Side, work: str, *arguments: Any, **_: Any) -> list[Any]:
        return [getattr(block, work)(*arguments) for block in self.blocks[side]]

    def whole(self, side: Side, name: str) -> Any:
        return np.concatenate(self.on(side, "vector", name))

    def counts(self, side: Side) -> Any:
        return self.ratings.half(side).counts


def fitted(session: Any, objective: Objective, steps: int) -> Sequence[Any]:
    return [session.half_step(side, objective, 1e-3) for _ in range(steps) for side in SIDES[::-1]]


def assert_the_same(ratings: tm.Ratings, pieces: Pieces, objective: Objective) -> None:
    near = CpuEngine().place(ratings).open(START)
    far = BlockSession(pieces, 7, START.held, None, 0.0, ratings.scale, len(ratings))
    assert fitted(far, objective, 2) == fitted(near, objective, 2)
    for one, other in zip(far.factors(), near.factors(), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(far.pulls() or (), near.pulls() or (), strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("name", [*OBJECTIVES, "estimated"])
def test_the_same_bits_however_rows_are_cut(name: str, blocks: int) -> None:
    pieces = Pieces(RATINGS, blocks)
    assert len(pieces.blocks["users"]) == len(pieces.blocks["items"]) == blocks
    assert_the_same(RATINGS, pieces, {**OBJECTIVES, "estimated": ESTIMATED}[name])


@pytest.mark.parametrize("objective", [OBJECTIVES["weak prior"], ESTIMATED])
def test_the_same_bits_where_there_are_several_spans(objective: Objective) -> None:
    """Chunks of two blocks, the border of which is within a span, against whole spans."""
    rng = np.random.default_rng(0)
    users = 2**16 + 5000
    ratings = tm.Ratings.from_arrays(
        np.repeat(np.arange(users), 2), rng.integers(0, 300, 2 * users) * 2 + [0, 1] * users,
        rng.integers(1, 6, 2 * users).astype(float),
    )  # fmt: skip
    pieces = Pieces(ratings, 2)
    assert pieces.group("users") == _native.CHUNK_ROWS
    assert_the_same(ratings, pieces, objective)
    assert_the_same(ratings, Pieces(ratings, 1, _native.SPAN_ROWS), objective)


def test_blocks_end_at_the_borders_of_chunks_and_have_about_the_same_work() -> None:
    rng = np.random.default_rng(0)
    pointers = np.append(0, np.cumsum(rng.integers(0, 200, 100_000)))
    borders = cut(pointers, 5)
    assert len(borders) == 6
    assert all(border % 512 == 0 for border in borders[:-1])
    work = np.diff(pointers[borders] + 16 * np.array(borders))
    assert work.max() < 1.1 * work.min()
    assert group_of(100_000, 5) == 512
    assert group_of(10**8, 5) == 2**16
    assert cut(np.arange(400), 5) == [0, 399]
