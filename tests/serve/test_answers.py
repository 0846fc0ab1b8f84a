"""What the service answers is what the model answers, in the types of the API."""

from __future__ import annotations

import datetime as dt

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.serve import looking, predicting, shapes
from tastemix.serve.prepared import Prepared

USER, DISH = "Ada", "Pecan Pie"


@pytest.fixture(scope="module")
def known(dishes: tm.Model) -> Prepared:
    made = Prepared(dishes)
    made.warm()
    return made


def number(known: Prepared, user: str = USER) -> int:
    return known.users.number(user)


def test_recommendations_are_those_of_the_model(known: Prepared, dishes: tm.Model) -> None:
    told = predicting.recommend(known, number(known), 7, parts=True)
    best = dishes.recommend(USER, 7)
    assert [one.id for one in told.items] == best["item"].to_pylist()
    np.testing.assert_allclose([one.score for one in told.items], best["score"].to_numpy())
    np.testing.assert_allclose([one.rating for one in told.items], best["rating"].to_numpy())
    _, std = dishes.predict([USER] * 7, best["item"], return_std=True)
    np.testing.assert_allclose([one.std for one in told.items], std)


def test_a_bar_has_the_values_of_the_explanation(known: Prepared, dishes: tm.Model) -> None:
    for one in predicting.recommend(known, number(known), 5, parts=True).items:
        table = dishes.explain(USER, one.id)
        values = dict(zip(table["part"].to_pylist(), table["value"].to_pylist(), strict=True))
        assert isinstance(one.bar, shapes.Bar)
        assert one.bar.baseline == pytest.approx(values["baseline"], abs=1e-6)
        for taste, value in enumerate(one.bar.tastes, 1):
            assert value == pytest.approx(values[f"taste {taste}"], abs=1e-6)
        assert one.bar.baseline + sum(one.bar.tastes) == pytest.approx(one.bar.total, abs=1e-9)
        raw = dishes.predict(USER, one.id, clip=False)
        assert one.bar.total == pytest.approx(raw, abs=1e-5)


@pytest.mark.parametrize("of", ["rating", "score"])
def test_an_explanation_adds_up_to_what_it_explains(
    known: Prepared, dishes: tm.Model, of: str
) -> None:
    item = known.items.number(DISH)
    told = predicting.explain(known, number(known), item, of)  # type: ignore[arg-type]
    pair = np.array([number(known)], np.int32), np.array([item], np.int32)
    raw = dishes.scores if of == "rating" else dishes.ordering
    assert told.total == pytest.approx(float(raw.pairs(*pair)[0]), abs=1e-5)
    assert told.total == pytest.approx(sum(part.value for part in told.parts))
    kinds = {part.kind for part in told.parts}
    assert kinds <= {"baseline", "taste", "rated", "popularity"}
    assert told.rating == pytest.approx(dishes.predict(USER, DISH))


def test_someone_new_is_folded_in(known: Prepared, dishes: tm.Model) -> None:
    given = {DISH: 5.0, "Pierogi": 2.0, "Key Lime Pie": 4.0}
    ratings = [shapes.Given(item, rating) for item, rating in given.items()]
    told = predicting.person(known, shapes.NewPerson(ratings, n=6))
    person = dishes.fold_in(given)
    assert [one.id for one in told.items] == person.recommend(6)["item"].to_pylist()
    weights = {share.taste: share.weight for share in told.tastes}
    np.testing.assert_allclose([weights[at] for at in range(1, 7)], person.weights, rtol=1e-5)
    for one in told.items:
        assert isinstance(one.bar, shapes.Bar)
        parts = person.explain(one.id)["value"].to_pylist()
        assert one.bar.total == pytest.approx(sum(parts), abs=1e-5)


def test_similar_items_are_those_of_the_model(known: Prepared, dishes: tm.Model) -> None:
    told = looking.similar(known, known.items.number(DISH), 4)
    assert [one.id for one in told.items] == dishes.similar(DISH, 4)["item"].to_pylist()


def test_tastes_are_those_of_the_model(known: Prepared, dishes: tm.Model) -> None:
    rows = dishes.tastes(3).to_pylist()
    told = looking.all_tastes(known, 3).tastes
    assert [item.id for taste in told for item in taste.items] == [row["item"] for row in rows]
    assert [taste.name for taste in told] == [row["name"] for row in rows[::3]]
    assert all(near.taste != taste.taste for taste in told for near in taste.near)
    np.testing.assert_allclose([taste.adds for taste in told], [row["adds"] for row in rows[::3]])


def test_an_item_is_shown_with_its_mix_and_who_likes_it(known: Prepared, dishes: tm.Model) -> None:
    told = looking.item(known, known.items.number(DISH), 3)
    ratings = tm.datasets.demo.ratings().to_table()
    stars = ratings.filter(pa.compute.equal(ratings["item"], DISH))["rating"].to_pylist()
    assert told.ratings == len(stars)
    assert told.mean == pytest.approx(np.mean(stars))
    assert [one.rating for one in told.likers or []] == sorted(stars, reverse=True)[:3]
    adds = [share.adds for share in told.tastes]
    assert adds == sorted(adds, reverse=True)


