"""Rating errors against values worked out by hand."""

import math

import numpy as np
import pytest

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics

TRUTH = [5.0, 3.0, 1.0, 4.0]
PREDICTION = [4.0, 3.5, 3.0, 4.0]  # errors -1, 0.5, 2, 0


def test_errors_are_means_over_all_pairs():
    assert metrics.mse(TRUTH, PREDICTION) == pytest.approx(5.25 / 4)
    assert metrics.rmse(TRUTH, PREDICTION) == pytest.approx(math.sqrt(5.25 / 4))
    assert metrics.mae(TRUTH, PREDICTION) == pytest.approx(3.5 / 4)


def test_nmae_is_a_share_of_the_range_not_of_the_highest_rating():
    assert metrics.nmae(TRUTH, PREDICTION, scale=(1, 5)) == pytest.approx(3.5 / 4 / 4)
    assert metrics.nmae(TRUTH, PREDICTION, scale=(-10, 10)) == pytest.approx(3.5 / 4 / 20)


def test_cmae_counts_pairs_that_are_relevant_or_predicted():
    # 5/4 and 4/4 are relevant, 3/3.5 is only predicted, 1/3 is neither.
    assert metrics.cmae(TRUTH, PREDICTION, relevant=4, predicted=3.5) == pytest.approx(1.5 / 3)


def test_cmae_without_such_a_pair_is_nan():
    assert math.isnan(metrics.cmae([1, 2], [1, 3], relevant=4, predicted=3.5))


def test_float32_errors_are_computed_in_double_precision():
    truth = np.full(1000, 4.0, np.float32)
    prediction = np.full(1000, 3.9, np.float32)
    exact = 4.0 - float(np.float32(3.9))
    assert metrics.mae(truth, prediction) == pytest.approx(exact, rel=1e-12)
    assert metrics.rmse(truth, prediction) == pytest.approx(exact, rel=1e-12)


def test_float32_ratings_meet_a_threshold_written_in_decimals():
    # float32(0.7) is a little below the double 0.7, but it is the rating that was meant.
    assert metrics.cmae(np.float32([0.7]), [0.2], relevant=0.7, predicted=1) == pytest.approx(0.5)


@pytest.mark.parametrize("metric", [metrics.rmse, metrics.mae, metrics.mse])
@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([1, math.nan], [1, 2], r"truth\[1\] is nan"),
        ([1, 2, 3], [1, 2, math.inf], r"prediction\[2\] is inf"),
        ([1, 2], [1], "truth has 2 values and prediction has 1"),
        ([], [], "truth is empty"),
        ([[1, 2]], [1, 2], "truth has 2 dimensions"),
        (["a"], [1], "truth holds <U1 values"),
        ([1], [1 + 2j], "prediction holds complex128 values"),
    ],
)
def test_unusable_input_is_refused_by_name_and_position(metric, truth, prediction, message):
    with pytest.raises(ParameterError, match=message):
        metric(truth, prediction)


@pytest.mark.parametrize(
    "scale", [(5, 1), (3, 3), (1, math.inf), (math.nan, 5), (1,), 5, None, ("a", "b")]
)
def test_a_scale_without_a_range_is_refused(scale):
    with pytest.raises(ParameterError, match="scale"):
        metrics.nmae(TRUTH, PREDICTION, scale=scale)


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match="relevant is nan"):
        metrics.cmae(TRUTH, PREDICTION, relevant=math.nan, predicted=3)
    with pytest.raises(ParameterError, match="predicted is 'high'"):
        metrics.cmae(TRUTH, PREDICTION, relevant=4, predicted="high")


def test_input_arrays_are_left_as_they_were():
    truth, prediction = np.array(TRUTH), np.array(PREDICTION)
    metrics.rmse(truth, prediction)
    metrics.evaluate([1, 1, 2, 2], truth, prediction)
    assert truth.tolist() == TRUTH
    assert prediction.tolist() == PREDICTION
