"""The whole dictionary: names, defaults and the three scores."""

import math

import numpy as np
import pytest

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    return rng.integers(0, 12, 300), rng.integers(1, 6, 300), rng.normal(3, 1, 300)


@pytest.mark.parametrize("at", [10, 3])
def test_names_come_in_the_documented_order(pairs, at):
    assert " ".join(metrics.evaluate(*pairs, at=at)) == (
        "rmse mae mse nmae cmae precision recall fallout f1 accuracy map auc ndcg "
        f"precision_at_{at} recall_at_{at} f1_at_{at} ndcg_at_{at} "
        "rank_score class_score rating_score"
    )


def test_values_are_plain_floats(pairs):
    assert {type(value) for value in metrics.evaluate(*pairs).values()} == {float}


def test_every_value_by_hand():
    # ann: 5 predicted 4, 2 predicted 3; bob: 4 predicted 2, 1 predicted 4
    user, truth, prediction = ["ann", "ann", "bob", "bob"], [5, 2, 4, 1], [4.0, 3.0, 2.0, 4.0]
    got = metrics.evaluate(user, truth, prediction, at=1, scale=(1, 5))
    log3 = math.log2(3)
    bob = (1 + 15 / log3) / (15 + 1 / log3)
    rmse, mae = math.sqrt(15 / 4), 7 / 4
    expected = {
        "rmse": rmse,
        "mae": mae,
        "mse": 15 / 4,
        "nmae": 7 / 16,
        "cmae": 2,  # over 5/4, 4/2 and 1/4
        "precision": 1 / 2,
        "recall": 1 / 2,
        "fallout": 1 / 2,
        "f1": 1 / 2,
        "accuracy": 1 / 2,
        "map": 3 / 4,
        "auc": 1 / 2,
        "ndcg": (1 + bob) / 2,
        "precision_at_1": 1 / 2,
        "recall_at_1": 1 / 2,
        "f1_at_1": 1 / 2,
        "ndcg_at_1": (1 + 1 / 15) / 2,
        # F1@10 of both is that of P = 1/2 and R = 1; NDCG@10 is NDCG.
        "rank_score": (3 / 4 + 1 / 2 + (1 + bob) / 2 + 2 / 3 + (1 + bob) / 2) / 5,
        "class_score": 1 / 2,
        "rating_score": ((1 - rmse / 4) + (1 - mae / 4)) / 2,
    }
    assert got == pytest.approx(expected)


def test_rank_score_does_not_depend_on_the_length_reported(pairs):
    ten, three = metrics.evaluate(*pairs, at=10), metrics.evaluate(*pairs, at=3)
    assert ten["rank_score"] == three["rank_score"]
    parts = [ten[name] for name in ("map", "auc", "ndcg", "f1_at_10", "ndcg_at_10")]
    assert ten["rank_score"] == pytest.approx(sum(parts) / 5)
    assert ten["ndcg_at_10"] != three["ndcg_at_3"]


def test_defaults_on_stars_are_relevant_4_and_predicted_three_and_a_half(pairs):
    explicit = metrics.evaluate(*pairs, relevant=4, predicted=3.5, at=10, scale=(1, 5), seed=0)
    assert metrics.evaluate(*pairs) == explicit
    assert metrics.evaluate(*pairs, relevant=3)["map"] != explicit["map"]
    assert metrics.evaluate(*pairs, predicted=3)["precision"] != explicit["precision"]


def test_thresholds_follow_a_scale_wider_than_the_truth():
    # On -10..10 relevant is 5 and predicted 2.5.
    got = metrics.evaluate([1, 1, 1], [5, 4, 0], [2.5, 2.5, 2.4], scale=(-10, 10))
    assert got["precision"] == 0.5
    assert got["recall"] == 1
    assert got["nmae"] == pytest.approx((2.5 + 1.5 + 2.4) / 3 / 20)


def test_without_a_relevant_pair_only_the_ranking_is_nan():
    got = metrics.evaluate([1, 2], [1, 2], [1, 3], scale=(1, 5))
    ranking = {"map", "auc", "ndcg", "precision_at_10", "recall_at_10", "f1_at_10", "ndcg_at_10"}
    assert {name for name in got if math.isnan(got[name])} == ranking | {"rank_score", "cmae"}


def test_a_perfect_prediction_scores_1(pairs):
    user, truth, _ = pairs
    got = metrics.evaluate(user, truth, truth)
    assert got["rating_score"] == got["class_score"] == 1
    assert got["ndcg"] == got["map"] == got["auc"] == pytest.approx(1)


def test_errors_beyond_the_range_make_a_negative_rating_score():
    assert metrics.rating_score(8, 6, scale=(1, 5)) == pytest.approx(-0.75)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 0}, "at is 0"),
        ({"scale": (5, 1)}, "scale is"),
        ({"scale": (2, 5)}, r"truth\[\d+\] is 1.0: the scale is"),
        ({"seed": -3}, "seed is -3"),
        ({"relevant": math.inf}, "relevant is inf"),
        ({"predicted": math.nan}, "predicted is nan"),
    ],
)
def test_unusable_options_are_refused_by_name(pairs, options, message):
    with pytest.raises(ParameterError, match=message):
        metrics.evaluate(*pairs, **options)


def test_public_names_exist_and_are_sorted():
    assert metrics.__all__ == sorted(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)
