"""Problems that many tests share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

import tastemix as tm

# The same examples on every run that decides about a change; new ones on everyone's own machine.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def random_ratings(
    users: int, items: int, density: float, seed: int = 0, *, constant: float | None = None
) -> tm.Ratings:
    """Integer stars, with one empty row and one empty column where there is room."""
    rng = np.random.default_rng(seed)
    rated = rng.random((users, items)) < density
    if users > 4 and items > 4:
        rated[3] = False
        rated[:, 4] = False
    rated[0, 0] = True
    stars = rng.integers(1, 6, rated.sum()).astype(float)
    values = stars if constant is None else np.full_like(stars, constant)
    matrix = sp.coo_array((values, np.nonzero(rated)), shape=rated.shape)
    return tm.Ratings.from_sparse(matrix)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets."""
    folder = os.environ.get("TASTEMIX_DATA")
    if not folder:
        pytest.skip("TASTEMIX_DATA is not set: see the README")
    return Path(folder)


@dataclass(frozen=True)
class Watched:
    """A method that notes the engines it is given."""

    engines: list[object] = field(hash=False)

    def fit(self, ratings: tm.Ratings, *, engine: object = None) -> tm.Model:
        self.engines.append(engine)
        return tm.Baseline().fit(ratings)
