"""Named points on a plane, with as many names as there is room for."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tastemix.report.bars import fitted
from tastemix.report.canvas import SMALL, WIDTH, Canvas, own_style, text_width
from tastemix.report.exhibits import Places
from tastemix.report.style import INK, PAPER, ink

HEIGHT, LEGEND_LINE, EDGE = 330.0, 16.0, 8.0
LONGEST = 110.0
"""Points of a name."""
TEXT = 8.5


def chart(exhibit: Places, title: str = "", note: str = "") -> Figure:
    """Points in their colours, the first ones named where no other name is, and a legend."""
    with own_style("map"):
        below = len(exhibit.legend) * LEGEND_LINE + 10
        canvas = Canvas(HEIGHT + below, title, note)
        axes = canvas.axes(0, 0, WIDTH, HEIGHT)
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        axes.set_axis_off()
        names, colours = exhibit.names, exhibit.colours
        points = _inside(exhibit.points)
        axes.scatter(
            points[:, 0], points[:, 1], s=34, c=colours, edgecolors=PAPER, linewidths=0.8, zorder=3
        )
        taken = [_box(x - 4, y - 4, 8, 8) for x, y in points]
        for (x, y), name, colour in list(zip(points, names, colours, strict=True))[: exhibit.named]:
            _name(canvas, (float(x), float(y)), fitted(name, LONGEST, TEXT), ink(colour), taken)
        for row, (name, colour) in enumerate(exhibit.legend.items()):
            y = HEIGHT + 14 + row * LEGEND_LINE
            canvas.text(3, y, "●", size=SMALL, color=colour, va="center_baseline")
            look = {"size": SMALL, "color": INK, "va": "center_baseline"}
            canvas.text(18, y, fitted(name, WIDTH - 20, SMALL), **look)
        return canvas.figure


def _inside(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places scaled into the chart by their ranks and their distances, half of each."""
    spread = []
    for column, size in zip(places.T, (WIDTH, HEIGHT), strict=True):
        length = float(np.ptp(column)) or 1.0
        ranks = np.argsort(np.argsort(column)) / max(len(column) - 1, 1)
        shares = 0.5 * (column - column.min()) / length + 0.5 * ranks
        spread.append(EDGE + shares * (size - 2 * EDGE))
    return np.stack(spread, axis=1)


Box = tuple[float, float, float, float]


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x, y, x + width, y + height


def _name(
    canvas: Canvas, at: tuple[float, float], name: str, colour: str, taken: list[Box]
) -> None:
    """Write a name right, left, above or below its point, where there is room; or nowhere."""
    width, (x, y) = text_width(name, TEXT), at
    for left, middle in (
        *((x + 6, y), (x - 6 - width, y)),
        *((x - width / 2, y - 10), (x - width / 2, y + 10)),
    ):
        box = _box(left, middle - 5, width, 10)
        inside = box[0] >= 1 and box[2] <= WIDTH - 1 and box[1] >= 0 and box[3] <= HEIGHT
        if inside and not any(_meet(box, other) for other in taken):
            canvas.text(left, middle, name, size=TEXT, color=colour, va="center_baseline")
            taken.append(box)
            return


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
