"""The files of the page as they are sent."""

from __future__ import annotations

import re
from pathlib import Path

from tastemix.serve import pages

FOLDER = Path(pages.__file__).parent / "page"


def test_the_page_is_small() -> None:
    assert sum(len(file.zipped) for file in pages.load().values()) <= 15_000


def test_files_are_sent_without_comments_and_indentation_and_nothing_else_is_missing() -> None:
    sent = pages.load()
    for path in FOLDER.iterdir():
        name = "/" if path.name == pages.INDEX else pages.FOLDER + path.name
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        code = [line for line in lines if line and not line.startswith(("//", "/**"))]
        found = sent[name].content.decode().splitlines()
        assert [line.strip() for line in found] == code
        assert all(line.endswith("*/") for line in lines if line.startswith("/**"))


def test_the_policy_is_kept_by_the_files() -> None:
    index = (FOLDER / pages.INDEX).read_text("utf-8")
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", index)
    for path in FOLDER.glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.findall(
            r"innerHTML|insertAdjacentHTML|\beval\(|https?://(?!www\.w3\.org)", text
        )
