"""Splits of ratings that are mapped from disk: the same as in memory, and not held there."""

from __future__ import annotations

import errno
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.disk.writing import write
from tastemix.data.halves import Coded
from tastemix.data.plays import refuse_plays
from tastemix.data.ratings import Half, Known
from tastemix.engine import CpuEngine, _native, splitting, start
from tastemix.engine import neighbours as neighbours_of
from tastemix.engine.sides import SIDES
from tastemix.methods import validation
from tastemix.methods.averaged import Fits, learning_part
from tastemix.methods.neighbours import Neighbours
from tastemix.methods.validation import SEED, SHARE, Validation
from tests.conftest import random_ratings

RATINGS = random_ratings(400, 300, 0.08, seed=2)
AT_ONCE = 1024


def in_levels(levels: int) -> tm.Ratings:
    """Ratings of so many values, where the last users and items have none."""
    rng = np.random.default_rng(levels)
    key = np.sort(rng.choice(300 * 200, 9000, replace=False))
    ids = tm.Ratings.from_arrays(range(310), [0] * 310, [1.0] * 310).users
    items = tm.Ratings.from_arrays([0] * 205, range(205), [1.0] * 205).items
    values = (rng.integers(0, levels, 9000) / levels * 4 + 1).astype(np.float32)
    user, item = (part.astype(np.int32) for part in np.divmod(key, 200))
    return tm.Ratings.from_numbers(ids, items, user, item, values, (1, 5))


