"""`tastemix compare`: methods side by side on one's own ratings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import err, facts, out, progress, say
from tastemix.cli.tables import Csv, Json, printed
from tastemix.cli.written import Written, as_written
from tastemix.data.plays import refuse_plays
from tastemix.data.ratings import Ratings
from tastemix.engine import engine_of
from tastemix.errors import ParameterError
from tastemix.evaluation.cross_validation import Results, cross_validate
from tastemix.evaluation.metrics.facts import NINE, Direction, fact, lower_is_better
from tastemix.report import exhibits

DEFAULT = "random,popular,baseline,ssvd,pr,prd,rnmf,mixr,mixd,cnmf"
COLUMNS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "f1": "F1",
    "auc": "AUC",
    "ndcg": "NDCG",
    "rank_score": "Rank",
    "catalogue_precision_at_10": "P@10",
}
CHARTED = ("rmse", "catalogue_precision_at_10")
"""What a report has as bars."""
LEGEND = "Rank: RankScore over the test items; P@10: over the whole catalogue; s: seconds per fit"


@as_written
def compare(
    ratings: choices.File,
    methods: Annotated[
        str,
        typer.Option(help="Comma-separated methods.", autocompletion=choices.several_names),
    ] = DEFAULT,
    rank: Annotated[
        int, typer.Option(help="Number of tastes; cnmf and anmf choose their own.")
    ] = choices.DEFAULT_RANK,
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed for the folds.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--out", help="Folder to write a report to (default: no report).")
    ] = None,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
    missing: choices.MissingOption = None,
    feedback: Annotated[
        str | None,
        typer.Option(help="explicit: the file holds ratings, even if they look like plays."),
    ] = None,
    engine: choices.EngineOption = None,
    as_json: Json = False,
    as_csv: Csv = False,
    *,
    written: Written,
) -> None:
    """Cross-validate methods on a file of ratings and print their metrics.

    Example: tastemix compare ratings.csv --methods baseline,rnmf,mixd --rank 8
    """
    names = [name.strip().lower() for name in methods.split(",") if name.strip()]
    untuned = [choices.method(name, default_rank=rank) for name in names]
    if feedback not in (None, "explicit"):
        raise ParameterError(
            f"--feedback is {feedback!r}: choose explicit, or fit plays and clicks with tastemix "
            "train --feedback implicit"
        )
    engine_of(engine)  # a wrong name is told before the file is read
    table = choices.table(
        ratings, user, item, rating, scale, duplicates, missing=missing, **written
    )
    if feedback is None:
        with choices.in_options():
            refuse_plays(table, " to tastemix train")
    plain = as_json or as_csv
    if not plain:
        say(str(table))
    chosen = [choices.tuned(method, table) for method in untuned]
    results = judged(chosen, table, folds, seed, engine)
    for name, reason in results.failures.items():
        err.print(f"{name} failed and was left out: {escape(reason)}", soft_wrap=True)
    if not results.methods():
        raise typer.Exit(1)
    if not printed(results.summary().to_pylist(), as_json, as_csv):
        out.print(shown(results, folds))
        say(LEGEND)
    if output is not None:
        page = report(output, f"Methods on {Path(ratings).name}", results, table, folds)
        (err.print if plain else say)(f"report written to {escape(str(page))}")


def judged(
    methods: list[Any], ratings: Ratings, folds: int, seed: int = 0, engine: str | None = None
) -> Results:
    """Cross-validation with a bar."""
    with progress("fits", len(methods) * folds) as show:
        return cross_validate(
            methods,
            ratings,
            folds,
            seed=seed,
            catalogue=True,
            engine=engine,
            on_progress=lambda done, total, name, left: show(done, name),
        )


def shown(results: Results, folds: int) -> Table:
    """The summary of a comparison, the best of each column in bold."""
    rows = results.summary().to_pylist()
    table = Table("method", *COLUMNS.values(), "s", title=f"Means over {folds} folds")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        cells = [
            f"[bold]{text}[/]" if row[name] == _best(rows, name) else text
            for name in COLUMNS
            for text in [f"{row[name]:.{fact(name).digits}f}"]
        ]
        table.add_row(row["method"], *cells, f"{row['seconds']:.2f}")
    return table


def report(
    folder: Path,
    title: str,
    results: Results,
    ratings: Ratings,
    folds: int,
    first: Sequence[exhibits.Section] = (),
) -> Path:
    """Write the comparison as a page: every metric, and each method against the best.

    first: sections that come before it.
    """
    from tastemix.report import write

    lead = (
        f"{len(ratings):,} ratings of {len(ratings.items):,} items by {len(ratings.users):,} "
        f"users: every method is fitted to {folds} training parts and judged on the rest."
    )
    return write(folder, title, lead, [*first, _section(results, folds)], facts(ratings))


def _section(results: Results, folds: int) -> exhibits.Section:
    rows = results.summary().to_pylist()
    names = (*NINE, "rank_score", "catalogue_precision_at_10")
    titles = {name: fact(name).label for name in names}
    titles["catalogue_precision_at_10"] += ", all items"
    best: dict[str, Direction] = {
        titles[name]: "low" if lower_is_better(name) else "high" for name in names
    }
    means = exhibits.Table(
        f"Means over {folds} folds",
        ("method", *(titles[name] for name in names), "seconds"),
        [(row["method"], *(row[name] for name in names), f"{row['seconds']:.2f}") for row in rows],
        best=best,
        baselines=("Random", "Popular", "Baseline"),
        note="RankScore orders the test items of each user; P@10 is over the whole catalogue.",
    )
    leader = min(rows, key=lambda row: row["rmse"])["method"]
    others = [method for method in results.methods() if method != leader]
    pairs = [(method, *results.compare(method, leader).values()) for method in others]
    against = exhibits.Table(
        f"RMSE against {leader}",
        ("method", "difference", "standard error", "p-value"),
        pairs,
        chances=("p-value",),
        note="Paired over the folds, with the variance corrected for shared training ratings.",
    )
    text = "Predictions are clipped to the scale and ids without training ratings get means."
    charts = [_chart(results, name) for name in CHARTED if drawable()]
    return exhibits.Section("comparison", "The comparison", text, [*charts, means, against])


def drawable() -> bool:
    """Whether a report can have charts: they need matplotlib, and it is fine without."""
    return find_spec("matplotlib") is not None


def _chart(results: Results, metric: str) -> exhibits.Bars:
    from tastemix.plot import figures

    bars: exhibits.Bars = figures("of_tables").compared(results, metric)
    return bars


def _best(rows: list[dict[str, float]], name: str) -> float:
    values = [row[name] for row in rows]
    return min(values) if lower_is_better(name) else max(values)
