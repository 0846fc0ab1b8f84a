"""Csv files as people have them: each is read right, or refused with the option that would read it.

Whatever the file, no two ids ever become one.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.data import streams
from tastemix.errors import ColumnError, DataError, IdError, ParameterError, RatingError

Row = tuple[Any, Any, float]
PLAIN: list[Row] = [("ann", "Heat", 4.5), ("ann", "Up", 2.0), ("bob", "Heat", 5.0)]
POSITIONS: dict[str, Any] = {"user": 0, "item": 1, "rating": 2}
NAMES: dict[str, Any] = {"user": "User-ID", "item": "ISBN", "rating": "Book-Rating"}
BOOKS: list[Row] = [("276725", "034545104X", 0.0), ("276726", "0155061224", 5.0)]


def rows(ratings: tm.Ratings) -> list[Row]:
    return [(r["user"], r["item"], r["rating"]) for r in ratings.to_table().to_pylist()]


def read(folder: Path, content: str | bytes, **options: Any) -> list[Row]:
    path = folder / "ratings.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return rows(tm.read(path, **options))


def lines(delimiter: str, *, header: bool = True, decimal: str = ".", quote: str = "") -> str:
    table = [("user", "item", "rating")] * header
    table += [(u, i, str(r).replace(".", decimal)) for u, i, r in PLAIN]
    return "".join(delimiter.join(f"{quote}{f}{quote}" for f in row) + "\n" for row in table)


NUMBERS = "1\t10\t3\t881250949\n1\t20\t4\t881250949\n2\t10\t5\t878887116\n"
OF_NUMBERS: list[Row] = [(1, 10, 3.0), (1, 20, 4.0), (2, 10, 5.0)]

MESSY: dict[str, tuple[str | bytes, dict[str, Any], list[Row]]] = {
    "commas": (lines(","), {}, PLAIN),
    "semicolons": (lines(";"), {}, PLAIN),
    "tabs": (lines("\t"), {}, PLAIN),
    "bars": (lines("|"), {}, PLAIN),
    "spaces": (lines(" "), {}, PLAIN),
    "two colons": (lines("::"), {}, PLAIN),
    "two colons and no header": (NUMBERS.replace("\t", "::"), POSITIONS, OF_NUMBERS),
    "tabs and no header": (NUMBERS, POSITIONS, OF_NUMBERS),
    "no header and ids that are words": (lines(";", header=False), POSITIONS, PLAIN),
    "positions where there is a header": (lines(";"), POSITIONS, PLAIN),
    "no header, as is said": (
        "1,2,3\n4,5,6\n",
        POSITIONS | {"header": False},
        [(1, 2, 3), (4, 5, 6)],
    ),
    "decimal commas": (lines(";", decimal=","), {}, PLAIN),
    "decimal commas in quotes": (lines(",", decimal=",", quote='"'), {}, PLAIN),
    "decimal commas after whole numbers": (
        "user;item;rating\n" + "".join(f"u{n};x;3\n" for n in range(20_000)) + "v;x;3,5\n",
        {},
        [*sorted((f"u{n}", "x", 3.0) for n in range(20_000)), ("v", "x", 3.5)],
    ),
    "single quotes": (lines(",", quote="'"), {}, PLAIN),
    "apostrophes": (
        "user,item,rating\nann,Rosemary's Baby,4\nann,'Til,2\n",
        {},
        [("ann", "'Til", 2.0), ("ann", "Rosemary's Baby", 4.0)],
    ),
    "delimiters in quotes": (
        'user,item,rating\nann,"Heat; or, Fire",4\nbob,"a ""b"" c",2\n',
        {},
        [("ann", "Heat; or, Fire", 4.0), ("bob", 'a "b" c', 2.0)],
    ),
    "quotes behind backslashes": (
        '"user";"item";"rating"\n"ann";"Real \\"J.\\"; Cat";"4"\n"bob";"Up";"2"\n',
        {},
        [("ann", 'Real "J."; Cat', 4.0), ("bob", "Up", 2.0)],
    ),
    "quotes behind backslashes, and no delimiter in them": (
        'user,item,rating\n"Al \\"Big\\" Bo",1,3\n"Bo",2,4\n',
        {},
        [('Al "Big" Bo', 1, 3.0), ("Bo", 2, 4.0)],
    ),
    "quotes behind backslashes at the ends": (
        'user,item,rating\n"5\\"",x,3\n"6\\"",y,4\n"\\"Bo\\" Al",x,2\n',
        {},
        [('"Bo" Al', "x", 2.0), ('5"', "x", 3.0), ('6"', "y", 4.0)],
    ),
    "quotes behind backslashes far down": (
        "user,item,rating\n" + "".join(f"u{n},x,3\n" for n in range(900)) + '"v \\"V\\" w",x,4\n',
        {},
        [*sorted((f"u{n}", "x", 3.0) for n in range(900)), ('v "V" w', "x", 4.0)],
    ),
    "backslashes before quotes that close": (
        'user,item,rating\n"C:\\","a ""b"" c",3\n"D:\\","x" ,4\n',
        {},
        [("C:\\", 'a "b" c', 3.0), ("D:\\", "x ", 4.0)],
    ),
    "quotes that are none, as is said": (
        'user\titem\trating\nann\t"Heat\t4\nbob\tUp\t2\n',
        {"quote": ""},
        [("ann", '"Heat', 4.0), ("bob", "Up", 2.0)],
    ),
    "books, with semicolons, quotes and Latin-1": (
        '"User-ID";"ISBN";"Book-Rating"\n"276725";"034545104X";"0"\n"276726";"0155061224";"5"\n',
        NAMES,
        BOOKS,
    ),
    "Latin-1": (
        "user;item;rating\nAmélie;Heat;4\n".encode("latin-1"),
        {},
        [("Amélie", "Heat", 4.0)],
    ),
    "Windows' quotation marks": (
        "user;item;rating\nann;“Heat”;4\n".encode("cp1252"),
        {},
        [("ann", "“Heat”", 4.0)],
    ),
    "Latin-1 far down": (
        (
            "user,item,rating\n" + "1,x,3\n" + "".join(f"{n},x,3\n" for n in range(2, 99_999))
        ).encode()
        + b"1,\xe9,3\n",
        {},
        [(1, "x", 3.0), (1, "é", 3.0), *((n, "x", 3.0) for n in range(2, 99_999))],
    ),
    "Cyrillic, as is said": (
        "user,item,rating\nАнна,Идиот,4\n".encode("cp1251"),
        {"encoding": "cp1251"},
        [("Анна", "Идиот", 4.0)],
    ),
    "UTF-16 of a spreadsheet": (lines("\t").encode("utf-16"), {}, PLAIN),
    "a mark before UTF-8": (b"\xef\xbb\xbf" + lines(",").encode(), {}, PLAIN),
    "the delimiter in a line of its own": (
        "sep=;\r\n" + lines(";").replace("\n", "\r\n"),
        {},
        PLAIN,
    ),
    "ends of lines of old": (lines(",").replace("\n", "\r"), {}, PLAIN),
    "blank lines": ("\n" + lines(",").replace("\n", "\n\n"), {}, PLAIN),
    "spaces around names": (lines(",").replace("user,item,", " user , item, "), {}, PLAIN),
    "other columns between": (
        'n,when,user,note,rating,item\n1,x,ann,"a, b",4.5,Heat\n',
        {},
        [("ann", "Heat", 4.5)],
    ),
    "gzip": (gzip.compress(lines(";").encode()), {}, PLAIN),
    "bzip2": (bz2.compress(lines(",").encode()), {}, PLAIN),
    "zstd": (pa.compress(lines("\t").encode(), "zstd", asbytes=True), {}, PLAIN),
    "zeros that lead": (
        "user,item,rating\n007,1,3\n7,1,4\n",
        {},
        [("007", 1, 3.0), ("7", 1, 4.0)],
    ),
    "numbers in quotes": (
        'user,item,rating\n"7",1,3\n"8",1,4\n',
        {},
        [("7", 1, 3.0), ("8", 1, 4.0)],
    ),
    "ids as text, as is said": (
        "user,item,rating\n7,1,3\n",
        {"ids": "text"},
        [("7", "1", 3.0)],
    ),
    "ids that differ by a space": (
        "user,item,rating\n7,1,3\n 7,1,4\n",
        {},
        [(" 7", 1, 4.0), ("7", 1, 3.0)],
    ),
    "zeros that mean none": (
        "user,item,rating\na,x,0\na,y,5\nb,x,0\n",
        {"missing": 0},
        [("a", "y", 5.0)],
    ),
    "no ratings": (
        "ann,x\nann,x\nbob,y\n",
        {"user": 0, "item": 1, "rating": None, "header": False},
        [("ann", "x", 2.0), ("bob", "y", 1.0)],
    ),
}


NOT_INGESTED = ("Latin-1 far down", "zeros that mean none", "no ratings")


@pytest.mark.parametrize("kind", MESSY)
def test_a_messy_file_is_read_right(kind: str, tmp_path: Path) -> None:
    content, options, expected = MESSY[kind]
    assert read(tmp_path, content, **options) == expected


@pytest.mark.parametrize("kind", [kind for kind in MESSY if kind not in NOT_INGESTED])
def test_a_messy_file_is_ingested_as_it_is_read(kind: str, tmp_path: Path) -> None:
    content, options, expected = MESSY[kind]
    path = tmp_path / "ratings.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert rows(tm.ingest(path, tmp_path / "ratings.tmr", **options)) == expected


def test_bytes_of_another_encoding_far_down_are_ingested_once_it_is_said(tmp_path: Path) -> None:
    content, _, expected = MESSY["Latin-1 far down"]
    assert isinstance(content, bytes)
    (tmp_path / "ratings.csv").write_bytes(content)
    to = tmp_path / "ratings.tmr"
    with pytest.raises(DataError, match=r"read as utf-8\): give another encoding="):
        tm.ingest(tmp_path / "ratings.csv", to)
    assert rows(tm.ingest(tmp_path / "ratings.csv", to, encoding="latin-1")) == expected


REFUSED: dict[str, tuple[str | bytes, dict[str, Any], type[DataError], str]] = {
    "no header": (NUMBERS, {}, ColumnError, "has no header: .*user=0, item=1, rating=2"),
    "other names": (
        lines(";"),
        {"user": "who"},
        ColumnError,
        "'user', 'item', 'rating'. Name yours",
    ),
    "too few columns": (
        "1,2\n3,4\n",
        POSITIONS,
        ColumnError,
        "no column 2: the file has 2, counted",
    ),
    "an open quote": (
        'user,item,rating\nann,"Heat,4\nbob,Up,2\n',
        {},
        DataError,
        "row 0 .*written with delimiter= or quote='' \\(for none\\)",
    ),
    "both decimals": ('user,item,rating\na,x,"3,5"\na,y,2.5\n', {}, RatingError, "row 0 is '3,5'"),
    "both decimals, as is said": (
        'user,item,rating\na,x,"3,5"\na,y,2.5\n',
        {"decimal": ","},
        RatingError,
        "row 1 is '2.5', and others have ',' before fractions: write all alike",
    ),
    "UTF-8 that ends": (
        "user,item,rating\né,x,3\n".encode() + b"n,y,1\n" * 20_000 + b"\xe9,x,3\n",
        {},
        IdError,
        "must be UTF-8, or give another encoding=",
    ),
    "an encoding that it is not": (
        "user,item,rating\né,x,3\n".encode("latin-1"),
        {"encoding": "utf-8"},
        DataError,
        "must be UTF-8, or give another encoding=",
    ),
    "an archive": (b"PK\x03\x04\x14\0\0\0ratings.csv", {}, DataError, "unpack it"),
    "rows of another width": (
        "user;item;rating\na;x;1\na;y;2;3\n",
        {},
        DataError,
        "4 fields, not 3",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_messy_file_is_refused_with_the_way_out(kind: str, tmp_path: Path) -> None:
    content, options, error, message = REFUSED[kind]
    with pytest.raises(error, match=message):
        read(tmp_path, content, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "klingon"}, "encoding is 'klingon': give one of text that Python knows"),
        ({"encoding": "punycode"}, "encoding is 'punycode': give one of text"),
        ({"encoding": "idna"}, "encoding is 'idna': give one of text"),
        ({"encoding": "rot13"}, "encoding is 'rot13': give one of text"),
        ({"encoding": "base64"}, "encoding is 'base64': give one of text"),
        ({"encoding": 8}, "encoding is 8: give one of text"),
        ({"delimiter": ""}, "delimiter is ''"),
        ({"quote": "x"}, "quote is 'x': choose"),
        ({"decimal": ";"}, "decimal is ';': choose"),
        ({"ids": "numbers"}, "ids is 'numbers': choose 'text'"),
        ({"missing": "none"}, "missing is 'none'"),
    ],
)
def test_what_is_said_of_a_file_is_checked(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        read(tmp_path, lines(","), **options)


def spellings(rng: random.Random) -> list[str]:
    """Ids that are easily taken for one another."""
    pieces = ["", "0", "00", "+", "-", " ", "7", "7.0", "7.00", "07", "7e0", "0x7", "é", "É", "NA"]
    return ["".join(rng.choices(pieces, k=2)) + str(rng.randrange(3)) for _ in range(40)]


@pytest.mark.parametrize("seed", range(30))
def test_no_two_ids_become_one(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    ids = sorted(set(spellings(rng)))
    delimiter, quote = rng.choice([",", ";", "\t", "|"]), rng.choice(["", '"'])
    encoding = rng.choice(["utf-8", "latin-1", "utf-16"])
    text = "".join(
        delimiter.join((f"{quote}{id}{quote}", "x", "3")) + "\n" for id in ["user", *ids]
    )
    text = text.replace(f"{delimiter}x{delimiter}3", f"{delimiter}item{delimiter}rating", 1)
    found = {user for user, _, _ in read(tmp_path, text.encode(encoding))}
    assert len(found) == len(ids)
    if not all(isinstance(user, int | float) for user in found):
        assert found == set(ids)


def test_wide_and_narrow_blocks_meet_delimiters_of_two_characters_anywhere(tmp_path: Path) -> None:
    expected = [(f"u{n}" + "x" * (n % 17), n, float(n % 5)) for n in range(120_000)]
    text = "".join(f"{u}::{i}::{r:g}::9\n" for u, i, r in expected)
    assert read(tmp_path, text, **POSITIONS) == sorted(expected)


@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_a_delimiter_of_two_characters_may_lie_across_what_is_read_at_once(
    size: int, tmp_path: Path
) -> None:
    text = b"a::b:c::::d:\n1::2::3:"
    (tmp_path / "r").write_bytes(text)
    stream = streams.opener(tmp_path / "r", None, None, "::")()
    pieces = list(iter(lambda: stream.read(size), b""))
    assert all(len(piece) <= size for piece in pieces)
    assert b"".join(pieces) == text.replace(b"::", b"\x1f")


def test_zeros_beside_a_scale_are_warned_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    stars = np.where(rng.random(900) < 0.6, 0, rng.integers(1, 11, 900))
    text = "user,item,rating\n" + "".join(f"{n},x,{s}\n" for n, s in enumerate(stars))
    count = int((stars == 0).sum())
    with pytest.warns(UserWarning, match=rf"{count} of 900 ratings are 0.*missing=0"):
        assert len(read(tmp_path, text)) == 900
    assert len(read(tmp_path, text, missing=0)) == 900 - count
    assert len(read(tmp_path, text, scale=(0, 10))) == 900
    with pytest.warns(UserWarning, match="if a 0 means that there is no rating"):
        tm.Ratings.from_arrays(range(200), [1] * 200, [0, *([3, 3.5, 4, 4.5, 5] * 40)][:200])
    honest = rng.integers(0, 11, 900)  # says nothing: warnings are errors here
    tm.Ratings.from_arrays(range(900), [1] * 900, honest)


def test_missing_ratings_take_their_ids_and_times_with_them() -> None:
    frame = pd.DataFrame(
        {"user": ["a", "b", "c"], "item": [1, 2, 3], "rating": [0, 4, 5], "time": [7, 8, 9]}
    )
    ratings = tm.Ratings.from_table(frame, timestamp="time", missing=0)
    assert (ratings.users[:], ratings.items[:]) == (["b", "c"], [2, 3])
    assert ratings.timestamp is not None
    assert ratings.timestamp.tolist() == [8, 9]
    assert ratings.scale == (4, 5)
    sparse = tm.Ratings.from_arrays(["a", "b"], ["x", "y"], [99, 3], missing=99)
    assert rows(sparse) == [("b", "y", 3.0)]
    with pytest.raises(DataError, match="there are no ratings"):
        tm.Ratings.from_arrays(["a"], ["x"], [0], missing=0)


TABLE = pa.table({"user": ["ann", "ann", "bob"], "item": ["Heat", "Up", "Heat"]}).append_column(
    "rating", pa.array([4.5, 2.0, 5.0])
)


def parts(folder: Path) -> Path:
    (folder / "year=1").mkdir(parents=True)
    pq.write_table(TABLE[:2], folder / "part-0.parquet")
    pq.write_table(TABLE[2:], folder / "year=1" / "part-1.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_text("not one of the parts")
    return folder


def test_a_folder_of_parquet_parts_is_one_table(tmp_path: Path) -> None:
    folder = parts(tmp_path / "ratings")
    assert rows(tm.read(folder)) == PLAIN
    assert rows(tm.read(folder, user=0, item=1, rating=2)) == PLAIN
    pq.write_table(TABLE.set_column(0, "user", [[1, 2, 3]]), folder / "part-2.parquet")
    with pytest.raises(ColumnError, match=r"of type int64 in .*part-2.parquet and of type"):
        tm.read(folder)
    with pytest.raises(DataError, match="is a folder without parquet parts"):
        tm.read(tmp_path)[:1] if (folder / "x").exists() else tm.read(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_parts_share_the_memory_they_may_take(tmp_path: Path) -> None:
    many = pa.table({name: np.arange(2000) for name in ("user", "item", "rating")})
    for part in range(8):
        pq.write_table(many, tmp_path / f"{part}.parquet")
    with pytest.raises(DataError, match="would take"):
        tm.read(tmp_path, max_memory=400_000)
    assert len(tm.read(tmp_path, max_memory=8_000_000, duplicates="last")) == 2000


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_files_elsewhere_are_read_by_the_file_systems_of_fsspec_and_arrow(
    kind: str, tmp_path: Path
) -> None:
    if kind == "file":
        (tmp_path / "r.csv").write_text(lines(";"))
        path = tmp_path / "r.csv"
    else:
        path = parts(tmp_path / "ratings")
    assert rows(tm.read(path.as_uri())) == PLAIN
    there = fsspec.filesystem("memory")
    there.put(str(path), f"/{path.name}", recursive=True)
    assert rows(tm.read(f"memory://{path.name}")) == PLAIN
    with pytest.raises(DataError, match=r"memory://none.csv (does not exist|cannot be copied)"):
        tm.read("memory://none.csv")
    with pytest.raises(DataError, match=r"nosuch://x cannot be copied .*Protocol not known"):
        tm.read("nosuch://x")


def test_ids_of_parquet_may_be_read_as_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [7], "item": ["x"], "rating": [3]}), tmp_path / "r")
    assert rows(tm.read(tmp_path / "r", ids="text")) == [("7", "x", 3.0)]


@pytest.mark.parametrize(
    "write",
    [
        lambda text: text.encode("latin-1"),
        lambda text: gzip.compress(text.encode("utf-8")),
        lambda text: text.replace(";", "::").encode("latin-1"),
        lambda text: text.encode("utf-16"),
    ],
)
def test_titles_come_from_messy_files_too(write: Callable[[str], bytes], tmp_path: Path) -> None:
    text = "ISBN;Book-Title;Author\n007;Amélie: a novel;Poe\n7;Heat;Poe\n8;Up;Poe\n"
    (tmp_path / "books.csv").write_bytes(write(text))
    items = tm.read_items(tmp_path / "books.csv")
    titles = dict(zip(items.ids[:], map(items.title, range(3)), strict=True))
    assert titles == {"007": "Amélie: a novel", "7": "Heat", "8": "Up"}
    assert [items.words.word(c) for c in items.words.row(0).tolist()] == ["Poe"]


def combinations() -> Sequence[tuple[str, str, str]]:
    return list(itertools.product(",;\t|", ["", '"'], ["utf-8", "latin-1", "utf-16"]))


@pytest.mark.parametrize(("delimiter", "quote", "encoding"), combinations())
def test_what_is_found_out_is_what_was_written(
    delimiter: str, quote: str, encoding: str, tmp_path: Path
) -> None:
    """Against pandas, which is told how the file is written."""
    rng = np.random.default_rng(len(delimiter + quote + encoding))
    frame = pd.DataFrame(
        {
            "user": [f"é{n}" for n in rng.permutation(300)],
            "item": rng.integers(0, 30, 300),
            "note": ["a b, c; d"] * 300 if quote else ["a b"] * 300,
            "rating": rng.integers(1, 11, 300) / 2,
        }
    )
    frame.to_csv(
        tmp_path / "r.csv", sep=delimiter, index=False, encoding=encoding, quoting=1 if quote else 0
    )
    told = pd.read_csv(tmp_path / "r.csv", sep=delimiter, encoding=encoding, dtype={"user": str})
    told["item"] = told["item"].astype(str if quote else int)
    expected = sorted(zip(told["user"], told["item"], told["rating"], strict=True))
    assert rows(tm.read(tmp_path / "r.csv")) == expected
