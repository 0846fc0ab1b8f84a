"""Titles and attributes of a model's items: shown wherever a person looks, ids kept as they are."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.errors import DataError

KINDS = {dish: kind for kind, dishes in demo.tastes().items() for dish in dishes}
CALLED = {dish: dish.upper() for dish in KINDS}
NUMBER = {dish: number for number, dish in enumerate(sorted(KINDS))}
MENU = pa.table(
    {"dish": list(NUMBER.values()), "title": [CALLED[d] for d in NUMBER], "kind": [*NUMBER]}
).set_column(2, "kind", [[KINDS[dish] for dish in NUMBER]])


@pytest.fixture(scope="module")
def dishes() -> tm.Ratings:
    """The embedded ratings, the dishes known by numbers."""
    table = demo.ratings().to_table()
    numbers = [NUMBER[dish] for dish in table["item"].to_pylist()]
    return tm.Ratings.from_arrays(table["user"], numbers, table["rating"], scale=(1, 5))


@pytest.fixture(scope="module")
def model(dishes: tm.Ratings) -> tm.Model:
    return tm.ANMF(6, members=1, steps=10).fit(dishes).label(MENU)


def title(number: int) -> str:
    return str(MENU["title"][number])


def test_titles_stand_beside_ids(model: tm.Model) -> None:
    user, bare = model.users.ids[0], model.label(MENU.select(["dish", "kind"]))
    for one in (user, [user, model.users.ids[1]]):
        found = model.recommend(one, 5)
        assert found["title"].to_pylist() == [title(n) for n in found["item"].to_pylist()]
        without = bare.recommend(one, 5)
        assert found.drop_columns("title").equals(without.drop_columns("title"))
        assert without["title"].to_pylist() == [str(n) for n in without["item"].to_pylist()]
    for found in (model.similar(3), model.tastes(4)):
        assert found["title"].to_pylist() == [title(n) for n in found["item"].to_pylist()]
    assert "title" not in model.similar_users(user).column_names


def test_explanations_name_what_they_are_because_of(model: tm.Model) -> None:
    for of in ("rating", "score"):
        for row in model.explain("Abeni", 3, of=of).to_pylist():
            assert row["titles"] == [title(number) for number in row["because"]]
    linked = tm.Neighbours().fit(model.ratings).label(MENU)
    for row in linked.explain("Abeni", 3).to_pylist():
        assert row["part"] == f"rated {row['because'][0]}"
        assert row["name"] == title(row["because"][0])


def test_the_words_of_the_labels_name_the_tastes(model: tm.Model, dishes: tm.Ratings) -> None:
    names = model.tastes(1)["name"].to_pylist()
    assert sorted(names) == sorted(demo.tastes())
    plain = tm.ANMF(6, members=1, steps=10).fit(dishes)
    assert plain.tastes(1, attributes=MENU)["name"].to_pylist() == names
    by_title = plain.label(MENU.select(["dish", "title"])).tastes(1)["name"].to_pylist()
    by_id = plain.tastes(1)["name"].to_pylist()
    assert by_title == [" · ".join(title(int(n)) for n in name.split(" · ")) for name in by_id]


def test_a_model_is_labelled_at_fit_and_at_load(dishes: tm.Ratings, tmp_path: Path) -> None:
    fitted = tm.fit(dishes, items=MENU)
    user = dishes.users[0]
    shown = fitted.recommend(user)
    assert shown["title"].to_pylist() == [title(n) for n in shown["item"].to_pylist()]
    fitted.save(tmp_path / "m")
    assert tm.load(tmp_path / "m").recommend(user).equals(shown)
    renamed = {number: f"{title(number)}!" for number in NUMBER.values()}
    again = tm.load(tmp_path / "m", items=renamed).recommend(user)
    assert again["title"].to_pylist() == [f"{t}!" for t in shown["title"].to_pylist()]
    with pytest.raises(DataError, match="none of the items has an id of the model"):
        tm.fit(dishes, items={-1: "Nothing"})


@pytest.mark.parametrize("given", [MENU, MENU.select(["dish", "kind"]), {3: "three"}])
def test_labels_come_back_from_a_saved_model(
    model: tm.Model, given: object, tmp_path: Path
) -> None:
    labelled = model.label(given)
    labelled.save(tmp_path / "m", ratings=False)
    loaded = tm.load(tmp_path / "m").labels
    assert loaded is not None
    assert labelled.labels is not None
    count = len(model.items.ids)
    assert [loaded.title(n) for n in range(count)] == [
        labelled.labels.title(n) for n in range(count)
    ]
    for number in range(count):
        words = [
            {labels.words.word(code) for code in labels.words.row(number).tolist()}
            for labels in (loaded, labelled.labels)
        ]
        assert words[0] == words[1]
    model.label({3: "x"}).save(tmp_path / "m")  # the older tables are replaced
    assert tm.load(tmp_path / "m").shown(3) == "x"


def test_two_items_with_one_title_stay_two(model: tm.Model) -> None:
    twins = model.label({0: "Twin", 1: "Twin", 2: "Single"})
    assert [twins.shown(n) for n in range(4)] == ["Twin (0)", "Twin (1)", "Single", "3"]
    found = twins.recommend(model.users.ids[0], 240, seen=[])
    numbers = [r["item"] for r in found.to_pylist() if r["title"] == "Twin"]
    assert sorted(numbers) == [0, 1]


def test_labels_follow_a_model_that_changes(model: tm.Model) -> None:
    user = model.users.ids[0]
    more = tm.Ratings.from_arrays([user, user], [-5, 3], [4, 5])
    after = model.update(more, steps=1)
    assert after.items.ids[0] == -5
    assert after.shown(0) == "-5"
    assert after.shown(4) == title(3)
    person = model.fold_in({3: 5, 4: 1})
    found = person.recommend(3)
    assert found["title"].to_pylist() == [title(n) for n in found["item"].to_pylist()]
    assert person.explain(5)["name"].to_pylist()[0] in [*demo.tastes(), "baseline"]
    new = model.fold_in_item({user: 5, model.users.ids[1]: 4})
    alike = new.similar(3)
    assert alike["title"].to_pylist() == [title(n) for n in alike["item"].to_pylist()]
    assert np.isfinite(new.predict(user))
    same = pickle.loads(pickle.dumps(model))
    assert same.similar(3).equals(model.similar(3))
