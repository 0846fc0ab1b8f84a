"""Predictions by the user's own ids, and the model on disk."""

import dataclasses
import json
import pickle
import tracemalloc

import numpy as np
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.errors import IdError, ModelFileError, ParameterError

RATINGS = tm.Ratings.from_arrays(
    ["ann", "ann", "ann", "bob", "bob", "cy", "cy", "cy", "dee", "dee"],
    ["Heat", "Alien", "Up", "Heat", "Jaws", "Alien", "Up", "Jaws", "Up", "Heat"],
    [5, 4, 1, 4, 5, 2, 5, 1, 4, 2],
    scale=(1, 5),
)


@pytest.fixture
def model() -> tm.Model:
    return tm.RNMF(3, steps=30).fit(RATINGS)


def test_a_raw_prediction_is_the_product_of_the_rows(model: tm.Model) -> None:
    users, items = ["bob", "ann", "dee"], ["Up", "Jaws", "Alien"]
    raw = model.predict(users, items, clip=False, fallback=None)
    for value, user, item in zip(raw, users, items, strict=True):
        w = model.factors.users[["ann", "bob", "cy", "dee"].index(user)].astype(float)
        h = model.factors.items[["Alien", "Heat", "Jaws", "Up"].index(item)].astype(float)
        assert value == pytest.approx(w @ h, rel=1e-12)


def test_predictions_are_clipped_to_the_scale() -> None:
    model = tm.PSVD(4).fit(RATINGS)
    pairs = [(u, i) for u in ("ann", "bob", "cy", "dee") for i in ("Heat", "Alien", "Up", "Jaws")]
    raw = model.predict(*zip(*pairs, strict=True), clip=False)
    assert raw.min() < 0.5
    np.testing.assert_array_equal(model.predict(*zip(*pairs, strict=True)), raw.clip(1, 5))


@pytest.mark.parametrize(
    ("user", "item", "expected"),
    [
        ("zoe", "Up", (1 + 5 + 4) / 3),
        ("ann", "Brazil", (5 + 4 + 1) / 3),
        ("zoe", "Brazil", 3.3),
    ],
)
def test_unknown_ids_fall_back_to_means(
    model: tm.Model, user: str, item: str, expected: float
) -> None:
    assert model.predict([user], [item]) == pytest.approx([expected])
    assert np.isnan(model.predict([user], [item], clip=False, fallback=None)).all()


def test_an_id_without_training_ratings_counts_as_never_seen() -> None:
    train = RATINGS.subset(RATINGS.by_user.rows != 3)  # dee keeps her place and has no rating
    model = tm.RNMF(2, steps=5).fit(train)
    assert model.predict(["dee"], ["Up"]) == pytest.approx([3.0])
    assert np.isfinite(model.predict(["dee"], ["Up"], clip=False, fallback=None)).all()


