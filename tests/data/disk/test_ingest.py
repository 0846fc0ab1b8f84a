"""Ingesting: the bytes that the same table would give from memory, or nothing at all."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import tastemix as tm
from tastemix.data.disk import arrays
from tastemix.data.disk.runs import Runs
from tastemix.data.disk.writing import write


def table(rows: int = 30_000, seed: int = 0, *, times: bool = False) -> pa.Table:
    """Ratings with repeats; users 0, 3, 6…"""
    rng = np.random.default_rng(seed)
    columns = {
        "user": 3 * (rows / 50 * rng.random(rows) ** 2).astype(int),
        "item": (400 * rng.random(rows) ** 2).astype(int),
        "rating": rng.integers(1, 11, rows) / 2,
    }
    if times:
        columns["when"] = rng.integers(0, 1000, rows)
    return pa.table(columns)


def parts(folder: Path, whole: pa.Table, count: int = 3) -> Path:
    """The table in a few Parquet files of small row groups."""
    folder.mkdir()
    edges = [len(whole) * at // count for at in range(count + 1)]
    for at in range(count):
        piece = whole.slice(edges[at], edges[at + 1] - edges[at])
        pq.write_table(piece, folder / f"part-{at}.parquet", row_group_size=2500)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def same(tmp_path: Path, source: Any, known: tm.Ratings, **options: Any) -> tm.Ratings:
    """Ingest in pieces of a few thousand rows; the folder is what would be written from memory."""
    write(known, tmp_path / "known.tmr")
    opened = tm.ingest(source, tmp_path / "ratings.tmr", memory=10**6, **options)
    assert content(tmp_path / "ratings.tmr") == content(tmp_path / "known.tmr")
    return opened


def text(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([f"ü-{value}" for value in column.to_pylist()])


KINDS: dict[str, Callable[[pa.ChunkedArray], Any]] = {
    "int64": lambda column: column,
    "int16": lambda column: column.cast(pa.int16()),
    "far apart": lambda column: pa.array(np.asarray(column) * 10**14 - 10**15),
    "uint64": lambda column: pa.array(np.asarray(column).astype(np.uint64) + np.uint64(2**63)),
    "halves": lambda column: pa.array(np.asarray(column) / 2),
    "text": text,
    "dictionary": lambda column: text(column).dictionary_encode(),
    "dates": lambda column: column.cast(pa.int32()).cast(pa.date32()),
    "uuids": lambda column: pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=x).bytes for x in column.to_pylist()], pa.binary(16))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_any_type_are_numbered_as_from_a_table(tmp_path: Path, kind: str) -> None:
    whole = table(6000)
    whole = whole.set_column(0, "user", KINDS[kind](whole["user"]))
    known = tm.Ratings.from_table(whole, duplicates="mean")
    same(tmp_path, parts(tmp_path / "parts", whole), known, duplicates="mean")


@pytest.mark.parametrize("duplicates", ["last", "mean"])
@pytest.mark.parametrize("times", [None, "when"])
def test_duplicates_are_settled_as_from_a_table(
    tmp_path: Path, duplicates: Any, times: str | None
) -> None:
    whole = table(times=times is not None)
    known = tm.Ratings.from_table(whole, duplicates=duplicates, timestamp=times)
    source = parts(tmp_path / "parts", whole)
    opened = same(tmp_path, source, known, duplicates=duplicates, timestamp=times)
    if times:
        train, test = tm.temporal(opened, 0.3)
        assert np.array_equal(test.by_user.indices, tm.temporal(known, 0.3)[1].by_user.indices)
        assert len(train) + len(test) == len(known)


def test_the_bytes_do_not_depend_on_the_memory(tmp_path: Path) -> None:
    source = parts(tmp_path / "parts", table())
    for memory in ("1MB", "3MB", "1GiB"):
        tm.ingest(source, tmp_path / memory, memory=memory, duplicates="last")
    assert content(tmp_path / "1MB") == content(tmp_path / "3MB") == content(tmp_path / "1GiB")


def test_a_pattern_a_list_and_a_stream_are_the_same_rows(tmp_path: Path) -> None:
    whole = table(5000)
    files = sorted(parts(tmp_path / "parts", whole).iterdir())
    sources = {
        "pattern": str(tmp_path / "parts" / "*.parquet"),
        "list": files,
        "table": whole,
        "stream": pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(700)),
        "pandas": whole.to_pandas(),
    }
    for name, source in sources.items():
        tm.ingest(source, tmp_path / name, duplicates="last")
        assert content(tmp_path / name) == content(tmp_path / "pattern")


@pytest.mark.parametrize("kind", ["numbers", "text", "padded"])
def test_csv_files_are_read_as_tm_read_reads_them(tmp_path: Path, kind: str) -> None:
    whole = table(8000, times=True)
    if kind == "text":
        whole = whole.set_column(1, "item", text(whole["item"]))
    if kind == "padded":  # 007 is not 7
        names = pa.array([f"{value:03}" for value in whole["item"].to_pylist()])
        whole = whole.set_column(1, "item", names)
    csv.write_csv(whole, tmp_path / "all.csv")
    known = tm.read(tmp_path / "all.csv", timestamp="when", duplicates="last")
    (tmp_path / "parts").mkdir()
    for at in range(2):
        csv.write_csv(whole.slice(4000 * at, 4000), tmp_path / "parts" / f"{at}.csv")
    same(tmp_path, tmp_path / "parts", known, timestamp="when", duplicates="last")


KILLED = """
import os, signal, sys
import tastemix as tm
calls = 0
def tell(what, done, total):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
tm.ingest(sys.argv[1], sys.argv[2], memory=10**6, duplicates="mean", on_progress=tell)
"""


def test_a_killed_ingest_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    source, to = parts(tmp_path / "parts", table()), tmp_path / "killed"
    told: list[str] = []
    tm.ingest(
        source,
        tmp_path / "whole",
        memory=10**6,
        duplicates="mean",
        on_progress=lambda what, done, total: told.append(what),
    )
    first = told.index("numbering")
    by_user, by_item = (told.index(f"sorting by {side}") for side in ("user", "item"))
    # Each goes on after what was done before: within the reading of ids, the numbering, the pieces
    # by user, the pieces by item.
    for after in (2, first + 9, by_user - first - 9 + 3, by_item - by_user - 2 + 2):
        command = [sys.executable, "-c", KILLED, source, to, str(after)]
        ended = subprocess.run(command, check=False)
        assert ended.returncode == -signal.SIGKILL
        assert not (to / "ratings.json").exists()
        with pytest.raises(tm.errors.DataError, match="not finished and can be by the same call"):
            tm.open(to)
    again: list[str] = []
    tm.ingest(
        source,
        to,
        memory=10**6,
        duplicates="mean",
        on_progress=lambda what, done, total: again.append(what),
    )
    assert set(again) == {"sorting by item", "checksums"}
    assert content(to) == content(tmp_path / "whole")


def test_an_ingest_that_was_begun_otherwise_is_left_alone(tmp_path: Path) -> None:
    source, to = parts(tmp_path / "parts", table(3000)), tmp_path / "ratings.tmr"
    command = [sys.executable, "-c", KILLED, source, to, "3"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = sorted(os.listdir(to / "work"))
    with pytest.raises(tm.errors.ParameterError, match="begun with other files or options"):
        tm.ingest(source, to, memory=10**6, duplicates="last")
    assert sorted(os.listdir(to / "work")) == before


def test_a_mistake_does_not_take_away_what_another_call_has_begun(tmp_path: Path) -> None:
    source, to = parts(tmp_path / "parts", table()), tmp_path / "ratings.tmr"
    command = [sys.executable, "-c", KILLED, source, to, "60"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = sorted(to.rglob("*"))
    assert (to / "work" / "facts.json") in before, "it was killed late"
    options: dict[str, Any] = {"memory": 10**6, "duplicates": "mean"}
    for wrong, others in [
        (tmp_path / "prats", {}),  # a slip in the path
        (source, {"rating": "stars"}),
        (source, {"duplicates": "last"}),
        (table(100), {}),
    ]:
        with pytest.raises(tm.TastemixError):
            tm.ingest(wrong, to, **{**options, **others})
        assert sorted(to.rglob("*")) == before
    opened = tm.ingest(source, to, **options)
    assert opened.fingerprint == tm.Ratings.from_table(table(), duplicates="mean").fingerprint


def test_a_folder_of_someone_else_that_is_called_work_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine" / "work").mkdir(parents=True)
    (tmp_path / "mine" / "letters.txt").write_text("mine")
    with pytest.raises(tm.errors.DataError, match="holds other files"):
        tm.ingest(tmp_path / "none.csv", tmp_path / "mine")
    assert (tmp_path / "mine" / "letters.txt").read_text() == "mine"


def refused(tmp_path: Path, message: str, source: Any, **options: Any) -> None:
    """One sentence, and nothing is left."""
    with pytest.raises(tm.TastemixError, match=message) as error:
        tm.ingest(source, tmp_path / "ratings.tmr", **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "ratings.tmr").exists()


def test_bad_rows_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    whole = table(3000)
    source = parts(tmp_path / "parts", whole)
    refused(tmp_path, r"rated item \d+ twice: pass duplicates", source)
    refused(tmp_path, "there is no column 'stars'", source, rating="stars")
    refused(tmp_path, "outside the scale 1 to 5", source, scale=(1, 5))
    refused(tmp_path, "scale is 'x'", source, scale="x")
    refused(tmp_path, "memory is 'much'", source, memory="much")
    refused(tmp_path, "memory is 10: it must be", source, memory=10)
    refused(tmp_path, "duplicates is 'first'", source, duplicates="first")
    refused(tmp_path, "duplicates is 'sum', which only tables", source, duplicates="sum")
    refused(tmp_path, "matches no file", tmp_path / "none" / "*.parquet")
    refused(tmp_path, "there are no ratings", whole.slice(0, 0))
    refused(tmp_path, "list of files is empty", [])
    missing = whole.set_column(0, "user", pa.array([1] * 2999 + [None]))
    refused(tmp_path, "user id in row 2999 is missing", missing)
    late = pa.concat_tables([whole.select([0, 1, 2]), missing.slice(2990)])
    refused(
        tmp_path,
        r"row \d+ is missing.*counted from row 3,000 of all",
        late,
        memory=10**6,
    )


def test_files_that_are_not_alike_are_refused(tmp_path: Path) -> None:
    whole = table(2000)
    source = parts(tmp_path / "parts", whole)
    other = whole.set_column(1, "item", text(whole["item"]))
    pq.write_table(other, source / "part-9.parquet")
    refused(tmp_path, r"item ids are of type int64 in .*0\.parquet and string in .*9\.p", source)
    csv.write_csv(whole, source / "part.csv")
    refused(tmp_path, "of different kinds", source)
    (source / "broken.parquet").write_bytes(b"PAR1 and no more")
    refused(tmp_path, r"broken\.parquet cannot be read", source / "broken.parquet")


def test_integers_of_other_widths_are_the_same_ids(tmp_path: Path) -> None:
    whole = table(3000)
    source = parts(tmp_path / "parts", whole)
    narrow = whole.slice(2000).set_column(0, "user", whole["user"].slice(2000).cast(pa.int16()))
    pq.write_table(narrow, source / "part-2.parquet")
    known = tm.Ratings.from_table(whole, duplicates="last")
    same(tmp_path, source, known, duplicates="last")


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    whole, to = table(100), tmp_path / "taken"
    to.mkdir()
    (to / "letters.txt").write_text("mine")
    with pytest.raises(tm.errors.DataError, match="holds other files"):
        tm.ingest(whole, to)
    assert os.listdir(to) == ["letters.txt"]
    tm.ingest(whole, tmp_path / "made", duplicates="last")
    with pytest.raises(tm.errors.DataError, match="holds ratings already"):
        tm.ingest(whole, tmp_path / "made", duplicates="last")


@pytest.mark.parametrize("left", ["file", "folder"])
def test_rows_that_a_killed_call_put_on_disk_are_in_no_ones_way(tmp_path: Path, left: str) -> None:
    spool = tmp_path / "ratings.tmr" / "work" / "rows.parquet"
    spool.parent.mkdir(parents=True)
    if left == "folder":  # as a dataframe of Dask is put there
        spool.mkdir()
        (spool / "part-00000000.parquet").write_text("unfinished")
    else:
        spool.write_text("unfinished")
    assert len(tm.ingest(table(100), tmp_path / "ratings.tmr", duplicates="last")) > 0


def test_what_takes_a_path_takes_the_folder(tmp_path: Path) -> None:
    tm.ingest(table(3000), tmp_path / "ratings.tmr", duplicates="last")
    known = tm.open(tmp_path / "ratings.tmr")
    assert tm.read(tmp_path / "ratings.tmr").fingerprint == known.fingerprint
    assert len(tm.fit(tmp_path / "ratings.tmr").ratings) == len(known)  # type: ignore[arg-type]
    with pytest.raises(tm.errors.ParameterError, match="was ingested"):
        tm.read(tmp_path / "ratings.tmr", timestamp="when")
    low, high = known.scale
    wider = tm.read(tmp_path / "ratings.tmr", scale=(low - 1, high))
    assert wider.scale == (low - 1, high)
    assert np.array_equal(wider.by_item.values, known.by_item.values)
    with pytest.raises(tm.errors.RatingError, match="outside the scale"):
        tm.read(tmp_path / "ratings.tmr", scale=(low + 1, high))


def test_a_range_with_more_rows_than_a_piece_is_cut_by_number(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = Runs(tmp_path, "user", 200_000)  # four numbers a range
    user = np.concatenate([rng.integers(0, 200_000, 4000), np.repeat([8, 9, 10], [900, 50, 900])])
    for number, some in enumerate(np.array_split(rng.permutation(user), 3)):
        runs.write(number, {"user": some.astype(np.int32), "at": np.arange(len(some))})
    pieces = runs.pieces(500)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == 200_000
    assert all(one[1] == next_[0] for one, next_ in pairwise(pieces))
    seen = []
    for first, last in pieces:
        found = runs.read(first, last)["user"]
        assert ((found >= first) & (found < last)).all()
        assert len(found) <= 500 or last - first == 1
        seen.append(np.sort(found))
    assert np.array_equal(np.concatenate(seen), np.sort(user))


@pytest.mark.parametrize("most", [10, 2**62])
def test_equal_keys_stay_in_the_order_they_came(most: int) -> None:
    key = np.random.default_rng(1).integers(0, 10, 1000)
    ordered, order = arrays.stable_order(key, most)
    known = np.argsort(key, kind="stable")
    assert np.array_equal(order, known)
    assert np.array_equal(ordered, key[known])


def test_the_folder_says_how_it_is_made_up(tmp_path: Path) -> None:
    tm.ingest(table(2000), tmp_path / "ratings.tmr", duplicates="last", scale=(0, 6))
    about = json.loads((tmp_path / "ratings.tmr" / "ratings.json").read_text())
    assert about["levels"] == [x / 2 for x in range(1, 11)]
    assert about["scale"] == [0, 6]
    assert not (tmp_path / "ratings.tmr" / "work").exists()
