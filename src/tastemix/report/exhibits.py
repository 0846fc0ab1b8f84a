"""What an experiment shows, as data: tables and charts for a report to draw."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["here", "printed", "difference"]
"""Ours; figures printed elsewhere for the same rows; ours minus those, which carry their sign."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of values, the first of which names the row."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    best: Mapping[str, Literal["high", "low"]] = field(default_factory=dict)
    """Columns whose best entry stands out → which direction is better."""
    role: Role | None = None
    """Tables "here", "printed" and "difference" in a row are shown as one."""
    baselines: Collection[str] = ()
    """Names of rows to compare with, which stay in the background."""
    digits: int = 3
    """Decimals of its figures."""
    column_digits: Mapping[str, int] = field(default_factory=dict)
    """Columns with other decimals → theirs."""
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
