"""Random bits that only the seed decides: the same on any machine and NumPy version."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray

from tastemix.errors import ParameterError


def words(seed: int, shape: int | tuple[int, ...]) -> NDArray[np.uint64]:
    """64-bit words of the bit generator itself: no method of NumPy's that may change in between."""
    drawn: NDArray[np.uint64] = np.random.PCG64(checked(seed)).random_raw(shape)
    return drawn


def checked(seed: int) -> int:
    """The seed, if it is one."""
    try:
        number = index(seed)
    except TypeError:
        raise ParameterError(f"seed is {seed!r}: it must be a whole number") from None
    if not 0 <= number < 2**63:
        raise ParameterError(f"seed is {number}: it must be 0 or more, and below 2**63")
    return number
