"""Named horizontal bars in blocks: one figure for tastes, explanations, histograms and results."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from tastemix.report.canvas import NORMAL, SMALL, WIDTH, Canvas, own_style, text_width
from tastemix.report.exhibits import Bar, Bars, Block
from tastemix.report.style import INK, MUTED, RULE

LINE, HEADING, GAP = 17.0, 21.0, 9.0
THICK = 11.0
MOST_LABEL = 0.46
"""Of the width that names may take."""
_ROOM = 7.0
HINTED = 1.06
"""How much wider letters are on a screen than their outlines."""
BOLDER = 1.15
"""How much wider bold letters are."""


def chart(exhibit: Bars, title: str = "", note: str = "") -> Figure:
    """The blocks one below the other."""
    with own_style("bars"):
        blocks = exhibit.blocks
        height = sum(len(block.rows) * LINE + (HEADING if block.heading else 0) for block in blocks)
        canvas = Canvas(height + GAP * max(len(blocks) - 1, 0), title, note)
        axes = canvas.axes(0, 0, WIDTH, canvas.body)
        axes.set(xlim=(0, WIDTH), ylim=(canvas.body, 0))
        axes.set_axis_off()
        rows = [row for block in blocks for row in block.rows]
        room = WIDTH * MOST_LABEL
        names = [fitted(row.name, room) for row in rows]
        left = HINTED * max((text_width(name, NORMAL) for name in names), default=0) + _ROOM
        right = WIDTH - max((text_width(row.text, SMALL) for row in rows), default=0) - 1.6 * _ROOM
        top = 0.0
        for block in blocks:
            top = _block(
                canvas, axes, block, (left, right), top, rows if exhibit.shared else block.rows
            )
        return canvas.figure


def fitted(name: str, room: float, size: float = NORMAL) -> str:
    """A name, cut off where it takes more than so many points."""
    width, room = text_width(name, size), room / HINTED
    if width <= room:
        return name
    kept = int(len(name) * room / width)  # about so many letters, and then one less at a time
    while kept and text_width(name[:kept] + "…", size) > room:
        kept -= 1
    return name[:kept].rstrip() + "…"


def _block(
    canvas: Canvas,
    axes: Axes,
    block: Block,
    between: tuple[float, float],
    top: float,
    scale: Sequence[Bar],
) -> float:
    """Draw a block from this height on; where the next one begins."""
    if block.heading:
        heading = fitted(block.heading, WIDTH * HINTED / BOLDER)
        canvas.text(1, top + 14, heading, size=NORMAL, color=INK, weight="bold")
        top += HEADING
    left, right = between
    low = min([0.0, *(row.value - row.spread for row in scale)])
    high = max([0.0, *(row.value + row.spread for row in scale)])
    unit = (right - left) / ((high - low) or 1.0)
    zero = left - low * unit
    for row in block.rows:
        middle = top + LINE / 2
        start, width = min(zero, zero + row.value * unit), abs(row.value) * unit
        box = (start, middle - THICK / 2), max(width, 0.6), THICK
        axes.add_patch(Rectangle(*box, color=row.colour or block.colour, linewidth=0))
        if row.spread:
            ends = [zero + (row.value + sign * row.spread) * unit for sign in (-1, 1)]
            axes.add_line(Line2D(ends, [middle, middle], color=INK, linewidth=1.1))
        name = fitted(row.name, left - _ROOM)
        look = {"va": "center_baseline", "color": INK}
        canvas.text(left - _ROOM, middle, name, size=NORMAL, ha="right", **look)
        end = zero + max(row.value + row.spread, 0) * unit + 5
        canvas.text(end, middle, row.text, size=SMALL, **{**look, "color": MUTED})
        top += LINE
    if low < 0:
        axes.add_line(Line2D([zero, zero], [top - len(block.rows) * LINE, top], color=RULE, lw=0.8))
    return top + GAP
