"""A figure measured in points from its top left, with a title above and a note below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from tastemix.report.style import INK, MUTED, PAPER

SCREEN_DPI = 110
WIDTH = 400.0
"""Small on purpose: on a phone the letters keep nine pixels, and in a talk they are large."""
SMALL, NORMAL, LARGE = 10.5, 11.5, 14.0
_TITLE_LINE, _NOTE_LINE = 19.0, 14.0


@cache
def text_width(text: str, size: float) -> float:
    """Points that a text takes."""
    if not text.strip():
        return 0.0
    return float(TextPath((0, 0), text, size=size, prop=FontProperties()).get_extents().x1)


def short(name: str) -> str:
    """A name that leaves room for the data."""
    return name if len(name) <= 20 else name[:19] + "…"


@contextmanager
def own_style(salt: str) -> Iterator[None]:
    """Our style whatever the user's is, put back afterwards."""
    ours = {"svg.fonttype": "none", "svg.hashsalt": salt, "text.parse_math": False}
    with style.context(["default", ours]):
        yield


class Picture(Figure):
    """A figure that notebooks show without pyplot."""

    def keep(self, path: Path) -> None:
        """Write the figure as a file of the kind that its name ends in."""
        with own_style(path.stem):
            self.savefig(path, dpi=2 * SCREEN_DPI, bbox_inches="tight", pad_inches=0.1)

    def _repr_png_(self) -> bytes:
        """The figure as an image, as sharp as a screen."""
        buffer = io.BytesIO()
        with own_style("png"):
            self.savefig(buffer, format="png", dpi=SCREEN_DPI, bbox_inches="tight", pad_inches=0.1)
        return buffer.getvalue()


class Canvas:
    """A body of some height; with a title or a note the figure grows, the body stays."""

    def __init__(self, height: float, title: str = "", note: str = "") -> None:
        above = textwrap.wrap(title, 44)
        below = textwrap.wrap(note, 66)
        self.top = len(above) * _TITLE_LINE + (6 if above else 0)
        self.body = height
        self.height = self.top + height + len(below) * _NOTE_LINE + (6 if below else 0)
        self.figure = Picture(figsize=(WIDTH / 72, self.height / 72), facecolor=PAPER)
        for number, line in enumerate(above):
            at = number * _TITLE_LINE + 13 - self.top
            self.text(1, at, line, size=LARGE, weight="bold", color=INK)
        for number, line in enumerate(below):
            self.text(1, height + 14 + number * _NOTE_LINE, line, size=SMALL, color=MUTED)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Points right of and below the body's top left, as shares of the figure."""
        return x / WIDTH, 1 - (self.top + y) / self.height

    def text(self, x: float, y: float, text: str, **look: Any) -> None:
        """A text on its baseline."""
        self.figure.text(*self.at(x, y), text, **look)

    def axes(self, left: float, top: float, right: float, bottom: float) -> Axes:
        """Axes between these points of the body."""
        x, y = self.at(left, bottom)
        box = (x, y, (right - left) / WIDTH, (bottom - top) / self.height)
        axes = self.figure.add_axes(box)
        axes.set_facecolor("none")
        return axes

    def point(self, axes: Axes, x: float, y: float) -> tuple[float, float]:
        """A point of the axes' data in points of the body."""
        across, up = self.figure.transFigure.inverted().transform(axes.transData.transform((x, y)))
        return float(across) * WIDTH, (1 - float(up)) * self.height - self.top
