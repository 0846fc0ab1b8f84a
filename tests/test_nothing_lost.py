"""Nothing of anyone's is lost or changed without a word, and every refusal is one of ours."""

from __future__ import annotations

import dataclasses
import datetime
import json
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.engine.sides import SIDES, Pair
from tastemix.errors import (
    DataError,
    IdError,
    ModelFileError,
    ParameterError,
    RatingError,
    TastemixError,
)
from tastemix.experiments import QUICK, reproduce
from tastemix.experiments.runs import Log, Record, Run
from tastemix.persistence import checking
from tests.cli.commands import tastemix
from tests.conftest import random_ratings

RATINGS = tm.Ratings.from_arrays(
    ["ann", "ann", "bob", "bob", "cy"], ["Heat", "Up", "Heat", "Jaws", "Up"], [5, 1, 4, 5, 2]
)
MODEL = tm.RNMF(2, steps=2).fit(RATINGS)

# Files of others

STRANGER = "photos-0123456789abcdef.parquet"


def test_a_save_over_a_model_keeps_a_strangers_table(tmp_path: Path) -> None:
    MODEL.save(tmp_path)
    (tmp_path / STRANGER).write_text("precious")
    MODEL.save(tmp_path)
    tm.Popular().fit(RATINGS).save(tmp_path)
    assert (tmp_path / STRANGER).read_text() == "precious"
    assert tm.load(tmp_path).method == "Popular"


def test_a_folder_of_strangers_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / STRANGER).write_text("precious")
    with pytest.raises(ModelFileError, match="other files: give the path of a new folder"):
        MODEL.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [STRANGER]
    assert (tmp_path / STRANGER).read_text() == "precious"


# Codes that lie outside their dictionary


def patched_parquet(path: Path, code: int) -> None:
    """200 users named by codes of one byte, in order, of which one is changed."""
    names = pa.array([f"u{n:03}" for n in range(200)])
    table = pa.table({"user": names, "item": np.zeros(200), "rating": np.ones(200)})
    pq.write_table(table, path, compression="none")
    content, codes = path.read_bytes(), bytes(range(200))
    assert content.count(codes) == 1
    path.write_bytes(content.replace(codes, bytes([*range(199), code])))


def test_a_parquet_file_with_codes_outside_its_dictionary_is_refused(tmp_path: Path) -> None:
    patched_parquet(tmp_path / "good.parquet", 199)
    assert len(tm.read(tmp_path / "good.parquet").users) == 200
    patched_parquet(tmp_path / "bad.parquet", 250)
    with pytest.raises(IdError, match=r"user ids are damaged .*250"):
        tm.read(tmp_path / "bad.parquet")