def on_disk(ratings: tm.Ratings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tm.Ratings:
    """The same, mapped, where a split is of more than are in memory at a time."""
    monkeypatch.setattr(splitting, "AT_ONCE", AT_ONCE)
    write(ratings, folder)
    return tm.open(folder)


def assert_the_same(one: tm.Ratings, other: tm.Ratings) -> None:
    for side in SIDES:
        for name in ("pointers", "indices", "values"):
            found, expected = (getattr(each.half(side), name) for each in (one, other))
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("levels", [5, 2000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_what_is_left_of_mapped_ratings_is_mapped(
    levels: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = in_levels(levels)
    there = on_disk(ratings, tmp_path / "ratings.tmr", monkeypatch)
    before = os.listdir(tmp_path / "ratings.tmr")
    seen, unseen = splitting.split(there, 3, share)
    assert seen.by_user.mapped
    assert seen.by_item.mapped
    assert os.listdir(tmp_path / "ratings.tmr") == before
    expected = splitting.split(ratings, 3, share)
    for one, other in zip((seen, unseen), expected, strict=True):
        assert_the_same(one, other)
    assert len(seen) + len(unseen) == len(ratings)


def test_a_fit_decodes_no_mapped_ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = on_disk(RATINGS, tmp_path / "ratings.tmr", monkeypatch)
    model = tm.fit(there)
    model.recommend([1, 2])
    for half in (there.by_user, there.by_item):
        assert isinstance(half.stored, Coded)
        assert "_decoded" not in vars(half)


@pytest.mark.parametrize("counts", [[3.0] * 9000, [1.0] * 8999 + [250.0], [1.0, 400.0] * 4500])
def test_mapped_plays_are_refused_in_the_same_words(
    counts: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = in_levels(5).by_user
    by_user = Half(half.pointers, half.indices, np.float32(counts))
    near = replace(in_levels(5), by_user=by_user, scale=(min(counts), max(counts)))
    there = on_disk(near, tmp_path / "plays.tmr", monkeypatch)
    assert isinstance(there.by_user.stored, Coded)
    said = []
    for each in (near, there):
        try:
            refuse_plays(each)
            said.append("")
        except tm.errors.DataError as error:
            said.append(str(error))
    assert said[0] == said[1]
    assert (said[0] == "") == (400.0 in counts)  # half of them at most 200.5


@pytest.mark.parametrize("method", [tm.CNMF(3, steps=3), tm.CNMF(3, members=2, steps=3)])
def test_the_default_method_fits_mapped_ratings_with_the_same_bits(
    method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = on_disk(RATINGS, tmp_path / "ratings.tmr", monkeypatch)
    near, far = method.fit(RATINGS), method.fit(there)
    np.testing.assert_array_equal(near.factors.users, far.factors.users)
    np.testing.assert_array_equal(near.factors.items, far.factors.items)
    assert near.ranking.weights == far.ranking.weights
    assert near.noise.coefficients == far.noise.coefficients
    assert near.recommend([1, 2, 3]).equals(far.recommend([1, 2, 3]))


def test_a_disk_that_is_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = on_disk(RATINGS, tmp_path / "ratings.tmr", monkeypatch)

    monkeypatch.setattr(splitting.tempfile, "TemporaryFile", Full)
    with pytest.raises(tm.errors.EngineError, match=r"ratings.tmr.*No space left.*tm.RNMF"):
        tm.CNMF(3, steps=3).fit(there)


class Full(io.BytesIO):
    """A file on a full disk."""

    def __init__(self, dir: str) -> None:
        super().__init__()

    def write(self, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_halves_of_different_ratings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = on_disk(RATINGS, tmp_path / "ratings.tmr", monkeypatch)
    fewer = on_disk(RATINGS.subset(np.arange(3000)), tmp_path / "fewer.tmr", monkeypatch)
    by_item = Half(there.by_item.pointers + 10**6, fewer.by_item.indices, fewer.by_item.stored)
    with pytest.raises(tm.errors.EngineError, match="damaged"):
        splitting.split(replace(there, known=Known(by_item)), 0, 0.1)


def test_what_is_taken_away_can_be_told_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "DRAWN_AT_ONCE", 100)
    places = np.flatnonzero(np.random.default_rng(0).random(5000) < 0.3)
    taken = start.drawn(5000, 7, 0.2)
    np.testing.assert_array_equal(start.drawn_at(places, 7, 0.2), taken[places])
    assert not len(start.drawn_at(places[:0], 7, 0.2))


def test_lists_of_very_many_ratings_are_learnt_from_some_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validation, "MOST_LEARNT", len(RATINGS) // 4)
    judged = Validation(RATINGS)
    users = np.arange(0, len(RATINGS.users), 5)  # of a little more than four times as many
    taken = start.drawn(len(RATINGS), SEED, SHARE)
    expected = RATINGS.subset(~taken & np.isin(RATINGS.by_user.rows, users))
    np.testing.assert_array_equal(judged.learning.by_user.pointers, expected.by_user.pointers)
    np.testing.assert_array_equal(judged.learning.by_user.indices, expected.by_user.indices)
    assert len(judged.users) > 10
    assert set(judged.users) <= set(users)
    model = tm.CNMF(3, steps=3).fit(RATINGS)
    assert model.recommend([1], n=3).num_rows == 3


@pytest.mark.parametrize("learnt", [10**6, 3000])
def test_no_more_is_held_back_than_tells_enough(
    learnt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And lists are judged by what the trials have not seen."""
    monkeypatch.setattr(validation, "MOST_HELD", 300)
    monkeypatch.setattr(validation, "MOST_LEARNT", learnt)
    held: list[set[tuple[int, int]]] = []
    parted = Validation.__init__

    def watched(judged: Validation, ratings: tm.Ratings) -> None:
        parted(judged, ratings)
        held.append(pairs(judged._held))

    monkeypatch.setattr(Validation, "__init__", watched)
    placed = CpuEngine().place(RATINGS)
    with learning_part(Fits(placed, RATINGS, None)) as some:
        assert 200 < len(some.unseen.ratings) < 400
        judged = Validation(RATINGS)
        unseen = pairs(some.unseen.ratings.by_user)
    assert held[0]
    assert held[0] <= unseen
    assert not pairs(judged.learning.by_user) & unseen


def pairs(half: Half) -> set[tuple[int, int]]:
    return set(zip(half.rows.tolist(), half.indices.tolist(), strict=True))


def test_trial_neighbours_are_of_all_that_is_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every engine, however few users lists are tried on."""
    found: list[int] = []
    native = neighbours_of.neighbours

    def watched(by_user: Half, *halves: Any, **settings: Any) -> Half:
        found.append(len(by_user.indices))
        return native(by_user, *halves, **settings)

    monkeypatch.setattr(neighbours_of, "neighbours", watched)
    monkeypatch.setattr(validation, "MOST_LEARNT", len(RATINGS) // 4)
    tm.CNMF(3, steps=3).fit(RATINGS)
    taken = start.drawn(len(RATINGS), SEED, SHARE)
    assert found == [len(RATINGS), int((~taken).sum())]


@pytest.mark.parametrize("floats", [1 << 28, 300 * 60])
@pytest.mark.parametrize("levels", [5, 2000])
def test_neighbours_of_mapped_ratings_are_the_same(
    floats: int, levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(neighbours_of.neighbours.__kwdefaults__, "gram_floats", floats)
    ratings = in_levels(levels)
    there = on_disk(ratings, tmp_path / "ratings.tmr", monkeypatch)
    one, other = (Neighbours(l2=1.0).links(each).by_target for each in (ratings, there))
    np.testing.assert_array_equal(one.pointers, other.pointers)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.values, other.values)
    assert len(one.indices) > 200


def test_entries_are_marked_where_they_are_in_the_other_half() -> None:
    half, other = RATINGS.by_user, RATINGS.by_item
    gone = np.random.default_rng(0).random(len(RATINGS)) < 0.3
    bits = np.zeros(-(-len(RATINGS) // 8), np.uint8)
    places = other.pointers[:-1].copy()
    for part in (slice(0, 1000), slice(1000, None)):
        _native.mark(places, half.indices[part], gone[part], bits)
    np.testing.assert_array_equal(places, other.pointers[1:])
    marked = np.unpackbits(bits, bitorder="little", count=len(RATINGS)) == 1
    expected = np.zeros((len(RATINGS.users), len(RATINGS.items)), bool)
    expected[half.rows[gone], half.indices[gone]] = True
    np.testing.assert_array_equal(marked, expected[other.indices, other.rows])
    with pytest.raises(IndexError):
        _native.mark(places, np.array([300], np.int32), gone[:1], bits)
    with pytest.raises(IndexError):
        _native.mark(np.array([10**9]), np.array([0], np.int32), np.array([True]), bits)
    with pytest.raises(ValueError, match="entries"):
        _native.mark(places, half.indices[:2], gone[:1], bits)
