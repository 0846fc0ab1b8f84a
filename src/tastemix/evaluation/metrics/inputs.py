"""What every metric asks of its arguments: finite numbers, one per test pair, inside the scale."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tastemix.checks import number
from tastemix.errors import ParameterError

Floats = NDArray[np.floating[Any]]
Scale = tuple[float, float]


def numbers(name: str, values: ArrayLike) -> Floats:
    """`values` as a nonempty 1-d array of finite floats.

    float32 stays float32, so that a threshold is compared at the precision of the values: a stored
    0.7 is at least 0.7. Everything else becomes float64.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ParameterError(f"{name} has {array.ndim} dimensions: give one value per test pair")
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} holds {array.dtype} values: give real numbers")
    if not array.size:
        raise ParameterError(f"{name} is empty: a metric needs at least one test pair")
    floats: Floats = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    refuse_where(~np.isfinite(floats), name, floats, "every value must be a finite number")
    return floats


def pairs(truth: ArrayLike, prediction: ArrayLike) -> tuple[Floats, Floats]:
    """Truth and prediction of the same test pairs, checked."""
    checked = numbers("truth", truth), numbers("prediction", prediction)
    same_length("truth", checked[0], "prediction", checked[1])
    return checked


def same_length(one: str, a: NDArray[Any], other: str, b: NDArray[Any]) -> None:
    """Refuse two arrays that cannot describe the same pairs."""
    if len(a) != len(b):
        raise ParameterError(
            f"{one} has {len(a)} values and {other} has {len(b)}: give one per test pair in each"
        )


def refuse_where(bad: NDArray[np.bool_], name: str, array: NDArray[Any], demand: str) -> None:
    """Raise for the first position where `bad` holds; `demand` says what was expected."""
    if bad.any():
        first = int(bad.argmax())
        raise ParameterError(f"{name}[{first}] is {array[first]}: {demand}")


def bounds(scale: Scale) -> Scale:
    """(lowest, highest) of a rating scale, refused unless it spans a finite range."""
    try:
        low, high = scale
    except (TypeError, ValueError):
        raise ParameterError(f"scale is {scale!r}: give (lowest, highest)") from None
    low, high = number("scale[0]", low), number("scale[1]", high)
    if not low < high or not math.isfinite(high - low):
        raise ParameterError(f"scale is ({low}, {high}): give a finite range, lowest first")
    return low, high


def scale_of(truth: Floats, scale: Scale | None) -> Scale:
    """The scale given, which must hold every true rating, or else (min, max) of the truth."""
    if scale is not None:
        low, high = bounds(scale)
        outside = (truth < low) | (truth > high)
        refuse_where(outside, "truth", truth, f"the scale is ({low}, {high})")
        return low, high
    low, high = float(truth.min()), float(truth.max())
    if low == high:
        raise ParameterError(
            f"every truth is {low}, which tells no scale: pass scale=(lowest, highest)"
        )
    return bounds((low, high))


def relevant_from(relevant: float | None, scale: Scale) -> float:
    """The smallest relevant true rating: lowest + 3/4 of the range unless given."""
    low, high = scale
    return low + 0.75 * (high - low) if relevant is None else number("relevant", relevant)


def predicted_from(predicted: float | None, scale: Scale) -> float:
    """The smallest prediction that recommends: lowest + 5/8 of the range unless given."""
    low, high = scale
    return low + 0.625 * (high - low) if predicted is None else number("predicted", predicted)
