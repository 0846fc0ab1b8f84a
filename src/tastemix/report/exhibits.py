"""What an experiment shows, as data: tables and charts for a report to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """Named columns and rows of values; `best` are columns whose best entry stands out."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    best: dict[str, str] = field(default_factory=dict)
    """Column → "high" or "low"."""
    digits: int = 3
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One line of a chart; lines of the same name have the same colour in every chart."""

    name: str
    x: list[float]
    y: list[float]
    dashed: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines against a common axis."""

    title: str
    x: str
    y: str
    series: list[Series]
    log_y: bool = False
    note: str = ""


@dataclass(frozen=True, eq=False)
class Heat:
    """A square of values in [−1, 1] between named things."""

    title: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    note: str = ""


Exhibit = Table | Lines | Heat


@dataclass(frozen=True)
class Section:
    """One experiment's part of the report."""

    name: str
    title: str
    text: str
    exhibits: list[Exhibit]
