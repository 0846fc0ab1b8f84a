"""How tables are printed, what is best, and what the files hold."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from tastemix.report.exhibits import Table
from tastemix.report.markup import Beside, beside_html, put_beside, table_html
from tastemix.report.numerals import decimals, printed, tick_labels
from tastemix.report.tables import best, shown, strength, to_csv, to_markdown
from tests.report.made import APART, HERE, PAPER, RANKS, parsed


@pytest.mark.parametrize(
    ("value", "digits", "signed", "text"),
    [
        (0.8712, 3, False, ".871"),
        (2.1787, 3, False, "2.179"),
        (-0.0031, 3, False, "−.003"),
        (0.0031, 3, True, "+.003"),
        (-0.0004, 3, True, ".000"),
        (0.0, 1, True, ".0"),
        (100.0, 1, False, "100.0"),
        (4592.34, 1, False, "4,592.3"),
        (0.9996, 3, False, "1.000"),
        (12.0, 0, False, "12"),
        (math.nan, 3, True, "–"),
        (-math.inf, 3, False, "−∞"),
    ],
)
def test_numbers_are_printed_as_in_the_paper(
    value: float, digits: int, signed: bool, text: str
) -> None:
    assert printed(value, digits, signed) == text


def test_counts_need_no_three_decimals() -> None:
    assert decimals([0.87, 2.1], 3) == 3
    assert decimals([83.0, 231.0, math.nan], 3) == 0
    assert decimals([8.4, 231.0], 3) == 1
    assert decimals([4592.3, 6.2], 1) == 1
    assert decimals([], 3) == 3


def test_ticks_have_the_same_decimals() -> None:
    assert tick_labels([0.8, 0.85, 0.9]) == [".80", ".85", ".90"]
    assert tick_labels([0, 0.5, 1]) == ["0", ".5", "1.0"]
    assert tick_labels([10, 1000]) == ["10", "1,000"]


def column(values: list[object], direction: str) -> Table:
    rows = [(f"m{number}", value) for number, value in enumerate(values)]
    return Table("t", ("method", "x"), rows, best={"x": direction})


@pytest.mark.parametrize(
    ("values", "direction", "rows"),
    [
        ([0.1, 0.3, 0.2], "high", {1}),
        ([0.1, 0.3, 0.2], "low", {0}),
        ([-0.1, -0.3, -0.2], "low", {1}),
        ([0.2, math.nan, 0.1], "high", {0}),
        ([math.nan, 0.2, 0.1], "low", {2}),
        ([math.nan, math.nan], "high", set()),
        ([0.8341, 0.8339, 0.8312], "high", {0, 1}),
        ([1, 3, 3, 2], "high", {1, 2}),
        ([None, "–", 0.5], "high", {2}),
        ([np.float64(0.9), np.float32(0.95)], "high", {1}),
        ([], "high", set()),
    ],
)
def test_the_best_is_what_prints_like_the_best(
    values: list[object], direction: str, rows: set[int]
) -> None:
    assert best(column(values, direction)) == {(row, 1) for row in rows}


def test_only_the_columns_that_ask_for_it_have_a_best() -> None:
    assert {number for _, number in best(HERE)} == {2, 3}
    assert best(APART) == set()


@pytest.mark.parametrize(
    ("difference", "digits", "level"),
    [
        *[(0.006, 3, 0), (-0.006, 3, 0), (0.0061, 3, 1), (-0.0179, 3, 1), (0.018, 3, 2)],
        *[(0.6, 1, 0), (-0.7, 1, 1), (math.nan, 3, 0), (-math.inf, 3, 2)],
    ],
)
def test_a_difference_stands_out_from_six_in_its_last_digit_on(
    difference: float, digits: int, level: int
) -> None:
    assert strength(difference, digits) == level


def test_differences_carry_their_sign() -> None:
    assert [row[1:] for row in shown(APART)] == [
        ["−.002", "−.021"],
        ["−.001", ".000"],
        ["+.007", "−.005"],
    ]


def test_columns_may_have_decimals_of_their_own() -> None:
    table = Table("t", ("m", "P@10", "count"), [("a", 0.1, 28.0)], column_digits={"count": 1})
    assert shown(table) == [["a", ".100", "28.0"]]


def test_csv_reads_back_to_the_same_bits() -> None:
    values = [0.1 + 0.2, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, math.inf, math.nan]
    values += [np.float64(2) / 3, float(np.float32(0.1))]
    table = Table('a "title"', ("name, with comma", "x"), [('q"\n', value) for value in values])
    header, *rows = csv.reader(io.StringIO(to_csv(table)))
    assert header == ["name, with comma", "x"]
    assert {name for name, _ in rows} == {'q"\n'}
    read = np.array([float(text) for _, text in rows])
    assert read.tobytes() == np.array(values).tobytes()


def test_csv_keeps_text_and_counts_as_they_are() -> None:
    table = Table("t", ("a", "b", "c"), [("PRD", np.int64(1000), "1,682"), ("x", None, True)])
    assert to_csv(table) == 'a,b,c\nPRD,1000,"1,682"\nx,,True\n'


def test_markdown_has_the_best_in_bold() -> None:
    assert to_markdown(HERE) == (
        "**Here**\n\n"
        "| method | rank | RMSE | MAP |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| RANDOM |  | 2.179 | .664 |\n"
        "| PRD | 15 | .925 | .832 |\n"
        "| MIXD(20) | 10 | **.861** | **.838** |\n\n"
        "Means over the folds.\n"
    )


def test_markdown_escapes_what_would_change_the_table() -> None:
    text = to_markdown(Table("a|b", ("x*", "y"), [("_p|q_\n", "<b>")]))
    assert "**a\\|b**" in text
    assert "| \\_p\\|q\\_ | \\<b\\> |" in text


def test_html_has_a_header_a_row_name_and_bold_for_the_best() -> None:
    figure = parsed(table_html(HERE, "n")).one("figure")
    assert [cell.text for cell in figure.one("thead").all("th")] == [
        "method",
        "rank",
        "RMSE ↓",
        "MAP",
    ]
    rows = figure.one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == ["RANDOM", "PRD", "MIXD(20)"]
    assert all(row.one("th").attributes["scope"] == "row" for row in rows)
    assert [bold.text for bold in figure.all("b")] == [".861", ".838"]
    assert rows[2].all("b") == figure.all("b")
    assert figure.one("figcaption").text == "Here"
    assert figure.one("p", "note").text == "Means over the folds."


def test_html_figures_are_aligned_right_and_text_is_not() -> None:
    table = Table("t", ("m", "n", "why"), [("a", 0.5, "fast"), ("b", None, "slow")])
    cells = parsed(table_html(table, "n")).all("td")
    assert [cell.attributes.get("class") for cell in cells] == ["n", None, "n", None]


def test_ours_the_papers_and_the_difference_share_a_cell() -> None:
    ((name, together),) = put_beside([("a", HERE), ("b", PAPER), ("c", APART)])
    assert name == "a"
    assert isinstance(together, Beside)
    figure = parsed(beside_html(together, "a")).one("figure")
    cells = [[cell.text for cell in row.all("td")] for row in figure.one("tbody").all("tr")]
    assert cells == [
        ["", "2.1792.181 −.002", ".664.685 −.021"],
        ["15", ".925.926 −.001", ".832.832 .000"],
        ["10", ".861.861 +.007", ".838.843 −.005"],
    ]
    assert [bold.text for bold in figure.all("b")] == [".861", ".861", ".838", ".843"]
    levels = {level: [s.text for s in figure.all("span", level)] for level in ("d0", "d1", "d2")}
    assert levels == {"d0": ["−.002", "−.001", ".000", "−.005"], "d1": ["+.007"], "d2": ["−.021"]}
    assert [note.text for note in figure.all("p")] == [HERE.note, APART.note]


def test_titles_carry_no_meaning() -> None:
    named = [("a", HERE), ("b", PAPER), ("c", APART)]
    renamed = [(name, replace(table, title="Elsewhere")) for name, table in named]
    ((_, together),) = put_beside(renamed)
    assert isinstance(together, Beside)
    assert "d2" in table_html(renamed[2][1], "c")
    alike = [(name, replace(table, role=None)) for name, table in named]
    assert put_beside(alike) == alike
    assert "d2" not in table_html(alike[2][1], "c")


def test_only_rows_that_are_named_baselines_stay_in_the_background() -> None:
    rows = parsed(table_html(HERE, "n")).one("tbody").all("tr")
    assert [row.attributes.get("class") for row in rows] == ["baseline", None, None]
    rows = parsed(table_html(PAPER, "n")).one("tbody").all("tr")
    assert [row.attributes.get("class") for row in rows] == [None, None, None]


def test_tables_of_other_rows_columns_or_roles_stay_apart() -> None:
    fewer = replace(PAPER, rows=PAPER.rows[1:])
    ours = replace(PAPER, role="here")
    wider = replace(PAPER, columns=("method", "RMSE", "AUC"), best={})
    for other in (fewer, ours, wider, RANKS):
        named = [("a", HERE), ("b", other), ("c", APART)]
        assert put_beside(named) == named
    narrower = replace(PAPER, columns=("method", "RMSE"), rows=[row[:2] for row in PAPER.rows])
    unknown = replace(APART, columns=wider.columns)
    for paper, apart in ((narrower, APART), (wider, unknown)):
        named = [("a", HERE), ("b", paper), ("c", apart)]
        assert put_beside(named) == named
    assert put_beside([("a", HERE), ("b", PAPER)]) == [("a", HERE), ("b", PAPER)]


def test_a_table_of_differences_alone_is_tinted_too() -> None:
    spans = parsed(table_html(APART, "n")).all("span")
    assert [(s.attributes["class"], s.text) for s in spans if s.text != ".000"] == [
        *[("d0", "−.002"), ("d2", "−.021"), ("d0", "−.001"), ("d1", "+.007"), ("d0", "−.005")],
    ]


def test_a_probability_is_never_printed_as_zero() -> None:
    rows = [("A", 0.0000004), ("B", 0.0007), ("C", math.nan), ("D", 0.25)]
    table = Table("Against E", ("method", "p-value"), rows, chances=("p-value",))
    assert [row[1] for row in shown(table)] == ["< .001", ".001", "–", ".250"]
    assert "4e-07" in to_csv(table)
    assert "&lt; .001" in table_html(table, "against")
