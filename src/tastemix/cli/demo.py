"""`tastemix demo`: the main job on embedded ratings, in a few seconds and without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

from tastemix import methods
from tastemix.cli.compare import LEGEND, drawable, judged, report, shown
from tastemix.cli.console import out, say
from tastemix.model.model import Model
from tastemix.report.exhibits import Section

RANK = 6
FOLDS = 3
TOP = 8


def demo(
    output: Annotated[
        Path | None, typer.Option("--out", help="Folder to save the model and a report in.")
    ] = None,
) -> None:
    """Compare, train, recommend and explain on embedded data, without a network.

    The ratings of dishes by invented people were generated from six tastes, which the model finds.
    """
    from tastemix.data.datasets import demo as dishes

    ratings = dishes.ratings()
    kinds = {dish: [name] for name, names in dishes.tastes().items() for dish in names}
    say(f"[bold]1. Ratings of dishes.[/] {ratings}")
    compared = (
        *(methods.Random(), methods.Baseline(), methods.PR(RANK), methods.PRD(RANK)),
        *(methods.RNMF(RANK), methods.MIXD(RANK), methods.CNMF(RANK)),
    )
    results = judged(list(compared), ratings, FOLDS)
    say("\n[bold]2. Methods side by side[/], on ratings that were held out:")
    out.print(shown(results, FOLDS))
    say(LEGEND)

    model = methods.CNMF(RANK).fit(ratings)
    say(f"\n[bold]3. The tastes that CNMF({RANK}) finds[/], and the planted ones:")
    out.print(_tastes(model, dishes.tastes()))

    user = ratings.users[0]
    best = model.recommend(user, 3)
    say(f"\n[bold]4. For {escape(user)}:[/] " + ", ".join(best["item"].to_pylist()))
    item = best["item"][0].as_py()
    say(f"\n[bold]5. Why {escape(item)}?[/] The parts add up to the prediction:")
    why = Table("part", "adds", f"because {escape(user)} rated")
    for row in model.explain(user, item, attributes=kinds).to_pylist():
        if row["value"] > 0.005:
            part = ", ".join(dict.fromkeys((row["part"], row["name"])))
            why.add_row(part, f"{row['value']:.2f}", ", ".join(row["because"]))
    predicted = model.predict(user, item, clip=False)
    why.add_row("[bold]sum[/]", f"[bold]{predicted:.2f}[/]", "")
    out.print(why)
    if output is not None:
        model.save(output / "dishes.tastemix")
        pictures = _pictures(model, kinds) if drawable() else []
        page = report(output, "The demo: dishes", results, ratings, FOLDS, pictures)
        say(f"\nThe model is [bold]{escape(str(output / 'dishes.tastemix'))}[/],", end=" ")
        say(f"the report [bold]{escape(str(page))}[/].")
        say(f"To see it: [bold]tastemix serve {escape(str(output / 'dishes.tastemix'))}[/]")
    say("\nNext, with your own ratings: [bold]tastemix compare ratings.csv[/]")


def _pictures(model: Model, kinds: Mapping[str, Sequence[str]]) -> list[Section]:
    """The tastes, why someone is recommended three dishes, and the map, for the report."""
    from tastemix.data.reading_items import read_items
    from tastemix.plot import figures

    table = pa.table({"dish": list(kinds), "kind": list(kinds.values())})
    named, draw = model.label(read_items(table)), figures("of_model")
    user = model.users.ids[0]
    best = model.recommend(user, 3)["item"].to_pylist()
    why = [draw.explanation(named, user, item) for item in best]
    tastes = (
        "Each taste was found in the ratings alone. It is named by what its dishes have in common."
    )
    parts = "A prediction is a sum of tastes, and nothing is subtracted."
    near = "The dishes that were rated most. Each has the colour of its main taste."
    return [
        Section("tastes", "The tastes", tastes, [draw.tastes(named)]),
        Section("why", f"Three dishes for {user}", parts, why),
        Section("map", "The map", near, [draw.item_map(named)]),
    ]


def _tastes(model: Model, planted: dict[str, list[str]]) -> Table:
    table = Table("taste", "planted as", "its dishes")
    rows = model.tastes(TOP).to_pylist()
    for taste in range(1, RANK + 1):
        top = [row["item"] for row in rows if row["taste"] == taste]
        match = {name: len(set(top) & set(names)) for name, names in planted.items()}
        name = max(match, key=lambda name: match[name])
        table.add_row(str(taste), f"{name} ({match[name]} of {TOP})", ", ".join(top[:5]))
    return table
