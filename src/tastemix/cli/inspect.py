"""`tastemix inspect`: what is in a table of ratings, and what looks wrong."""

from __future__ import annotations

from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import out, say
from tastemix.cli.tables import Csv, Json, print_json, printed
from tastemix.cli.written import Written, as_written
from tastemix.data import inspecting
from tastemix.data.columns import MissingColumnError
from tastemix.data.dialect import Told

WIDEST = 40
"""Characters of the longest bar."""


@as_written
def inspect(
    ratings: choices.File,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    missing: choices.MissingOption = None,
    as_json: Json = False,
    as_csv: Csv = False,
    *,
    written: Written,
) -> None:
    """Look at a table of ratings: counts, density, histogram, and what looks wrong.

    A table without a column of ratings is taken for one of plays. --csv prints the histogram.

    Example: tastemix inspect ratings.csv
    """
    with choices.in_options():
        who, what, stars = map(choices.column, (user, item, rating))
        told = Told(**written)
        try:
            found = inspecting.inspect(ratings, who, what, stars, missing=missing, told=told)
        except MissingColumnError as error:
            if error.column != "rating" or rating != "rating":
                raise
            found = inspecting.inspect(ratings, who, what, None, told=told)
            rating = ""
    if as_json and not as_csv:
        print_json({"file": str(ratings), **asdict(found)})
        return
    bars = [asdict(bar) for bar in found.histogram]
    if printed(bars, as_json, as_csv):
        return
    counts = Table(show_header=False)
    for name, text in _facts(found).items():
        counts.add_row(name, text)
    out.print(counts)
    out.print(_histogram(found))
    for sentence in found.wrong:
        say(f"[bold yellow]look at this:[/] {escape(choices.with_options(sentence))}")
    if not found.wrong:
        say("nothing looks wrong")
    if not rating:
        say("there are no ratings: every row is a play or a click; train with --feedback implicit")


def _facts(found: inspecting.Inspection) -> dict[str, str]:
    def spread(counts: tuple[int, float, int]) -> str:
        fewest, median, most = counts
        return f"{fewest:,} to {most:,}, median {median:,g}"

    return {
        "rows": f"{found.rows:,}",
        "users": f"{found.users:,}",
        "items": f"{found.items:,}",
        "known pairs": f"{found.pairs:,}, {found.density:.3%} of all",
        "ratings": f"{found.lowest:g} to {found.highest:g}, mean {found.mean:.2f}",
        "pairs per user": spread(found.per_user),
        "pairs per item": spread(found.per_item),
    }


def _histogram(found: inspecting.Inspection) -> Table:
    table = Table("rating", "rows", "")
    table.columns[0].justify = table.columns[1].justify = "right"
    most = max(bar.count for bar in found.histogram)
    for bar in found.histogram:
        table.add_row(bar.name, f"{bar.count:,}", _bar(bar.count / most))
    return table


def _bar(share: float) -> str:
    return "█" * max(int(share > 0), round(WIDEST * share))
