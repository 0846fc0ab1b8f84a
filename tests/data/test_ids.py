"""Ids of any type become dense numbers and come back as they were."""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tastemix.data import ids as ids_module
from tastemix.data.ids import Ids, encode, single
from tastemix.errors import IdError

UTC = dt.UTC
# Three rows of two ids each, the larger one first.
PYTHON_IDS: dict[str, tuple[Any, Any]] = {
    "int": (7, -3),
    "beyond int64": (2**64 - 1, 2**63 + 1),
    "text": ("ü", "z"),
    "float": (1.5, -0.25),
    "bool": (True, False),
    "bytes": (b"\xff", b"a"),
    "date": (dt.date(2021, 1, 1), dt.date(1965, 1, 1)),
    "datetime": (dt.datetime(2021, 1, 1, 5), dt.datetime(1965, 1, 1)),
    "zoned": (dt.datetime(2021, 1, 1, tzinfo=UTC), dt.datetime(1965, 1, 1, tzinfo=UTC)),
    "time": (dt.time(23), dt.time(1, 2, 3)),
    "timedelta": (dt.timedelta(5), dt.timedelta(-5)),
    "decimal": (Decimal("2.5"), Decimal("-1.25")),
    "uuid": (uuid.UUID(int=2**127), uuid.UUID(int=3)),
}


@pytest.mark.parametrize("kind", PYTHON_IDS)
def test_ids_of_every_type_are_numbered_in_ascending_order(kind: str) -> None:
    large, small = PYTHON_IDS[kind]
    ids, numbers = encode([large, small, large], "user")
    assert list(numbers) == [1, 0, 1]
    assert [ids[0], ids[1]] == [small, large]
    assert numbers.dtype == np.int32
    assert list(ids.find([small, large, small])) == [0, 1, 0]
    assert ids.number(large) == 1
    assert ids.take(np.array([1, 1, 0], np.int32)).to_pylist() == [large, large, small]


@pytest.mark.parametrize("kind", PYTHON_IDS)
def test_ids_of_every_type_are_known_again(kind: str) -> None:
    ids, _ = encode(PYTHON_IDS[kind], "user")
    assert Ids.known(ids.values, "user").values.equals(ids.values)


def arrow(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)


CATEGORIES = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.uint32()), ["a", "unused", "b"])
CHUNKS = pa.chunked_array(
    [
        pa.DictionaryArray.from_arrays([0], pa.array(["b"])),
        pa.DictionaryArray.from_arrays([1], pa.array(["x", "a"])),
        pa.DictionaryArray.from_arrays([0], pa.array(["b", "y"])),
    ]
)
SAME_TEXT: dict[str, Any] = {
    "list": ["b", "a", "b"],
    "tuple": ("b", "a", "b"),
    "numpy": np.array(["b", "a", "b"]),
    "numpy objects": np.array(["b", "a", "b"], object),
    "string": arrow(["b", "a", "b"], pa.string()),
    "large string": arrow(["b", "a", "b"], pa.large_string()),
    "string view": arrow(["b", "a", "b"], pa.string_view()),
    "slice": arrow(["a", "a", "b", "a", "b", "c"], pa.string()).slice(2, 3),
    "chunked": pa.chunked_array([["b"], ["a", "b"]]),
    "dictionary with an unused value": CATEGORIES,
    "chunks with other dictionaries": CHUNKS,
    "dictionary that repeats": pa.DictionaryArray.from_arrays([2, 1, 0], ["b", "a", "b"]),
    "pandas": pd.Series(["b", "a", "b"], index=[9, 9, 9]),
    "pandas objects": pd.Series(["b", "a", "b"], dtype=object),
    "pandas arrow": pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "pandas category": pd.Series(["b", "a", "b"]).astype(pd.CategoricalDtype(["c", "b", "a"])),
    "polars": pl.Series(["b", "a", "b"]),
    "polars categories": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    "polars enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
    "duckdb": duckdb.sql("select unnest(['b', 'a', 'b']) as id").to_arrow_table()["id"],
}


@pytest.mark.parametrize("how", SAME_TEXT)
def test_text_is_the_same_however_it_is_held(how: str) -> None:
    ids, numbers = encode(SAME_TEXT[how], "item")
    assert ids.values.equals(pa.array(["a", "b"]))
    assert list(numbers) == [1, 0, 1]
    assert list(encode(["a", "b"], "item")[0].find(SAME_TEXT[how])) == [1, 0, 1]


WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]
FRACTIONS = [pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(25, 2)]
SAME_NUMBERS: dict[str, Any] = {
    **{str(kind): arrow([20, 3, 20], pa.int64()).cast(kind) for kind in WIDTHS + FRACTIONS},
    "nullable": pd.Series([20, 3, 20], dtype="Int64"),
    "polars": pl.Series([20, 3, 20], dtype=pl.Int16),
    "hugeint": duckdb.sql("select unnest([20, 3, 20])::hugeint as id").to_arrow_table()["id"],
    "dictionary of floats": arrow([20.0, 3.0, 20.0], pa.float64()).dictionary_encode(),
    "numpy": np.array([20, 3, 20], np.uint16),
    "a mixture of int and float": [20, 3.0, 20.0],
    "a mixture of NumPy's and Python's": [np.int64(20), 3, 20],
}


@pytest.mark.parametrize("how", SAME_NUMBERS)
def test_whole_numbers_compare_by_value_whatever_their_type(how: str) -> None:
    ids, numbers = encode(SAME_NUMBERS[how], "user")
    assert ids.values.equals(pa.array([3, 20], pa.int64()))
    assert list(numbers) == [1, 0, 1]
    assert list(encode([3, 20], "user")[0].find(SAME_NUMBERS[how])) == [1, 0, 1]


def test_the_two_zeros_are_one_id() -> None:
    ids, numbers = encode([0.0, -0.0, 0.5], "user")
    assert ids.values.to_pylist() == [0.0, 0.5]
    assert list(numbers) == [0, 0, 1]


def test_large_numbers_are_told_apart_exactly() -> None:
    """2**53 and its successor are the same number to a float."""
    close = [2**53, 2**53 + 1, 2**62, 2**62 + 1]
    ids, _ = encode(close, "user")
    assert list(ids.find([2**53 + 1, 2**62 + 1, 2**53 + 2])) == [1, 3, -1]
    assert list(ids.find(pa.array([2**63, 2**53 + 1], pa.uint64()))) == [-1, 1]
    beyond, _ = encode([2**63 + 1, 2**63 + 2, 5], "user")
    assert list(beyond.find([0, 5, 2**63 + 2])) == [-1, 0, 2]
    assert list(beyond.find([-1, 5])) == [-1, 0]


@pytest.mark.parametrize("extra", [0, 5000])
def test_few_and_many_ids_are_found_alike(extra: int) -> None:
    """A few are looked up one by one, many through a hash table."""
    names = [f"n{number:03}" for number in range(0, 300, 2)]
    ids, _ = encode(names, "item")
    asked = ["n000", "n001", "n298", "n299", "", *(f"m{number}" for number in range(extra))]
    assert list(ids.find(asked)) == [0, -1, 149, -1, -1] + [-1] * extra


