"""Tastes as people see them: typical items, one scale, one number and one name everywhere."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.engine.objective import Objective
from tastemix.errors import DataError, ParameterError
from tastemix.model import tastes
from tastemix.training.phase import Phase
from tests.conftest import random_ratings

RATINGS = random_ratings(40, 25, 0.4)
OFFSETS = tm.ANLS(3, [Phase(Objective(l2=1.0, l2_per_rating=0.05), 20)], offsets=True)
DISHES = {dish: taste for taste, dishes in demo.tastes().items() for dish in dishes}


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return tm.ANMF(3, members=2, steps=8, ranking=1).fit(RATINGS)


@pytest.fixture(scope="module")
def dishes() -> tm.Model:
    return tm.RNMF(6).fit(demo.ratings())


def by_loops(factors: tm.Factors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each taste adds, and (items, tastes) weights and typical values, rating by rating."""
    counts, half = RATINGS.by_item.counts, RATINGS.by_user
    places = factors.coordinates
    weight = np.zeros((len(counts), len(places)))
    added = np.zeros_like(weight)
    for t, coordinates in enumerate(places):
        for r in coordinates:
            mean = factors.users[:, r].mean(dtype=float)
            weight[:, t] += mean * factors.items[:, r] / len(coordinates)
            for u, i in zip(half.rows, half.indices, strict=True):
                added[i, t] += factors.users[u, r] * factors.items[i, r] / len(coordinates)
    adds = (weight * counts[:, None]).sum(axis=0) / counts.sum()
    return adds, weight, added / (counts + 10)[:, None]


@pytest.mark.parametrize("of", ["rating", "score"])
def test_tastes_list_their_typical_items(model: tm.Model, of: str) -> None:
    factors = model.factors if of == "rating" else model.ranking.factors
    adds, weight, typical = by_loops(factors)
    order = np.argsort(-adds)
    rows = model.tastes(n=4, of=of).to_pylist()
    assert len(rows) == 4 * len(order)
    for number, taste in enumerate(order, 1):
        found = [row for row in rows if row["taste"] == number]
        best = np.argsort(-typical[:, taste], kind="stable")[:4]
        assert [row["item"] for row in found] == best.tolist()
        assert [row["weight"] for row in found] == pytest.approx(weight[best, taste], rel=1e-5)
        assert [row["typical"] for row in found] == pytest.approx(typical[best, taste], rel=1e-5)
        assert [row["adds"] for row in found] == pytest.approx([adds[taste]] * 4, rel=1e-5)


def test_the_tastes_of_ratings_and_of_scores_are_numbered_separately(model: tm.Model) -> None:
    assert max(model.tastes()["taste"].to_pylist()) == 3
    assert max(model.tastes(of="score")["taste"].to_pylist()) == 9
    without = tm.RNMF(4, steps=5).fit(RATINGS)
    assert without.tastes(of="score").equals(without.tastes())
    with pytest.raises(ParameterError, match="of is 'rank': choose 'rating' or 'score'"):
        model.tastes(of="rank")
    with pytest.raises(ParameterError, match="n is 0: it must be a whole number of 1 or more"):
        model.tastes(0)


def test_without_its_ratings_a_model_goes_by_the_mean_user(model: tm.Model, tmp_path: Path) -> None:
    model.save(tmp_path, ratings=False)
    adds, weight, _ = by_loops(model.factors)
    counts = RATINGS.by_item.counts
    shrunk = weight * (counts / (counts + 10))[:, None]
    rows = tm.load(tmp_path).tastes(n=3).to_pylist()
    for number, taste in enumerate(np.argsort(-adds), 1):
        best = np.argsort(-shrunk[:, taste], kind="stable")[:3]
        assert [row["item"] for row in rows if row["taste"] == number] == best.tolist()


