"""A report of experiments: one HTML page, and its tables and figures as files."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from types import ModuleType

from tastemix.errors import EngineError
from tastemix.report.exhibits import Exhibit, Section, Table
from tastemix.report.markup import Beside, beside_html, put_beside, table_html
from tastemix.report.page import Block, Chapter, chart_html, html
from tastemix.report.tables import to_csv, to_markdown

__all__ = ["write"]

NARROW_COLUMNS = 4
"""A table of so many columns leaves room for a chart beside it."""


def write(
    folder: Path, title: str, lead: str, sections: list[Section], facts: dict[str, str]
) -> Path:
    """Write `report.html`, `tables/*.csv` and `.md`, `figures/*.svg` and `.png`; the page's path.

    Each file is replaced in one move, the page last. The same data give the same bytes.
    """
    charted = any(not isinstance(e, Table) for section in sections for e in section.exhibits)
    figures = _figures() if charted else None
    names, chapters = _Names(), []
    for section in sections:
        name = names.new(_slug(section.name))
        exhibits = [(names.new(f"{name}-{_slug(e.title)}"), e) for e in section.exhibits]
        for stem, exhibit in exhibits:
            for path, content in _files(stem, exhibit, figures).items():
                _put(folder / path, content)
        blocks = [_block(stem, shown, figures) for stem, shown in put_beside(exhibits)]
        chapters.append(Chapter(name, section.title, section.text, blocks))
    page = folder / "report.html"
    _put(page, html(title, lead, chapters, facts).encode())
    return page


def _figures() -> ModuleType:
    """The module that draws, which needs matplotlib."""
    try:
        from tastemix.report import figures
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise EngineError(
            "a report needs matplotlib, which is not installed: pip install 'tastemix[report]'"
        ) from None
    return figures


def _files(stem: str, exhibit: Exhibit, figures: ModuleType | None) -> dict[str, bytes]:
    """Path → content of an exhibit's own files."""
    if isinstance(exhibit, Table):
        return {
            f"tables/{stem}.csv": to_csv(exhibit).encode(),
            f"tables/{stem}.md": to_markdown(exhibit).encode(),
        }
    assert figures is not None
    return {
        f"figures/{stem}.svg": figures.svg(exhibit, stem).encode(),
        f"figures/{stem}.png": figures.png(exhibit),
    }


def _block(stem: str, shown: Exhibit | Beside, figures: ModuleType | None) -> Block:
    """An exhibit's place on the page."""
    if isinstance(shown, Beside):
        return Block(beside_html(shown, stem), narrow=False)
    if isinstance(shown, Table):
        return Block(table_html(shown, stem), narrow=len(shown.columns) <= NARROW_COLUMNS)
    assert figures is not None
    image = figures.inline(shown, stem)
    return Block(chart_html(stem, shown.title, image, shown.note), narrow=True)


class _Names:
    """Names for files and ids, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def new(self, wanted: str) -> str:
        """The wanted name, or with a number if it was given before."""
        name, number = wanted, 1
        while name in self._given:
            number += 1
            name = f"{wanted}-{number}"
        self._given.add(name)
        return name


def _slug(text: str) -> str:
    """A text as part of a file name: whole words of lower-case ASCII, at most 48 characters."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    while len("-".join(words)) > 48 and len(words) > 1:
        words.pop()
    return "-".join(words)[:48] or "exhibit"


def _put(path: Path, content: bytes) -> None:
    """Write beside, then move into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
