"""Nothing of anyone's is lost or changed without a word, and every refusal is one of ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.errors import ModelFileError

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
