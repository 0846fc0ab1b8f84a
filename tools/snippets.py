"""Writes into the pages of docs/ what their snippets print now: python tools/snippets.py [PAGE …]

Read the difference before it is committed: the words around a figure may no longer hold. Without
TASTEMIX_DATA the snippets that need it stay as they are.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.test_docs import DOCS, PAGES, assert_alike, blocks, python, shell


def renewed(page: Path) -> str:
    """The text of a page with the outputs of its snippets; those that are alike stay."""
    text, names = page.read_text(), dict[str, Any](__name__="docs")
    for block in blocks(page):
        if block.needs_data and not os.environ.get("TASTEMIX_DATA"):
            continue
        printed = python(block, page, names) if block.language == "python" else shell(block)
        if block.output is None:
            continue
        try:
            assert_alike(printed, block.output)
        except AssertionError:
            lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
            text = text.replace(f"```text\n{block.output}```", f"```text\n{lines}\n```", 1)
    return text


def main() -> None:
    """Renew the pages that are named, or all."""
    pages = [Path(page).resolve() for page in sys.argv[1:]] or PAGES
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(DOCS / "ratings.csv", folder)
            os.chdir(folder)
            text = renewed(page)
            os.chdir(DOCS)
        if text != page.read_text():
            page.write_text(text)
            print(page.relative_to(DOCS))


if __name__ == "__main__":
    main()