def test_means_are_right_beside_ids_without_ratings() -> None:
    train = RATINGS.subset(RATINGS.by_user.rows == 0)  # ann alone keeps her ratings
    model = tm.RNMF(2, steps=2).fit(train)
    np.testing.assert_allclose(model.users.mean, [10 / 3, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(model.items.mean, [4, 5, np.nan, 1])


def test_integer_ids_compare_by_value_whatever_their_width() -> None:
    ratings = tm.Ratings.from_arrays(
        np.array([1, 2, 3], np.int16), np.array([10, 20, 10], np.uint8), [1, 2, 3]
    )
    model = tm.RNMF(1, steps=3).fit(ratings)
    for kind in (np.int8, np.int64, np.uint32):
        expected = model.predict([1, 3], [10, 20])
        found = model.predict(np.array([1, 3], kind), np.array([10, 20], kind))
        np.testing.assert_array_equal(found, expected)


def test_ids_of_another_type_are_refused_rather_than_unknown(model: tm.Model) -> None:
    with pytest.raises(IdError, match="the user ids are strings, but 1 was asked for"):
        model.predict([1], ["Up"])


def test_pairs_must_match_in_number(model: tm.Model) -> None:
    with pytest.raises(ParameterError, match="there are 2 users but 1 items"):
        model.predict(["ann", "bob"], ["Up"])


def test_a_single_id_is_no_list(model: tm.Model) -> None:
    with pytest.raises(IdError, match="put it in a list"):
        model.predict("ann", ["Up"])


def test_two_single_ids_are_predicted_as_a_float(model: tm.Model) -> None:
    for options in ({}, {"clip": False}, {"clip": False, "fallback": None}):
        for user, item in (("ann", "Jaws"), ("zoe", "Up"), ("zoe", "Brazil")):
            found = model.predict(user, item, **options)
            assert type(found) is float
            np.testing.assert_equal(found, model.predict([user], [item], **options)[0])
    numbers = tm.RNMF(1, steps=3).fit(tm.Ratings.from_arrays([1, 2], [1, 3], [4, 5]))
    assert (
        numbers.predict(1, 3)
        == numbers.predict(np.int64(1), np.int8(3))
        == numbers.predict([1], [3])[0]
    )
    with pytest.raises(IdError, match="the user ids are strings, but 1 was asked for"):
        model.predict(1, "Up")
    with pytest.raises(IdError, match="the item ids are strings, but 1 was asked for"):
        model.predict("ann", 1)


def test_a_single_pair_has_a_single_error() -> None:
    fitted = tm.ANMF(2, members=2, steps=3).fit(RATINGS)
    found = fitted.predict("ann", "Jaws", return_std=True)
    assert [type(part) for part in found] == [float, float]
    np.testing.assert_array_equal(
        found, np.ravel(fitted.predict(["ann"], ["Jaws"], return_std=True))
    )


def test_the_model_says_what_an_unknown_id_is_predicted_by(model: tm.Model, tmp_path) -> None:
    assert model.unknown == "mean"
    average = dataclasses.replace(model, unknown="average")
    users, items = (f.astype(float) for f in (model.factors.users, model.factors.items))
    found = average.predict(["zoe", "ann", "zoe", "bob"], ["Up", "x", "x", "Up"], clip=False)
    expected = [
        users.mean(axis=0) @ items[3],
        users[0] @ items.mean(axis=0),
        users.mean(axis=0) @ items.mean(axis=0),
        users[1] @ items[3],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    average.save(tmp_path)
    assert tm.load(tmp_path).unknown == "average"
    assert tm.ANMF(2, members=2, steps=2).fit(RATINGS).unknown == "average"


@pytest.mark.parametrize(("centre", "unknown"), [("average", "average"), ("zero", "mean")])
def test_an_older_file_says_it_by_its_phases(centre: str, unknown: str, tmp_path) -> None:
    objective = tm.Objective(l2=1.0, centre=centre)
    tm.ANLS(2, [tm.Phase(objective, 2)]).fit(RATINGS).save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    assert index.pop("unknown") == unknown
    (tmp_path / "model.json").write_text(json.dumps(index))
    assert tm.load(tmp_path).unknown == unknown


def test_an_unknown_id_costs_no_copy_of_the_factors() -> None:
    rng = np.random.default_rng(0)
    factors = tm.Factors(rng.random((200_000, 20), np.float32), rng.random((50, 20), np.float32))
    user, item = np.array([-1, 5, -1], np.int32), np.array([7, -1, -1], np.int32)
    assert len(factors.averages) == 2  # once per model
    tracemalloc.start()
    factors.pairs_or_average(user, item)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < factors.users.nbytes / 100


def test_the_average_of_many_rows_is_theirs() -> None:
    """A float32 sum of so many stops growing as it should."""
    factors = tm.Factors(np.full((3_000_000, 1), 0.7, np.float32), np.ones((1, 1), np.float32))
    found = factors.pairs_or_average(np.array([-1], np.int32), np.array([0], np.int32))
    assert found == pytest.approx([np.float32(0.7)], rel=1e-9)


def test_many_pairs_with_unknown_ids_are_their_own_averages() -> None:
    """More of them than are widened at a time."""
    rng = np.random.default_rng(0)
    factors = tm.Factors(rng.random((30, 9), np.float32), rng.random((20, 9), np.float32), 1.5)
    user, item = (rng.integers(-1, n, 100_000).astype(np.int32) for n in (30, 20))
    user[:60_000] = -1
    rows = [
        np.vstack([side, side.mean(axis=0, dtype=float)]).astype(float)
        for side in (factors.users, factors.items)
    ]
    expected = (rows[0] @ rows[1].T)[user, item] + 1.5
    np.testing.assert_allclose(factors.pairs_or_average(user, item), expected, rtol=1e-12)


def test_a_used_model_can_be_pickled(model: tm.Model) -> None:
    model.recommend("ann")
    model.similar("Up")
    model.similar_users("ann")
    model.explain("ann", "Up")
    again = pickle.loads(pickle.dumps(model))
    assert again.recommend("ann").equals(model.recommend("ann"))
    assert again.similar("Up").equals(model.similar("Up"))


def test_an_unknown_fallback_is_refused(model: tm.Model) -> None:
    with pytest.raises(ParameterError, match="fallback is 'zero'"):
        model.predict(["ann"], ["Up"], fallback="zero")


def test_the_largest_prediction_is_found_block_by_block() -> None:
    rng = np.random.default_rng(0)
    factors = tm.Factors(rng.random((57, 4), np.float32), rng.random((23, 4), np.float32), -1.5)
    expected = (factors.users @ factors.items.T).max() - 1.5
    for at_once in (1, 100, 10**6):
        assert factors.largest(at_once) == pytest.approx(expected)


@pytest.mark.parametrize("with_ratings", [True, False])
def test_a_saved_model_predicts_the_same(model: tm.Model, tmp_path, with_ratings: bool) -> None:
    model.save(tmp_path / "m.tastemix", ratings=with_ratings)
    again = tm.load(tmp_path / "m.tastemix")
    users, items = ["ann", "dee", "zoe"], ["Jaws", "Alien", "Up"]
    np.testing.assert_array_equal(again.predict(users, items), model.predict(users, items))
    assert again.method == "RNMF"
    assert again.parameters == {"rank": 3, "l1": 0.2, "steps": 30, "seed": 0}
    assert again.phases == model.phases
    assert again.history == model.history
    if with_ratings:
        assert again.ratings.fingerprint == RATINGS.fingerprint
    else:
        assert again.ratings is None
        with pytest.raises(ParameterError, match="without its ratings"):
            again.save(tmp_path / "n.tastemix")


def test_saving_over_an_older_model_leaves_only_the_newer(model: tm.Model, tmp_path) -> None:
    tm.PR(2, steps=3).fit(RATINGS).save(tmp_path)
    model.save(tmp_path)
    assert tm.load(tmp_path).method == "RNMF"
    assert len(list(tmp_path.iterdir())) == 4


def test_the_tables_are_plain_parquet(model: tm.Model, tmp_path) -> None:
    model.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    items = pq.read_table(tmp_path / index["tables"]["items"]["file"]).to_pylist()
    assert [row["id"] for row in items] == ["Alien", "Heat", "Jaws", "Up"]
    assert items[1]["count"] == 3
    assert items[1]["mean"] == pytest.approx(11 / 3)
    assert items[1]["vector"] == model.factors.items[1].tolist()


def test_a_damaged_table_is_refused(model: tm.Model, tmp_path) -> None:
    model.save(tmp_path)
    victim = next(tmp_path.glob("users-*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"is damaged: .*SHA-256"):
        tm.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "has format version 99, .*reads 2"),
        ({"format": "zip"}, "does not describe a tastemix model"),
        (
            {"tables": {"users": {"file": "../../etc/passwd", "sha256": ""}}},
            "the name is not valid",
        ),
        ({"scale": None}, "is incomplete or damaged"),
        ({"mean": "NaN"}, "its mean is 'NaN': expected a finite number"),
    ],
)
def test_a_changed_index_is_refused(model: tm.Model, tmp_path, change: dict, message: str) -> None:
    model.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**index, **change}))
    with pytest.raises(ModelFileError, match=message):
        tm.load(tmp_path)


def test_a_folder_with_other_files_is_left_alone(model: tm.Model, tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ModelFileError, match="other files"):
        model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_no_model_is_named(tmp_path) -> None:
    with pytest.raises(ModelFileError, match=r"not a saved model: .*no model.json"):
        tm.load(tmp_path / "nowhere")


def test_random_has_nothing_to_save(tmp_path) -> None:
    with pytest.raises(ParameterError, match="a Random model has no factors"):
        tm.Random().fit(RATINGS).save(tmp_path / "r")
    assert not (tmp_path / "r").exists()