def test_many_numbers_of_another_width_are_found() -> None:
    ids, _ = encode(range(0, 5000, 2), "item")
    assert list(ids.find(np.arange(5000.0))) == [n // 2 if n % 2 == 0 else -1 for n in range(5000)]
    assert list(ids.find(np.arange(2000) + 0.5)) == [-1] * 2000
    halves, _ = encode(np.arange(2000) + 0.5, "item")
    assert list(halves.find(range(2000))) == [-1] * 2000
    assert list(halves.find([2.5, 3])) == [2, -1]


def test_no_ids_are_found_as_none() -> None:
    ids, _ = encode(["a"], "user")
    assert ids.find([]).shape == (0,)
    assert ids.find(pa.array([], pa.int64())).dtype == np.int32
    assert list(Ids.known(pa.array([], pa.string()), "user").find(["a"])) == [-1]


NESTED: dict[str, tuple[Any, str]] = {
    "lists": ([[1], [2]], "list<item: int64>"),
    "structs": ([{"a": 1}], "struct<a: int64>"),
    "spans": (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "interval"),
    "runs": (pa.RunEndEncodedArray.from_arrays([2], ["a"]), "run_end_encoded"),
    "intervals": (pd.Series(pd.interval_range(0, 2)), "pandas.interval"),
}


@pytest.mark.parametrize("case", NESTED)
def test_types_without_an_order_are_refused_by_name(case: str) -> None:
    column, named = NESTED[case]
    with pytest.raises(IdError, match=rf"the user ids are of type .*{named}.*: convert them to"):
        encode(column, "user")


BAD: dict[str, tuple[Any, str]] = {
    "null": ([1, None], "item id in row 1 is missing"),
    "only nulls": ([None, None], "the item id in row 0 is missing"),
    "nan": (np.array([1, np.nan, 2]), "the item id in row 1 is nan"),
    "infinite": (np.array([0.5, 1.5, -np.inf]), "the item id in row 2 is -inf"),
    "nan in pandas": (pd.Series(["a", np.nan], dtype=object), "the item id in row 1 is missing"),
    "NA": (pd.Series([1, pd.NA], dtype="Int64"), "the item id in row 1 is missing"),
    "NaT": (pd.Series(pd.to_datetime(["2020-01-01", None])), "the item id in row 1 is missing"),
    "null category": (pd.Series(["a", None], dtype="category"), "the item id in row 1 is missing"),
    "null in a dictionary": (
        pa.DictionaryArray.from_arrays([1, 0], pa.array([None, "a"])),
        "the item id in row 1 is missing",
    ),
    "null in a later chunk": (pa.chunked_array([["a"], ["b", None]]), "in row 2 is missing"),
    "number and text": ([1, "a"], r"mix numbers and strings \(row 1: 'a'\): convert"),
    "text and number": (["a", 5], r"mix strings and numbers \(row 1: 5\)"),
    "after a null": ([None, np.nan, "a", 5], r"mix strings and numbers \(row 3: 5\)"),
    "NumPy numbers": ([np.int64(1), 2, "a"], r"mix numbers and strings \(row 2: 'a'\)"),
    "in pandas": (pd.Series([1, "a"]), r"mix numbers and strings \(row 1: 'a'\)"),
    "bool and number": ([True, 1], r"mix booleans and numbers \(row 1: 1\)"),
    "text and bytes": (["a", b"a"], r"mix strings and bytes \(row 1: b'a'\)"),
    "date and time": (
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],
        r"mix dates and datetimes \(row 1",
    ),
    "beyond 64 bits": ([2**64], "item ids cannot be read .*: convert"),
    "large and negative": ([2**63, -1], "the item ids cannot be read"),
    "objects": ([object()], "the item ids cannot be read"),
    "lone surrogate": (["\ud800"], "the item ids cannot be read"),
    "complex": (np.array([1j]), "the item ids cannot be read"),
    "a table": (np.ones((2, 2)), "the item ids cannot be read .*1-dimensional"),
    "a number": (5, "the item ids cannot be read"),
    "nothing": (None, "the item ids cannot be read"),
    "one text": ("Heat", "not the single id 'Heat': put it in a list"),
    "one bytes": (b"Heat", "not the single id b'Heat'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_ids_are_refused_with_their_row(case: str) -> None:
    column, message = BAD[case]
    with pytest.raises(IdError, match=message):
        encode(column, "item")


@pytest.mark.parametrize(
    ("known", "asked", "message"),
    [
        ([1, 2], "1", "user ids are numbers, but '1' .*such as 1"),
        (["1"], 1, "user ids are strings, but 1 .*such as '1'"),
        ([1], True, "the user ids are numbers, but True was asked for"),
        ([dt.date(2020, 1, 1)], dt.datetime(2020, 1, 1), "the user ids are dates, but"),
        (
            [dt.datetime(2020, 1, 1, tzinfo=UTC)],
            dt.datetime(2020, 1, 1),
            "the user ids are datetimes with a time zone, but",
        ),
        ([5, 6], 7, "user 7 is not .* 2 users .*such as 5"),
        (["ann"], "bob", "user 'bob' is not .*such as 'ann'"),
        (["ann"], None, "the user id in row 0 is missing"),
    ],
)
def test_asking_for_what_is_not_there_says_what_is(known: Any, asked: Any, message: str) -> None:
    ids, _ = encode(known, "user")
    with pytest.raises(IdError, match=message):
        ids.number(asked)


@pytest.mark.parametrize(("column", "row"), [(["b", "a"], 0), (["a", "b", "b"], 2), ([1, 3, 2], 1)])
def test_known_ids_must_be_distinct_and_ascending(column: list[Any], row: int) -> None:
    with pytest.raises(IdError, match=rf"the user id in row {row}, .*, is out of order"):
        Ids.known(column, "user")


names = st.one_of(
    st.lists(st.text(max_size=3), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.lists(st.binary(max_size=3), min_size=1),
    st.lists(st.dates(), min_size=1),
)


@given(names)
def test_numbers_are_ranks_and_lead_back_to_the_ids(column: list[Any]) -> None:
    ids, numbers = encode(column, "user")
    expected = sorted(set(column))
    assert ids.values.to_pylist() == expected
    assert list(numbers) == [expected.index(value) for value in column]
    assert ids.take(numbers).to_pylist() == column
    assert list(ids.find(column)) == list(numbers)


@given(
    st.one_of(
        st.tuples(st.lists(st.text(max_size=3), min_size=1), st.lists(st.text(max_size=3))),
        st.tuples(st.lists(st.integers(-9, 9), min_size=1), st.lists(st.integers(-12, 12))),
    )
)
def test_few_are_found_where_a_sorted_list_has_them(lists: tuple[list[Any], list[Any]]) -> None:
    known, asked = lists
    ids, _ = encode(known, "user")
    order = sorted(set(known))
    expected = [order.index(value) if value in order else -1 for value in asked]
    assert list(ids.find(asked)) == expected
    assert list(ids.find(tuple(asked))) == expected
    assert [ids.find_one(value) for value in asked] == expected
    places = np.array([place for place in expected if place >= 0], np.int32)
    assert ids.take(places).equals(ids.values.take(pa.array(places)))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.int64()])
def test_a_slice_of_a_column_is_looked_up_in_its_own_places(kind: pa.DataType) -> None:
    values = pa.array([str(n) for n in range(100, 120)]).cast(kind).slice(5, 10)
    ids = Ids(values, "item")
    for at, value in enumerate(values.to_pylist()):
        assert ids.find_one(value) == at
        assert ids.take(np.array([at], np.int32)).to_pylist() == [value]
    assert ids.find_one(pa.scalar("104").cast(kind).as_py()) == -1
    assert ids.find_one(pa.scalar("115").cast(kind).as_py()) == -1


def test_texts_follow_one_another_as_their_bytes_do() -> None:
    """A surrogate pair of UTF-16 would come before U+FFFD; in UTF-8 it comes after."""
    texts = ["", "a", "ab", "é", "\ufffd", "\U0001f600", "z\x00", "z"]
    ids, _ = encode(texts, "item")
    assert ids.values.to_pylist() == sorted(texts)
    assert [ids.find_one(text) for text in sorted(texts)] == list(range(len(texts)))
    assert ids.find_one("\ud800") == -1  # no text at all


def test_a_few_ids_do_not_pass_through_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, _ = encode(range(1000), "user")
    texts, _ = encode([f"n{n}" for n in range(1000)], "user")

    def slow(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(ids_module, "encode", slow)
    assert numbers.number(7) == 7
    assert list(numbers.find([3, 2000])) == [3, -1]
    assert list(numbers.find(np.array([3, 5], np.int16))) == [3, 5]
    assert texts.number("n0") == 0
    assert list(texts.find(np.array(["n0", "x"]))) == [0, -1]


def test_ids_are_pickled_without_what_they_cache() -> None:
    for column in ([3, 1], ["b", "a"]):
        ids, _ = encode(column, "user")
        ids.number(column[0])
        again = pickle.loads(pickle.dumps(ids))
        assert again.values.equals(ids.values)
        assert again.number(column[0]) == 1


SINGLE = [1, "a", b"a", 1.5, None, True, np.int64(3), np.str_("a"), dt.date(2020, 1, 1)]
COLUMNS = [[1], (1,), np.array([1]), pa.array([1]), pd.Series([1]), pl.Series([1]), range(3), {1}]


def test_one_id_is_told_from_a_column() -> None:
    assert all(single(value) for value in [*SINGLE, uuid.UUID(int=3), Decimal(2)])
    assert not any(single(value) for value in [*COLUMNS, pa.chunked_array([[1]]), np.array(1)])
