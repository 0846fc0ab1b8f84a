"""Experiment 7: RankScore against the steps at each method's best rank."""

from __future__ import annotations

from tastemix.experiments.context import Context, Records, best_rank
from tastemix.experiments.runs import Run
from tastemix.experiments.settings import FACTORISATIONS
from tastemix.report.exhibits import Lines, Section, Series

NAME = "convergence"
TITLE = "RankScore against steps"


def plan(context: Context) -> list[Run]:
    """The sweep's runs of the factorisations: the best rank is known only afterwards."""
    return [run for (name, _), run in context.sweep().items() if name in FACTORISATIONS]


def section(context: Context, records: Records) -> Section:
    """One line per method."""
    sweep = context.sweep()
    series = []
    for name in FACTORISATIONS:
        judged = records[sweep[name, best_rank(context, records, name)]].judged
        scores = [found["rank_score"] for found in judged.values()]
        series.append(Series(name, [float(step) for step in judged], scores))
    ranks = ", ".join(f"{name} {best_rank(context, records, name)}" for name in FACTORISATIONS)
    chart = Lines(
        "RankScore at the best rank", "steps", "RankScore", series, note=f"Ranks: {ranks}."
    )
    text = (
        "MIXR and MIXD are PR(mid) for their first 20 steps; from there on they minimise their "
        "second objective."
    )
    return Section(NAME, TITLE, text, [chart])
