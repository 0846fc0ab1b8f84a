"""A square of correlations with its numbers."""

from __future__ import annotations

import math
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tastemix.report.canvas import NORMAL, SMALL, WIDTH, Canvas, short, text_width
from tastemix.report.exhibits import Heat
from tastemix.report.numerals import printed
from tastemix.report.style import INK, PAPER, contrast, heat

BLACK = "#000000"
"""On the middle blues nothing lighter can be read."""
_SLANT = 40.0
_TALLEST_CELL, _ROOM = 32.0, 6.0


def chart(exhibit: Heat, title: str = "", note: str = "") -> Figure:
    """Cells in the colour of their value, names at the left and slanted on top."""
    names = [short(name) for name in exhibit.names]
    count = len(names)
    widest = max((text_width(name, NORMAL) for name in names), default=0)
    left = 1 + widest + _ROOM
    # A slanted name ends right of its cell's middle.
    beyond = widest * math.cos(math.radians(_SLANT)) + 2
    cell = (WIDTH - left - beyond) / max(count - 0.5, 0.5)
    tall = min(cell, _TALLEST_CELL)
    top = widest * math.sin(math.radians(_SLANT)) + NORMAL + _ROOM
    canvas = Canvas(top + count * tall + 2, title, note)
    axes = canvas.axes(left, top, left + count * cell, top + count * tall)
    axes.set(xlim=(0, max(count, 1)), ylim=(max(count, 1), 0))
    axes.set_axis_off()
    for row, name in enumerate(names):
        middle = (left + (row + 0.5) * cell, top + (row + 0.5) * tall)
        label = partial(canvas.text, text=name, size=NORMAL, color=INK)
        label(left - _ROOM, middle[1], ha="right", va="center_baseline")
        label(middle[0], top - _ROOM, rotation=_SLANT, rotation_mode="anchor")
        for column in range(count):
            _cell(axes, row, column, float(exhibit.values[row, column]), min(SMALL, cell / 3.2))
    return canvas.figure


def _cell(axes: Axes, row: int, column: int, value: float, size: float) -> None:
    fill = heat(value)
    axes.add_patch(Rectangle((column, row), 1, 1, fc=fill, ec=PAPER, lw=1.5))
    ink = BLACK if contrast(fill, BLACK) >= contrast(fill, PAPER) else PAPER
    look = {"size": size, "color": ink, "ha": "center", "va": "center_baseline"}
    axes.text(column + 0.5, row + 0.5, _value(value), look)


def _value(value: float) -> str:
    """Two decimals; a value that is 1 but for rounding errors is `1`."""
    return "1" if abs(value - 1) < 1e-9 else printed(value, 2)
