"""`tastemix compare`: methods side by side on one's own ratings."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import err, out, progress, say
from tastemix.evaluate import HIGHER_IS_WORSE, Results, cross_validate

DEFAULT = "random,popular,baseline,ssvd,pr,prd,rnmf,mixr,mixd"
COLUMNS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "f1": "F1",
    "auc": "AUC",
    "ndcg": "NDCG",
    "rank_score": "Rank",
    "catalogue_precision_at_10": "P@10",
}


def compare(
    ratings: choices.File,
    methods: Annotated[str, typer.Option(help="Which, by comma.")] = DEFAULT,
    rank: Annotated[int, typer.Option(help="Number of tastes.")] = choices.DEFAULT_RANK,
    folds: Annotated[int, typer.Option(help="Folds over the ratings.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Cross-validate methods on a table of ratings and print how they do.

    Example: tastemix compare ratings.csv --methods baseline,rnmf,mixd --rank 8
    """
    names = [name.strip().lower() for name in methods.split(",") if name.strip()]
    chosen = [choices.method(name) for name in names]
    chosen = [type(m)(rank=rank) if hasattr(m, "rank") else m for m in chosen]
    table = choices.table(ratings, user, item, rating, scale, duplicates)
    if not as_json:
        say(str(table))
    with progress("fits", len(chosen) * folds) as show:
        results = cross_validate(
            chosen,
            table,
            folds,
            seed=seed,
            catalogue=True,
            on_progress=lambda done, total, name, left: show(done, name),
        )
    for name, reason in results.failures.items():
        err.print(f"{name} failed and is left out: {escape(reason)}", soft_wrap=True)
    if as_json:
        out.print_json(data=results.summary().to_pylist())
    elif results.methods():
        out.print(shown(results, folds))
        say("Rank is RankScore over the test items; P@10 is over the whole catalogue; s is one fit")
    if not results.methods():
        raise typer.Exit(1)


def shown(results: Results, folds: int) -> Table:
    """The summary of a comparison, the best of each column in bold."""
    rows = results.summary().to_pylist()
    table = Table("method", *COLUMNS.values(), "s", title=f"Means over {folds} folds")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        cells = [
            f"[bold]{row[name]:.3f}[/]" if row[name] == _best(rows, name) else f"{row[name]:.3f}"
            for name in COLUMNS
        ]
        table.add_row(row["method"], *cells, f"{row['seconds']:.2f}")
    return table


def _best(rows: list[dict[str, float]], name: str) -> float:
    values = [row[name] for row in rows]
    return min(values) if name in HIGHER_IS_WORSE else max(values)
