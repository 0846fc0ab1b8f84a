"""Tables as they are printed, and as csv and Markdown files."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from tastemix.report.exhibits import Table
from tastemix.report.numerals import NONE, decimals, printed

Cell = tuple[int, int]
"""A row and a column."""


def shown(table: Table) -> list[list[str]]:
    """Every cell as text, a column's figures with the same decimals."""
    texts = [_column(table, number) for number in range(len(table.columns))]
    return [list(row) for row in zip(*texts, strict=True)]


def _column(table: Table, number: int) -> list[str]:
    cells = [row[number] for row in table.rows]
    wanted = table.column_digits.get(table.columns[number], table.digits)
    digits = decimals([figure(cell) for cell in cells if _is_float(cell)], wanted)
    texts = [_text(cell, digits, table.role == "difference") for cell in cells]
    if table.columns[number] in table.chances:
        zero = printed(0.0, digits)
        return [f"< {printed(10**-digits, digits)}" if text == zero else text for text in texts]
    return texts


def _text(cell: Any, digits: int, signed: bool) -> str:
    if cell is None:
        return NONE
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return printed(float(cell), 0, signed)
    return printed(float(cell), digits, signed) if _is_float(cell) else str(cell)


def _is_float(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, Integral)


def figure(cell: Any) -> float:
    """A cell's number, nan if it has none."""
    return float(cell) if isinstance(cell, Real) and not isinstance(cell, bool) else math.nan


def best(table: Table) -> set[Cell]:
    """The cells that print like the best figure of their column: more than one in a tie."""
    texts, found = shown(table), set()
    for name, direction in table.best.items():
        column = table.columns.index(name)
        figures = {row: figure(cells[column]) for row, cells in enumerate(table.rows)}
        known = {row: value for row, value in figures.items() if not math.isnan(value)}
        if not known:
            continue
        winner = (min if direction == "low" else max)(known, key=lambda row: known[row])
        top = texts[winner][column]
        found |= {(row, column) for row in known if texts[row][column] == top}
    return found


def strength(value: float, digits: int) -> int:
    """How far a difference stands out: 0 up to 6 in its last digit, then 1, and 2 from 18 on."""
    size = round(abs(value) * 10**digits, 6)
    return 2 if size >= 18 else 1 if size > 6 else 0


def to_csv(table: Table) -> str:
    """The values themselves: floats read back to the same bits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_exact(cell) for cell in row] for row in table.rows)
    return buffer.getvalue()


def _exact(cell: Any) -> str:
    if cell is None:
        return ""
    return repr(float(cell)) if _is_float(cell) else str(cell)


def to_markdown(table: Table) -> str:
    """The table as it is printed, the best in bold, with its title and note."""
    winners = best(table)
    rows = [
        [
            f"**{_escaped(text)}**" if (row, column) in winners else _escaped(text)
            for column, text in enumerate(texts)
        ]
        for row, texts in enumerate(shown(table))
    ]
    rule = ["---", *["---:" if right else "---" for right in aligned_right(table)[1:]]]
    lines = [[_escaped(name) for name in table.columns], rule, *rows]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    parts = [f"**{_escaped(table.title)}**", body, _escaped(table.note)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def aligned_right(table: Table) -> Sequence[bool]:
    """The columns with figures, but for the first, which names the rows."""
    texts = shown(table)
    return [
        column > 0 and all(_is_figure(row[column]) for row in texts)
        for column in range(len(table.columns))
    ]


def _is_figure(text: str) -> bool:
    return not text or text in (NONE, "∞") or any(character.isdigit() for character in text)
