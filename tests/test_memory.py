"""A small file takes little memory, whatever it claims or repeats; its user may allow more."""

import dataclasses
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.data import memory
from tastemix.errors import DataError, ModelFileError, ParameterError
from tests.conftest import random_ratings

MIB = 2**20
REFUSED = r"would take ([\d,]+) bytes of memory or more, and may take {:,}: .* larger max_memory"


def constant_csv(path: Path, rows: int, line: bytes = b"1,1,5\n") -> Path:
    with gzip.open(path, "wb") as file:
        file.write(b"user,item,rating\n")
        for _ in range(rows // 10_000):
            file.write(10_000 * line)
    return path


def constant_parquet(path: Path, rows: int, value: object = 7, **how: object) -> Path:
    entries = {"user": value, "item": value, "rating": 3.0}
    columns = {name: pa.repeat(pa.scalar(entry), rows) for name, entry in entries.items()}
    pq.write_table(pa.table(columns), path, **how)
    return path


def peak(program: str) -> int:
    """Bytes by which a process grew while it ran a program, libraries loaded before."""
    measured = (
        "import resource, sys\nimport tastemix as tm\nimport pyarrow.csv, pyarrow.parquet\n"
        "tm.read, tm.load, tm.PR(1, steps=1).fit(tm.Ratings.from_arrays([1], [1], [1.0]))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"try:\n    {program}\n"
        "except tm.errors.TastemixError as error:\n    print(error, file=sys.stderr)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", measured], capture_output=True, text=True, check=True, timeout=100
    )
    assert "would take" in ran.stderr or "fold" in program, ran.stderr
    return 1024 * int(ran.stdout)


def test_a_small_csv_that_unpacks_to_much_is_refused_early(tmp_path: Path) -> None:
    file = constant_csv(tmp_path / "r.csv.gz", 10**7)
    assert file.stat().st_size < 200_000
    assert peak(f"tm.read({str(file)!r}, duplicates='last')") < 150 * MIB
    with pytest.raises(DataError, match=REFUSED.format(64 * MIB)):
        tm.read(file, duplicates="last")


@pytest.mark.parametrize("ends", [b"\n", b"\r", b"\r\n"])
def test_what_is_counted_are_rows_however_they_end(ends: bytes, tmp_path: Path) -> None:
    file = constant_csv(tmp_path / "r.csv.gz", 10**5, b"1,1,5" + ends)
    assert len(tm.read(file, duplicates="last", max_memory=10 * MIB)) == 1
    with pytest.raises(DataError, match=REFUSED.format(5 * MIB)):
        tm.read(file, duplicates="last", max_memory=5 * MIB)


@pytest.mark.parametrize("value", [7, "seven"])
def test_a_small_parquet_that_repeats_a_value_is_refused_before_it_is_read(
    value: object, tmp_path: Path
) -> None:
    file = constant_parquet(tmp_path / "r.parquet", 10**7, value)
    assert file.stat().st_size < 200_000
    assert peak(f"tm.read({str(file)!r}, duplicates='last')") < 30 * MIB
    with pytest.raises(DataError, match=REFUSED.format(64 * MIB)):
        tm.read(file, duplicates="last")
    assert len(tm.read(file, duplicates="last", max_memory=800 * MIB)) == 1


def test_text_that_repeats_what_came_before_is_refused(tmp_path: Path) -> None:
    """No header says how long text is that is encoded as differences: 300 MB of it in 1 MB."""
    texts = pa.array([MIB * "a" + str(number) for number in range(300)])
    how = {"use_dictionary": False, "column_encoding": {"user": "DELTA_BYTE_ARRAY"}}
    table = pa.table({"user": texts, "item": range(300), "rating": np.ones(300)})
    pq.write_table(table, tmp_path / "r.parquet", compression="none", **how)
    with pytest.raises(DataError, match=r"would take [\d,]+ bytes of memory"):
        tm.read(tmp_path / "r.parquet")


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_what_another_tool_wrote_is_read(encoding: str, compression: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "item": [f"item {n % 13}" for n in range(130)],
            "more": [["a", "b"]] * 130,
            "rating": [float(n % 5) for n in range(130)],
            "user": [f"user {n // 13}" for n in range(130)],
        }
    )
    how = {"use_dictionary": False, "column_encoding": {"user": encoding, "item": encoding}}
    for version in ("1.0", "2.0"):
        pq.write_table(
            table,
            tmp_path / "r",
            row_group_size=50,
            compression=compression,
            data_page_version=version,
            **how,
        )
        found = tm.read(tmp_path / "r")
        np.testing.assert_array_equal(
            found.by_user.values, tm.Ratings.from_table(table).by_user.values
        )


def test_long_text_in_the_headers_of_pages_is_skipped(tmp_path: Path) -> None:
    table = pa.table(
        {"user": [5000 * "é" + str(n) for n in range(30)], "item": range(30), "rating": range(30)}
    )
    pq.write_table(
        table, tmp_path / "r", write_page_index=False, write_statistics=True, use_dictionary=False
    )
    assert len(tm.read(tmp_path / "r")) == 30


