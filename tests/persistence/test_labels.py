"""Titles and words in a saved model: checked like all else in it."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.errors import ModelFileError
from tests.persistence.test_hostile import RATINGS, change_index, parquet, put

TITLED = pa.table({"item": ["Alien", "Heat"], "title": ["Alien (1979)", "Heat (1995)"]})
WORDS = pa.table({"item": ["Alien", "Alien", "Heat"], "word": ["horror", "space", "crime"]})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "m.tastemix"
    model = tm.NMF(2, steps=2).fit(RATINGS)
    named = {"Alien": "Alien (1979)", "Up": "Up (2009)", "Heat": "Heat (1995)"}
    model.label(named).save(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "m.tastemix")


def codes(values: list[str], *numbers: int) -> pa.Table:
    text = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), values, safe=False)
    return pa.table({"item": ["Alien", "Heat"], "title": text})


HOSTILE: dict[str, tuple[str, pa.Table, str]] = {
    "an unknown item": ("titles", TITLED.set_column(0, "item", [["Alien", "Jaws 2"]]), "not known"),
    "ids of another type": ("titles", TITLED.set_column(0, "item", [[1, 2]]), "ids are strings"),
    "no title": ("titles", TITLED.set_column(1, "title", [[None, "x"]]), "one title is missing"),
    "two titles": ("titles", TITLED.set_column(0, "item", [["Heat", "Heat"]]), "has two titles"),
    "numbers as titles": ("titles", TITLED.set_column(1, "title", [[1, 2]]), "is not of text"),
    "no column": ("titles", TITLED.select(["item"]), "has 0 columns 'title'"),
    "text that is none": (
        "titles",
        TITLED.set_column(1, "title", pa.array([b"\xff", b"x"])),
        "UTF-8|UTF8",
    ),
    "a word of no item": ("words", WORDS.set_column(0, "item", [["Heat", None, "Up"]]), "item id"),
    "no word": ("words", WORDS.set_column(1, "word", [["a", None, "b"]]), "one word is missing"),
    "lists of words": ("words", pa.table({"item": ["Up"], "word": [[1]]}), "is not of text"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_labels_are_refused_with_a_sentence(kind: str, folder: Path) -> None:
    name, table, message = HOSTILE[kind]
    put(folder, name, parquet(table))
    with pytest.raises(ModelFileError, match=message):
        tm.load(folder)


def test_labels_that_another_tool_wrote_are_read(folder: Path) -> None:
    put(folder, "titles", parquet(TITLED, compression="zstd", data_page_version="2.0"))
    put(folder, "words", parquet(WORDS, use_dictionary=False))
    loaded = tm.load(folder)
    assert loaded.labels is not None
    assert [loaded.shown(n) for n in range(4)] == ["Alien (1979)", "Heat (1995)", "Jaws", "Up"]
    words = loaded.labels.words
    assert [[words.word(c) for c in words.row(n).tolist()] for n in range(4)] == [
        ["horror", "space"],
        ["crime"],
        [],
        [],
    ]


def test_a_model_without_labels_has_no_tables_of_them(folder: Path, tmp_path: Path) -> None:
    def forget(index: dict[str, dict[str, object]]) -> None:
        for name in ("titles", "words"):
            del index["tables"][name]

    change_index(folder, forget)
    assert tm.load(folder).labels is None
    tm.NMF(2, steps=2).fit(RATINGS).save(tmp_path / "plain")
    assert set(json.loads((tmp_path / "plain" / "model.json").read_text())["tables"]) == {
        *("users", "items", "ratings")
    }


@pytest.mark.parametrize("use", [tm.load, lambda path: tm.load(path).recommend("ann", 1, seen=[])])
def test_one_long_title_of_many_items_is_held_once(
    use: Callable[[Path], object], tmp_path: Path
) -> None:
    items = 20_000
    ratings = tm.Ratings.from_arrays(["ann"] * items, np.arange(items), np.arange(items) % 5 + 1)
    tm.Baseline().fit(ratings).label({0: "x"}).save(tmp_path / "m")
    text = pa.DictionaryArray.from_arrays(np.zeros(items, np.int32), ["x" * 10**6])
    put(tmp_path / "m", "titles", parquet(pa.table({"item": np.arange(items), "title": text})))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use(tmp_path / "m")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KB; not 20 GB
