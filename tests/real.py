"""MovieLens 1M, split once, and the models of it that several tests look at, fitted once."""

from functools import cache
from pathlib import Path
from typing import Any

import tastemix as tm
from tastemix.data.splits import Split
from tastemix.methods import default_method


@cache
def ml_1m(data: Path) -> Split:
    return tm.holdout(tm.read(data / "ml-1m.parquet", scale=(1, 5)))


@cache
def fitted(method: Any, data: Path) -> tm.Model:
    return method.fit(ml_1m(data).train)


def best(data: Path) -> tm.Model:
    """What `tm.fit` gives."""
    return fitted(default_method(), data)
