"""`tastemix reproduce` and `tastemix datasets`: the paper's experiments on any ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import facts, out, progress, say, warn
from tastemix.cli.tables import Csv, Json, printed
from tastemix.cli.written import Written, as_written
from tastemix.data import datasets as known_datasets
from tastemix.engine import engine_of
from tastemix.experiments import EXPERIMENTS, FULL, QUICK, Context, plan
from tastemix.experiments import reproduce as run_experiments
from tastemix.experiments.runs import Run
from tastemix.methods.recipe import Stepwise


@as_written
def reproduce(
    data: Annotated[
        str,
        typer.Argument(help="Name of a known data set (see: tastemix datasets) or path of a file."),
    ],
    output: Annotated[Path, typer.Option("--out", help="Folder for the report and the run log.")],
    only: Annotated[
        str,
        typer.Option(
            help=f"Comma-separated experiments: {', '.join(EXPERIMENTS)}.", show_default="all"
        ),
    ] = ",".join(EXPERIMENTS),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer ranks, steps and folds: about a minute.")
    ] = False,
    planned: Annotated[
        bool, typer.Option("--plan", help="Print what would be run, and stop.")
    ] = False,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
    missing: choices.MissingOption = None,
    engine: choices.EngineOption = None,
    *,
    written: Written,
) -> None:
    """Run the paper's experiments and report the results beside its published figures.

    Finished runs are kept in OUT/runs.jsonl: after an interruption, rerun to resume.

    Examples: tastemix reproduce ml-1m --out repro/

    tastemix reproduce ratings.csv --out mine/ --quick
    """
    from tastemix import report

    engine_of(engine)  # a wrong name is told before the data are read

    known = {status.dataset.name for status in known_datasets.known()}
    if Path(data).is_file():
        name = Path(data).name
        ratings = choices.table(
            data, user, item, rating, scale, duplicates, missing=missing, **written
        )
    else:
        name, ratings = data, known_datasets.load(data, prepared=True)
    names = [part.strip() for part in only.split(",") if part.strip()]
    settings = QUICK if quick else FULL
    context = Context(name, ratings, settings)
    runs = plan(context, names)
    methods = [run.method for run in runs]
    steps = sum(method.total_steps if isinstance(method, Stepwise) else 1 for method in methods)
    say(str(ratings))
    say(f"{', '.join(names)}: {len(runs)} fits, {steps:,} steps in total")
    if planned:
        return
    with progress("fits", len(runs)) as show:

        def on_run(done: int, total: int, run: Run, left: float) -> None:
            show(len(runs) - total + done, str(run.method))

        sections = run_experiments(name, ratings, output, settings, names, on_run, engine, warn)
    page = report.write(
        output,
        f"tastemix reproduces {name}" if name in known else f"tastemix on {name}",
        "Nonnegative factorisations of ratings, compared as in Del Corso and Romani, Adaptive "
        "Nonnegative Matrix Factorization and Measure Comparisons for Recommender Systems (2019).",
        sections,
        facts(ratings),
    )
    say(f"report written to [bold]{escape(str(page))}[/]")


def datasets(as_json: Json = False, as_csv: Csv = False) -> None:
    """List the known data sets, and where each was found or would be downloaded from."""
    found = known_datasets.known()
    rows = [
        {"name": s.dataset.name, "about": s.dataset.about, "found": s.found, "where": str(s)}
        for s in found
    ]
    if printed(rows, as_json, as_csv):
        return
    table = Table("name", "what", "where")
    for status in found:
        about = [status.dataset.about]
        about += [f"reproduce uses: {transform.says}" for transform in status.dataset.transforms]
        table.add_row(status.dataset.name, escape("; ".join(about)), escape(str(status)))
    out.print(table)
    say("searched: " + escape(", ".join(map(str, known_datasets.places()))))
    say("set TASTEMIX_DATA to search a folder of your own first")
