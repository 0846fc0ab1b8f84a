"""Small HTML tables with bars, for notebooks: light and dark, nothing loaded from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa

from tastemix.data.inspecting import histogram
from tastemix.data.ratings import Ratings
from tastemix.evaluation.cross_validation import Results
from tastemix.evaluation.metrics.facts import fact, lower_is_better
from tastemix.model.model import Model
from tastemix.plot.names import called

BARRED = ("value", "score", "rating", "typical", "similarity", "count")
"""Columns whose numbers have a bar beside them."""
INSTEAD = {"title": "item", "titles": "because"}
"""Columns that are shown in place of ids."""
MOST_ROWS, LONGEST = 60, 60
BAR = 90
STYLE = (
    "<style>.tm-card{font:13px/1.45 system-ui,sans-serif;overflow-x:auto}"
    ".tm-card table.tm-table{width:auto}"  # some themes have tables as wide as they can be
    ".tm-card table{border-collapse:collapse;margin:.3em 0 .6em;background:none;"
    "font:inherit;color:inherit}"
    ".tm-card th,.tm-card td{padding:.15em .7em .15em 0;text-align:left;vertical-align:middle;"
    "border:0;background:none;color:inherit;max-width:36em}.tm-card td:not(.n){min-width:7em}"
    ".tm-card th{font-weight:600;border-bottom:1px solid;border-color:color-mix(in srgb,"
    "currentColor 30%,transparent)}"
    ".tm-card .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".tm-card p{margin:.2em 0;opacity:.75}.tm-card b{font-weight:600}"
    ".tm-card svg{display:block}.tm-card rect{fill:#1b8a8f}.tm-card .less{fill:#d55400}</style>"
)
TABLE = '<table class="tm-table">'
"""With a class, since themes restyle tables that have none."""
SUMMARY = ("rmse", "mae", "ndcg", "rank_score", "catalogue_precision_at_10")


@dataclass(frozen=True)
class Card:
    """Something to look at in a notebook; elsewhere its text."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def show(what: Any) -> Card:
    """A table of recommendations, tastes or explanations, or anything of ours, as a card."""
    if isinstance(what, pa.Table):
        return Card(of_table(what), str(what.slice(0, MOST_ROWS).to_pylist()))
    html = what._repr_html_() if hasattr(what, "_repr_html_") else f"<p>{escape(repr(what))}</p>"
    return Card(html, repr(what))


def of_table(table: pa.Table) -> str:
    """An Arrow table: numbers to the right, with bars where they can be compared."""
    rows = table.slice(0, MOST_ROWS).to_pylist()
    if {"taste", "item", "name", "adds"} <= set(table.column_names):
        return of_tastes(table.to_pylist())
    columns = table.column_names
    hidden = {ids for shown, ids in INSTEAD.items() if shown in columns}
    kept = [name for name in columns if name not in hidden and not _empty(rows, name)]
    body = _table(kept, rows)
    more = len(table) - len(rows)
    return _card(body + (f"<p>{more:,} more rows</p>" if more else ""))


