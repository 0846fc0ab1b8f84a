"""Recommendations, explanations, tastes, neighbours, newcomers and updates."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.data.halves import Half
from tastemix.engine import CpuEngine, Held
from tastemix.engine.objective import Objective
from tastemix.errors import IdError, ParameterError
from tastemix.model import fold_in
from tastemix.training.phase import Phase
from tests.conftest import random_ratings
from tests.real import best

NUMBERS = random_ratings(40, 25, 0.4)


def named(ratings: tm.Ratings) -> tm.Ratings:
    half = ratings.by_user
    return tm.Ratings.from_arrays(
        [f"u{u:02}" for u in half.rows], [f"i{i:02}" for i in half.indices], half.values
    )


RATINGS = named(NUMBERS)
OFFSETS = tm.ANLS(3, [Phase(Objective(l2=1.0, l2_per_rating=0.05), 20)], offsets=True)


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return tm.MIXD(4, steps=40).fit(RATINGS)


def rated_by(user: str) -> set[str]:
    rows = RATINGS.to_table().to_pylist()
    return {row["item"] for row in rows if row["user"] == user}


def test_recommend_is_the_best_of_what_was_not_rated(model: tm.Model) -> None:
    table = model.recommend("u05", 6)
    assert table.column_names == ["item", "score", "rating"]
    left = sorted(set(RATINGS.items.values.to_pylist()) - rated_by("u05"))
    scores = model.predict(["u05"] * len(left), left, clip=False)
    order = np.argsort(-scores)[:6]
    assert table["item"].to_pylist() == [left[at] for at in order]
    np.testing.assert_allclose(table["score"], scores[order])
    np.testing.assert_allclose(table["rating"], scores[order].clip(1, 5))


def test_recommend_for_many_is_recommend_for_each(model: tm.Model) -> None:
    users = ["u07", "u01", "u30"]
    table = model.recommend(users, 4).to_pylist()
    expected = [
        {"user": user, **row} for user in users for row in model.recommend(user, 4).to_pylist()
    ]
    assert table == expected
    assert model.recommend(pa.array(users), 4).to_pylist() == expected


def test_recommend_ends_where_there_are_no_more_items(model: tm.Model) -> None:
    assert len(model.recommend("u05", 100)) == len(RATINGS.items) - len(rated_by("u05"))


def test_allow_and_deny(model: tm.Model) -> None:
    left = model.recommend("u05", 100)["item"].to_pylist()
    assert model.recommend("u05", 100, allow=left[2:4])["item"].to_pylist() == left[2:4]
    assert model.recommend("u05", 100, deny=left[:3])["item"].to_pylist() == left[3:]
    both = model.recommend("u05", 100, allow=left[:3], deny=left[:1])
    assert both["item"].to_pylist() == left[1:3]
    assert model.recommend("u05", allow=["never heard of"]).num_rows == 0


def test_seen_replaces_what_was_rated(model: tm.Model) -> None:
    everything = model.recommend("u05", 100, seen=[])
    assert len(everything) == len(RATINGS.items)
    top = everything["item"].to_pylist()
    assert model.recommend("u05", 100, seen=top[:2])["item"].to_pylist() == top[2:]
    many = model.recommend(["u05", "u06"], 100, seen={"u05": top[:2]}).to_pylist()
    assert [row["item"] for row in many if row["user"] == "u05"] == top[2:]
    assert len([row for row in many if row["user"] == "u06"]) == len(RATINGS.items)


def test_a_model_without_ratings_asks_what_was_seen(model: tm.Model, tmp_path) -> None:
    model.save(tmp_path, ratings=False)
    loaded = tm.load(tmp_path)
    with pytest.raises(ParameterError, match=r"without its ratings.*pass seen="):
        loaded.recommend("u05")
    assert loaded.recommend("u05", 3, seen=rated_by("u05")).equals(model.recommend("u05", 3))


def test_every_method_recommends() -> None:
    for method in (tm.Random(), tm.Popular(), tm.Baseline(), tm.PSVD(3), tm.SSVD(3)):
        table = method.fit(RATINGS).recommend("u05", 5)
        assert len(table) == 5
        assert (np.diff(table["score"].to_numpy()) <= 0).all()


@pytest.mark.parametrize(
    "method",
    [tm.RNMF(4), tm.MIXD(4), tm.SSVD(4), tm.Baseline(), OFFSETS],
    ids=lambda m: type(m).__name__,
)
def test_the_parts_of_an_explanation_add_up(method) -> None:
    fitted = method.fit(RATINGS)
    rng = np.random.default_rng(0)
    for user, item in zip(rng.integers(0, 40, 50), rng.integers(0, 25, 50), strict=True):
        ids = RATINGS.users[user % len(RATINGS.users)], RATINGS.items[item % len(RATINGS.items)]
        raw = fitted.predict([ids[0]], [ids[1]], clip=False, fallback=None)[0]
        assert sum(fitted.explain(*ids)["value"].to_pylist()) == pytest.approx(raw, abs=1e-9)


def test_an_explanation_tells_weights_and_the_items_behind_a_taste(model: tm.Model) -> None:
    rows = model.explain("u05", "i10").to_pylist()
    assert [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
    assert model.explain("u05", "i10").schema == pa.schema(
        [
            ("part", pa.string()),
            *((name, pa.float64()) for name in ("user_weight", "item_weight", "value")),
            ("because", pa.list_(pa.string())),
            ("name", pa.string()),
        ]
    )
    for row in rows:
        taste = by_number(model.factors)[int(row["part"].removeprefix("taste ")) - 1]
        assert row["value"] == pytest.approx(row["user_weight"] * row["item_weight"], rel=1e-12)
        weight = model.factors.users[:, taste].mean(dtype=float)
        assert row["user_weight"] == pytest.approx(model.factors.users[5 - 1, taste] / weight)
        weights = dict(
            zip(RATINGS.items.values.to_pylist(), model.factors.items[:, taste], strict=True)
        )
        best = sorted(rated_by("u05"), key=lambda item: -weights[item])[:3]
        if row["user_weight"] > 0:
            assert row["because"] == [item for item in best if weights[item] > 0]


def test_the_baseline_holds_offsets_and_shift() -> None:
    fitted = OFFSETS.fit(RATINGS)
    u, i = RATINGS.users.number("u05"), RATINGS.items.number("i10")
    rows = fitted.explain("u05", "i10").to_pylist()
    assert rows[0]["part"] == "baseline"
    expected = float(fitted.factors.users[u, 3]) + float(fitted.factors.items[i, 4])
    assert rows[0]["value"] == pytest.approx(expected)
    assert len(rows) == 1 + 3
    floor = tm.Baseline().fit(RATINGS)
    assert floor.explain("u05", "i10")["part"].to_pylist() == ["baseline"]
    assert floor.tastes().num_rows == 0


def by_number(factors: tm.Factors) -> list[int]:
    """The tastes of factors, from the one that adds most for the mean user to the mean rating."""
    counts = RATINGS.by_item.counts
    adds = [
        np.mean([f.users[:, r].mean() * np.average(f.items[:, r], weights=counts) for f in split])
        for split in [factors.parts]
        for r in range(factors.taste_count)
    ]
    return np.argsort(-np.array(adds)).tolist()


def members(tastes: int = 3, seed: int = 0) -> tm.Factors:
    """The mean of four products with offsets, whose weights are often zero."""
    rng, held = np.random.default_rng(seed), Held(users=(tastes + 1,), items=(tastes,))

    def side(rows: int, ones: int) -> np.ndarray:
        made = rng.random((rows, tastes + 2), np.float32) * rng.integers(0, 2, (rows, tastes + 2))
        made[:, ones] = 1
        return made.astype(np.float32)

    shapes = (len(RATINGS.users), tastes + 1), (len(RATINGS.items), tastes)
    return tm.Factors.mean(
        [tm.Factors(side(*shapes[0]), side(*shapes[1]), -0.5, held) for _ in range(4)]
    )


def explained(factors: tm.Factors, user: int, item: int, tastes: int) -> list[dict]:
    """An explanation, loop by loop."""
    split = factors.parts
    rated = RATINGS.by_user.row(user)[0].tolist()
    rows, order = [], by_number(factors)
    for taste in range(tastes):
        size = [np.average(f.items[:, taste], weights=RATINGS.by_item.counts) for f in split]
        mean = np.mean([f.users[:, taste].mean(dtype=float) for f in split] * np.array(size))
        w = [float(f.users[user, taste]) for f in split]
        h = [float(f.items[item, taste]) for f in split]
        weight = {i: sum(f.users[user, taste] * f.items[i, taste] for f in split) for i in rated}
        best = sorted((i for i in rated if weight[i] > 0), key=lambda i: -weight[i])[:3]
        rows.append(
            {
                "part": f"taste {order.index(taste) + 1}",
                "user_weight": np.mean(np.multiply(w, size)) / mean,
                "value": np.mean(np.multiply(w, h)),
                "because": [RATINGS.items[i] for i in best],
            }
        )
    rows.sort(key=lambda row: -row["value"])
    offsets = np.mean([f.users[user, tastes] + f.items[item, tastes + 1] for f in split])
    return [{"part": "baseline", "value": offsets - 0.5, "because": []}, *rows]


def test_an_explanation_of_an_average_is_that_of_its_members(model: tm.Model) -> None:
    averaged = dataclasses.replace(model, scores=members())
    for user, item in ((5, 10), (0, 0), (20, 3), (38, 23)):
        found = averaged.explain(RATINGS.users[user], RATINGS.items[item]).to_pylist()
        expected = explained(members(), user, item, 3)
        assert [row["part"] for row in found] == [row["part"] for row in expected]
        assert [row["because"] for row in found] == [row["because"] for row in expected]
        assert found[0]["user_weight"] is found[0]["item_weight"] is None
        assert found[0]["value"] == pytest.approx(expected[0]["value"], rel=1e-6)
        for name in ("user_weight", "value"):
            wanted = [row[name] for row in expected[1:]]
            assert [row[name] for row in found[1:]] == pytest.approx(wanted, rel=1e-6)
        for row in found[1:]:
            assert row["user_weight"] * row["item_weight"] == pytest.approx(row["value"], rel=1e-12)
            assert row["item_weight"] >= 0


def test_someone_without_ratings_is_explained_without_examples() -> None:
    fitted = tm.RNMF(3, steps=5).fit(NUMBERS)
    rows = fitted.explain(3, 0).to_pylist()  # user 3 rated nothing
    assert len(rows) == 3
    assert [row["because"] for row in rows] == [[], [], []]


def shrunk_cosine(rows: np.ndarray, at: int, counts: np.ndarray) -> np.ndarray:
    rows = rows.astype(float)
    cosine = rows @ rows[at] / (np.linalg.norm(rows, axis=1) * np.linalg.norm(rows[at]))
    return cosine * counts / (counts + 10)


def test_similar_is_the_cosine_of_the_weights_shrunk(model: tm.Model) -> None:
    for ask, side, what, name in (
        (model.similar, RATINGS.by_item, "item", "i10"),
        (model.similar_users, RATINGS.by_user, "user", "u05"),
    ):
        ids = model.items.ids if what == "item" else model.users.ids
        rows = model.factors.items if what == "item" else model.factors.users
        table, at = ask(name, 30).to_pylist(), ids.number(name)
        expected = shrunk_cosine(rows, at, side.counts)
        best = [i for i in np.argsort(-expected, kind="stable") if i != at][:30]
        assert [row[what] for row in table] == [ids[i] for i in best]
        shown = [row["similarity"] for row in table]
        np.testing.assert_allclose(shown, expected[best], rtol=1e-6)
        assert shown == sorted(shown, reverse=True)


def test_similar_of_an_average_compares_all_members(model: tm.Model) -> None:
    averaged = dataclasses.replace(model, scores=members())
    tastes = np.hstack([f.items[:, :3] for f in members().parts])
    expected = shrunk_cosine(tastes, 10, RATINGS.by_item.counts)
    expected[10] = -1
    name = RATINGS.items[10]
    found = averaged.similar(name, 4)["item"].to_pylist()
    assert found == [RATINGS.items[i] for i in np.argsort(-expected)[:4]]


def test_what_has_no_tastes_is_like_nothing() -> None:
    with pytest.raises(ParameterError, match="has no tastes"):
        tm.Baseline().fit(RATINGS).similar("i10")


def test_what_few_rated_is_not_shown_as_similar(data: Path) -> None:
    """Beside the 200 most rated films of MovieLens 1M 29 % had one to three ratings."""
    fitted = best(data)
    counts = fitted.items.count
    often = fitted.items.ids.take(np.argsort(-counts)[:200].astype(np.int32)).to_pylist()
    shown = [item for film in often for item in fitted.similar(film, 10)["item"].to_pylist()]
    few = counts[fitted.items.ids.find(shown)] <= 3
    assert len(few) == 2000
    assert few.mean() < 0.01


@pytest.mark.parametrize("method", [tm.PR(4), tm.RNMF(4), tm.MIXR(4, steps=60), OFFSETS])
def test_a_trained_user_folds_in_where_training_left_them(method) -> None:
    fitted = method.fit(RATINGS)
    half = RATINGS.by_user
    errors = []
    for user in range(len(RATINGS.users)):
        items, stars = half.row(user)
        given = {RATINGS.items[i]: float(s) for i, s in zip(items, stars, strict=True)}
        trained = fitted.factors.users[user]
        person = fitted.fold_in(given)
        found = person.model.factors.users[0]
        errors.append(np.linalg.norm(found - trained) / np.linalg.norm(trained))
    assert np.median(errors) < 0.01


def test_someone_without_ratings_stays_the_average_person_of_a_dynamic_prior(
    model: tm.Model,
) -> None:
    nothing = Half(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    row = fold_in.rows(nothing, model.factors, "users", model.phases, CpuEngine())[0]
    np.testing.assert_allclose(row, model.factors.users.mean(axis=0), rtol=1e-5)


def test_someone_new_is_recommended_what_they_did_not_rate(model: tm.Model) -> None:
    person = model.fold_in({"i03": 5, "i07": 1})
    table = person.recommend(30)
    assert len(table) == len(RATINGS.items) - 2
    assert not {"i03", "i07"} & set(table["item"].to_pylist())
    raw = person.predict(["i10"], clip=False)[0]
    assert sum(person.explain("i10")["value"].to_pylist()) == pytest.approx(raw)
    assert 1 <= person.predict(["i10"])[0] <= 5


def test_a_new_item_folds_in_from_its_ratings() -> None:
    fitted = tm.RNMF(4).fit(RATINGS)
    users, stars = RATINGS.by_item.row(RATINGS.items.number("i10"))
    given = {RATINGS.users[u]: float(s) for u, s in zip(users, stars, strict=True)}
    item = fitted.fold_in_item(given)
    trained = fitted.factors.items[RATINGS.items.number("i10")]
    found = item.model.factors.items[0]
    assert np.linalg.norm(found - trained) < 0.03 * np.linalg.norm(trained)
    assert item.similar(1)["item"].to_pylist() == ["i10"]
    expected = fitted.predict(["u05"], ["i10"], clip=False)
    assert item.predict(["u05"], clip=False) == pytest.approx(expected, abs=0.05)


def test_update_appends_and_goes_on_from_there() -> None:
    split = tm.holdout(RATINGS, 0.3, seed=1)
    before = tm.RNMF(4).fit(split.train)
    after = before.update(split.test, steps=30)
    assert len(after.ratings) == len(RATINGS)
    assert len(after.history) == 130
    whole = tm.RNMF(4).fit(RATINGS)
    # The same data and objective: a warm start ends near the value of a cold one.
    assert after.history[-1].objective == pytest.approx(whole.history[-1].objective, rel=0.1)
    assert len(before.ratings) == len(split.train)


def test_update_takes_new_people_new_items_and_new_opinions() -> None:
    before = tm.RNMF(3).fit(RATINGS)
    new = tm.Ratings.from_arrays(["zoe", "zoe", "u05"], ["i03", "new dish", "i03"], [5, 4, 1])
    after = before.update(new, steps=3)
    assert len(after.users.ids) == len(RATINGS.users) + 1
    assert len(after.items.ids) == len(RATINGS.items) + 1
    rows = {
        (row["user"], row["item"]): row["rating"] for row in after.ratings.to_table().to_pylist()
    }
    assert rows["u05", "i03"] == 1
    assert rows["zoe", "new dish"] == 4
    assert len(after.recommend("zoe", 3)) == 3
    assert np.isfinite(after.predict(["u01"], ["new dish"])).all()


def test_update_keeps_ids_without_ratings_times_and_the_count_of_steps() -> None:
    table = NUMBERS.to_table().append_column("t", pa.array(np.arange(len(NUMBERS))))
    timed = tm.Ratings.from_table(table, timestamp="t")
    part = timed.subset(timed.by_user.rows != len(timed.users) - 1)
    before = tm.RNMF(3, steps=10).fit(part)
    after = before.update(part.subset(np.arange(5)), steps=2)
    assert after.users.ids.values.equals(timed.users.values)
    assert after.ratings.timestamp is not None
    assert [step.number for step in after.history] == list(range(1, 13))
    assert len(after.ratings) == len(part)


def test_update_goes_on_with_the_last_phase_that_ran() -> None:
    only_prior = tm.MIXR(3, prior_steps=20, steps=20).fit(RATINGS)
    prior = tm.PR(3, steps=20).fit(RATINGS)
    few = RATINGS.subset(np.arange(3))
    np.testing.assert_array_equal(
        only_prior.update(few, steps=2).factors.users, prior.update(few, steps=2).factors.users
    )


def test_similar_looks_at_tastes_not_at_offsets() -> None:
    fitted = OFFSETS.fit(RATINGS)
    rows, at = fitted.factors.items[:, :3], RATINGS.items.number("i10")
    similarity = shrunk_cosine(rows, at, RATINGS.by_item.counts)
    best = max((i for i in range(len(rows)) if i != at), key=lambda i: similarity[i])
    assert fitted.similar("i10", 1)["item"].to_pylist() == [RATINGS.items[best]]


def test_seen_of_one_user_may_be_a_mapping_too(model: tm.Model) -> None:
    top = model.recommend("u05", 100, seen=[])["item"].to_pylist()
    found = model.recommend("u05", 100, seen={"u05": top[:2]})["item"].to_pylist()
    assert found == top[2:]


def test_a_compressed_model_says_what_it_is() -> None:
    large = tm.ANMF(2, members=3, steps=3).fit(RATINGS)
    small = large.compress(4)
    assert small.method == "Compressed"
    assert small.parameters == {"rank": 4, "of": repr(tm.ANMF(2, members=3, steps=3))}
    assert repr(small).startswith("Model(Compressed(rank=4, of='ANMF(rank=2, members=3,")
    assert "Compressed" not in repr(large)


def test_a_call_for_one_user_looks_at_that_user_alone(model: tm.Model) -> None:
    """Another user's list may hold anything: it is not read."""
    half = RATINGS.by_user
    spoilt = half.indices.copy()
    spoilt[half.pointers[6] :] = 10**6
    ratings = dataclasses.replace(RATINGS, by_user=dataclasses.replace(half, indices=spoilt))
    other = dataclasses.replace(model, ratings=ratings)
    assert other.recommend("u05").equals(model.recommend("u05"))