class Stream:
    """Any other library's table: all that is known of it is how it streams."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("code", [3, 10**9, -1])
@pytest.mark.parametrize("column", ["user", "item", "rating", "timestamp"])
def test_a_table_with_codes_outside_its_dictionary_is_refused(column: str, code: int) -> None:
    numbers = pa.array([1, 2, 3])
    codes = pa.array([0, 1, code], pa.int32())
    wrong = pa.DictionaryArray.from_arrays(codes, numbers, safe=False)
    columns = {"user": numbers, "item": numbers, "rating": numbers, "timestamp": numbers}
    table = pa.table({**columns, column: wrong})
    for given in (table, Stream(table)):
        with pytest.raises(DataError, match=f"the {column}.* damaged .*{code}"):
            tm.Ratings.from_table(given, timestamp="timestamp")


def test_text_that_is_none_is_refused_in_a_table() -> None:
    wrong = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.int32([0, 1, 2])), pa.py_buffer(b"a\xff")
    )
    with pytest.raises(IdError, match="item ids are damaged or not in UTF-8"):
        tm.Ratings.from_arrays([1, 2], wrong, [3, 4])


def test_times_that_do_not_fit_are_refused_not_wrapped_around() -> None:
    far = pa.array([2**62, 1], pa.timestamp("s"))
    with pytest.raises(DataError, match="timestamps do not fit 64 bits"):
        tm.Ratings.from_arrays([1, 2], [1, 2], [3, 4], timestamp=far)


# Numbers whose squares overflow


@pytest.mark.parametrize("entry", [1e20, 1e15])
@pytest.mark.parametrize("side", [0, 1])
def test_a_start_whose_squares_overflow_is_refused(entry: float, side: int) -> None:
    start = [np.ones((3, 17), np.float32), np.ones((3, 17), np.float32)]
    tm.NMF(17, steps=1).fit(RATINGS, start=Pair(*start))
    start[side][1, 2] = entry
    with pytest.raises(ParameterError, match=rf"start.{SIDES[side]} has .* squares overflow"):
        tm.NMF(17, steps=1).fit(RATINGS, start=Pair(*start))


def test_the_largest_model_that_is_loaded_predicts_finite_numbers(tmp_path: Path) -> None:
    factors = tm.Factors(*(np.full((3, 17), 1e15 / 17.01, np.float32) for _ in SIDES))
    dataclasses.replace(MODEL, scores=factors).save(tmp_path)
    model = tm.load(tmp_path)
    assert np.isfinite(model.predict(["ann"], ["Heat"], clip=False)).all()
    assert np.isfinite(model.fold_in({"Heat": 5}).weights).all()


@pytest.mark.parametrize("side", SIDES)
def test_a_model_whose_squares_overflow_is_neither_saved_nor_loaded(
    side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = getattr(MODEL.factors, side).copy()
    huge[1, 1] = -1e20
    model = dataclasses.replace(MODEL, scores=dataclasses.replace(MODEL.factors, **{side: huge}))
    with pytest.raises(ModelFileError, match=r"cannot be saved: .* squares overflow"):
        model.save(tmp_path)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(checking, "check", lambda _: None)
        model.save(tmp_path)
    with pytest.raises(ModelFileError, match=r"damaged: .* squares overflow"):
        tm.load(tmp_path)


# The log of runs

RUNS = [Run(tm.Random(seed)) for seed in range(100)]


def logged(path: Path, runs: list[Run] = RUNS) -> list[int]:
    """Write records of runs that are not there yet; how many were."""
    log = Log(path)
    there = [n for n in range(len(runs)) if str(n) in log]
    try:
        for n, run in enumerate(runs):
            if n not in there:
                log.add(str(n), run, Record({0: {"rmse": float(n)}}, 1.0))
    finally:
        log.close()
    return there


DAMAGED = {
    "no JSON": b'{"key": "10", "ru',
    "bytes": b"\xff\x00\xff",
    "nothing": b"",
    "nested": b"[" * 10**5,
    "no metrics": b'{"key": "10", "judged": {}, "seconds": 1}',
    "text for a metric": b'{"key": "10", "judged": {"0": {"rmse": "1"}}, "seconds": 1}',
    "number for a key": b'{"key": 10, "judged": {"0": {"rmse": 1}}, "seconds": 1}',
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_line_of_the_log_costs_that_record_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    logged(path)
    lines = path.read_bytes().split(b"\n")
    lines[10] = DAMAGED[kind]
    path.write_bytes(b"\n".join(lines))
    log = Log(path)
    assert log.damaged == (11,)
    log.close()
    assert path.read_bytes() == b"\n".join(lines)
    assert logged(path) == [n for n in range(100) if n != 10]
    assert logged(path) == list(range(100))


@pytest.mark.parametrize("content", ["precious", "precious\n", '{"a": 1}\n{"b": 2}\n', "\n"])
def test_a_log_of_something_else_is_refused_and_kept(content: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match="is no log of runs: move it away"):
        Log(path)
    assert path.read_text() == content


@pytest.mark.parametrize("kept", [0, 1, 5, 20, 60])
def test_a_first_record_that_was_torn_is_written_again(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    logged(path, RUNS[:1])
    path.write_bytes(path.read_bytes()[:kept])
    assert logged(path, RUNS[:1]) == []
    assert logged(path, RUNS[:1]) == [0]


def test_a_full_disk_under_the_log_is_told_and_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    logged(path, RUNS[:3])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))
    try:
        with pytest.raises(DataError, match=r"runs.jsonl cannot be written \(.*\): see to that"):
            logged(path, RUNS[:4])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert logged(path, RUNS[:4]) == [0, 1, 2]


def test_a_log_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").symlink_to("/dev/full")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(DataError, match=r"runs.jsonl is no file: choose another folder"):
        Log(tmp_path / "runs.jsonl")
    with pytest.raises(DataError, match=r"runs.jsonl cannot be written \(.*\): see to that"):
        Log(tmp_path / "file" / "runs.jsonl")


def test_the_command_names_a_damaged_line_of_the_log(tmp_path: Path) -> None:
    pq.write_table(random_ratings(30, 20, 0.5).to_table(), tmp_path / "ratings.parquet")
    order = ["reproduce", tmp_path / "ratings.parquet", "--out", tmp_path, "--quick"]
    order += ["--only", "largest"]
    assert not tastemix(*order).stderr.strip()
    path = tmp_path / "runs.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"damaged", *lines[2:]]))
    assert "runs.jsonl is damaged in line 2: what was there is run again" in tastemix(*order).stderr
    with pytest.warns(UserWarning, match="is damaged in line 2"):
        reproduce("mine", RATINGS, tmp_path, QUICK, ["facts"])


# What is no path, or too long for one


@pytest.mark.parametrize("path", [None, 5, b"model", ["model"]])
def test_what_is_no_path_is_refused(path: Any) -> None:
    kind = type(path).__name__
    with pytest.raises(ModelFileError, match=f"a {kind} is not a path: give the path"):
        tm.load(path)
    with pytest.raises(ModelFileError, match=f"a {kind} is not a path: give the path"):
        MODEL.save(path)
    with pytest.raises(DataError, match=f"a {kind} is not a path"):
        tm.read(path)


@pytest.mark.parametrize("path", ["x" * 5000, "x/" * 5000, "a\0b"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    for use in (tm.read, tm.load, MODEL.save):
        with pytest.raises(TastemixError):
            use(path)


# Ids that Python cannot show

FAR = {
    "microseconds": pa.array([1, 2**62], pa.timestamp("us")),
    "seconds": pa.array([1, 400_000_000_000], pa.timestamp("s")),
    "before": pa.array([-(2**62), 1], pa.timestamp("us")),
    "zoned": pa.array([1, 2**62], pa.timestamp("us", "UTC")),
    "nowhere": pa.array([1, 2], pa.timestamp("us", "Mars/Olympus")),
    "days": pa.array([1, 2**31 - 1], pa.date32()),
    "duration": pa.array([1, 2**62], pa.duration("s")),
    "numpy": np.array(["2001-01-01", "20000-01-01"], "datetime64[s]"),
}


@pytest.mark.parametrize("kind", FAR)
def test_ids_that_python_cannot_show_are_refused(kind: str) -> None:
    with pytest.raises(IdError, match=r"user ids are of type .* convert them to integers or text"):
        tm.Ratings.from_arrays(FAR[kind], [1, 2], [3, 4])


def test_the_last_time_and_the_longest_duration_of_python_are_ids() -> None:
    last = datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(1, 1, 1)
    long = datetime.timedelta(days=10**8), datetime.timedelta(seconds=1)
    ratings = tm.Ratings.from_arrays(last, long, [3, 4])
    assert (ratings.users[:], ratings.items[:]) == (list(last[::-1]), list(long[::-1]))


# Ratings whose squares vanish


@pytest.mark.parametrize("size", [1e-30, 1e-20, -1e-30, 1e-45])
def test_ratings_whose_squares_vanish_are_refused(size: float) -> None:
    rating = np.array([1, 2, 3]) * size
    with pytest.raises(RatingError, match="so small that their squares vanish: scale them up"):
        tm.Ratings.from_arrays([1, 1, 2], [1, 2, 1], rating)
    with pytest.raises(RatingError, match="squares vanish"):
        tm.Ratings.from_arrays([1, 1, 2], [1, 2, 1], rating, scale=(-1e-19, 1e-19))


def test_small_ratings_are_fitted_as_large_ones_are() -> None:
    rating = np.array([1.0, 2.0, 4.0, 5.0])
    found = [
        tm.NMF(1, steps=50).fit(tm.Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], rating * size))
        for size in (1, 1e-6)
    ]
    large, small = (model.predict([1, 2], [1, 2]) for model in found)
    np.testing.assert_allclose(small * 1e6, large, rtol=1e-3)
    zeros = tm.Ratings.from_arrays([1, 1], [1, 2], [0, 0])
    assert tm.NMF(1, steps=1).fit(zeros).predict([1], [1]) == 0
    tm.Ratings.from_arrays([1, 1], [1, 2], [1e-30, 0], scale=(0, 1))


# What a saved model claims


def change_index(folder: Path, **changes: Any) -> None:
    index = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**index, **changes}))


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels > 1 else []


@pytest.mark.parametrize("levels", [32, 100, 300])
def test_parameters_that_are_nested_deeply_are_refused(levels: int, tmp_path: Path) -> None:
    MODEL.save(tmp_path)
    change_index(tmp_path, parameters={"x": nested(levels)})
    with pytest.raises(ModelFileError, match="parameters are nested in more than 32 levels"):
        tm.load(tmp_path)
    model = dataclasses.replace(MODEL, parameters={"x": nested(levels)})
    with pytest.raises(ModelFileError, match="cannot be saved: its parameters are nested"):
        model.save(tmp_path)


def test_parameters_that_are_nested_a_little_come_back(tmp_path: Path) -> None:
    model = dataclasses.replace(MODEL, parameters={"x": nested(31)})
    model.save(tmp_path)
    assert tm.load(tmp_path).parameters == model.parameters


def test_a_model_whose_ratings_were_swapped_is_refused(tmp_path: Path) -> None:
    other = tm.Ratings.over(
        RATINGS.users, RATINGS.items, *(["ann", "cy"], ["Up", "Heat"], [1, 5]), None, RATINGS.scale
    )
    MODEL.save(tmp_path / "mine")
    dataclasses.replace(MODEL, ratings=other).save(tmp_path / "other")
    index = json.loads((tmp_path / "mine" / "model.json").read_text())
    swapped = json.loads((tmp_path / "other" / "model.json").read_text())["tables"]["ratings"]
    shutil.copy(tmp_path / "other" / swapped["file"], tmp_path / "mine")
    change_index(tmp_path / "mine", tables={**index["tables"], "ratings": swapped})
    with pytest.raises(ModelFileError, match="ratings, ids or scale are not those that it was"):
        tm.load(tmp_path / "mine")
    change_index(tmp_path / "mine", tables=index["tables"])
    assert tm.load(tmp_path / "mine").ratings is not None


def test_a_model_that_takes_long_to_fold_in_is_refused(tmp_path: Path) -> None:
    model = tm.PRD(2, steps=2).fit(RATINGS)
    model.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    assert index["phases"][-1]["objective"]["prior"] == "dynamic"
    index["phases"][-1]["steps"] = 10_001
    change_index(tmp_path, phases=index["phases"])
    with pytest.raises(ModelFileError, match="a phase has 10,001 steps, more than 10,000"):
        tm.load(tmp_path)
    index["phases"][-1]["steps"] = 10_000
    change_index(tmp_path, phases=index["phases"])
    began = time.perf_counter()
    tm.load(tmp_path).fold_in({"Heat": 5, "Up": 1})
    assert time.perf_counter() - began < 10


# Arguments that are no numbers


def test_parameters_that_are_nan_are_refused() -> None:
    with pytest.raises(ParameterError, match="shift is nan"):
        tm.SSVD(2, shift=float("nan"))
    with pytest.raises(ParameterError, match="shrinkage is nan"):
        tm.Baseline(shrinkage=float("nan"))