@pytest.mark.parametrize("of", ["rating", "score"])
def test_a_taste_has_one_number_one_name_and_one_scale(model: tm.Model, of: str) -> None:
    rows = model.tastes(25, of=of).to_pylist()
    name = {f"taste {row['taste']}": row["name"] for row in rows}
    person = model.fold_in({3: 5, 7: 1})
    again = pickle.loads(pickle.dumps(person))
    for table in (model.explain(5, 9, of=of), person.explain(9, of=of), again.explain(9, of=of)):
        parts = [row for row in table.to_pylist() if row["part"].startswith("taste ")]
        assert {row["part"]: row["name"] for row in parts} == name
    assert model.explain(5, 9)["name"][0].as_py() == "baseline"


def test_weights_of_one_fit_are_the_same_in_explain_and_in_tastes() -> None:
    fitted = OFFSETS.fit(RATINGS)
    listed = {(r["taste"], r["item"]): r["weight"] for r in fitted.tastes(25).to_pylist()}
    users = []
    for user in range(40):
        parts = fitted.explain(user, 9).to_pylist()[1:]
        for row in parts:
            taste = int(row["part"].removeprefix("taste "))
            assert row["item_weight"] == pytest.approx(listed[taste, 9], rel=1e-5)
        users.append([row["user_weight"] for row in sorted(parts, key=lambda row: row["part"])])
    assert np.mean(users, axis=0) == pytest.approx([1, 1, 1], rel=1e-5)
    raw = [fitted.predict(user, 9, clip=False, fallback=None) for user in range(40)]
    offsets = [fitted.explain(user, 9)["value"][0].as_py() for user in range(40)]
    weights = [listed[taste, 9] for taste in (1, 2, 3)]
    assert np.array(users) @ weights + offsets == pytest.approx(raw, rel=1e-5)


def test_someone_new_has_their_weights_by_taste(model: tm.Model) -> None:
    person, item = model.fold_in({3: 5, 7: 1}), model.fold_in_item({3: 5, 7: 1})
    shown = {
        row["part"]: row["user_weight"] for row in person.explain(9).to_pylist() if row["because"]
    }
    for part, weight in shown.items():
        assert person.weights[int(part.removeprefix("taste ")) - 1] == pytest.approx(weight)
    assert person.weights.shape == item.weights.shape == (3,)


def test_after_an_update_tastes_are_those_of_the_new_factors(model: tm.Model) -> None:
    after = model.update(tm.Ratings.from_arrays([1, 2], [9, 9], [5, 1]), steps=1)
    assert after.tastes_of("rating").factors is after.factors
    small = model.compress()
    assert small.tastes_of("rating").factors is small.factors


def test_a_name_has_the_items_that_are_most_typical_of_this_taste(model: tm.Model) -> None:
    rows = model.tastes(tastes.TYPICAL).to_pylist()
    typical = {(row["taste"], row["item"]): row["typical"] for row in rows}
    for taste in (1, 2, 3):
        own = [
            row["item"]
            for row in rows
            if row["taste"] == taste
            and row["typical"] == max(typical.get((t, row["item"]), 0) for t in (1, 2, 3))
        ]
        name = {row["name"] for row in rows if row["taste"] == taste}
        assert name == {" · ".join(map(str, own[:3]))}


def planted_names(fitted: tm.Model) -> list[str]:
    rows = fitted.tastes(1, attributes=DISHES).to_pylist()
    return [row["name"] for row in rows]


def test_attributes_name_the_planted_tastes(dishes: tm.Model) -> None:
    assert sorted(planted_names(dishes)) == sorted(demo.tastes())
    of_score = dishes.explain("Abeni", "Sachertorte", of="score", attributes=DISHES)
    assert sorted(of_score["name"].to_pylist()) == sorted(demo.tastes())


def test_common_attributes_name_nothing(dishes: tm.Model) -> None:
    everything = {dish: ["dish"] for dish in DISHES}
    plain = dishes.tastes(1)["name"].to_pylist()
    assert dishes.tastes(1, attributes=everything)["name"].to_pylist() == plain