def test_more_items_than_there_are_may_be_asked_for(model: tm.Model) -> None:
    assert len(model.recommend("u05", 10**9, seen=[])) == len(RATINGS.items)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda m: m.recommend("u05", deny="i03"), ParameterError, "expected a list of items"),
        (lambda m: m.recommend("u05", allow="i03"), ParameterError, "expected a list of items"),
        (lambda m: m.recommend("u05", seen="i03"), ParameterError, "expected a list of items"),
        (lambda m: m.tastes(0), ParameterError, "n is 0: .* 1 or more"),
        (lambda m: m.similar("i03", -1), ParameterError, "n is -1: .* 1 or more"),
        (lambda m: m.recommend("nobody"), IdError, "user 'nobody' is not in the ratings"),
        (lambda m: m.recommend(["u05", "nobody"]), IdError, "user 'nobody' is not in the ratings"),
        (lambda m: m.recommend("u05", 0), ParameterError, "n is 0: .* 1 or more"),
        (lambda m: m.explain("u05", "nothing"), IdError, "item 'nothing' is not in the ratings"),
        (lambda m: m.similar("nothing"), IdError, "item 'nothing' is not in the ratings"),
        (lambda m: m.fold_in({}), ParameterError, "{item: rating}"),
        (lambda m: m.fold_in({"nothing": 3}), IdError, "item 'nothing' is not in the model"),
        (lambda m: m.fold_in({"i03": 9}), tm.errors.RatingError, "outside the scale 1 to 5"),
        (lambda m: m.fold_in_item({"nobody": 3}), IdError, "user 'nobody' is not in the model"),
        (lambda m: m.update(NUMBERS), IdError, "the user ids are strings"),
    ],
)
def test_a_mistake_is_named(model: tm.Model, use, error, message: str) -> None:
    with pytest.raises(error, match=message):
        use(model)


def test_only_factorisations_take_in_rows_and_updates() -> None:
    for use in (lambda m: m.fold_in({"i03": 3}), lambda m: m.update(RATINGS)):
        with pytest.raises(ParameterError, match=r"not fitted by phases|cannot be updated"):
            use(tm.PSVD(3).fit(RATINGS))


def test_newer_ratings_without_times_leave_the_older_times_alone() -> None:
    timed = tm.Ratings.from_arrays(
        [1, 1, 2], ["a", "b", "a"], [1.0, 2.0, 3.0], timestamp=[10, 30, 20]
    )
    after = tm.NMF(1, steps=3).fit(timed).update(tm.Ratings.from_arrays([2], ["b"], [3.0]))
    assert after.ratings.timestamp.tolist() == [10, 30, 20, 30]


def test_an_update_reads_any_table() -> None:
    before = tm.NMF(2, steps=3).fit(tm.Ratings.from_arrays([1, 2], ["a", "b"], [1.0, 5.0]))
    more = pa.table({"who": [3], "what": ["a"], "stars": [4.0]})
    after = before.update(more, user="who", item="what", rating="stars")
    assert after.ratings.to_table().to_pylist()[-1] == {"user": 3, "item": "a", "rating": 4.0}
