"""Experiment 4: RankScore against the rank, for several numbers of folds."""

from __future__ import annotations

from tastemix.experiments.context import Context, Records
from tastemix.experiments.runs import Run
from tastemix.experiments.settings import NAMED
from tastemix.report.exhibits import Lines, Section, Series

NAME = "folds"
TITLE = "RankScore against rank for 3 to 6 folds"

METHODS = ("RNMF(0.2)", "MIXD(20)")


def _runs(context: Context) -> dict[tuple[str, int, int], Run]:
    settings = context.settings
    return {
        (name, count, rank): Run(NAMED[name](rank, settings.steps), folds=count)
        for name in METHODS
        for count in settings.fold_counts
        for rank in settings.ranks
    }


def plan(context: Context) -> list[Run]:
    """Two methods at every rank on the first fold of each number of folds."""
    return list(_runs(context).values())


def section(context: Context, records: Records) -> Section:
    """A chart per method, a line per number of folds."""
    runs = _runs(context)
    charts = []
    for name in METHODS:
        series = [
            Series(
                f"{count} folds",
                [float(rank) for rank in context.settings.ranks],
                [
                    records[runs[name, count, rank]].last["rank_score"]
                    for rank in context.settings.ranks
                ],
            )
            for count in context.settings.fold_counts
        ]
        charts.append(Lines(f"{name}", "rank", "RankScore", series))
    text = (
        "With more folds the training part is larger and the test part smaller: with shorter test "
        "lists RankScore is higher, so levels differ, but the best rank hardly changes. The "
        "first fold of each number is shown."
    )
    return Section(NAME, TITLE, text, list(charts))
