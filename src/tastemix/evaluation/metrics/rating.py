"""How far predictions are from the true ratings, averaged over all test pairs.

Order plays no part, so there are no ties; empty input is refused everywhere.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tastemix.checks import number
from tastemix.evaluation.metrics.inputs import Scale, bounds, pairs


def mse(truth: ArrayLike, prediction: ArrayLike) -> float:
    """Mean squared error over all pairs."""
    error = _error(truth, prediction)
    return float(np.mean(error * error))


def rmse(truth: ArrayLike, prediction: ArrayLike) -> float:
    """Root of the mean squared error over all pairs."""
    return math.sqrt(mse(truth, prediction))


def mae(truth: ArrayLike, prediction: ArrayLike) -> float:
    """Mean absolute error over all pairs."""
    return float(np.mean(np.abs(_error(truth, prediction))))


def nmae(truth: ArrayLike, prediction: ArrayLike, *, scale: Scale) -> float:
    """Mean absolute error over all pairs, as a share of the scale's range."""
    low, high = bounds(scale)
    return mae(truth, prediction) / (high - low)


def cmae(truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float) -> float:
    """Mean absolute error over the pairs with truth >= relevant or prediction >= predicted.

    nan when there is no such pair: an error of 0 would read as perfect.
    """
    a, b = pairs(truth, prediction)
    matters = (a >= number("relevant", relevant)) | (b >= number("predicted", predicted))
    return mae(a[matters], b[matters]) if matters.any() else math.nan


def _error(truth: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
    a, b = pairs(truth, prediction)
    return np.subtract(b, a, dtype=np.float64)
