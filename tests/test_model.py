"""Predictions by the user's own ids, and the model on disk."""

import json

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
        with pytest.raises(ParameterError, match="came without its ratings"):
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
    with pytest.raises(ModelFileError, match="is damaged: its sum is not the one in"):
        tm.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "has format version 99, this release reads 2"),
        ({"format": "zip"}, "does not describe a tastemix model"),
        ({"tables": {"users": {"file": "../../etc/passwd", "sha256": ""}}}, "no such file is ours"),
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
    with pytest.raises(ModelFileError, match="holds other files"):
        model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_no_model_is_named(tmp_path) -> None:
    with pytest.raises(ModelFileError, match=r"is no saved model: it has no model.json"):
        tm.load(tmp_path / "nowhere")


def test_random_has_nothing_to_save(tmp_path) -> None:
    with pytest.raises(ParameterError, match="a Random model has no factors"):
        tm.Random().fit(RATINGS).save(tmp_path / "r")
    assert not (tmp_path / "r").exists()
