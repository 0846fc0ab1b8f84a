"""One table of what is known of every metric."""

import numpy as np
import pytest

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics
from tastemix.evaluation.metrics import facts


def reported(at: int) -> set[str]:
    judged = metrics.evaluate([0, 0], [1, 5], [2.0, 4.0], scale=(1, 5), at=at)
    lists = np.zeros((1, at), int) - 1
    over_all = metrics.evaluate_catalogue(lists, [0, 1], [0], [1, 2])
    return {*judged, *(f"catalogue_{name}" for name in over_all)}


@pytest.mark.parametrize("at", [3, 10])
def test_every_metric_that_is_reported_has_a_label(at: int) -> None:
    for name in reported(at):
        assert facts.fact(name).name == name
        assert facts.fact(name).label != name
        assert "N" not in facts.fact(name).label.partition("@")[2]
    assert facts.fact(f"ndcg_at_{at}").label == f"NDCG@{at}"
    assert reported(10) >= {*facts.NINE, *facts.SCORES, *facts.CATALOGUE}


def test_the_better_direction_is_where_perfect_predictions_lie() -> None:
    truth = np.array([1, 2, 3, 4, 5, 1, 3, 5.0])
    user = [0, 0, 0, 0, 0, 1, 1, 1]
    perfect = metrics.evaluate(user, truth, truth, scale=(1, 5))
    reversed_ = metrics.evaluate(user, truth, 6 - truth, scale=(1, 5))
    assert {name for name in perfect if perfect[name] < reversed_[name]} == {
        name for name in perfect if facts.lower_is_better(name)
    }


def test_a_metric_of_ones_own_goes_by_its_name() -> None:
    assert facts.labels("surprise", "rmse") == ("surprise", "RMSE")
    assert facts.best("surprise", "rmse", "catalogue_median_popularity") == {
        "surprise": "high",
        "RMSE": "low",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"truth": [1, np.nan]},
        {"truth": [[1, 5]]},
        {"truth": [1]},
        {"truth": [2, 2], "scale": None},
        {"prediction": ["a", "b"]},
        {"user": []},
        {"scale": (5, 1)},
        {"scale": 5},
        {"at": 0},
        {"relevant": "high"},
        {"seed": -1},
    ],
)
def test_errors_say_what_is_wrong_and_after_a_colon_how_to_go_on(change: dict[str, object]) -> None:
    good = {"user": [0, 0], "truth": [1, 5], "prediction": [2.0, 4.0], "scale": (1, 5)}
    with pytest.raises(ParameterError) as raised:
        metrics.evaluate(**{**good, **change})
    sentence = str(raised.value)
    assert ": " in sentence
    assert ";" not in sentence
    assert not sentence.endswith(".")
