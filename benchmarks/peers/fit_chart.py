"""Test error against seconds: ours in colour, nonnegative peers dark, the others grey.

A dot is a tuned fit; the defaults are in the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from tastemix.report.canvas import NORMAL, SMALL, WIDTH, Canvas, text_width
from tastemix.report.numerals import tick_labels
from tastemix.report.style import GRID, INK, MUTED, PAPER, RULE, Look

Box = tuple[float, float, float, float]
Fit = dict[str, Any]
LEFT, TOP, HEIGHT = 34.0, 44.0, 430.0
WORST = 1.0
"""Fits above this error are named below the chart instead of drawn."""
KINDS = {
    "tastemix": Look("#d55400", "o"),
    "nonnegative": Look(INK, "s"),
    "with negative factors": Look("#98a1ab", "D"),
}
LINE = 12.5
"""The height of a label."""
PLACES = [
    (right * sign, down, side)
    for right, down in ((8, 4), (6, -5), (6, 13), (14, -14), (14, 22), (24, -27), (24, 35))
    for sign, side in ((1, "left"), (-1, "right"))
] + [(0, -8, "center"), (0, 16, "center")]
"""Where a label may stand: points right of and below its dot, and how it is aligned."""
NEAR = 16
"""A label farther from its dot than so many points gets a leader."""


def write(path: Path, results: list[Fit]) -> None:
    """Draw the fits."""
    judged = [fit for fit in results if "error" not in fit and fit["tuned"]["rmse"] is not None]
    drawn = [fit for fit in judged if fit["tuned"]["rmse"] <= WORST]
    worse = [f"{fit['name']}: {fit['tuned']['rmse']:.2f}" for fit in judged if fit not in drawn]
    note = "Each was tuned on a part of the training ratings; the table has the defaults too."
    note += f" Outside: {', '.join(worse)}." if worse else ""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "fits"}):
        canvas = Canvas(TOP + HEIGHT + 38, "Error and time of a fit, MovieLens 1M", note)
        axes = canvas.axes(LEFT, TOP, WIDTH - 6, TOP + HEIGHT)
        _scales(axes, drawn)
        _legend(canvas)
        canvas.text(1, TOP - 10, "test RMSE", size=SMALL, color=MUTED)
        label = "seconds of a fit, 2 threads"
        canvas.text(WIDTH - 6, TOP + HEIGHT + 33, label, size=SMALL, color=MUTED, ha="right")
        for fit in drawn:
            _draw(axes, fit)
        _label(canvas, axes, drawn)
        canvas.figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def kind(fit: Fit) -> str:
    """Which of the three kinds a fit is of."""
    if fit["peer"] == "tastemix":
        return "tastemix"
    return "nonnegative" if fit["nonnegative"] else "with negative factors"


def _place(fit: Fit) -> tuple[float, float]:
    """Seconds and RMSE."""
    return fit["tuned"]["seconds"], fit["tuned"]["rmse"]


def _scales(axes: Axes, drawn: list[Fit]) -> None:
    seconds, errors = zip(*map(_place, drawn), strict=True)
    axes.set_xscale("log")
    axes.set_xlim(min(seconds) / 1.8, max(seconds) * 1.6)
    room = 0.06 * (max(errors) - min(errors)) + 0.001
    low, high = min(errors) - room, max(errors) + room
    axes.set_ylim(low, high)
    tens = [10.0**power for power in range(-2, 4)]
    across = [tick for tick in tens if min(seconds) / 1.8 <= tick <= max(seconds) * 1.6]
    up = [step / 100 for step in range(80, 101) if low <= step / 100 <= high]
    for axis, ticks in ((axes.xaxis, across), (axes.yaxis, up)):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_ticklabels(tick_labels(ticks))
        axis.set_minor_locator(NullLocator())
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.tick_params(axis="y", length=0, labelsize=SMALL, labelcolor=MUTED)
    axes.tick_params(axis="x", color=RULE, labelsize=SMALL, labelcolor=MUTED)


def _legend(canvas: Canvas) -> None:
    """The kinds in a row above the axes."""
    x = 6.0
    axes = canvas.axes(0, 0, WIDTH, TOP)
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(TOP, 0)
    axes.axis("off")
    for name, look in KINDS.items():
        axes.plot(x, 8, look.marker, color=look.colour, markersize=6)
        canvas.text(x + 8, 12, name, size=SMALL, color=INK)
        x += text_width(name, SMALL) + 28


def _draw(axes: Axes, fit: Fit) -> None:
    look = KINDS[kind(fit)]
    dot = {"markersize": 6.5, "markeredgecolor": PAPER, "markeredgewidth": 0.7, "zorder": 3}
    axes.plot(*_place(fit), look.marker, color=look.colour, **dot)


def _label(canvas: Canvas, axes: Axes, drawn: list[Fit]) -> None:
    """Each name near its dot where it covers little else; ours choose first."""
    dots = [_around(*canvas.point(axes, *_place(fit)), 4.5) for fit in drawn]
    for fit in sorted(drawn, key=lambda fit: (kind(fit) != "tastemix", fit["tuned"]["rmse"])):
        mine = kind(fit) == "tastemix"
        size, weight = (NORMAL, "bold") if mine else (SMALL, "normal")
        width = text_width(fit["name"], size) * (1.13 if mine else 1.0)
        x, y = canvas.point(axes, *_place(fit))

        def cost(place: tuple[int, int, str], x=x, y=y, width=width) -> float:
            right, down, side = place
            box = _box(x + right, y + down, width, side)
            return _covered(box, dots) + abs(right) + abs(down - 4)

        right, down, side = min(PLACES, key=cost)
        dots.append(_box(x + right, y + down, width, side))
        colour = MUTED if kind(fit) == "with negative factors" else KINDS[kind(fit)].colour
        look = {"size": size, "color": colour, "weight": weight, "ha": side}
        canvas.text(x + right, y + down, fit["name"], **look)
        if abs(right) + abs(down - 4) > NEAR:
            ends = [canvas.at(x, y), canvas.at(x + right * 0.9, y + down - 4)]
            leader = Line2D(*zip(*ends, strict=True), color=colour, linewidth=0.6, linestyle=":")
            canvas.figure.add_artist(leader)


def _box(x: float, y: float, width: float, side: str) -> Box:
    """Left, top, right and bottom of a label on its baseline."""
    left = x - {"left": 0.0, "center": width / 2, "right": width}[side]
    return left, y - LINE + 3, left + width, y + 3


def _around(x: float, y: float, half: float) -> Box:
    return x - half, y - half, x + half, y + half


def _covered(box: Box, taken: list[Box]) -> float:
    """The area that a box shares with those taken, and a lot for each point outside the axes."""
    outside = max(LEFT - box[0], 0) + max(box[2] - WIDTH + 2, 0)
    outside += max(TOP - box[1], 0) + max(box[3] - TOP - HEIGHT, 0)
    shared = (
        max(min(box[2], other[2]) - max(box[0], other[0]), 0)
        * max(min(box[3], other[3]) - max(box[1], other[1]), 0)
        for other in taken
    )
    return sum(shared) + 100 * outside
