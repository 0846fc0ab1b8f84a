"""A model judged on ratings it was not trained on."""

import numpy as np
import pytest

import tastemix as tm
from tests.conftest import random_ratings


def test_the_figures_are_those_of_cross_validation() -> None:
    train, test = tm.holdout(random_ratings(60, 30, 0.5))
    found = tm.RNMF(3, steps=10).fit(train).evaluate(test)
    results = tm.cross_validate([tm.RNMF(3, steps=10)], train, [(train, test)], catalogue=True)
    expected = results.summary().to_pylist()[0]
    for name, value in found.items():
        assert value == pytest.approx(expected[name]), name
    assert {"rmse", "catalogue_precision_at_10"} <= set(found)


def test_what_was_rated_in_training_is_no_miss_and_new_ids_are_predicted_by_means() -> None:
    train = tm.Ratings.from_arrays(["a", "a", "b"], ["x", "y", "x"], [5.0, 3, 4], scale=(1, 5))
    test = tm.Ratings.from_arrays(["a", "b", "new"], ["x", "y", "y"], [5.0, 5, 5], scale=(1, 5))
    found = tm.Baseline().fit(train).evaluate(test, at=1)
    # a rated x in training; b is shown y, the only other item; nobody knows `new`.
    assert found["catalogue_precision_at_1"] == 1
    assert found["mae"] == pytest.approx(
        np.abs(5 - tm.Baseline().fit(train).predict(["a", "b", "new"], ["x", "y", "y"])).mean()
    )


def test_a_model_without_predictions_is_judged_by_its_lists() -> None:
    train, test = tm.holdout(random_ratings(60, 30, 0.5))
    found = tm.Neighbours().fit(train).evaluate(test)
    assert found
    assert all(name.startswith("catalogue_") for name in found)


def test_a_table_is_read_on_the_scale_of_the_model() -> None:
    ratings = random_ratings(30, 20, 0.5)
    table = ratings.to_table().slice(0, 3)
    model = tm.Baseline().fit(ratings)
    expected = model.evaluate(tm.Ratings.from_table(table, scale=ratings.scale))
    for name, value in model.evaluate(table).items():
        np.testing.assert_equal(value, expected[name])


def test_everyone_is_recommended_to_in_batches() -> None:
    ratings = random_ratings(50, 20, 0.5)
    model = tm.PR(3, steps=5).fit(ratings)
    reader = model.recommend_all(4)
    assert reader.read_all().equals(model.recommend(model.users.ids.values, 4))
