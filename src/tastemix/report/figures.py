"""Charts as files: SVG and PNG, the same bytes for the same data."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from tastemix.report import bars, heatmap, lines, places
from tastemix.report.canvas import own_style
from tastemix.report.exhibits import Bars, Heat, Lines, Places

Chart = Lines | Heat | Bars | Places
PNG_DPI = 240
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""The page's, in the images on it; they are all narrower than the one that was measured."""
_MARGIN = 10 / 72
"""Inches around an image that stands alone."""
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def svg(chart: Chart, salt: str, titled: bool = True) -> str:
    """An SVG image with its text as text; `salt` tells its ids from other images'."""
    buffer = io.BytesIO()
    with own_style(salt):
        figure = _draw(chart, titled)
        box = _with_margin(figure) if titled else None
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA, bbox_inches=box)
    return buffer.getvalue().decode()


def png(chart: Chart) -> bytes:
    """A PNG image, large enough for a slide."""
    buffer = io.BytesIO()
    with own_style("png"):
        figure = _draw(chart, titled=True)
        box = _with_margin(figure)
        no = {"Software": None}
        figure.savefig(buffer, format="png", dpi=PNG_DPI, metadata=no, bbox_inches=box)
    return buffer.getvalue()


def inline(chart: Chart, name: str) -> str:
    """An `<svg>` element for a page: without a title, in the page's font, ids under `name`."""
    root = ET.fromstring(svg(chart, name, titled=False))
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        element.attrib = {
            key.split("}")[-1]: _prefixed(key.split("}")[-1], value, name)
            for key, value in element.attrib.items()
        }
    for definitions in root.findall("defs"):
        for sheet in definitions.findall("style"):  # rules for the whole page: see page.css
            definitions.remove(sheet)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": described(chart)}
    return ET.tostring(root, encoding="unicode")


def drawn(chart: Chart) -> Figure:
    """A chart with its title, as a figure that notebooks show."""
    with own_style(chart.title):
        return _draw(chart, titled=True)


def described(chart: Chart) -> str:
    """A chart in words, for screen readers."""
    if isinstance(chart, Heat):
        return f"{chart.title}: a heat map of {', '.join(chart.names)}"
    if isinstance(chart, Bars):
        rows = [f"{row.name} {row.text}" for block in chart.blocks for row in block.rows]
        return f"{chart.title}: {', '.join(rows)}"
    if isinstance(chart, Places):
        return f"{chart.title}: {', '.join(chart.names[: chart.named])}"
    names = ", ".join(line.name for line in chart.series)
    return f"{chart.title}: {chart.y} against {chart.x} for {names}"


def _draw(chart: Chart, titled: bool) -> Figure:
    words = (chart.title, chart.note) if titled else ("", "")
    match chart:
        case Heat():
            return heatmap.chart(chart, *words)
        case Bars():
            return bars.chart(chart, *words)
        case Places():
            return places.chart(chart, *words)
        case _:
            return lines.chart(chart, *words)


def _with_margin(figure: Figure) -> Bbox:
    width, height = figure.get_size_inches()
    return Bbox.from_extents(-_MARGIN, -_MARGIN, width + _MARGIN, height + _MARGIN)


def _prefixed(key: str, value: str, prefix: str) -> str:
    """An attribute with the ids it makes or names under a prefix."""
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    if value.startswith("url(#"):
        return f"url(#{prefix}-{value[5:]}"
    return re.sub("'DejaVu Sans'[^;]*", FONTS, value) if key == "style" else value
