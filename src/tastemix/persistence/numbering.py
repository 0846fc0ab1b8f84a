"""How tastes are numbered and scaled, in a model of rows that were folded into another."""

from __future__ import annotations

import reprlib
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

    users: tuple[float, ...]
    items: tuple[float, ...]
    order: tuple[int, ...]
    averages: tuple[tuple[float, ...], tuple[float, ...]]
    """The average row of its users, and of its items."""


def about(model: Model, of: Of, factors: Factors) -> AboutNumbering | None:
    """What the factors of folded-in rows keep of the model that they were folded into."""
    if model.origin is None and model.numbering is None:
        return None
    known, averages = model.tastes_of(of).of(factors).numbering, factors.averages
    return AboutNumbering(
        _line(known.users),
        _line(known.items),
        tuple(map(int, known.order)),
        (_line(averages[0]), _line(averages[1])),
    )


def read(factors: Factors, about: AboutNumbering | None) -> tuple[Factors, Numbering | None]:
    """Factors as rows were folded into them, and the numbering of their tastes."""
    count = _taste_count(factors)
    if about is None:
        return factors, None
    users, items, *averages = map(np.array, (about.users, about.items, *about.averages))
    if {len(users), len(items), *map(len, averages)} != {factors.rank}:
        raise ModelFileError("the numbering of its tastes is not of its rank")
    if sorted(about.order) != list(range(count)):
        raise ModelFileError("the numbering of its tastes does not name each of them once")
    if not all(bounded(row) for row in (users, items, *averages)):
        raise ModelFileError(f"the numbering of its tastes is beyond {MOST_ENTRY:g} / rank")
    known = Numbering(users, items, np.array(about.order, np.intp))
    return factors.with_averages((averages[0], averages[1])), known


def _taste_count(factors: Factors) -> int:
    """The number of tastes of factors that are not checked yet; their groups are checked here."""
    width = factors.rank // max(factors.members, 1)
    count = len(set(range(width)) - {r % max(width, 1) for held in factors.held for r in held})
    groups = factors.groups
    if groups is None:
        return count
    tastes = len(set(groups))
    if len(groups) != count or set(groups) != set(range(tastes)):
        raise ModelFileError(
            f"its coordinates are of the tastes {reprlib.repr(groups)}: expected a number from 0 "
            "for each"
        )
    return tastes


def _line(numbers: Iterable[Any]) -> tuple[float, ...]:
    return tuple(map(float, numbers))
