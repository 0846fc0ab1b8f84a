"""Dask dataframes as ratings: the same as the table they are parts of."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.ratings import as_ratings
from tests.data.disk.test_ingest import content, same, table

pytest.importorskip("dask.dataframe")
import dask.dataframe as dd

WHOLE = table().group_by(["user", "item"]).aggregate([("rating", "max")])
WHOLE = WHOLE.rename_columns({"rating_max": "rating"}).append_column("other", WHOLE["item"])


def frame(**options: Any) -> Any:
    return dd.from_pandas(WHOLE.to_pandas(), npartitions=12, sort=False, **options)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_parts_are_ingested(tmp_path: Path) -> None:
    known = tm.Ratings.from_table(WHOLE)
    same(tmp_path, frame(), known)
    assert "part-00000000.parquet" not in content(tmp_path / "ratings.tmr")


def test_a_file_that_a_killed_call_left_is_in_no_ones_way(tmp_path: Path) -> None:
    spool = tmp_path / "ratings.tmr" / "work" / "rows.parquet"
    spool.parent.mkdir(parents=True)
    spool.write_text("that of a table, unfinished")
    assert len(tm.ingest(frame(), tmp_path / "ratings.tmr")) == len(WHOLE)


def test_text_ids_and_empty_parts(tmp_path: Path) -> None:
    pandas = WHOLE.to_pandas()
    pandas["user"] = [f"u-{user}" for user in pandas["user"]]
    parts = dd.from_pandas(pandas, npartitions=6, sort=False)
    parts = parts[parts["item"] < 3]
    few = pandas[pandas["item"] < 3]
    assert (parts.map_partitions(len).compute() > 0).any()
    same(tmp_path, parts, tm.Ratings.from_table(few))


def test_rows_stay_in_their_order(tmp_path: Path) -> None:
    """Of equal pairs the last row counts, also beyond the tenth part."""
    whole = table(seed=1).to_pandas()
    parts = dd.from_pandas(whole, npartitions=12, sort=False)
    whole["row"] = np.arange(len(whole))
    parts = parts.assign(row=1)
    parts["row"] = parts["row"].cumsum()
    known = tm.Ratings.from_table(whole, timestamp="row", duplicates="last")
    found = tm.ingest(parts, tmp_path / "r", timestamp="row", duplicates="last", memory=10**6)
    np.testing.assert_array_equal(found.by_user.values, known.by_user.values)


def test_what_takes_ratings_takes_one_and_leaves_nothing_behind(temporary: Path) -> None:
    method = tm.RNMF(2, steps=2)
    far, near = (method.fit(as_ratings(what)) for what in (frame(), WHOLE))
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    assert len(os.listdir(temporary)) == 1
    del far
    gc.collect()
    assert os.listdir(temporary) == []


def test_what_it_cannot_do_is_said(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tm.errors.DataError, match="no column 'user'"):
        tm.fit(frame()[["item", "rating"]])
    with pytest.raises(tm.errors.ParameterError, match=r"call \.compute\(\) on"):
        as_ratings(frame(), clicks=True)
    with pytest.raises(tm.errors.ParameterError, match="add up before"):
        tm.fit(frame(), feedback="implicit")
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(tm.errors.DataError, match="a folder that all machines see"):
        tm.fit(frame())
    monkeypatch.undo()
    assert os.listdir(temporary) == []


def test_a_dataframe_that_fails_leaves_nothing_behind(temporary: Path) -> None:
    def fails(part: Any) -> Any:
        if len(part):
            raise ValueError("the disk is gone\nand more")
        return part

    failing = frame().map_partitions(fails, meta=frame()._meta)
    with pytest.raises(tm.errors.DataError) as refused:
        tm.fit(failing)
    assert "\n" not in str(refused.value)
    assert os.listdir(temporary) == []
