"""How tastes are numbered and scaled, in a model of rows that were folded into another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tastemix.engine.sides import MOST_ENTRY, bounded
from tastemix.errors import ModelFileError
from tastemix.model.factors import Factors
from tastemix.model.model import Model, Of
from tastemix.model.tastes import Numbering


@dataclass(frozen=True)
class AboutNumbering:
    """What the index says of the model that rows were folded into; see `Numbering`."""

    means: tuple[float, ...]
    order: tuple[int, ...]
    adds: tuple[float, ...]
    averages: tuple[tuple[float, ...], tuple[float, ...]]
    """The average row of its users, and of its items."""


def about(model: Model, of: Of, factors: Factors) -> AboutNumbering | None:
    """What the factors of folded-in rows keep of the model that they were folded into."""
    if model.origin is None and model.numbering is None:
        return None
    known, averages = model.tastes_of(of).numbering, factors.averages
    means = np.zeros(factors.rank)  # Someone new has one coordinate more, which is no taste.
    means[: len(known.means)] = known.means
    return AboutNumbering(
        _line(means),
        tuple(map(int, known.order)),
        _line(known.adds),
        (_line(averages[0]), _line(averages[1])),
    )


def read(factors: Factors, about: AboutNumbering | None) -> tuple[Factors, Numbering | None]:
    """Factors as rows were folded into them, and the numbering of their tastes."""
    if about is None:
        return factors, None
    means, adds, *averages = map(np.array, (about.means, about.adds, *about.averages))
    width = factors.rank // max(factors.members, 1)
    tastes = len(set(range(width)) - {r % max(width, 1) for held in factors.held for r in held})
    if {len(means), *map(len, averages)} != {factors.rank} or len(adds) != tastes:
        raise ModelFileError("the numbering of its tastes is not of its rank")
    if sorted(about.order) != list(range(tastes)):
        raise ModelFileError("the numbering of its tastes does not name each of them once")
    if not all(bounded(row) for row in (means, adds, *averages)):
        raise ModelFileError(f"the numbering of its tastes is beyond {MOST_ENTRY:g} / rank")
    known = Numbering(means, np.array(about.order, np.intp), adds)
    return factors.with_averages((averages[0], averages[1])), known


def _line(numbers: Iterable[Any]) -> tuple[float, ...]:
    return tuple(map(float, numbers))
