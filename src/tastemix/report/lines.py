"""Line charts with a label at the end of each line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from tastemix.report.canvas import NORMAL, SMALL, WIDTH, Canvas, short, text_width
from tastemix.report.exhibits import Lines, Series
from tastemix.report.labels import spread
from tastemix.report.numerals import tick_labels
from tastemix.report.style import GRID, MUTED, PAPER, RULE, Look, ink, looks

LABEL_LINE = 14.5
_TOP, _AXIS, _LEADER = 26.0, 38.0, 24.0
_LEAST_HEIGHT = 222.0
_MARKER_SIZES = {"o": 5.5, "s": 5.0, "D": 5.0, "^": 6.5, "v": 6.5}
"""Of the same weight to the eye."""


def chart(exhibit: Lines, title: str = "", note: str = "") -> Figure:
    """The lines with markers at the data, labels at their ends and few rules."""
    series = [line for line in _drawable(exhibit) if _points(line)]
    box = max(_LEAST_HEIGHT, len(series) * LABEL_LINE)
    canvas = Canvas(_TOP + box + _AXIS, title, note)
    low, high = _limits([y for line in series for _, y in _points(line)], exhibit.log_y)
    ticks = _ticks(low, high, exhibit.log_y)
    names = tick_labels(ticks)
    left = 6 + max((text_width(name, SMALL) for name in names), default=0)
    right = WIDTH - _widest(series) - _LEADER
    axes = canvas.axes(left, _TOP, right, _TOP + box)
    _bare(axes, exhibit.log_y)
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.set_yticklabels(names)
    _horizontal(axes, series, right - left)
    drawn = dict(zip((line.name for line in series), looks([s.name for s in series]), strict=True))
    for line in reversed(series):
        _draw(axes, line, drawn[line.name])
    canvas.text(1, 12, exhibit.y, size=SMALL, color=MUTED)
    canvas.text(right, _TOP + box + 33, exhibit.x, size=SMALL, color=MUTED, ha="right")
    _label(canvas, axes, series, drawn, _TOP + box)
    return canvas.figure


def _drawable(exhibit: Lines) -> list[Series]:
    """The series with nan, a gap, where there is no place for a value on the axis."""
    lowest = 0.0 if exhibit.log_y else -math.inf
    return [
        replace(line, y=[y if lowest < y < math.inf else math.nan for y in line.y])
        for line in exhibit.series
    ]


def _points(line: Series) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(line.x, line.y, strict=True) if not math.isnan(y)]


def _limits(values: list[float], log: bool) -> tuple[float, float]:
    """The range of an axis: that of the values and a little more."""
    if not values:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** 0.06, 1.15)
        return low / room, high * room
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _ticks(low: float, high: float, log: bool) -> list[float]:
    found: list[float] = []
    if log:
        found = _inside(LogLocator(subs=(1.0,)).tick_values(low, high), low, high)
        if len(found) < 3:
            found = _inside(LogLocator(subs=(1.0, 2.0, 5.0)).tick_values(low, high), low, high)
    if len(found) < 2:
        locator = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
        found = _inside(locator.tick_values(low, high), low, high)
    return found


def _inside(ticks: Sequence[float], low: float, high: float) -> list[float]:
    return [float(tick) for tick in ticks if low <= tick <= high]


def _bare(axes: Axes, log: bool) -> None:
    """Horizontal rules and a base line, nothing else."""
    if log:
        axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.tick_params(axis="y", length=0, pad=5, labelsize=SMALL, labelcolor=MUTED)
    axes.tick_params(axis="x", color=RULE, labelsize=SMALL, labelcolor=MUTED)
    axes.tick_params(axis="x", which="minor", color=RULE)


def _horizontal(axes: Axes, series: list[Series], width: float) -> None:
    """Ticks at the values that were tried, numbered as far as there is room."""
    tried = sorted({x for line in series for x in line.x}) or [0.0, 1.0]
    span = tried[-1] - tried[0] or 1.0
    axes.set_xlim(tried[0] - 0.03 * span, tried[-1] + 0.025 * span)
    per_unit = width / (1.055 * span)
    numbered: list[float] = []
    for x in reversed(tried):
        room = text_width(tick_labels([x])[0], SMALL) + 8
        if not numbered or (numbered[-1] - x) * per_unit >= room:
            numbered.append(x)
    axes.xaxis.set_major_locator(FixedLocator(numbered))
    axes.set_xticklabels(tick_labels(numbered))
    axes.xaxis.set_minor_locator(FixedLocator([x for x in tried if x not in numbered]))


def _draw(axes: Axes, line: Series, drawn: Look) -> None:
    (artist,) = axes.plot(
        line.x,
        line.y,
        color=drawn.colour,
        linewidth=1.8,
        marker=drawn.marker,
        markersize=_MARKER_SIZES[drawn.marker],
        markeredgecolor=PAPER,
        markeredgewidth=0.7,
        solid_joinstyle="round",
        clip_on=False,
    )
    if line.dashed:
        artist.set_dashes((4, 2))


def _label(
    canvas: Canvas, axes: Axes, series: list[Series], drawn: dict[str, Look], base: float
) -> None:
    """Names beside the ends, apart from each other, each with a thin line to its own."""
    # Lines that end together are named in the order in which they arrive.
    series = sorted(series, key=lambda line: [y for _, y in reversed(_points(line))])
    ends = [canvas.point(axes, *_points(line)[-1]) for line in series]
    # `spread` counts upwards, the canvas downwards.
    half = LABEL_LINE / 2
    places = spread([-y for _, y in ends], LABEL_LINE, half - base, half - _TOP)
    edge = WIDTH - _widest(series)
    for line, (x, y), place in zip(series, ends, places, strict=True):
        colour = ink(drawn[line.name].colour)
        leader = zip(canvas.at(x + 5, y), canvas.at(edge - 3, -place), strict=True)
        canvas.figure.add_artist(Line2D(*leader, color=colour, linewidth=0.6, alpha=0.75))
        name = short(line.name)
        canvas.text(edge, -place, name, size=NORMAL, color=colour, va="center_baseline")


def _widest(series: list[Series]) -> float:
    return 2 + max((text_width(short(line.name), NORMAL) for line in series), default=0)
