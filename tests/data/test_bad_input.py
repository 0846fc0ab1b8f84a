"""Bad files and tables are refused with what is wrong and where."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import tastemix as tm
from tastemix.data.columns import MissingColumnError
from tastemix.errors import (
    ColumnError,
    DataError,
    DuplicateError,
    IdError,
    ParameterError,
    RatingError,
    TastemixError,
)
from tests.data.test_reading import FRAME, HEADER, written

# Bad input: (what is done, the error, what it says)


def table(**columns: Any) -> Callable[[Path], object]:
    filled = {"user": ["a", "b"], "item": ["x", "y"], "rating": [1.0, 2.0], **columns}
    present = {name: column for name, column in filled.items() if column is not None}
    return lambda _: tm.Ratings.from_table(pa.table(present))


def arrays(*columns: Any, **options: Any) -> Callable[[Path], object]:
    filled = [*columns, *[["a", "b"], ["x", "y"], [1.0, 2.0]][len(columns) :]]
    return lambda _: tm.Ratings.from_arrays(*filled, **options)


def csv(content: str | bytes, **options: Any) -> Callable[[Path], object]:
    return lambda folder: tm.read(written(folder, content), **options)


def parquet(spoil: Callable[[bytes], bytes] = bytes, **columns: Any) -> Callable[[Path], object]:
    filled = {"user": [1, 2], "item": [1, 2], "rating": [1, 2], **columns}
    present = {name: column for name, column in filled.items() if column is not None}

    def do(folder: Path) -> object:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(present), sink)
        return tm.read(written(folder, spoil(sink.getvalue().to_pybytes()), "ratings.parquet"))

    return do


def sparse(matrix: Any, **options: Any) -> Callable[[Path], object]:
    return lambda _: tm.Ratings.from_sparse(matrix, **options)


def pandas(frame: Any, **options: Any) -> Callable[[Path], object]:
    return lambda _: tm.Ratings.from_table(frame, **options)


ONE = sp.coo_array(np.ones((2, 2)))
LATE = HEADER + "".join(f"{row},{row},3\n" for row in range(300_000))
BAD: dict[str, tuple[Callable[[Path], object], type[TastemixError], str]] = {
    # files
    "no file": (
        lambda folder: tm.read(folder / "no.csv"),
        DataError,
        "no.csv does not exist: give",
    ),
    "folder": (tm.read, DataError, "is a folder without parquet parts: give the path of a csv"),
    "a table for a path": (
        lambda _: tm.read(FRAME),
        DataError,
        "a DataFrame is not a path: pass tables",
    ),
    "empty file": (csv(""), DataError, "ratings.csv has no rows"),
    "blank lines": (csv("\n\n"), DataError, "ratings.csv has no rows"),
    "header": (csv(HEADER), DataError, "there are no ratings"),
    "header without an end": (csv(HEADER[:-1]), DataError, "ratings.csv has no rows"),
    "short row": (
        csv(HEADER + "a,x,1\n\nb,y\n"),
        DataError,
        r"row 1 of .*ratings.csv has 2 fields, not 3 \('b,y'\)",
    ),
    "long row": (csv(HEADER + "a,x,1,9\n"), DataError, "row 0 of .* has 4 fields, not 3"),
    "late short row": (csv(LATE + "x,y\n"), DataError, "row 300000 of .* has 2 fields, not 3"),
    "open quote": (csv(HEADER + '"a,x,1\nb,y,2\n'), DataError, "row 0 of .* has 1 fields, not 3"),
    "late latin-1": (
        csv(HEADER.encode() + "é,é,1\n".encode() + LATE[len(HEADER) :].encode() + b"1,\xe9,2\n"),
        IdError,
        "the item in row 300001 is b'.*must be UTF-8, or give another encoding=",
    ),
    "latin-1 header": (csv("usér,item,rating\n1,2,3\n".encode("latin-1")), ColumnError, "'usér'"),
    "utf-16": (csv((HEADER + "a,x,1\n").encode("utf-16-le")), DataError, "neither csv nor parquet"),
    "zip": (csv(b"PK\x03\x04\x14\0\0\0"), DataError, "is neither csv nor parquet: unpack it"),
    "cut gzip": (csv(gzip.compress(LATE.encode())[:-99]), DataError, "Truncated compressed stream"),
    "cut parquet": (
        parquet(lambda whole: whole[:-20]),
        DataError,
        "ratings.parquet cannot be read",
    ),
    "parquet head": (parquet(lambda whole: whole[:4]), DataError, "ratings.parquet cannot be read"),
    "spoiled parquet": (
        parquet(lambda whole: whole[:4] + b"\xff" * 40 + whole[44:]),
        DataError,
        "ratings.parquet cannot be read",
    ),
    # columns
    "missing column": (
        csv("user,movie,rating\n1,2,3\n"),
        ColumnError,
        "no column 'item'.*'user', 'movie', 'rating'.*item=",
    ),
    "missing in parquet": (parquet(item=None), ColumnError, "no column 'item'; the columns are"),
    "missing in a table": (table(rating=None), ColumnError, "the columns are 'user', 'item'"),
    "missing when lazy": (pandas(pl.LazyFrame({"user": [1]})), ColumnError, "no column 'item'"),
    "missing in pandas": (pandas(FRAME, user="who"), ColumnError, "no column 'who'.* 'time'"),
    "in the index": (pandas(FRAME.set_index("user")), ColumnError, "there is no column 'user'"),
    "missing times": (pandas(FRAME, timestamp="when"), ColumnError, "there is no column 'when'"),
    "many columns": (
        table(item=None, **{f"c{n}": [1, 2] for n in range(99)}),
        ColumnError,
        "'c17', …. Name yours",
    ),
    "twice in csv": (
        csv("user,user,item,rating\n1,2,3,4\n"),
        ColumnError,
        "there are 2 columns named 'user': rename all but one",
    ),
    "twice in pandas": (
        pandas(pd.concat([FRAME, FRAME["item"]], axis="columns")),
        ColumnError,
        "there are 2 columns named 'item'",
    ),
    "one for two": (pandas(FRAME, item="user"), ParameterError, "column 'user' is named twice"),
    "no table": (
        pandas({"user": [1]}),
        DataError,
        "a dict is not a table with the Arrow stream protocol",
    ),
    "dense array": (pandas(np.ones((2, 3))), DataError, "or use Ratings.from_arrays or"),
    "polars int128": (
        pandas(pl.DataFrame({"user": [1], "item": [1], "rating": [1]}).cast(pl.Int128)),
        DataError,
        "the table cannot be read as Arrow .*: convert each column",
    ),
    # rows
    "no rows": (arrays([], [], []), DataError, "there are no ratings: the table has no rows"),
    "no rows in pandas": (pandas(FRAME[:0]), DataError, "there are no ratings"),
    "no rows in parquet": (
        parquet(**dict.fromkeys(["user", "item", "rating"], pa.array([], pa.int64()))),
        DataError,
        "there are no ratings",
    ),
    "lengths": (
        arrays(["a"]),
        DataError,
        "1 entries of user but 2 ratings",
    ),
    "lengths of times": (arrays(timestamp=[1]), DataError, "1 entries of timestamp but 2 ratings"),
    # ratings
    "null": (
        table(rating=[1, None]),
        RatingError,
        "the rating in row 1 is missing: drop or fill",
    ),
    "nan": (arrays(["a"], ["x"], np.array([np.nan])), RatingError, "the rating in row 0 is nan"),
    "nan in pandas": (
        pandas(FRAME.replace(5.0, np.nan)),
        RatingError,
        "rating in row 2 is missing",
    ),
    "infinite": (table(rating=[1, -np.inf]), RatingError, "the rating in row 1 is -inf"),
    "beyond float32": (table(rating=[1, 1e39]), RatingError, r"the rating in row 1 is 1e\+39"),
    "empty in csv": (csv(HEADER + "a,x,1\nb,x,\n"), RatingError, "rating in row 1 is missing"),
    "nan in csv": (csv(HEADER + "a,x,inf\n"), RatingError, "the rating in row 0 is inf"),
    "text in csv": (
        csv(HEADER + 'a,x,1.5\nb,y, 2\nc,z,"3,5"\n'),
        RatingError,
        "the rating in row 2 is '3,5': it must be a number",
    ),
    "late text in csv": (
        csv(LATE + "5,6,NA\n7,8,good\n9,9,1\n"),
        RatingError,
        "the rating in row 300001 is 'good'",
    ),
    "text": (table(rating=["1", "2"]), ColumnError, r"are of type string \(row 0: 1\): convert"),
    "booleans": (table(rating=[True, False]), ColumnError, "the ratings are of type bool"),
    "datetimes": (pandas(FRAME.assign(rating=pd.Timestamp(0))), ColumnError, "of type timestamp"),
    "nested": (parquet(rating=[[1], [2]]), ColumnError, "the ratings are of type list"),
    "objects": (arrays(["a"], ["x"], [object()]), ColumnError, "the ratings are not numbers"),
    "mixture": (arrays(["a"], ["x"], [1, "b"]), ColumnError, "the ratings are not numbers"),
    "complex": (sparse(ONE * 1j), ColumnError, "the ratings are not numbers"),
    "table of ratings": (arrays(["a"], ["x"], np.ones((1, 1))), ColumnError, "not numbers"),
    # the scale
    "outside": (
        arrays(scale=(1.5, 5)),
        RatingError,
        "rating in row 0 is 1, .*scale 1.5 to 5: .*wider scale",
    ),
    "above": (
        csv(HEADER + "a,x,1\nb,x,6\n", scale=(1, 5)),
        RatingError,
        "rating in row 1 is 6, out",
    ),
    "outside in a matrix": (sparse(ONE, scale=(2, 3)), RatingError, "outside the scale 2 to 3"),
    **{
        f"scale {scale!r}": (
            arrays(scale=scale),
            ParameterError,
            "scale is .*two finite numbers",
        )
        for scale in [
            (5, 1),
            (np.nan, 5),
            (0, np.inf),
            (1,),
            (1, 2, 3),
            5,
            "15",
            ("a", "b"),
            (None, 1),
        ]
    },
    # ids
    "null id": (table(item=["x", None]), IdError, "the item id in row 1 is missing"),
    "null number in csv": (csv(HEADER + "1,1,1\n2,,1\n"), IdError, "item id in row 1 is missing"),
    "NA among numbers": (csv(HEADER + "1,1,1\nNA,2,1\n"), IdError, "user id in row 1 is missing"),
    "null text in csv": (csv(HEADER + "a,x,1\n,x,1\n"), IdError, "the user id in row 1 is missing"),
    "NA beside a mixture": (
        csv(HEADER + "NA,1,1\n1,x,1\n"),
        IdError,
        "user id in row 0 is missing",
    ),
    "late NA beside a mixture": (csv(LATE + "NA,x,1\n"), IdError, "user id in row 300000 is miss"),
    "no id in csv": (csv(HEADER + "a,,1\nb,,1\n"), IdError, "the item id in row 0 is missing"),
    "mixed ids": (
        pandas(FRAME.assign(user=pd.Series([1, 2, "x", 4, 5], dtype=object))),
        IdError,
        r"the user ids mix numbers and strings \(row 2: 'x'\)",
    ),
    "nested ids": (parquet(user=[{"id": 1}, {"id": 2}]), IdError, "user ids are of type struct"),
    "list ids": (parquet(item=[[1], [2]]), IdError, "the item ids are of type list"),
    # pairs
    "pair twice": (
        csv(HEADER + "a,x,1\nb,x,1\na,y,1\nb,x,3\na,x,3\n"),
        DuplicateError,
        r"user 'a' .*item 'x' twice, .*rows 0 and 4 \(2 .*duplicates='last'.*duplicates='mean'",
    ),
    "pair twice by value": (
        arrays([1, 1.0], [2, 2], [3, 3]),
        DuplicateError,
        "user 1 rated item 2",
    ),
    "duplicates": (
        arrays(duplicates="first"),
        ParameterError,
        "duplicates is 'first': choose 'ref",
    ),
    # times
    "no time": (arrays(timestamp=[1, None]), DataError, "the timestamp in row 1 is missing: drop"),
    "nan time": (arrays(timestamp=[1, np.nan]), DataError, "the timestamp in row 1 is nan"),
    "huge time": (arrays(timestamp=[1, 1e30]), DataError, "the timestamps do not fit 64 bits"),
    "text time": (
        arrays(timestamp=["1", "2"]),
        ColumnError,
        r"the timestamps are of type string \(row 0: 1\)",
    ),
    "bool time": (arrays(timestamp=[True, True]), ColumnError, "the timestamps are of type bool"),
    "mixed time": (arrays(timestamp=[1, "b"]), ColumnError, "the timestamps are not numbers"),
    "late text time": (
        csv(
            LATE.replace("rating", "rating,t").replace(",3\n", ",3,7\n") + "1,2,3,x\n",
            timestamp="t",
        ),
        DataError,
        "the timestamp in row 300000 is 'x'",
    ),
    # matrices
    "dense matrix": (sparse(np.ones((2, 2))), DataError, "a ndarray is not a sparse matrix"),
    "sparse vector": (sparse(sp.coo_array(np.ones(3))), DataError, "pass a two-dimensional"),
    "empty matrix": (sparse(sp.csr_array((3, 2))), DataError, "the matrix stores no entry"),
    "boolean matrix": (sparse(ONE.astype(bool)), ColumnError, "the ratings are of type bool"),
    "nan matrix": (sparse(ONE * np.nan), RatingError, "the rating in row 0 is nan"),
    "too few names": (
        sparse(ONE, users=["a"]),
        IdError,
        "matrix has 2 users, but 1 ids",
    ),
    "one name twice": (sparse(ONE, items=["a", "a"]), IdError, "2 ids were given, 1 of them dist"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_what_and_where(case: str, tmp_path: Path) -> None:
    do, error, message = BAD[case]
    with pytest.raises(error, match=message) as raised:
        do(tmp_path)
    assert raised.type in (error, MissingColumnError)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,x,1\n")
    path.chmod(0)
    with pytest.raises(DataError, match=r"ratings\.csv cannot be read .*Permission denied"):
        tm.read(path)