def of_tastes(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row for each taste: what it adds, its items, and its name where items have titles."""
    tastes: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        tastes.setdefault(row["taste"], []).append(row)
    lines = [
        {
            "taste": taste,
            "adds": some[0]["adds"],
            "named": some[0]["name"],
            "its items": ", ".join(called(dict(row)) for row in some),
        }
        for taste, some in tastes.items()
    ]
    named = ["named"] if any("title" in row for row in rows) else []
    return _card(_table(["taste", "adds", *named, "its items"], lines, ("adds",), longest=160))


def of_model(model: Model) -> str:
    """What a model is, and its tastes."""
    about = {
        "users": f"{len(model.users.ids):,}",
        "items": f"{len(model.items.ids):,}",
        "ratings": "not saved" if model.ratings is None else f"{len(model.ratings):,}",
        "scale": f"{model.scale[0]:g} to {model.scale[1]:g}",
    }
    head = f"<p><b>{escape(model.made_by)}</b></p>{_line(about)}"
    try:
        tastes = of_tastes(model.tastes(5).to_pylist())
    except ValueError:  # a method without tastes
        return _card(head)
    return _card(head) + tastes


def of_ratings(ratings: Ratings) -> str:
    """Counts, and how often each rating was given."""
    low, high = ratings.scale
    about = {
        "ratings": f"{len(ratings):,}",
        "users": f"{len(ratings.users):,}",
        "items": f"{len(ratings.items):,}",
        "known": f"{ratings.density:.2%}",
        "scale": f"{low:g} to {high:g}",
    }
    bars = [{"rating": bar.name, "count": bar.count} for bar in histogram(ratings.by_user.values)]
    return _card(_line(about) + _table(["rating", "count"], bars, ("count",)))


def of_results(results: Results) -> str:
    """The means of a few metrics by method, the best in bold."""
    rows = results.summary().to_pylist()
    if not rows:
        return _card("<p>no method was fitted</p>")
    names = [name for name in SUMMARY if name in rows[0]]
    best = {
        name: (min if lower_is_better(name) else max)(row[name] for row in rows) for name in names
    }
    head = "".join(f'<th class="n">{escape(fact(name).label)}</th>' for name in names)
    lines = []
    for row in rows:
        cells = []
        for name in names:
            text = f"{row[name]:.{fact(name).digits}f}"
            text = f"<b>{text}</b>" if row[name] == best[name] else text
            cells.append(f'<td class="n">{text}</td>')
        lines.append(
            f"<tr><td>{escape(row['method'])}</td>{''.join(cells)}"
            f'<td class="n">{row["seconds"]:.2f}</td></tr>'
        )
    failed = "".join(
        f"<p>{escape(name)} failed: {escape(why)}</p>" for name, why in results.failures.items()
    )
    return _card(
        f'{TABLE}<tr><th>method</th>{head}<th class="n">seconds</th></tr>{"".join(lines)}</table>'
        + failed
    )


def _table(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    barred: Sequence[str] = BARRED,
    longest: int = LONGEST,
) -> str:
    numeric = {name for name in columns if any(_is_number(row[name]) for row in rows)}
    # One column with bars: of those there are, the first.
    bar = next((name for name in columns if name in barred and name in numeric), None)
    most = max((abs(row[bar]) for row in rows if bar and _finite(row[bar])), default=0) or 1
    head = ""
    for name in columns:
        side = ' class="n"' if name in numeric else ""
        head += f"<th{side}>{escape(name.replace('_', ' '))}</th>" + ("<th></th>" * (name == bar))
    lines = []
    for row in rows:
        line = ""
        for name in columns:
            side = ' class="n"' if name in numeric else ""
            line += f"<td{side}>{_cell(row[name], longest)}</td>"
            if name == bar:
                line += f"<td>{_bar(row[name], most)}</td>"
        lines.append(f"<tr>{line}</tr>")
    return f"{TABLE}<tr>{head}</tr>{''.join(lines)}</table>"


def _bar(value: Any, most: float) -> str:
    if not _finite(value):
        return ""
    width = max(1.0, BAR * abs(value) / most)
    kind = ' class="less"' if value < 0 else ""
    return (
        f'<svg width="{BAR}" height="11" role="img" aria-label="{value:.3g}">'
        f'<rect{kind} width="{width:.1f}" height="11" rx="1.5"/></svg>'
    )


def _cell(value: Any, longest: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}" if math.isfinite(value) else "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return escape(text if len(text) <= longest else text[: longest - 1] + "…")


def _line(about: Mapping[str, str]) -> str:
    return (
        "<p>"
        + " · ".join(
            f"{escape(text)} {name}" if name != "scale" else (f"scale {escape(text)}")
            for name, text in about.items()
        )
        + "</p>"
    )


def _card(body: str) -> str:
    return f'{STYLE}<div class="tm-card">{body}</div>'


def _empty(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(row[name] is None or row[name] == [] for row in rows)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value)
