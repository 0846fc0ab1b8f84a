"""Files and tables are read as they are meant."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm

HEADER = "user,item,rating\n"
FRAME = pd.DataFrame(
    {
        "user": ["bob", "ann", "bob", "cid", "ann"],
        "item": ["Heat", "Alien", "Alien", "Up", "Up"],
        "rating": [4.0, 2.5, 5.0, 1.0, 3.0],
        "time": [50, 40, 30, 20, 10],
    }
)


def written(folder: Path, content: str | bytes, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_columns_are_found_by_the_names_given() -> None:
    frame = FRAME.rename(columns={"user": "who", "item": "what", "rating": "stars"})
    ratings = tm.Ratings.from_table(frame, user="who", item="what", rating="stars")
    assert ratings.fingerprint == tm.Ratings.from_table(FRAME).fingerprint
    numbered = FRAME.set_axis([0, 1, 2, 3], axis="columns")
    ratings = tm.Ratings.from_table(numbered, "0", "1", "2")
    assert ratings.fingerprint == tm.Ratings.from_table(FRAME).fingerprint


def test_repeated_columns_do_not_matter_where_they_are_not_asked_for(tmp_path: Path) -> None:
    text = "x,user,x,item,rating\n1,ann,2,Heat,3\n"
    assert tm.read(written(tmp_path, text)).to_table().to_pylist() == [
        {"user": "ann", "item": "Heat", "rating": 3}
    ]
    frame = pd.concat([FRAME, FRAME["time"]], axis="columns")
    assert len(tm.Ratings.from_table(frame)) == 5


RATING_TYPES: dict[str, Any] = {
    "int8": pa.array([4, 2], pa.int8()),
    "uint64": pa.array([4, 2], pa.uint64()),
    "float16": pa.array(np.array([4, 2], np.float16)),
    "decimal": [Decimal("4.0"), Decimal("2.0")],
    "categories": pd.Series([4, 2], dtype="category"),
    "nullable": pd.Series([4, 2], dtype="Float32"),
    "objects": pd.Series([4, 2.0], dtype=object),
    "polars": pl.Series([4, 2]),
}


@pytest.mark.parametrize("kind", RATING_TYPES)
def test_ratings_may_be_numbers_of_any_type(kind: str) -> None:
    ratings = tm.Ratings.from_arrays(["a", "b"], ["x", "x"], RATING_TYPES[kind])
    assert ratings.by_user.values.tolist() == [4, 2]


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        (["2", "1"], [1, 2]),
        (["2.0", "1.0"], [1, 2]),
        (["2.5", "1"], [1, 2.5]),
        (["18446744073709551615", "1"], [1, 2**64 - 1]),
        (["9007199254740993", "9007199254740992.0"], ["9007199254740992.0", "9007199254740993"]),
        (["99999999999999999999", "1"], ["1", "99999999999999999999"]),
        (["b", "1"], ["1", "b"]),
        (["true", "false"], ["false", "true"]),
        (["2020-01-02", "2020-01-01"], ["2020-01-01", "2020-01-02"]),
        (["10:30", "09:15"], ["09:15", "10:30"]),
        (["NA", "x"], ["NA", "x"]),
        (["007", "07", "7"], ["007", "07", "7"]),
        (['"007"', '"7"'], ["007", "7"]),
        (["+7", "8"], ["+7", "8"]),
        (["-0", "1"], ["-0", "1"]),
        (["0", "-7"], [-7, 0]),
        (["-9223372036854775808", "10", "9", "99", "100"], [-(2**63), 9, 10, 99, 100]),
        (["0x1F", "7"], ["0x1F", "7"]),
        (["7", " 8 "], [7, 8]),
        (["7.0", "7"], ["7", "7.0"]),
        (["1.5", "1.50"], ["1.5", "1.50"]),
        (["12E4", "12"], ["12", "12E4"]),
    ],
)
def test_csv_ids_are_numbers_where_all_are_written_so_and_else_the_text_as_written(
    texts: list[str], ids: list[Any], tmp_path: Path
) -> None:
    path = written(tmp_path, HEADER + "".join(f"{text},5,3\n" for text in texts))
    assert tm.read(path).users.values.to_pylist() == ids


@pytest.mark.parametrize(
    ("last", "expected"),
    [("x", "100"), ("18446744073709551615", 100), ("1e3", "100"), ("0100", "100"), ("0.5", 100)],
)
def test_a_csv_whose_last_line_shows_another_type_is_read_again(
    last: str, expected: Any, tmp_path: Path
) -> None:
    """Types are guessed from the first block, of 1 MiB."""
    rows = "".join(f"{row},{row % 10},{row % 5}.5\n" for row in range(100, 200_000))
    ratings = tm.read(written(tmp_path, f"{HEADER}{rows}{last},5, 4.5 \n"))
    assert len(ratings) == 199_901
    assert ratings.users.number(expected) >= 0
    assert ratings.by_user.values.sum() == sum(row % 5 + 0.5 for row in range(100, 200_000)) + 4.5


DAYS = [dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 2)]
TIMES: dict[str, tuple[Any, list[int]]] = {
    "int32": (np.array([7, -5], np.int32), [7, -5]),
    "floats round down": ([7.9, -5.5], [7, -6]),
    "nanosecond counts": ([1_700_000_000_000_000_001, 5], [1_700_000_000_000_000_001, 5]),
    "datetimes": (DAYS, [10**6, 86400 * 10**6]),
    "pandas": (pd.Series(DAYS).astype("datetime64[ns]"), [10**6, 86400 * 10**6]),
    "polars": (pl.Series(DAYS, dtype=pl.Datetime("ms")), [10**6, 86400 * 10**6]),
    "zoned": (pd.Series(DAYS).dt.tz_localize("UTC"), [10**6, 86400 * 10**6]),
    "dates": ([dt.date(1970, 1, 3), dt.date(1970, 1, 1)], [2 * 86400 * 10**6, 0]),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_are_counts_or_microseconds(kind: str) -> None:
    given_times, expected = TIMES[kind]
    ratings = tm.Ratings.from_arrays([1, 2], [1, 1], [3, 4], timestamp=given_times)
    assert ratings.timestamp is not None
    assert ratings.timestamp.tolist() == expected
    assert ratings.dated == (kind in ("datetimes", "pandas", "polars", "zoned", "dates"))
    assert ratings.subset(np.array([0])).dated == ratings.dated


def test_times_in_csv_may_be_dates_and_finer_further_down(tmp_path: Path) -> None:
    rows = "".join(f"{row},5,3,1970-01-01 00:00:01\n" for row in range(100_000))
    text = f"user,item,rating,when\n{rows}100000,5,3,1970-01-01T00:00:02.5\n"
    ratings = tm.read(written(tmp_path, text), timestamp="when")
    assert ratings.timestamp is not None
    assert ratings.timestamp.tolist() == [1_000_000] * 100_000 + [2_500_000]


def test_line_breaks_in_quotes_do_not_end_a_row_wherever_the_file_is_divided(
    tmp_path: Path,
) -> None:
    """Nearly every line of this file lies within quotes and looks like a rating."""
    note = "\n".join(["9,9,9,x"] * 200)
    rows = "".join(f'{row},5,3,"{note}"\n' for row in range(6000))
    assert len(tm.read(written(tmp_path, f"user,item,rating,note\n{rows}"))) == 6000


def test_statistics_that_do_not_fit_their_column_are_refused(tmp_path: Path) -> None:
    """Arrow ends the process if it is asked about such a column."""
    table = pa.table({name: [1, 2, 3] for name in ("user", "item", "rating")})
    pq.write_table(table, tmp_path / "r")
    content = (tmp_path / "r").read_bytes()
    assert content.count(b"\x25\x02\x18\x04user") == 1  # a column that may have nulls
    (tmp_path / "r").write_bytes(content.replace(b"\x25\x02\x18\x04user", b"\x25\x00\x18\x04user"))
    program = f"import tastemix as tm\ntm.read({str(tmp_path / 'r')!r})"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "DataError" in ran.stderr
