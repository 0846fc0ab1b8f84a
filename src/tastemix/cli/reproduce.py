"""`tastemix reproduce` and `tastemix datasets`: the paper's experiments on any ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import facts, out, progress, say
from tastemix.data import datasets as known_datasets
from tastemix.experiments import EXPERIMENTS, FULL, QUICK, Context, plan
from tastemix.experiments import reproduce as run_experiments
from tastemix.experiments.runs import Run


def reproduce(
    data: Annotated[str, typer.Argument(help="A known data set (see datasets) or a file.")],
    output: Annotated[Path, typer.Option("--out", help="Folder for the report and the log.")],
    only: Annotated[
        str, typer.Option(help=f"Experiments by comma, of {', '.join(EXPERIMENTS)}.")
    ] = ",".join(EXPERIMENTS),
    quick: Annotated[bool, typer.Option("--quick", help="A first look in a minute.")] = False,
    planned: Annotated[bool, typer.Option("--plan", help="Only say what would be run.")] = False,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
) -> None:
    """Run the paper's experiments and write a report beside its printed figures.

    What is finished is kept in OUT/runs.jsonl: stop it at any time, and the same command goes on.

    Examples: tastemix reproduce ml-1m --out repro/

    tastemix reproduce ratings.csv --out mine/ --quick
    """
    from tastemix import report

    known = {status.dataset.name for status in known_datasets.known()}
    if Path(data).is_file():
        name = Path(data).name
        ratings = choices.table(Path(data), user, item, rating, scale, duplicates)
    else:
        name, ratings = data, known_datasets.load(data, prepared=True)
    names = [part.strip() for part in only.split(",") if part.strip()]
    settings = QUICK if quick else FULL
    context = Context(name, ratings, settings)
    runs = plan(context, names)
    steps = sum(getattr(run.method, "steps", 1) for run in runs)
    say(str(ratings))
    say(f"{len(runs)} fits of {steps:,} steps in all: {', '.join(names)}")
    if planned:
        return
    with progress("fits", len(runs)) as show:

        def on_run(done: int, total: int, run: Run, left: float) -> None:
            show(len(runs) - total + done, str(run.method))

        sections = run_experiments(name, ratings, output, settings, names, on_run)
    page = report.write(
        output,
        f"tastemix reproduces {name}" if name in known else f"tastemix on {name}",
        "Nonnegative factorisations of ratings, compared as in Del Corso and Romani, Adaptive "
        "Nonnegative Matrix Factorization and Measure Comparisons for Recommender Systems (2019).",
        sections,
        facts(ratings),
    )
    say(f"the report is [bold]{escape(str(page))}[/]")


def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """List the known data sets, where they are looked for and where they come from."""
    found = known_datasets.known()
    if as_json:
        rows = [
            {"name": s.dataset.name, "about": s.dataset.about, "found": s.found, "where": str(s)}
            for s in found
        ]
        out.print_json(data=rows)
        return
    table = Table("name", "what", "where")
    for status in found:
        about = [status.dataset.about]
        about += [f"reproduce uses: {transform.says}" for transform in status.dataset.transforms]
        table.add_row(status.dataset.name, escape("; ".join(about)), escape(str(status)))
    out.print(table)
    say("looked for in " + escape(", ".join(map(str, known_datasets.places()))))
    say("set TASTEMIX_DATA to a folder of yours to have it looked into first")
