"""Two panels of milliseconds a step, both axes logarithmic: dots are measured, lines the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from tastemix.report.canvas import NORMAL, SMALL, WIDTH, Canvas
from tastemix.report.numerals import tick_labels
from tastemix.report.style import GRID, MUTED, PAPER, RULE, ink, look

Row = dict[str, Any]
LEFT, TOP, HEIGHT, GAP = 38.0, 26.0, 210.0, 22.0
NOTE = "Dots: measured, 2 threads. Lines: the model fitted to all of them."


def write(path: Path, by_size: Sequence[Row], by_rank: Sequence[Row]) -> None:
    """Draw steps against the number of ratings and against the rank, on one scale of time."""
    rows = [*by_size, *by_rank]
    times = [1e3 * row[what] for row in rows for what in ("seconds", "model")]
    limits = min(times) / 1.4, max(times) * 1.4
    size, rank = by_rank[0]["ratings"] / 1e6, by_size[0]["rank"]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cost"}):
        canvas = Canvas(TOP + HEIGHT + 38, "What a step costs", NOTE)
        canvas.text(1, 12, "milliseconds a step", size=SMALL, color=MUTED)
        middle = (LEFT + WIDTH) / 2
        panels = (
            (by_size, "ratings", f"million ratings, rank {rank}", LEFT, middle - GAP / 2),
            (by_rank, "rank", f"rank, {size:g} million ratings", middle + GAP / 2, WIDTH - 4),
        )
        for number, (part, what, label, left, right) in enumerate(panels):
            axes = canvas.axes(left, TOP, right, TOP + HEIGHT)
            _scales(axes, _across(part, what), limits, numbered=number == 0)
            canvas.text(right, TOP + HEIGHT + 33, label, size=SMALL, color=MUTED, ha="right")
            for order, name in enumerate(dict.fromkeys(row["method"] for row in part)):
                mine = [row for row in part if row["method"] == name]
                _draw(axes, name, mine, what, above=order == 0)
        canvas.figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _across(rows: Sequence[Row], what: str) -> list[float]:
    return [row[what] / (1e6 if what == "ratings" else 1) for row in rows]


def _scales(
    axes: Axes, across: list[float], limits: tuple[float, float], *, numbered: bool
) -> None:
    """Logarithmic axes with horizontal rules and ticks at values that were tried."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    axes.set_xlim(min(across) / 1.25, max(across) * 1.25)
    tens = [10.0**power for power in range(-1, 6) if limits[0] <= 10.0**power <= limits[1]]
    for axis, ticks in ((axes.yaxis, tens), (axes.xaxis, _apart(across))):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_ticklabels(tick_labels(ticks))
        axis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.tick_params(axis="y", length=0, labelsize=SMALL, labelcolor=MUTED, labelleft=numbered)
    axes.tick_params(axis="x", color=RULE, labelsize=SMALL - 1, labelcolor=MUTED)


def _apart(across: list[float]) -> list[float]:
    """Values that were tried, from the largest down, as far as their numbers have room."""
    ticks: list[float] = []
    for value in sorted(set(across), reverse=True):
        if not ticks or ticks[-1] / value > 1.5:
            ticks.append(value)
    return ticks


def _draw(axes: Axes, name: str, rows: Sequence[Row], what: str, *, above: bool) -> None:
    """The model as a line, the measurements as dots on it, the name above or below the middle."""
    drawn, across = look(name), _across(rows, what)
    seconds, model = ([1e3 * row[part] for row in rows] for part in ("seconds", "model"))
    axes.plot(across, model, color=drawn.colour, linewidth=1.5)
    dots = {"markersize": 6, "markeredgecolor": PAPER, "markeredgewidth": 0.7, "clip_on": False}
    axes.plot(across, seconds, drawn.marker, color=drawn.colour, **dots)
    at = len(rows) // 2
    offset, side = ((-9, 6), "right") if above else ((7, -15), "left")
    axes.annotate(
        name, (across[at], seconds[at]), offset, textcoords="offset points",
        ha=side, size=NORMAL, color=ink(drawn.colour),
    )  # fmt: skip
