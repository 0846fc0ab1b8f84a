"""Neighbours: scores by what users rated, by their ids, saved and explained."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.errors import ModelFileError, ParameterError
from tastemix.methods.neighbours import TRIED
from tastemix.methods.validation import Validation
from tastemix.persistence import folder as files
from tests.conftest import random_ratings

RATINGS = random_ratings(150, 60, 0.25, seed=3)
METHOD = tm.Neighbours(l2=3.0, tolerance=1e-9)
MODEL = METHOD.fit(RATINGS)


def scores(model: tm.Model) -> np.ndarray:
    return model.ordering.block(np.arange(len(model.users.ids), dtype=np.int32))


def stretched(low: float, high: float) -> tm.Ratings:
    """The same ratings on another scale."""
    half = RATINGS.by_user
    values = low + (half.values.astype(np.float64) - 1) / 4 * (high - low)
    return tm.Ratings.from_numbers(
        RATINGS.users, RATINGS.items, half.rows, half.indices, values, (low, high)
    )


def test_recommend_orders_by_the_sum_over_rated_items() -> None:
    w = np.zeros((60, 60))
    links = MODEL.scores.links.by_target
    w[links.rows, links.indices] = links.values
    a = np.zeros((150, 60))
    a[RATINGS.by_user.rows, RATINGS.by_user.indices] = RATINGS.by_user.values
    expected = a @ w.T
    for user in (0, 77):
        table = MODEL.recommend(user, 5)
        unseen = np.where(a[user] > 0, -np.inf, expected[user])
        np.testing.assert_allclose(table["score"], np.sort(unseen)[::-1][:5], rtol=1e-5)
        assert table["rating"].null_count == 5
        np.testing.assert_allclose(unseen[table["item"].to_numpy()], table["score"], rtol=1e-5)


def test_an_explanation_is_the_rated_items_and_adds_up_to_the_score() -> None:
    best = MODEL.recommend(5, 1).to_pylist()[0]
    parts = MODEL.explain(5, best["item"])
    assert sum(parts["value"].to_pylist()) == pytest.approx(best["score"], rel=1e-6)
    rated = RATINGS.by_user.row(5)
    stars = dict(zip(rated[0].tolist(), rated[1].tolist(), strict=True))
    for part in parts.to_pylist():
        (item,) = part["because"]
        assert (part["part"], part["name"]) == (f"rated {item}", str(item))
        assert part["user_weight"] == stars[item]
        assert part["value"] == part["user_weight"] * part["item_weight"] > 0
    values = parts["value"].to_pylist()
    assert values == sorted(values, reverse=True)
    assert MODEL.explain(5, best["item"], of="score").equals(parts)


@pytest.mark.parametrize(("low", "high"), [(-10.0, 10.0), (0.0, 100.0), (1000.0, 1004.0)])
def test_a_stretched_scale_gives_the_same_scores(low: float, high: float) -> None:
    other = METHOD.fit(stretched(low, high))
    np.testing.assert_allclose(scores(other), scores(MODEL), rtol=1e-3, atol=1e-4)


def test_ratings_that_are_all_the_same_are_no_special_case() -> None:
    model = METHOD.fit(random_ratings(40, 20, 0.3, constant=3.0))
    assert np.isfinite(scores(model)).all()
    assert scores(model).max() > 0


def test_a_new_person_has_the_scores_of_a_user_with_these_ratings() -> None:
    items, values = RATINGS.by_user.row(9)
    given = dict(zip(items.tolist(), map(float, values), strict=True))
    person = MODEL.fold_in(given)
    assert person.recommend(7).equals(MODEL.recommend(9, 7))
    item = person.recommend(1)["item"][0].as_py()
    assert person.explain(item).equals(MODEL.explain(9, item))


def planted(users: int = 400, seed: int = 0) -> tm.Ratings:
    """Ten groups of eight items each; everyone likes six items of one group, and six of any."""
    rng = np.random.default_rng(seed)
    own = [8 * (u % 10) + rng.choice(8, 6, replace=False) for u in range(users)]
    any_ = [rng.choice(80, 6, replace=False) for _ in range(users)]
    pairs = {(u, int(i)): 2.0 for u in range(users) for i in any_[u]}
    pairs |= {(u, int(i)): 5.0 for u in range(users) for i in own[u]}
    user, item = np.array(list(pairs)).T
    return tm.Ratings.from_arrays(user, item, list(pairs.values()), scale=(1, 5))


def test_held_back_ratings_are_found_again() -> None:
    """The hits that are counted are those of the lists, one by one."""
    ratings = planted()
    validation = Validation(ratings)
    model = tm.Neighbours().fit(validation.learning)
    held = {
        (row["user"], row["item"]) for row in ratings.to_table().to_pylist() if row["rating"] >= 4
    } - {(row["user"], row["item"]) for row in validation.learning.to_table().to_pylist()}
    lists = model.recommend(ratings.users.take(validation.users)).to_pylist()
    expected = sum((row["user"], row["item"]) in held for row in lists)
    assert validation.hits(model.ordering) == expected > 0.8 * len(held)


def test_tuning_takes_the_penalty_with_the_best_lists() -> None:
    ratings = random_ratings(200, 80, 0.2, seed=8)
    validation = Validation(ratings)
    hits = {
        l2: validation.hits(tm.Neighbours(l2=l2).fit(validation.learning).ordering) for l2 in TRIED
    }
    assert len(set(hits.values())) > 1
    assert hits[tm.Neighbours().tuned_for(ratings).l2] == max(hits.values())
    few = tm.Ratings.from_arrays(["ann"], ["Heat"], [5])
    assert tm.Neighbours().tuned_for(few) == tm.Neighbours()


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ParameterError, match="orders items and predicts no ratings: use recommend"):
        MODEL.predict(0, 0)
    with pytest.raises(ParameterError, match="cannot take a new one: fit a new model"):
        MODEL.fold_in_item({0: 5.0})
    with pytest.raises(ParameterError, match="cannot be updated"):
        MODEL.update(RATINGS)
    with pytest.raises(ParameterError, match="has no factors"):
        MODEL.tastes()
    with pytest.raises(ParameterError, match="l2 is -1: it must be a number of 0 or more"):
        tm.Neighbours(l2=-1)
    with pytest.raises(ParameterError, match="candidates is 0"):
        tm.Neighbours(candidates=0)
    with pytest.raises(tm.errors.DataError, match="no ratings to learn from"):
        METHOD.fit(RATINGS.subset(np.zeros(len(RATINGS), bool)))


def test_a_saved_model_recommends_and_explains_the_same(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    again = tm.load(tmp_path / "m")
    assert again.recommend([0, 1, 2]).equals(MODEL.recommend([0, 1, 2]))
    assert again.explain(0, 7).equals(MODEL.explain(0, 7))
    assert again.made_by == MODEL.made_by


def test_without_ratings_only_new_people_are_scored(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m", ratings=False)
    again = tm.load(tmp_path / "m")
    with pytest.raises(ParameterError, match="without its ratings, which its scores are sums over"):
        again.recommend(0, seen=[])
    assert again.fold_in({0: 5.0}).recommend(3).equals(MODEL.fold_in({0: 5.0}).recommend(3))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.set_column(2, "weight", pa.nulls(len(t), pa.float32())), "has no weight"),
        (lambda t: t.set_column(2, "weight", pa.array(-t["weight"].to_numpy())), "not positive"),
        (lambda t: t.set_column(2, "weight", t["weight"].cast(pa.float64())), "expected float"),
        (lambda t: t.set_column(1, "because", t["item"]), "each pair once"),
        (lambda t: t.set_column(0, "item", pa.array(len(t) * [99])), "not known"),
        (lambda t: t.slice(0, 1).set_column(1, "because", t["item"].slice(0, 1)), "for itself"),
        (lambda t: t.take(pa.array(np.arange(len(t))[::-1])), "not in the order"),
        (lambda t: t.drop_columns(["because"]), "0 columns 'because'"),
    ],
)
def test_damaged_links_are_refused(
    tmp_path: Path, spoil: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = files.write

    def spoiled(path: object, tables: dict, about: object) -> None:
        write(path, {**tables, "links": spoil(tables["links"])}, about)

    monkeypatch.setattr(files, "write", spoiled)
    MODEL.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=message):
        tm.load(tmp_path / "m")


def test_a_model_without_its_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = files.write
    monkeypatch.setattr(
        files, "write", lambda path, tables, about: write(path, _without_links(tables), about)
    )
    MODEL.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="no table of links"):
        tm.load(tmp_path / "m")


def _without_links(tables: dict) -> dict:
    return {name: table for name, table in tables.items() if name != "links"}


def test_the_links_are_a_plain_table(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    (path,) = (tmp_path / "m").glob("links-*.parquet")
    table, links = pq.read_table(path), MODEL.scores.links.by_target
    assert table.column_names == ["item", "because", "weight"]
    np.testing.assert_array_equal(table["item"], RATINGS.items.take(links.rows))
    np.testing.assert_array_equal(table["weight"], links.values)
