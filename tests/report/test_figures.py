"""Charts: labels that do not overlap, colours that stay, bytes that repeat."""

from __future__ import annotations

import math
import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from tastemix.report import figures, heatmap, lines
from tastemix.report.exhibits import Heat, Lines, Series
from tastemix.report.labels import spread
from tastemix.report.style import look
from tests.report.made import HEAT, METRICS, RANKS, STEPS

SVG = "{http://www.w3.org/2000/svg}"


def boxes(figure: Figure, texts: list[Text]) -> list[Bbox]:
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    return [text.get_window_extent(renderer) for text in texts]


def labels(figure: Figure, names: tuple[str, ...]) -> list[Text]:
    found = [text for text in figure.texts if text.get_text() in names]
    assert sorted(text.get_text() for text in found) == sorted(names)
    return found


def chart(ends: list[float], names: tuple[str, ...] = METRICS, log_y: bool = False) -> Lines:
    series = [Series(name, [2, 40], [0.5, end]) for name, end in zip(names, ends, strict=False)]
    return Lines("t", "rank", "y", series, log_y)


@pytest.mark.parametrize(
    "ends",
    [
        [1.0] * 9,
        [0.9 + n / 1000 for n in range(9)],
        [0.5] * 4 + [1.0] * 5,
        list(np.linspace(0, 1, 9)),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_labels_at_line_ends_do_not_overlap_and_stay_inside(ends: list[float], log: bool) -> None:
    figure = lines.chart(chart([end + 0.01 for end in ends], log_y=log))
    found = boxes(figure, labels(figure, METRICS))
    for one, other in combinations(found, 2):
        assert not one.overlaps(other)
    for box in found:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1


def test_a_chart_grows_with_its_labels() -> None:
    names = tuple(f"method {number}" for number in range(40))
    figure = lines.chart(chart([0.7] * 40, names))
    found = boxes(figure, labels(figure, names))
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    assert min(box.y0 for box in found) >= 0


def test_labels_are_in_the_order_of_the_line_ends() -> None:
    ends = [0.91, 0.97, 0.93, 0.99, 0.92, 0.98, 0.95, 0.94, 0.96]
    figure = lines.chart(chart(ends))
    by_place = sorted(labels(figure, METRICS), key=lambda text: text.get_position()[1])
    assert [text.get_text() for text in by_place] == [
        name for _, name in sorted(zip(ends, METRICS, strict=True))
    ]


def test_lines_that_end_together_are_named_in_the_order_they_arrive() -> None:
    series = [Series("F1", [1, 2, 3], [0.2, 0.4, 1]), Series("AUC", [1, 2, 3], [0.7, 0.8, 1])]
    for listed in (series, series[::-1]):
        figure = lines.chart(Lines("t", "x", "y", listed))
        place = {text.get_text(): text.get_position()[1] for text in labels(figure, ("F1", "AUC"))}
        assert place["AUC"] > place["F1"]


@given(st.lists(st.floats(0, 100), max_size=8))
@settings(max_examples=200, deadline=None)
def test_spread_keeps_order_distance_and_bounds(wanted: list[float]) -> None:
    placed = spread(wanted, 12, 0, 100)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for lower, upper in pairwise(order):
        assert placed[upper] - placed[lower] >= 12 - 1e-6
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in placed)
    if all(upper - lower >= 12 for lower, upper in pairwise(sorted(wanted))):
        assert placed == pytest.approx(wanted, abs=1e-6)


def test_spread_moves_a_pair_as_little_as_possible() -> None:
    assert spread([50, 50], 10, 0, 100) == [45, 55]
    assert spread([52, 50, 90], 10, 0, 100) == [56, 46, 90]
    assert spread([99, 99], 10, 0, 100) == [90, 100]
    assert spread([], 10, 0, 100) == []


def test_a_gap_is_a_gap_and_the_label_sits_at_the_last_value() -> None:
    holed = Series("PRD", [1, 2, 3, 4], [0.1, math.nan, 0.3, math.nan])
    nothing = Series("NMF", [1, 2, 3, 4], [math.nan] * 4)
    figure = lines.chart(Lines("t", "x", "y", [holed, nothing]))
    (axes,) = figure.axes
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), [0.1, math.nan, 0.3, math.nan])
    (label,) = labels(figure, ("PRD",))
    _, height = axes.transData.transform((3, 0.3))
    assert label.get_position()[1] * figure.bbox.height == pytest.approx(height, abs=0.01)
    assert "NMF" not in [text.get_text() for text in figure.texts]