def test_the_default_is_a_share_of_the_machine_and_a_multiple_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "machine", lambda: 10**10)
    assert memory.most(None, 10) == 64 * MIB
    assert memory.most(None, 10**6) == 10**8
    assert memory.most(None, 10**9) == 5 * 10**9
    assert memory.most(7, 10**9) == 7
    monkeypatch.setenv("TASTEMIX_MAX_MEMORY", "123")
    assert memory.most(None, 10**9) == 123
    monkeypatch.setenv("TASTEMIX_MAX_MEMORY", "much")
    with pytest.raises(ParameterError, match="TASTEMIX_MAX_MEMORY is 'much'"):
        memory.most(None, 1)


def test_the_machine_has_memory() -> None:
    assert 2**26 < memory.machine() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1 GB", True])
def test_max_memory_is_a_number_of_bytes(wrong: object, tmp_path: Path) -> None:
    file = constant_parquet(tmp_path / "r", 1)
    for call in (tm.read, tm.load):
        with pytest.raises(ParameterError, match=r"max_memory is .*: it must be a whole number"):
            call(file, max_memory=wrong)


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A model of rank 6000 in a small folder."""
    model = tm.PR(2, steps=1).fit(random_ratings(6, 6, 0.9))
    rows = np.full((len(model.users.ids), 6000), 0.01, np.float32)
    factors = dataclasses.replace(model.factors, users=rows, items=rows)
    dataclasses.replace(model, scores=factors).save(tmp_path / "wide")
    assert sum(file.stat().st_size for file in (tmp_path / "wide").iterdir()) < 300_000
    return tmp_path / "wide"


def test_a_small_model_of_large_rank_is_refused(wide: Path) -> None:
    with pytest.raises(ModelFileError, match="folding in would take 432,000,000 bytes of memory"):
        tm.load(wide)


def test_folding_in_takes_what_it_needs(wide: Path) -> None:
    """Beside 32 threads, a copy of rank² for the sum and for Q, not one for each thread."""
    program = "tm.set_threads(32); tm.load({!r}, max_memory=2**30).fold_in({{0: 4.0}})"
    assert peak(program.format(str(wide))) < 700 * MIB


def test_the_tables_of_a_model_share_what_they_may_take(tmp_path: Path) -> None:
    model = tm.NMF(2, steps=1).fit(random_ratings(60, 60, 0.9))
    model.save(tmp_path / "model")
    assert len(tm.load(tmp_path / "model", max_memory=200_000).users.ids) == 60
    with pytest.raises(
        ModelFileError, match=r"would take [\d,]+ bytes .*may take [\d,]+:"
    ) as refused:
        tm.load(tmp_path / "model", max_memory=60_000)
    found = re.search(r"may take ([\d,]+)", str(refused.value))
    assert found is not None
    assert int(found[1].replace(",", "")) < 60_000


def test_attributes_are_held_to_the_same_bounds(tmp_path: Path) -> None:
    model = tm.NMF(2, steps=1).fit(random_ratings(6, 6, 0.9))
    constant_csv(tmp_path / "a.csv.gz", 2 * 10**6)
    constant_parquet(tmp_path / "a.parquet", 2 * 10**6)
    for file in ("a.csv.gz", "a.parquet"):
        with pytest.raises(DataError, match=REFUSED.format(64 * MIB)):
            model.tastes(attributes=tmp_path / file)


def test_attributes_with_codes_outside_their_dictionary_are_refused() -> None:
    model = tm.NMF(2, steps=1).fit(random_ratings(6, 6, 0.9))
    codes = pa.DictionaryArray.from_arrays(
        pa.array([0, 10**6], pa.int32()), pa.array(["drama"]), safe=False
    )
    with pytest.raises(DataError, match=r"cannot be read as a table|damaged"):
        model.tastes(attributes=pa.table({"item": [0, 1], "genre": codes}))


def test_attributes_without_columns_are_refused() -> None:
    model = tm.NMF(2, steps=1).fit(random_ratings(6, 6, 0.9))
    with pytest.raises(DataError, match="the table of items has no columns"):
        model.tastes(attributes=pa.table({}))


def test_lists_of_words_without_end_are_refused(tmp_path: Path) -> None:
    """Eight million equal numbers in ten lists are a kilobyte or two on disk."""
    ends = pa.array(np.arange(0, 8_000_001, 800_000, dtype=np.int32))
    lists = pa.ListArray.from_arrays(ends, pa.array(np.zeros(8_000_000, np.int64)))
    pq.write_table(pa.table({"id": range(10), "w": lists}), tmp_path / "x", compression="zstd")
    with pytest.raises(DataError, match="bytes of memory or more, and may take"):
        tm.read_items(tmp_path / "x")
    assert len(tm.read_items(tmp_path / "x", max_memory=2**30)) == 10


def test_a_process_that_ends_after_a_refusal_does_not_abort(tmp_path: Path) -> None:
    """Arrow is still reading ahead, in threads of its own."""
    with gzip.open(tmp_path / "x", "wb", 1) as file:
        file.write(b"id,title,genres\n1,a," + b"a|" * 15_000_000 + b"\n2,b,c\n")
    program = (
        "import sys, tastemix as tm\n"
        "try: tm.read_items(sys.argv[1])\n"
        "except tm.TastemixError: print('refused')\n"
    )
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "x")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")
