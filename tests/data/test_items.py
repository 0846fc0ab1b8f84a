"""Titles and attributes of items, read from files and tables as people have them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tastemix as tm
from tastemix.data.ids import encode
from tastemix.errors import ColumnError, DataError

MOVIES = """movieId,title,genres,imdb
10,Heat (1995),Action|Crime,0113277
20,"Big, the film",Comedy,0094737
30,Big Night,Comedy|Drama,0115678
40,Heat (1995),,0113278
50,, Crime | Drama ,0114369
"""


def by_id(items: tm.Items) -> dict[object, tuple[str | None, set[str]]]:
    """Title and words of every item."""
    words = items.words
    return {
        id: (items.title(at), {words.word(code) for code in words.row(at).tolist()})
        for at, id in enumerate(items.ids.values.to_pylist())
    }


EXPECTED = {
    "10": ("Heat (1995)", {"Action", "Crime"}),
    "20": ("Big, the film", {"Comedy"}),
    "30": ("Big Night", {"Comedy", "Drama"}),
    "40": ("Heat (1995)", set()),
    "50": (None, {"Crime", "Drama"}),
}


def test_titles_and_words_of_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "movies.csv").write_text(MOVIES)
    items = tm.read_items(tmp_path / "movies.csv", id="movieId", title="title")
    assert by_id(items) == EXPECTED
    assert by_id(tm.read_items(str(tmp_path / "movies.csv"))) == EXPECTED
    assert repr(items) == "Items(5 items, 4 with a title, 4 words)"
    assert by_id(pickle.loads(pickle.dumps(items))) == EXPECTED


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "lazy", "parquet", "lists"])
def test_titles_and_words_of_other_tables(form: str, tmp_path: Path) -> None:
    columns = {
        "genres": ["Action|Crime", "Comedy", "Comedy|Drama", None, "Crime|Drama"],
        "name": ["Heat (1995)", "Big, the film", "Big Night", "Heat (1995)", None],
        "code": [10, 20, 30, 40, 50],
    }
    if form == "lists":
        columns["genres"] = [g.split("|") if g else [] for g in columns["genres"]]
    table = pa.table(columns)
    frame = pl.DataFrame(columns)
    made = {"pandas": pd.DataFrame(columns), "polars": frame, "lazy": frame.lazy()}
    source = made.get(form, table)
    if form == "parquet":
        parquet.write_table(table, source := tmp_path / "items.parquet")
    items = tm.read_items(source, id="code")
    assert {str(id): found for id, found in by_id(items).items()} == EXPECTED


def test_only_the_columns_that_are_named_are_attributes() -> None:
    table = pa.table({"id": [1, 2], "a": ["x", "x"], "b": ["y", "z"], "c": [7, 7]})
    assert by_id(tm.read_items(table))[1] == (None, {"x", "7"})  # no two items share y or z
    assert by_id(tm.read_items(table, attributes=["b"]))[1] == (None, {"y"})
    assert by_id(tm.read_items(table, attributes=[]))[1] == (None, set())
    assert by_id(tm.read_items(table, title="a"))[1] == ("x", {"7"})


def test_an_item_in_several_rows_has_all_of_their_words_but_one_title() -> None:
    table = pa.table({"id": [5, 5, 6], "title": ["A", "A", "B"], "genre": ["x", "y", "x"]})
    assert by_id(tm.read_items(table, attributes=["genre"])) == {
        5: ("A", {"x", "y"}),
        6: ("B", {"x"}),
    }
    table = pa.table({"id": [5, 6, 5], "title": ["A", "B", "C"]})
    with pytest.raises(DataError, match=r"item 5 has two titles, 'A' and 'C' \(row 2\)"):
        tm.read_items(table)


def test_ids_are_matched_as_they_are_written_and_never_merge(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,title\n7,Seven\n007,Bond\n8,Eight\n")
    items = tm.read_items(tmp_path / "items.csv")
    numbers = encode([7, 8, 9], "item")[0]
    assert [items.over(numbers).title(at) for at in range(3)] == ["Seven", "Eight", None]
    texts = encode(["007", "7", "08"], "item")[0]
    assert [items.over(texts).title(at) for at in range(3)] == ["Bond", None, "Seven"]
    whole = tm.read_items(pa.table({"id": [7, 8], "title": ["Seven", "Eight"]}))
    assert [whole.over(texts).title(at) for at in range(3)] == [None, None, "Seven"]
    floats = tm.read_items(pd.DataFrame({"id": [7.0, 8.0], "title": ["Seven", "Eight"]}))
    assert [floats.over(numbers).title(at) for at in range(3)] == ["Seven", "Eight", None]


def test_items_keep_what_they_have_in_the_order_of_other_ids() -> None:
    rng = np.random.default_rng(0)
    words = {n: sorted(rng.choice(list("abcdef"), rng.integers(0, 4), False)) for n in range(40)}
    table = pa.table(
        {"id": list(words), "title": [f"t{n % 30}" for n in words], "words": list(words.values())}
    )
    chosen = sorted(rng.choice(60, 25, replace=False).tolist())
    items = tm.read_items(table, attributes=["words"]).over(encode(chosen, "item")[0])
    none: tuple[None, set[str]] = (None, set())
    expected = {n: (f"t{n % 30}", set(words[n])) if n < 40 else none for n in chosen}
    assert by_id(items) == expected


def test_what_cannot_be_read_is_refused_with_the_way_out(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "title": ["A", "B"]})
    with pytest.raises(ColumnError, match=r"no column 'movieId'.* Name yours with id=, title="):
        tm.read_items(table, id="movieId")
    with pytest.raises(DataError, match="no columns: put the item ids in the first one"):
        tm.read_items(pa.table({}))
    with pytest.raises(DataError, match="cannot be read as a table"):
        tm.read_items(7)
    with pytest.raises(DataError, match=r"nowhere.csv does not exist"):
        tm.read_items(tmp_path / "nowhere.csv")
    nested = pa.table({"id": [1], "where": [{"x": 1}]})
    with pytest.raises(DataError, match="the column 'where' is of type struct<x: int64>"):
        tm.read_items(nested, attributes=["where"])
    assert len(tm.read_items(nested)) == 1


def test_a_few_bytes_cannot_become_many_words(tmp_path: Path) -> None:
    rows = 200_000
    long = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x|" * 5000])
    table = pa.table({"id": np.arange(rows), "words": long})
    parquet.write_table(table, tmp_path / "items.parquet")
    with pytest.raises(DataError, match=r"the column 'words' would take 16,[0-9,]+ bytes"):
        tm.read_items(tmp_path / "items.parquet")
