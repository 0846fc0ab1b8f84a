"""What `fit` accepts: ratings, or anything they can be read from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import tastemix as tm
from tastemix.data.ratings import as_ratings
from tastemix.errors import ParameterError
from tests.data.test_ratings import FRAME, as_csv, contents, random_frame, written

WIDE = FRAME.rename(columns={"user": "who"})
MATRIX = sp.csr_array(np.array([[0, 4.0], [2, 0]]))


def test_ratings_are_taken_as_they_are_and_all_else_is_read(tmp_path: Path) -> None:
    ratings = tm.Ratings.from_table(FRAME)
    assert as_ratings(ratings) is ratings
    path = written(tmp_path, as_csv(WIDE))
    for data in (WIDE, pl.from_pandas(WIDE).lazy(), duckdb.from_df(WIDE), path, str(path)):
        assert as_ratings(data, user="who", item=None).fingerprint == ratings.fingerprint
    assert contents(as_ratings(MATRIX, scale=(0, 5))) == [(0, 1, 4), (1, 0, 2)]
    assert as_ratings(MATRIX, scale=(0, 5)).scale == (0, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (tm.Ratings.from_table(FRAME), "user= .* these are ratings already: leave it out"),
        (MATRIX, "user= names a column, but a matrix has none"),
    ],
)
def test_columns_of_what_has_none_are_refused(data: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        as_ratings(data, user="who")


def test_fit_takes_a_table_and_its_columns() -> None:
    frame = random_frame().rename(columns={"user": "who"})
    model = tm.fit(frame, user="who", scale=(0, 5))
    expected = tm.fit(tm.Ratings.from_table(frame, user="who", scale=(0, 5)))
    assert model.scale == (0, 5)
    np.testing.assert_array_equal(model.factors.users, expected.factors.users)
