"""The documentation: every snippet runs and prints what the page says, every link leads somewhere.

The blocks of a page are run from top to bottom in a folder that holds docs/ratings.csv: ```python
in one namespace, lines of ```sh that start with `tastemix` in this process. A ```text
block after one of them is its output. What follows `<!-- needs TASTEMIX_DATA -->` on a page is run
when that variable is set.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tastemix as tm
from tests.cli.commands import tastemix

DOCS = Path(__file__).parent.parent / "docs"
FRAGMENTS = ("tables", "beyond", "performance")
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name not in FRAGMENTS)
NEEDS_DATA = "<!-- needs TASTEMIX_DATA -->"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INCLUDED = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)
REPORT = re.compile(r'<a href="([^"]+)">')
NUMBER = re.compile(r"(\d+\.\d+|\d+)")


class Block(NamedTuple):
    language: str
    code: str
    line: int
    needs_data: bool
    output: str | None
    """What the page says it prints."""


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that can be run."""
    text = page.read_text()
    data_from = text.find(NEEDS_DATA) if NEEDS_DATA in text else len(text)
    fences = list(FENCE.finditer(text))
    said = {
        fence: after[2]
        for fence, after in pairwise(fences)
        if after[1] == "text" and not text[fence.end() : after.start()].strip()
    }
    return [
        Block(
            language=fence[1],
            code=fence[2],
            line=text.count("\n", 0, fence.start(2)),
            needs_data=fence.start() > data_from,
            output=said.get(fence),
        )
        for fence in fences
        if fence[1] in ("python", "sh")
    ]


def python(block: Block, page: Path, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
    return printed.getvalue()


def shell(block: Block) -> str:
    """What its tastemix commands print; a long reproduction is only planned."""
    printed = ""
    for line in block.code.splitlines():
        if not line.startswith("tastemix "):
            continue
        _, *arguments = shlex.split(line, comments=True)
        if arguments[0] == "reproduce" and "--quick" not in arguments:
            arguments.append("--plan")
        done = tastemix(*arguments, env={"COLUMNS": "80"})
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        printed += done.stdout
    return printed


def assert_alike(printed: str, said: str) -> None:
    """The same text; fractions may differ by one in their last digit, as processors round."""
    one, other = (
        NUMBER.split("\n".join(line.rstrip() for line in text.strip().splitlines()))
        for text in (printed, said)
    )
    same = len(one) == len(other) and all(
        a == b or ("." in a and "." in b and abs(float(a) - float(b)) <= 1.01 * last_digit(b))
        for a, b in zip(one, other, strict=True)
    )
    assert same, f"the page says\n{said}\nbut the code prints\n{printed}"


def last_digit(number: str) -> float:
    return 10.0 ** -len(number.partition(".")[2])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_snippets_of_a_page_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blocks(page)
    if not os.environ.get("TASTEMIX_DATA"):
        left_out = [block for block in found if block.needs_data]
        found = [block for block in found if not block.needs_data]
        if left_out and not found:
            pytest.skip("TASTEMIX_DATA is not set: see the README")
    shutil.copy(DOCS / "ratings.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "docs"}
    for block in found:
        printed = python(block, page, names) if block.language == "python" else shell(block)
        if block.output is not None:
            assert_alike(printed, block.output)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.is_file(), f"{link} leads nowhere"
        if anchor and there.suffix == ".md":
            assert anchor in headings(there), f"{link}: there is no such heading"
    for fragment in INCLUDED.findall(page.read_text()):
        assert (DOCS / fragment).is_file(), f"{fragment} is not there to include"


def test_the_committed_reports_are_where_the_reproduction_links_to() -> None:
    home = DOCS / "reproduction"
    linked = set(REPORT.findall((home / "index.md").read_text()))
    assert linked == {"ml-1m/report.html", "jester/report.html"}
    assert {report.relative_to(home).as_posix() for report in home.rglob("report.html")} <= linked


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles
    }


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "mkdocs.yml").read_text().partition("\nnav:")[2]
    assert sorted(re.findall(r"[\w/-]+\.md", navigation)) == sorted(map(name, PAGES))


def test_every_public_name_is_in_the_reference() -> None:
    reference = (DOCS / "api.md").read_text()
    described = set(re.findall(r"^::: tastemix\.(\w+)$", reference, re.MULTILINE))
    modules = {"datasets", "engines", "metrics"}
    for module in modules:
        assert f"::: tastemix.{module}." in reference
    assert described == set(tm.__all__) - modules


def test_the_pages_load_nothing_from_elsewhere() -> None:
    for page in PAGES:
        assert not re.search(r"<script|<link|<img|!\[[^]]*\]\(\w+:", page.read_text()), name(page)