@pytest.mark.parametrize(("having", "named"), [(7, False), (8, True)])
def test_an_attribute_names_a_taste_where_half_of_its_typical_items_have_it(
    dishes: tm.Model, having: int, named: bool
) -> None:
    rare = dishes.tastes(15)["item"].to_pylist()[:having]
    table = {dish: ["rare" if dish in rare else "dish"] for dish in DISHES}
    plain = dishes.tastes(1)["name"].to_pylist()[0]
    found = dishes.tastes(1, attributes=table)["name"].to_pylist()[0]
    assert found == ("rare" if named else plain)


def test_tastes_with_the_same_attributes_are_told_apart_by_an_item(dishes: tm.Model) -> None:
    merged = {
        dish: "hot" if taste in ("spicy", "smoky") else taste for dish, taste in DISHES.items()
    }
    table = pa.table({"item": list(merged), "kind": list(merged.values())})
    hot = [name for name in dishes.tastes(1, attributes=table)["name"].to_pylist() if "hot" in name]
    assert len(hot) == 2
    for name in hot:
        words, item = name.split(": ")
        assert words == "hot"
        assert DISHES[item] in ("spicy", "smoky")


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "csv", "parquet", "lists"])
def test_attributes_come_in_many_forms(dishes: tm.Model, form: str, tmp_path: Path) -> None:
    columns = {
        "dish": [*DISHES, "never served"],
        "title": [dish.upper() for dish in DISHES] + ["NEVER"],
        "kinds": [f"{taste}|food" for taste in DISHES.values()] + [None],
    }
    table = pa.table(columns)
    given = {
        "arrow": table,
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "lists": {dish: [taste, "food"] for dish, taste in DISHES.items()},
    }.get(form, tmp_path / f"items.{form}")
    if form == "csv":
        csv.write_csv(table, given)
    elif form == "parquet":
        parquet.write_table(table, given)
    assert dishes.tastes(1, attributes=given)["name"].to_pylist() == planted_names(dishes)


def test_titles_stand_for_items_in_names(dishes: tm.Model) -> None:
    table = pa.table({"item": list(DISHES), "title": [dish.upper() for dish in DISHES]})
    plain = dishes.tastes(1)["name"].to_pylist()
    found = dishes.tastes(1, attributes=table)["name"].to_pylist()
    assert found == [name.upper() for name in plain]


def test_attributes_that_say_nothing_are_refused(dishes: tm.Model, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the items .* look like 'Adana"):
        dishes.tastes(attributes={"Heat": ["Action"]})
    with pytest.raises(DataError, match="cannot be read as a table"):
        dishes.tastes(attributes=7)
    with pytest.raises(DataError, match=r"nowhere.csv does not exist"):
        dishes.tastes(attributes=tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="none of the items"):
        tm.RNMF(2, steps=2).fit(RATINGS).tastes(attributes={"Heat": "Action"})


@pytest.mark.parametrize("method", [tm.PSVD(3), tm.SSVD(3), tm.Baseline(), tm.PR(2)])
def test_every_method_with_factors_has_tastes(method) -> None:
    fitted = method.fit(RATINGS)
    table = fitted.tastes(2)
    assert np.isfinite(table["weight"].to_numpy()).all()
    rows = fitted.explain(5, 9)
    raw = fitted.predict(5, 9, clip=False)
    assert sum(rows["value"].to_pylist()) == pytest.approx(raw, abs=1e-5)


def test_the_rating_of_a_recommendation_is_on_the_scale() -> None:
    found = tm.RNMF(8).fit(RATINGS).recommend([0, 1, 2], 5, deny=[4])  # which nobody rated
    assert max(found["score"].to_pylist()) > 5
    np.testing.assert_array_equal(found["rating"], np.clip(found["score"], 1, 5))


def test_a_recommendation_tells_the_rating_it_would_get(model: tm.Model) -> None:
    rows = model.recommend(5, 10, seen=[]).to_pylist()
    ratings = [row["rating"] for row in rows]
    assert ratings == [model.predict(5, row["item"]) for row in rows]
    assert ratings != sorted(ratings, reverse=True)
    person = model.fold_in({3: 5, 7: 1})
    found = person.recommend(5).to_pylist()
    assert [row["rating"] for row in found] == [person.predict(row["item"]) for row in found]
