"""Random bits that only the seed decides: the same on any machine and NumPy version."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix import checks


def words(seed: int, shape: int | tuple[int, ...], skip: int = 0) -> NDArray[np.uint64]:
    """64-bit words of the bit generator itself: no method of NumPy's that may change in between.

    skip: how many words to leave out first, as if they had been drawn.
    """
    generator = np.random.PCG64(checks.seed(seed))
    if skip:
        generator.advance(skip)
    drawn: NDArray[np.uint64] = generator.random_raw(shape)
    return drawn
