"""The page and the files beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tastemix.report import write
from tastemix.report.exhibits import Lines, Section, Series, Table
from tastemix.report.page import Block, Chapter, html
from tests.report.made import APART, FACTS, HEAT, HERE, PAPER, RANKS, Element, parsed, sections

NASTY = "<script>alert(\"1\")</script> & 'q'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("report")
    assert write(home, "All of it", "In short.", sections(), FACTS) == home / "report.html"
    return home


@pytest.fixture(scope="module")
def page(folder: Path) -> Element:
    return parsed((folder / "report.html").read_text(encoding="utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_files_are_named_after_section_and_title(folder: Path) -> None:
    assert list(files(folder)) == [
        "figures/correlation-spearmans.png",
        "figures/correlation-spearmans.svg",
        "figures/curves-largest-prediction.png",
        "figures/curves-largest-prediction.svg",
        "figures/curves-rankscore-against-rank.png",
        "figures/curves-rankscore-against-rank.svg",
        "report.html",
        "tables/comparison-here-minus-the-paper.csv",
        "tables/comparison-here-minus-the-paper.md",
        "tables/comparison-here.csv",
        "tables/comparison-here.md",
        "tables/comparison-the-paper.csv",
        "tables/comparison-the-paper.md",
    ]


def test_the_page_has_title_lead_contents_sections_and_footer(page: Element) -> None:
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("head").one("title").text == page.one("h1").text == "All of it"
    assert page.one("p", "lead").text == "In short."
    assert [h.text for h in page.all("h2")] == ["The comparison", "How metrics agree", "Curves"]
    links = {a.attributes["href"]: a.text for a in page.one("nav").all("a")}
    assert links == {f"#{s.attributes['id']}": s.one("h2").text for s in page.all("section")}
    facts = zip(page.one("footer").all("dt"), page.one("footer").all("dd"), strict=True)
    assert {name.text: value.text for name, value in facts} == FACTS
    second = page.all("section")[1]
    assert [p.text for p in second.children if isinstance(p, Element) and p.tag == "p"] == [
        "One.",
        "Two.",
    ]


def test_every_exhibit_is_a_figure_with_a_caption(page: Element) -> None:
    captions = [figure.one("figcaption").text for figure in page.all("figure")]
    together = "Here – below each figure the paper’s and the difference"
    assert captions == [together, HEAT.title, RANKS.title, "Largest prediction"]
    for image in page.all("svg"):
        assert image.attributes["role"] == "img"
        assert image.attributes["viewbox"]
    labels = [image.attributes["aria-label"] for image in page.all("svg")]
    assert labels[1] == "RankScore against rank: RankScore against rank for PRD, MIXD(20)"


def test_ids_are_unique_and_every_reference_has_its_target(folder: Path, page: Element) -> None:
    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids)) > 50
    text = (folder / "report.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    named |= set(re.findall(r'aria-labelledby="([^"]+)"', text))
    assert len(named) > 10
    assert named <= set(ids)


def test_nothing_is_fetched_from_anywhere(folder: Path, page: Element) -> None:
    for element in page.all():
        for key, value in element.attributes.items():
            if key.endswith(("href", "src", "srcset", "data", "action", "poster")):
                assert value is not None
                assert value.startswith(("#", "data:")), f"<{element.tag} {key}={value}>"
    assert not page.all("script")
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|url\((?!#)", text)


def test_images_on_the_page_bring_no_rules_for_the_rest_of_it(page: Element) -> None:
    assert len(page.all("style")) == 1
    assert all(not image.all("style") for image in page.all("svg"))
    assert "DejaVu" not in "".join(e.attributes.get("style") or "" for e in page.all("text"))


def test_the_same_input_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "All of it", "In short.", sections(), FACTS)
    assert files(tmp_path) == files(folder)


def test_all_text_is_escaped(tmp_path: Path) -> None:
    table = Table(NASTY, (NASTY, "x"), [(NASTY, 1.0), ("b", NASTY)], best={"x": "low"}, note=NASTY)
    chart = Lines(NASTY, NASTY, NASTY, [Series(NASTY, [1, 2], [1, 2])], note=NASTY)
    section = Section(NASTY, NASTY, NASTY, [table, chart])
    path = write(tmp_path, NASTY, NASTY, [section], {NASTY: NASTY})
    page = parsed(path.read_text(encoding="utf-8"))
    assert not page.all("script")
    for element in ("title", "h1", "h2", "dt", "dd"):
        assert page.one(element).text == NASTY
    assert [caption.text for caption in page.all("figcaption")] == [NASTY, NASTY]
    assert page.all("th")[0].text == page.one("tbody").all("th")[0].text == NASTY
    assert (
        page.one("svg").attributes["aria-label"] == f"{NASTY}: {NASTY} against {NASTY} for {NASTY}"
    )
    assert {path.parent.parent for path in tmp_path.rglob("*.csv")} == {tmp_path}


def test_names_that_would_clash_are_numbered(tmp_path: Path) -> None:
    twice = Section("a", "A", "", [RANKS, RANKS, Table("ρ", ("x",), []), Table("σ", ("x",), [])])
    again = Section("a", "A", "", [PAPER])
    path = write(tmp_path, "t", "", [twice, again, Section("../..", "B", "", [])], {})
    page = parsed(path.read_text(encoding="utf-8"))
    assert [s.attributes["id"] for s in page.all("section")] == ["a", "a-2", "exhibit"]
    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert sorted(path.stem for path in tmp_path.rglob("*.svg")) == [
        "a-rankscore-against-rank",
        "a-rankscore-against-rank-2",
    ]
    assert sorted(path.stem for path in tmp_path.rglob("*.csv")) == [
        *("a-2-the-paper", "a-exhibit", "a-exhibit-2"),
    ]


def test_two_narrow_exhibits_share_a_line() -> None:
    blocks = [Block(letter, letter == "n") for letter in "nnwnwnnn"]
    page = parsed(html("t", "", [Chapter("c", "C", "", blocks)], {}))
    boxes = [e for e in page.one("div", "exhibits").children if isinstance(e, Element)]
    assert [box.attributes["class"] for box in boxes] == [
        *("half", "half", "wide", "lone", "wide", "half", "half", "lone"),
    ]
    assert [box.text.strip() for box in boxes] == list("nnwnwnnn")


def test_the_tables_files_hold_each_table_though_the_page_shows_them_as_one(folder: Path) -> None:
    for name, table in (("here", HERE), ("the-paper", PAPER), ("here-minus-the-paper", APART)):
        rows = (folder / "tables" / f"comparison-{name}.csv").read_text().splitlines()
        assert rows[0] == ",".join(table.columns)
        assert [row.split(",")[-1] for row in rows[1:]] == [repr(row[-1]) for row in table.rows]


def test_a_report_without_sections_is_a_page(tmp_path: Path) -> None:
    page = parsed(write(tmp_path / "new" / "folder", "t", "", [], {}).read_text(encoding="utf-8"))
    assert page.one("h1").text == "t"
    assert not page.all("nav")
    assert not page.all("footer")


def test_a_failed_write_leaves_the_older_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "old", "", [], {})
    before = files(tmp_path)

    def full(*paths: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path, "new", "", [], {})
    assert files(tmp_path) == before


@pytest.mark.parametrize("charted", [True, False])
def test_only_a_chart_needs_matplotlib_and_one_sentence_says_so(
    charted: bool, tmp_path: Path
) -> None:
    program = f"""
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from pathlib import Path
from tastemix.errors import EngineError
from tastemix.report import write
from tastemix.report.exhibits import Lines, Section, Series, Table
chart = Lines("c", "x", "y", [Series("PRD", [1.0, 2.0], [1.0, 2.0])])
table = Table("t", ("a",), [(1.0,)])
try:
    write(Path({str(tmp_path / "r")!r}), "t", "", [
        Section("s", "S", "", [chart if {charted} else table])], {{}})
except EngineError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    sentence = "a report needs matplotlib, which is not installed: pip install 'tastemix[report]'\n"
    assert done.stdout == (sentence if charted else "")
    assert (tmp_path / "r").exists() != charted
