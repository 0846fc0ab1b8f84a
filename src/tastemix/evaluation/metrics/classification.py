"""Recommended or not, against relevant or not, pooled over all test pairs.

A pair is relevant when truth >= relevant and predicted when prediction >= predicted. Order plays no
part, so there are no ties. A ratio whose denominator is empty is 0, as scikit-learn's
zero_division=0 has it; empty input is refused.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tastemix.checks import number
from tastemix.evaluation.metrics.inputs import pairs


class Confusion(NamedTuple):
    """Numbers of pairs: predicted and relevant, predicted only, relevant only, neither."""

    hits: int
    false_alarms: int
    misses: int
    rejections: int


def confusion(
    truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float
) -> Confusion:
    """Count the pairs by relevant and predicted."""
    a, b = pairs(truth, prediction)
    wanted, offered = (
        a >= number("relevant", relevant),
        b >= number("predicted", predicted),
    )
    hits = int(np.count_nonzero(wanted & offered))
    false_alarms = int(np.count_nonzero(offered)) - hits
    misses = int(np.count_nonzero(wanted)) - hits
    return Confusion(hits, false_alarms, misses, len(a) - hits - false_alarms - misses)


def precision(
    truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float
) -> float:
    """Share of the predicted pairs that are relevant; 0 when nothing is predicted."""
    count = confusion(truth, prediction, relevant=relevant, predicted=predicted)
    return _ratio(count.hits, count.hits + count.false_alarms)


def recall(truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float) -> float:
    """Share of the relevant pairs that are predicted; 0 when nothing is relevant."""
    count = confusion(truth, prediction, relevant=relevant, predicted=predicted)
    return _ratio(count.hits, count.hits + count.misses)


def fallout(truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float) -> float:
    """Share of the irrelevant pairs that are predicted; 0 when nothing is irrelevant."""
    count = confusion(truth, prediction, relevant=relevant, predicted=predicted)
    return _ratio(count.false_alarms, count.false_alarms + count.rejections)


def f1(truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float) -> float:
    """Harmonic mean of precision and recall; 0 when no pair is both predicted and relevant."""
    count = confusion(truth, prediction, relevant=relevant, predicted=predicted)
    return _ratio(2 * count.hits, 2 * count.hits + count.false_alarms + count.misses)


def accuracy(
    truth: ArrayLike, prediction: ArrayLike, *, relevant: float, predicted: float
) -> float:
    """Share of all pairs where predicted agrees with relevant."""
    count = confusion(truth, prediction, relevant=relevant, predicted=predicted)
    return _ratio(count.hits + count.rejections, sum(count))


def _ratio(part: int, total: int) -> float:
    return part / total if total else 0.0