def test_on_a_log_axis_values_that_have_no_logarithm_are_gaps() -> None:
    figure = lines.chart(
        Lines("t", "x", "y", [Series("PRD", [1, 2, 3], [0.0, 10.0, 1000.0])], log_y=True)
    )
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [math.nan, 10, 1000])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["10", "100", "1,000"]


@pytest.mark.parametrize("log", [False, True])
def test_charts_of_nothing_or_of_one_point_can_be_drawn(log: bool) -> None:
    for series in (
        [],
        [Series("PRD", [], [])],
        [Series("PRD", [3], [0.0])],
        [Series("PRD", [3], [2.0])],
    ):
        assert figures.png(Lines("t", "x", "y", series, log_y=log)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "tried", [[2.0, 4, 6, 8, 10, 15, 20, 30, 40], [float(rank) for rank in range(1, 101)]]
)
def test_ticks_are_at_the_values_tried_as_far_as_there_is_room(tried: list[float]) -> None:
    figure = lines.chart(Lines("t", "rank", "y", [Series("PRD", tried, tried)]))
    axis = figure.axes[0].xaxis
    major, minor = list(axis.get_majorticklocs()), list(axis.get_minorticklocs())
    assert sorted([*major, *minor]) == tried
    assert tried[-1] in major
    assert len(major) >= 7
    found = boxes(figure, axis.get_ticklabels())
    assert len(found) == len(major)
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))


def strokes(svg: str) -> list[str]:
    """The colours of the lines of data, which are the only paths clipped or not with width 1.8."""
    return re.findall(r"stroke: (#[0-9a-f]{6}); stroke-width: 1\.8", svg)


def test_a_method_has_the_same_colour_in_every_figure() -> None:
    for exhibit in (RANKS, STEPS):
        drawn = [look(line.name).colour for line in reversed(exhibit.series)]
        assert strokes(figures.svg(exhibit, "s")) == drawn
    assert set(strokes(figures.svg(RANKS, "s"))) < set(strokes(figures.svg(STEPS, "s")))


def test_only_lines_that_ask_for_it_are_dashed() -> None:
    dashed = {line.get_label(): line.is_dashed() for line in lines.chart(RANKS).axes[0].lines}
    assert list(dashed.values()) == [True, False]  # drawn last to first


def test_the_heat_map_has_its_numbers_and_names() -> None:
    figure = heatmap.chart(HEAT)
    cells = [text.get_text() for text in figure.axes[0].texts]
    assert cells == ["1", ".70", ".50", ".70", "1", "−.20", ".50", "−.20", "1"]
    assert [text.get_text() for text in figure.texts] == [
        "RMSE",
        "RMSE",
        "MAP",
        "MAP",
        "AUC",
        "AUC",
    ]


def test_names_of_a_heat_map_stay_inside_and_numbers_in_their_cells() -> None:
    figure = heatmap.chart(Heat("t", METRICS, np.full((9, 9), -0.88)))
    for box in boxes(figure, figure.texts):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    cells = boxes(figure, list(figure.axes[0].texts))
    assert not any(one.overlaps(other) for one, other in combinations(cells[:9], 2))


def test_the_same_data_give_the_same_bytes_whatever_the_users_style() -> None:
    for exhibit in (RANKS, HEAT):
        svg, png = figures.svg(exhibit, "s"), figures.png(exhibit)
        with matplotlib.rc_context(
            {"font.size": 30, "axes.facecolor": "black", "lines.marker": "x"}
        ):
            before = matplotlib.rcParams.copy()
            assert figures.svg(exhibit, "s") == svg
            assert figures.png(exhibit) == png
            assert matplotlib.rcParams.copy() == before


def test_drawing_leaves_pyplot_alone() -> None:
    figures.png(RANKS)
    assert "matplotlib.pyplot" not in sys.modules


def test_an_image_file_says_what_it_shows_and_not_when_it_was_made() -> None:
    svg = figures.svg(RANKS, "s")
    texts = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]
    assert {"RankScore against rank", "Dashed: MIXD.", "rank", "RankScore", "PRD"} <= set(texts)
    assert "metadata" not in svg
    assert not re.search(rb"tEXt|tIME|iTXt", figures.png(RANKS))


def test_names_are_text_and_never_formulas() -> None:
    exhibit = Lines("$t$", "x", "y", [Series("a$_1$ & <b>", [1, 2], [1, 2])])
    texts = [text.text for text in ET.fromstring(figures.svg(exhibit, "s")).iter(f"{SVG}text")]
    assert "a$_1$ & <b>" in texts


def test_long_names_leave_room_for_the_data() -> None:
    figure = lines.chart(chart([1.0], ("a method with a very long name indeed",)))
    assert figure.axes[0].get_position().width > 0.45
    assert "a method with a ver…" in [text.get_text() for text in figure.texts]