def test_a_user_is_shown_with_what_they_rated_highest(known: Prepared) -> None:
    told = looking.user(known, number(known), 4)
    table = tm.datasets.demo.ratings().to_table()
    mine = table.filter(pa.compute.equal(table["user"], USER))
    stars = dict(zip(mine["item"].to_pylist(), mine["rating"].to_pylist(), strict=True))
    assert told.rated is not None
    assert [one.rating for one in told.rated] == sorted(stars.values(), reverse=True)[:4]
    assert all(stars[str(one.id)] == one.rating for one in told.rated)


def test_the_map_puts_an_item_near_its_main_taste(known: Prepared) -> None:
    told = looking.map_of(known, 50)
    where = {taste.taste: np.array([taste.x, taste.y]) for taste in told.tastes}
    near = [
        min(where, key=lambda taste: float(np.hypot(*(where[taste] - (point.x, point.y)))))
        for point in told.items
    ]
    right = [taste == point.taste for taste, point in zip(near, told.items, strict=True)]
    assert np.mean(right) > 0.7
    assert all(0 <= value <= 1 for point in told.items for value in (point.x, point.y))


def model_with(users: list[object], items: list[object]) -> tm.Model:
    """Everyone rated everything but one pair."""
    pairs = [(u, i) for u in users for i in items][:-1]
    stars = [float(1 + at % 5) for at in range(len(pairs))]
    table = pa.table(
        {"user": [u for u, _ in pairs], "item": [i for _, i in pairs], "rating": stars}
    )
    return tm.RNMF(2, steps=3).fit(tm.Ratings.from_table(table))


@pytest.mark.parametrize(
    ("ids", "texts", "kind"),
    [
        ([3, 1, 2], ["1", "2", "3"], "integer"),
        (["a/b", "c d", "é%"], ["a/b", "c d", "é%"], "text"),
        ([dt.date(2020, 1, 2), dt.date(2019, 5, 6)], ["2019-05-06", "2020-01-02"], "date32[day]"),
        ([1.5, 2.0, 0.25], ["0.25", "1.5", "2"], "double"),
        ([b"\x00\xff", b"a"], ["00ff", "61"], "binary"),
    ],
)
def test_ids_of_any_type_are_found_by_what_is_shown(
    ids: list[object], texts: list[str], kind: str
) -> None:
    known = Prepared(model_with(["ann", "bob"], ids))
    assert known.items.type == kind
    assert [known.items.spelled(text) for text in texts] == list(range(len(ids)))
    for at in range(len(ids)):
        shown = msgspec.json.decode(msgspec.json.encode(known.items.one(at)))
        assert known.items.find(shown) == at
    assert known.items.spelled("nothing") == -1
    told = predicting.recommend(known, known.users.number("bob"), 5)
    assert [one.id for one in told.items] == [known.items.one(known.items.find(_text(ids[-1])))]


def _text(value: object) -> shapes.Id:
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, dt.date) else value  # type: ignore[return-value]


@pytest.mark.parametrize("text", ["01", "+1", " 1", "1_0", "１", "1e3", "9" * 30, "-0", ""])
def test_an_integer_id_is_spelled_in_one_way(text: str) -> None:
    known = Prepared(model_with(["ann", "bob"], [1, 10, 1000]))
    assert known.items.spelled(text) == -1


def test_titles_and_words_come_from_a_table_of_items() -> None:
    table = pa.table(
        {"id": [1, 2], "title": ["Heat", "Alien"], "genres": ["Crime|Drama", "Sci-Fi"]}
    )
    known = Prepared(
        model_with(["ann", "bob"], [1, 2, 3]).label(tm.read_items(table, attributes=["genres"]))
    )
    assert looking.about(known).titled
    assert [known.titles.title(at) for at in range(3)] == ["Heat", "Alien", "3"]
    assert looking.item(known, 0, 1).words == ["Crime", "Drama"]
    assert [item.id for item in looking.find_items(known, "al", 0, 5).items] == [2]


def test_a_model_without_tastes_still_recommends() -> None:
    ratings = tm.datasets.demo.ratings()
    known = Prepared(tm.Neighbours().fit(ratings))
    known.warm()
    best = known.model.recommend(USER, 3)
    told = predicting.recommend(known, number(known), 3, parts=True).items
    assert [one.id for one in told] == best["item"].to_pylist()
    assert {one.rating for one in told} == {None}
    assert looking.about(known).tastes == 0
    assert looking.user(known, number(known), 1).tastes == []
    with pytest.raises(tm.TastemixError, match="tastes"):
        looking.all_tastes(known, 3)


def test_a_model_without_ratings_asks_to_include_seen(dishes: tm.Model, tmp_path) -> None:
    dishes.save(tmp_path / "m", ratings=False)
    known = Prepared(tm.load(tmp_path / "m"))
    with pytest.raises(tm.TastemixError, match="include_seen"):
        predicting.recommend(known, number(known), 3)
    assert len(predicting.recommend(known, number(known), 3, include_seen=True).items) == 3
    assert looking.user(known, number(known), 3).rated is None
    assert looking.item(known, 0, 3).likers is None
