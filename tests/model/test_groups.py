"""Tastes of several coordinates."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine.sides import Held
from tastemix.errors import ModelFileError
from tastemix.model.groups import grouped
from tests.conftest import random_ratings

RATINGS = random_ratings(60, 40, 0.4)


def alike(members: int = 1) -> tm.Factors:
    """Two offsets and five coordinates: 0 and 3 have like items, and so have 1 and 4."""
    made = []
    for seed in range(members):
        rng = np.random.default_rng(seed)
        users, items = rng.random((60, 7), np.float32), rng.random((40, 7), np.float32)
        for one, other in ((0, 3), (1, 4)):
            items[:, other] = 2 * items[:, one] + 0.1 * rng.random(40, np.float32)
        users[:, 6], items[:, 5] = 1, 1
        made.append(tm.Factors(users, items, -0.5, Held(users=(6,), items=(5,))))
    return tm.Factors.mean(made)


@pytest.mark.parametrize("members", [1, 3])
def test_coordinates_with_like_items_are_one_taste(members: int) -> None:
    found = grouped(alike(members), RATINGS.by_item.counts, 3)
    assert found.groups == (0, 1, 2, 0, 1)
    assert found.taste_count == 3
    assert found.taste_of.tolist() == [0, 1, 2, 0, 1, -1, -1] * members
    for part in found.parts:
        assert part.groups == found.groups


def test_as_many_tastes_as_coordinates_are_not_grouped() -> None:
    assert grouped(alike(), RATINGS.by_item.counts, 5).groups is None


def test_coordinates_that_are_the_same_everywhere_are_far_from_all() -> None:
    factors = alike()
    items = factors.items.copy()
    items[:, 2] = 0
    found = grouped(dataclasses.replace(factors, items=items), RATINGS.by_item.counts, 3)
    assert found.groups == (0, 1, 2, 0, 1)


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return tm.CNMF(rank=6, tastes=3, choice_penalty=3.0, noise=0.6).fit(RATINGS)


def test_a_taste_adds_what_its_coordinates_add(model: tm.Model) -> None:
    factors = model.factors
    assert factors.rank == 8
    assert len(set(factors.groups)) == 3
    shown = model.tastes_of("rating")
    for user, item in ((0, 0), (7, 11), (59, 39)):
        products = factors.users[user].astype(float) * factors.items[item]
        rows = {row["part"]: row for row in model.explain(user, item).to_pylist()}
        assert len(rows) == 1 + 3
        for taste in range(3):
            row = rows[f"taste {shown.numbers[taste] + 1}"]
            assert row["value"] == pytest.approx(products[factors.taste_of == taste].sum())
            assert row["user_weight"] * row["item_weight"] == pytest.approx(row["value"])
        raw = model.predict([user], [item], clip=False)[0]
        assert sum(row["value"] for row in rows.values()) == pytest.approx(raw, abs=1e-5)


def test_the_mean_user_has_weight_one_in_every_taste(model: tm.Model) -> None:
    shown = model.tastes_of("rating")
    np.testing.assert_allclose(shown.user_weights(model.factors.users.mean(axis=0)), 1, rtol=1e-5)
    counts = RATINGS.by_item.counts
    weights = np.average(shown.item_weights(model.factors.items), axis=0, weights=counts)
    np.testing.assert_allclose(weights, shown.adds, rtol=1e-5)
    assert (np.diff(shown.adds) <= 0).all()


def test_groups_stay_where_a_model_goes(model: tm.Model, tmp_path: Path) -> None:
    groups = model.factors.groups
    model.save(tmp_path / "model")
    loaded = tm.load(tmp_path / "model")
    assert loaded.factors.groups == groups
    assert loaded.explain(3, 4).equals(model.explain(3, 4))
    new = tm.Ratings.from_arrays([60, 60], [0, 1], [5, 1], scale=RATINGS.scale)
    assert model.update(new, steps=1).factors.groups == groups
    person = model.fold_in({0: 5, 3: 1})
    parts = person.explain(7).to_pylist()
    assert sum(row["part"].startswith("taste") for row in parts) == 3
    person.model.save(tmp_path / "person")
    again = tm.load(tmp_path / "person").explain("new", 7)
    assert again["value"].to_pylist() == pytest.approx([row["value"] for row in parts])


@pytest.mark.parametrize("groups", [[0, 1], [0, 1, 2, 0, 1, 4], [1, 1, 1, 1, 1, 1]])
def test_groups_that_are_none_are_refused(
    groups: list[int], model: tm.Model, tmp_path: Path
) -> None:
    model.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    index["groups"] = groups
    (tmp_path / "model.json").write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match="its coordinates are of the tastes"):
        tm.load(tmp_path)


def test_a_mean_of_several_is_read_in_as_few_tastes() -> None:
    method = tm.CNMF(rank=6, tastes=3, members=2, choice_penalty=3.0, noise=0.6)
    model = method.fit(RATINGS)
    assert model.tastes(2).num_rows == 3 * 2
    small = model.compress()
    assert small.factors.members == 1
    assert small.tastes(2).num_rows == 3 * 2
