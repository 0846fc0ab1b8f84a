"""Pooled classification against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics

EVERY = [metrics.precision, metrics.recall, metrics.fallout, metrics.f1, metrics.accuracy]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("predicted", [-1.0, 2.0, 3.5, 9.0])
@pytest.mark.parametrize("relevant", [0.0, 4.0, 6.0])
def test_agrees_with_scikit_learn(seed, relevant, predicted):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(1, 6, 60), rng.normal(3, 1, 60)
    wanted, offered = truth >= relevant, prediction >= predicted
    limits = {"relevant": relevant, "predicted": predicted}
    for ours, theirs in [
        (metrics.precision, precision_score),
        (metrics.recall, recall_score),
        (metrics.f1, f1_score),
    ]:
        expected = theirs(wanted, offered, zero_division=0)
        assert ours(truth, prediction, **limits) == pytest.approx(expected, abs=1e-15)
    assert metrics.accuracy(truth, prediction, **limits) == accuracy_score(wanted, offered)
    irrelevant = recall_score(~wanted, offered, zero_division=0)
    assert metrics.fallout(truth, prediction, **limits) == pytest.approx(irrelevant, abs=1e-15)


def test_values_by_hand():
    # hits: 5/4; false alarms: 2/4, 1/4; misses: 4/3; rejections: 3/1, 1/1, 2/3
    truth, prediction = [5, 2, 1, 4, 3, 1, 2], [4, 4, 4, 3, 1, 1, 3]
    values = [metric(truth, prediction, relevant=4, predicted=3.5) for metric in EVERY]
    assert values == pytest.approx([1 / 3, 1 / 2, 2 / 5, 2 / 5, 4 / 7])
    assert metrics.confusion(truth, prediction, relevant=4, predicted=3.5) == (1, 2, 1, 3)


def test_thresholds_are_inclusive():
    assert metrics.confusion([4], [3.5], relevant=4, predicted=3.5) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("truth", "prediction", "expected"),
    [
        ([5, 1], [1, 1], [0, 0, 0, 0, 0.5]),  # nothing predicted
        ([1, 1], [5, 1], [0, 0, 0.5, 0, 0.5]),  # nothing relevant
        ([5, 5], [5, 1], [1, 0.5, 0, 2 / 3, 0.5]),  # nothing irrelevant
        ([1, 1], [1, 1], [0, 0, 0, 0, 1]),  # nothing relevant, nothing predicted
        ([5, 1], [1, 5], [0, 0, 1, 0, 0]),  # all wrong
    ],
)
def test_an_empty_denominator_gives_0(truth, prediction, expected):
    values = [metric(truth, prediction, relevant=4, predicted=3.5) for metric in EVERY]
    assert values == pytest.approx(expected)


@pytest.mark.parametrize("metric", EVERY)
def test_nan_is_refused(metric):
    with pytest.raises(ParameterError, match=r"prediction\[1\] is nan"):
        metric([1, 2], [1, np.nan], relevant=4, predicted=3.5)
    with pytest.raises(ParameterError, match="relevant is inf"):
        metric([1, 2], [1, 2], relevant=np.inf, predicted=3.5)
