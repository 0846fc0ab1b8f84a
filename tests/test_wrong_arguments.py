"""Arguments of a wrong kind are refused with one sentence of ours, wherever they are given."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm

RATINGS = tm.Ratings.from_arrays(
    ["ann", "ann", "bob", "bob", "cy"], ["Heat", "Up", "Heat", "Jaws", "Up"], [5, 1, 4, 5, 2]
)
MODELS = [
    tm.CNMF(2, steps=2).fit(RATINGS),
    tm.Popular().fit(RATINGS),
    tm.Neighbours().fit(RATINGS),
    tm.Random().fit(RATINGS),
]
NUMBERLESS = [None, math.nan, math.inf, "x", b"x", 1.5, True, [], {}, object(), pa.array([1]), 0]
NOT_LISTS = [math.nan, 7, True, object(), "Heat", b"Heat"]
NOT_PATHS = [None, 7, b"x", [], object(), "a\0b", "x" * 5000, "no such file"]


def refused(use: Callable[[], Any]) -> None:
    with pytest.raises(tm.TastemixError) as error:
        use()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 10_000


@pytest.mark.parametrize("n", NUMBERLESS, ids=repr)
def test_a_number_of_items_that_is_none(n: Any) -> None:
    for model in MODELS:
        refused(lambda model=model: model.recommend("ann", n))
        refused(lambda model=model: model.recommend_all(n))
        refused(lambda model=model: model.evaluate(RATINGS, at=n))
    refused(lambda: MODELS[0].tastes(n))
    refused(lambda: MODELS[0].similar("Heat", n))
    refused(lambda: MODELS[0].similar_users("ann", n))
    refused(lambda: tm.cross_validate([tm.Popular()], RATINGS, folds=n))


@pytest.mark.parametrize("n", [2**31, 10**12, 2**70])
def test_more_items_than_there_are(n: int) -> None:
    for model in MODELS:
        assert model.recommend("ann", n, seen=[]).num_rows == 3
        refused(lambda model=model: model.evaluate(RATINGS, at=n))
    assert MODELS[0].similar("Heat", n).num_rows == 2
    refused(lambda: tm.ANMF(2, members=2, steps=1).fit(RATINGS).compress(n))


@pytest.mark.parametrize("items", NOT_LISTS, ids=repr)
def test_a_list_of_items_that_is_none(items: Any) -> None:
    for name in ("seen", "allow", "deny"):
        refused(lambda name=name: MODELS[0].recommend("ann", 2, **{name: items}))


@pytest.mark.parametrize("path", NOT_PATHS, ids=lambda path: repr(path)[:20])
def test_a_path_that_is_none(path: Any) -> None:
    for use in (tm.open, tm.load, tm.read, tm.read_items):
        refused(lambda use=use: use(path))


@pytest.mark.parametrize("method", [tm.MIXR, tm.MIXD], ids=lambda method: method.__name__)
@pytest.mark.parametrize("steps", [None, "x", [], math.nan, datetime.date(2020, 1, 1)], ids=repr)
def test_steps_that_are_none(method: Any, steps: Any) -> None:
    refused(lambda: method(2, steps=steps))


@pytest.mark.parametrize("name", ["l2", "l2_per_rating"])
@pytest.mark.parametrize("value", [None, "x", [], math.nan, -1, np.ones(2)], ids=repr)
def test_penalties_that_are_none(name: str, value: Any) -> None:
    refused(lambda: tm.ANMF(2, **{name: value}))


@pytest.mark.parametrize("folds", ["x", [[1]], [(1, 2)], {1, 2}, [RATINGS]], ids=repr)
def test_splits_that_are_none(folds: Any) -> None:
    refused(lambda: tm.cross_validate([tm.Popular()], RATINGS, folds=folds))


@pytest.mark.parametrize("separator", ["", None, 7, b"|"], ids=repr)
def test_separators_that_are_none(separator: Any) -> None:
    items = pa.table({"id": ["Heat", "Up"], "genres": ["crime|drama", "drama"]})
    refused(lambda: tm.read_items(items, attributes=["genres"], separator=separator))
