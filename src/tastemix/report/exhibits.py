"""What an experiment shows, as data: tables and charts for a report to draw."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    chances: Collection[str] = ()
    """Columns of probabilities, which are never printed as zero."""
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One line of a chart; a method or metric has the same colour in every chart."""

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


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value and how that is written; perhaps an interval around it."""

    name: str
    value: float
    text: str
    spread: float = 0.0
    colour: str = ""


@dataclass(frozen=True)
class Block:
    """Bars below a heading."""

    rows: Sequence[Bar]
    heading: str = ""
    colour: str = "#1b72c4"


@dataclass(frozen=True)
class Bars:
    """Horizontal bars in blocks, on one scale unless not `shared`."""

    title: str
    blocks: Sequence[Block]
    note: str = ""
    shared: bool = True


@dataclass(frozen=True, eq=False)
class Places:
    """Points on a plane, of which the first `named` show their names; colours have a legend."""

    title: str
    points: NDArray[np.float64]
    names: Sequence[str]
    colours: Sequence[str]
    legend: Mapping[str, str]
    named: int
    note: str = ""


Exhibit = Table | Lines | Heat | Bars | Places


@dataclass(frozen=True)
class Section:
    """One experiment's part of the report."""

    name: str
    title: str
    text: str
    exhibits: list[Exhibit]
