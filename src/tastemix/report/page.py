"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files


@dataclass(frozen=True)
class Block:
    """An exhibit's HTML; two narrow ones share a line where there is room."""

    html: str
    narrow: bool


@dataclass(frozen=True)
class Chapter:
    """A section of the page."""

    name: str
    title: str
    text: str
    blocks: list[Block]


def html(title: str, lead: str, chapters: Sequence[Chapter], facts: Mapping[str, str]) -> str:
    """Title, lead, contents, chapters, and how it was made."""
    style = (files("tastemix.report") / "page.css").read_text(encoding="utf-8")
    links = "\n".join(
        f'<li><a href="#{chapter.name}">{escape(chapter.title)}</a></li>' for chapter in chapters
    )
    contents = f'<nav aria-label="Contents"><ol>\n{links}\n</ol></nav>\n' if links else ""
    made = "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
    )
    footer = f"<footer><dl>\n{made}\n</dl></footer>\n" if made else ""
    body = "\n".join(_chapter(chapter) for chapter in chapters)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{_paragraphs(lead, 'lead')}</header>\n"
        f"{contents}<main>\n{body}\n</main>\n{footer}</body>\n</html>\n"
    )


def _chapter(chapter: Chapter) -> str:
    return (
        f'<section id="{chapter.name}" aria-labelledby="{chapter.name}-heading">\n'
        f'<h2 id="{chapter.name}-heading">{escape(chapter.title)}</h2>\n'
        f'{_paragraphs(chapter.text)}<div class="exhibits">\n{_laid_out(chapter.blocks)}\n</div>\n'
        "</section>"
    )


def _laid_out(blocks: Sequence[Block]) -> str:
    """The blocks in order, each in a box: half a line if it and a neighbour are narrow."""
    parts, number = [], 0
    while number < len(blocks):
        pair = blocks[number : number + 2]
        if len(pair) == 2 and pair[0].narrow and pair[1].narrow:
            parts += [f'<div class="half">\n{block.html}\n</div>' for block in pair]
            number += 2
        else:
            kind = "lone" if pair[0].narrow else "wide"
            parts.append(f'<div class="{kind}">\n{pair[0].html}\n</div>')
            number += 1
    return "\n".join(parts)


def _paragraphs(text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    parts = (part.strip() for part in re.split(r"\n\s*\n", text))
    return "".join(f"<p{attribute}>{escape(part)}</p>\n" for part in parts if part)


def chart_html(name: str, title: str, image: str, note: str) -> str:
    """A `<figure>` with an inline image."""
    below = f'\n<p class="note">{escape(note)}</p>' if note else ""
    caption = f'<figcaption id="{name}-title">{escape(title)}</figcaption>'
    return f'<figure id="{name}" class="chart">\n{caption}\n{image}{below}\n</figure>'
