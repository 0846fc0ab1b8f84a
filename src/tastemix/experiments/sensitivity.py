"""Experiment 3: every metric against the rank and against the steps of one method."""

from __future__ import annotations

from tastemix.evaluation.metrics.facts import NINE, SCORES, fact, lower_is_better
from tastemix.experiments.context import Context, Records, best_rank
from tastemix.experiments.runs import Run
from tastemix.report.exhibits import Lines, Section, Series

NAME = "sensitivity"
TITLE = "Metrics against rank and steps"

METHOD = "PRD"


def plan(context: Context) -> list[Run]:
    """The sweep's runs of the one method."""
    return [run for (name, _), run in context.sweep().items() if name == METHOD]


def section(context: Context, records: Records) -> Section:
    """Each metric over its largest value, and the three cumulative scores."""
    runs = {rank: run for (name, rank), run in context.sweep().items() if name == METHOD}
    ranks = sorted(runs)
    by_rank = {float(rank): records[runs[rank]].last for rank in ranks}
    chosen = best_rank(context, records, METHOD)
    by_step = {float(step): judged for step, judged in records[runs[chosen]].judged.items()}
    text = (
        f"{METHOD}: each metric is divided by its largest value, so that errors, which should "
        "fall, and the others, which should rise, share an axis."
    )
    return Section(
        NAME,
        TITLE,
        text,
        [
            _lines(f"Metrics against rank, {METHOD}", "rank", by_rank, NINE),
            _lines(f"Scores against rank, {METHOD}", "rank", by_rank, SCORES),
            _lines(f"Metrics against steps, {METHOD}({chosen})", "steps", by_step, NINE),
            _lines(f"Scores against steps, {METHOD}({chosen})", "steps", by_step, SCORES),
        ],
    )


def _lines(
    title: str, axis: str, judged: dict[float, dict[str, float]], names: tuple[str, ...]
) -> Lines:
    series = []
    for name in names:
        values = [found[name] for found in judged.values()]
        top = max(values)
        series.append(
            Series(
                fact(name).label,
                list(judged),
                [value / top for value in values],
                dashed=lower_is_better(name),
            )
        )
    note = "Dashed: errors, where lower is better." if any(map(lower_is_better, names)) else ""
    return Lines(title, axis, "share of the largest value", series, note=note)
