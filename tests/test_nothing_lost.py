"""Nothing of anyone's is lost or changed without a word, and every refusal is one of ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.errors import DataError, IdError, ModelFileError

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
    with pytest.raises(ModelFileError, match="holds other files: give the path of a new folder"):
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
