"""Ratings mapped from a folder: the same as in memory, whole or in part, or refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.disk.manifest import INDEX
from tastemix.data.disk.store import SIDES, Store
from tastemix.data.disk.writing import write
from tastemix.data.halves import Coded
from tests.conftest import random_ratings


@pytest.fixture
def ratings() -> tm.Ratings:
    return random_ratings(60, 40, 0.3)


@pytest.fixture
def folder(tmp_path: Path, ratings: tm.Ratings) -> Path:
    write(ratings, tmp_path / "ratings.tmr")
    return tmp_path / "ratings.tmr"


def test_both_halves_ids_and_scale_are_those_that_were_written(
    ratings: tm.Ratings, folder: Path
) -> None:
    opened = tm.open(folder)
    for side in SIDES:
        mine, theirs = ratings.half(side), opened.half(side)
        assert np.array_equal(mine.pointers, theirs.pointers)
        assert np.array_equal(mine.indices, theirs.indices)
        assert isinstance(theirs.stored, Coded)
        assert np.array_equal(mine.values, theirs.values)
        assert opened.ids(side).values.equals(ratings.ids(side).values)
    assert opened.scale == ratings.scale
    assert opened.fingerprint == ratings.fingerprint
    assert opened.to_table().equals(ratings.to_table())


def test_more_levels_than_a_byte_tells_apart_are_stored_as_floats(tmp_path: Path) -> None:
    values = np.linspace(-3, 3, 257, dtype=np.float32)
    ratings = tm.Ratings.from_arrays(np.arange(257), np.zeros(257, int), values)
    write(ratings, tmp_path / "many")
    opened = tm.open(tmp_path / "many")
    assert not isinstance(opened.by_user.stored, Coded)
    assert np.array_equal(opened.by_user.values, values)


def test_timestamps_come_back(tmp_path: Path) -> None:
    times = np.array(["2020-01-03", "2020-01-01", "2020-01-02"], "datetime64[us]")
    ratings = tm.Ratings.from_arrays(["b", "a", "a"], [1, 2, 1], [1, 2, 3], timestamp=times)
    write(ratings, tmp_path / "dated")
    opened = tm.open(tmp_path / "dated")
    assert opened.dated
    assert opened.timestamp is not None
    assert opened.timestamp.tolist() == ratings.timestamp.tolist()  # type: ignore[union-attr]
    assert opened.source_row.tolist() == [2, 1, 0]  # type: ignore[union-attr]


def test_a_span_of_rows_is_that_part_of_its_half(ratings: tm.Ratings, folder: Path) -> None:
    whole = ratings.by_item
    part = Store.at(folder).half("items", 7, 20, verify=True)
    assert np.array_equal(part.counts, whole.counts[7:20])
    for row in range(13):
        for mine, theirs in zip(whole.row(7 + row), part.row(row), strict=True):
            assert np.array_equal(mine, theirs)
    with pytest.raises(tm.errors.ParameterError, match="rows 30 to 41 are not all there"):
        Store.at(folder).half("items", 30, 41)


@pytest.mark.parametrize("scale", [(1, 5), (0, 6)])
def test_a_fit_and_its_model_are_those_of_ratings_in_memory(
    tmp_path: Path, scale: tuple[float, float]
) -> None:
    ratings = replace(random_ratings(60, 40, 0.3), scale=scale)
    write(ratings, tmp_path / "ratings.tmr")
    opened = tm.open(tmp_path / "ratings.tmr")
    inside, mapped = (tm.CNMF(rank=3, steps=3).fit(each) for each in (ratings, opened))
    assert np.array_equal(inside.factors.users, mapped.factors.users)
    assert np.array_equal(inside.factors.items, mapped.factors.items)
    assert inside.mean == mapped.mean
    user = ratings.users[0]
    assert inside.recommend(user, n=3).equals(mapped.recommend(user, n=3))


@pytest.mark.parametrize(
    "name", ["users.parquet", "users-pointers.npy", "items-indices.npy", "items-values.npy"]
)
def test_a_changed_byte_is_found(folder: Path, name: str) -> None:
    file = folder / name
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(tm.errors.DataError, match=f"{name} is damaged in block 0"):
        tm.open(folder)


def test_a_file_that_is_cut_off_or_gone_is_refused(folder: Path) -> None:
    file = folder / "users-values.npy"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(tm.errors.DataError, match="missing or not as long"):
        tm.open(folder, verify=False)
    file.unlink()
    with pytest.raises(tm.errors.DataError, match="missing or not as long"):
        tm.open(folder, verify=False)


def changed(folder: Path, **entries: object) -> None:
    about = json.loads((folder / INDEX).read_text())
    (folder / INDEX).write_text(json.dumps({**about, **entries}))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"format": "other"}, "not about ratings of tastemix"),
        ({"version": 9}, "of version 9 and this tastemix reads 1"),
        ({"ratings": -1}, "its ratings is -1"),
        ({"users": 2**31}, "more users or items than can be numbered"),
        ({"levels": ["a"]}, "its levels are not numbers"),
        ({"files": {}}, "missing or not as long"),
        ({"extra": 1}, "one too many"),
        ({"items": 7}, r"has the shape \(41,\)"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(
    folder: Path, entries: dict[str, object], message: str
) -> None:
    changed(folder, **entries)
    with pytest.raises(tm.errors.DataError, match=message):
        tm.open(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tm.errors.DataError, match=r"has no ratings\.json"):
        tm.open(tmp_path)
    with pytest.raises(tm.errors.DataError, match="does not exist"):
        tm.open(tmp_path / "nowhere")
    (tmp_path / INDEX).write_text("{")
    with pytest.raises(tm.errors.DataError, match=r"ratings\.json cannot be read"):
        tm.open(tmp_path)
