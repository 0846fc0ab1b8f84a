"""Tables as HTML: alone, or with printed figures and the differences in the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tastemix.report.exhibits import Exhibit, Table
from tastemix.report.tables import aligned_right, best, figure, shown, strength


@dataclass(frozen=True)
class Beside:
    """Ours, printed figures of the same rows, and the differences."""

    here: Table
    printed: Table
    difference: Table


def put_beside(exhibits: Sequence[tuple[str, Exhibit]]) -> list[tuple[str, Exhibit | Beside]]:
    """Named exhibits, with each run of ours, the printed and the differences as one."""
    found: list[tuple[str, Exhibit | Beside]] = []
    rest = list(exhibits)
    while rest:
        name, first = rest.pop(0)
        match [first, *(exhibit for _, exhibit in rest[:2])]:
            case [
                Table(role="here") as here,
                Table(role="printed") as printed,
                Table(role="difference") as apart,
            ] if _agree(here, printed, apart):
                found.append((name, Beside(here, printed, apart)))
                rest = rest[2:]
            case _:
                found.append((name, first))
    return found


def _agree(here: Table, printed: Table, difference: Table) -> bool:
    """Whether the tables have the same rows, and ours all columns of the others."""
    return (
        printed.columns == difference.columns
        and set(printed.columns) <= set(here.columns)
        and len({tuple(row[0] for row in table.rows) for table in (here, printed, difference)}) == 1
    )


def table_html(table: Table, name: str) -> str:
    """A `<figure>` with one table."""
    winners, texts = best(table), shown(table)
    cells = [
        [_cell(table, row, column, texts, winners) for column in range(len(table.columns))]
        for row in range(len(table.rows))
    ]
    return _framed(name, table.title, _grid(table, cells, name), [table.note])


def beside_html(tables: Beside, name: str) -> str:
    """A `<figure>` with one table: under each of our figures the paper's and the difference."""
    here, other, difference = tables.here, tables.printed, tables.difference
    winners, texts = best(here), shown(here)
    under_winners, under, apart = best(other), shown(other), shown(difference)
    cells = []
    for row in range(len(here.rows)):
        line = []
        for column, title in enumerate(here.columns):
            cell = _cell(here, row, column, texts, winners)
            if column and title in other.columns:
                place = other.columns.index(title)
                printed = escape(under[row][place])
                if (row, place) in under_winners:
                    printed = f"<b>{printed}</b>"
                level = strength(figure(difference.rows[row][place]), difference.digits)
                cell += (
                    f'<span class="paper">{printed} '
                    f'<span class="d{level}">{escape(apart[row][place])}</span></span>'
                )
            line.append(cell)
        cells.append(line)
    aside = " – below each figure the paper’s and the difference"
    notes = [here.note, other.note, difference.note]
    return _framed(name, here.title, _grid(here, cells, name, "beside"), notes, aside)


def _cell(
    table: Table, row: int, column: int, texts: list[list[str]], winners: set[tuple[int, int]]
) -> str:
    text = escape(texts[row][column])
    if column == 0:
        return text
    if table.role == "difference":
        level = strength(figure(table.rows[row][column]), table.digits)
        return f'<span class="d{level}">{text}</span>'
    return f"<b>{text}</b>" if (row, column) in winners else text


def _grid(table: Table, cells: list[list[str]], name: str, kind: str = "") -> str:
    right = aligned_right(table)
    side = [' class="n"' if is_right else "" for is_right in right]
    head = "".join(
        f'<th scope="col"{side[column]}>{_heading(table, title)}</th>'
        for column, title in enumerate(table.columns)
    )
    body = "\n".join(
        f"<tr{_row_class(table, row)}>"
        + f'<th scope="row">{line[0]}</th>'
        + "".join(f"<td{side[column + 1]}>{cell}</td>" for column, cell in enumerate(line[1:]))
        + "</tr>"
        for row, line in enumerate(cells)
    )
    label = f'aria-labelledby="{name}-title"'
    classes = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" {label}>\n'
        f"<table{classes} {label}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>"
    )


def _heading(table: Table, title: str) -> str:
    if table.best.get(title) == "low":
        return f'{escape(title)}<span class="low" title="lower is better"> ↓</span>'
    return escape(title)


def _row_class(table: Table, row: int) -> str:
    return ' class="baseline"' if table.rows[row][0] in table.baselines else ""


def _framed(name: str, title: str, grid: str, notes: list[str], aside: str = "") -> str:
    caption = escape(title) + (f"<span>{escape(aside)}</span>" if aside else "")
    below = "".join(f'\n<p class="note">{escape(note)}</p>' for note in notes if note)
    return (
        f'<figure id="{name}" class="table">\n'
        f'<figcaption id="{name}-title">{caption}</figcaption>\n{grid}{below}\n</figure>'
    )
