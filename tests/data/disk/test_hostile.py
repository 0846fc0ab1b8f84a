"""A folder of ratings may come from anyone, with checksums that fit what it holds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.data.disk.manifest import INDEX
from tastemix.data.disk.writing import write
from tests.conftest import random_ratings

RATINGS = random_ratings(30, 20, 0.4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(RATINGS, tmp_path / "r")
    tm.open(tmp_path / "r")
    return tmp_path / "r"


def sealed(folder: Path, name: str) -> None:
    """Give a file the size and the checksum that it has now."""
    data, about = (folder / name).read_bytes(), json.loads((folder / INDEX).read_text())
    sums = [hashlib.sha256(data).hexdigest()]
    about["files"][name] = {"bytes": len(data), "sha256": sums}
    (folder / INDEX).write_text(json.dumps(about))


ARRAYS: list[tuple[str, int, Any, str]] = [
    ("users-indices.npy", 3, 20, "of its users is of something that is not there"),
    ("users-indices.npy", 3, -1, "of its users is of something that is not there"),
    ("items-indices.npy", 3, 10**9, "of its items is of something that is not there"),
    ("users-pointers.npy", 0, 1, "of its users do not begin or end"),
    ("users-pointers.npy", -1, 2**40, "pointers.npy is damaged|do not begin or end"),
    ("items-pointers.npy", 4, 10**6, "of its items are not in order"),
    ("items-pointers.npy", 4, -5, "of its items are not in order"),
    ("users-values.npy", 2, 200, "of its users is not on the scale"),
]


@pytest.mark.parametrize(("name", "at", "value", "message"), ARRAYS)
def test_arrays_that_are_no_ratings_are_refused(
    folder: Path, name: str, at: int, value: Any, message: str
) -> None:
    array = np.load(folder / name)
    array[at] = value
    np.save(folder / name, array)
    sealed(folder, name)
    with pytest.raises(tm.errors.DataError, match=message):
        tm.open(folder)


@pytest.mark.parametrize("row", [0, 29])
def test_ratings_out_of_order_are_refused(folder: Path, row: int) -> None:
    array, pointers = (np.load(folder / f"users-{n}.npy") for n in ("indices", "pointers"))
    first = pointers[row]
    for pair in ((first + 1, first), (first, first)):
        other = array.copy()
        other[[first, first + 1]] = array[list(pair)]
        np.save(folder / "users-indices.npy", other)
        sealed(folder, "users-indices.npy")
        with pytest.raises(tm.errors.DataError, match="of its users are not in order, each once"):
            tm.open(folder)


@pytest.mark.parametrize("ids", [[*range(29), 28], [*range(28), 29, 28], [*range(29)]])
def test_ids_that_are_not_distinct_and_in_order_are_refused(folder: Path, ids: list[int]) -> None:
    pq.write_table(pa.table({"id": ids}), folder / "users.parquet")
    sealed(folder, "users.parquet")
    for verify in (True, False):
        with pytest.raises(tm.TastemixError, match=r"out of order|has 29 ids"):
            tm.open(folder, verify=verify)


def test_ids_that_would_fill_the_memory_are_refused(folder: Path) -> None:
    """A column of one number a hundred million times is some kilobytes on disk."""
    many = pa.table({"id": pa.array(np.zeros(10**7, np.int64))})
    pq.write_table(many, folder / "users.parquet", compression="zstd")
    sealed(folder, "users.parquet")
    with pytest.raises(tm.errors.DataError, match="bytes of memory or more, and may take"):
        tm.open(folder)
    with pytest.raises(tm.TastemixError, match=r"out of order|10,000,000 ids"):
        tm.open(folder, max_memory=2**30)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("block", 2**61),
        ("timestamps", "yes"),
        ("dated", 1),
        ("fingerprint", 5),
        ("fingerprint", "short"),
        ("scale", [1e300, 1e301]),
        ("scale", [5, 1]),
        ("levels", [1e300]),
        ("files", {"../../secret": {"bytes": 1, "sha256": ["0" * 64]}}),
    ],
)
def test_a_manifest_that_claims_the_impossible_is_refused(
    folder: Path, entry: str, value: Any
) -> None:
    about = json.loads((folder / INDEX).read_text())
    if entry == "files":
        value = about["files"] | value
    (folder / INDEX).write_text(json.dumps({**about, entry: value}))
    with pytest.raises(tm.errors.DataError):
        tm.open(folder)


def test_an_array_whose_header_is_no_header_is_refused(folder: Path) -> None:
    """Of these bytes Python's tokenizer, to which NumPy hands them, says that a text has no end."""
    data = (folder / "users-indices.npy").read_bytes()
    (folder / "users-indices.npy").write_bytes(data.replace(b"}", b"\0", 1))
    sealed(folder, "users-indices.npy")
    with pytest.raises(tm.errors.DataError, match=r"users-indices\.npy cannot be mapped"):
        tm.open(folder)


def test_a_folder_that_was_trusted_in_vain_is_refused_by_a_fit(folder: Path) -> None:
    for name, value in (("users-indices.npy", 10**6), ("items-pointers.npy", -1)):
        array = np.load(folder / name)
        before, array[5] = array[5], value
        np.save(folder / name, array)
        ratings = tm.open(folder, verify=False)
        with pytest.raises(tm.errors.EngineError, match="these ratings are damaged"):
            tm.NMF(1, steps=1).fit(ratings)
        array[5] = before
        np.save(folder / name, array)
