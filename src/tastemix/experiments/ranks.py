"""Experiment 5: the best rank of every method."""

from __future__ import annotations

from tastemix.experiments import paper
from tastemix.experiments.context import Context, Records, best_rank
from tastemix.experiments.runs import Run
from tastemix.experiments.settings import FACTORISATIONS, SVDS
from tastemix.report.exhibits import Lines, Section, Series, Table

NAME = "ranks"
TITLE = "RankScore against rank"

METHODS = (*SVDS, *FACTORISATIONS)


def plan(context: Context) -> list[Run]:
    """The sweep's runs of the paper's methods."""
    return [run for (name, _), run in context.sweep().items() if name in METHODS]


def section(context: Context, records: Records) -> Section:
    """RankScore over its largest value, and the best rank beside the paper's."""
    sweep = context.sweep()
    series, rows, printed = [], [], paper.best_ranks(context.dataset)
    for name in METHODS:
        ranks = [rank for method, rank in sweep if method == name]
        scores = [records[sweep[name, rank]].last["rank_score"] for rank in ranks]
        series.append(Series(name, [float(r) for r in ranks], [s / max(scores) for s in scores]))
        best = best_rank(context, records, name)
        rows.append((name, str(best), str(printed.get(name, "–")), max(scores)))
    density = f"{100 * context.ratings.density:.2f} %"
    table = Table(
        f"Best rank at {context.settings.steps} steps; {density} of all ratings are known",
        ("method", "best rank", "paper", "RankScore there"),
        rows,
        best={"RankScore there": "high"},
        note="Curves are flat near their top, so neighbouring ranks are as good.",
    )
    chart = Lines("RankScore over its largest value", "rank", "share of the best", series)
    text = (
        "RankScore of every method at every rank, over its largest value: beyond the best rank a "
        "method overfits."
    )
    return Section(NAME, TITLE, text, [chart, table])
