"""Experiment 6: the largest prediction over all pairs."""

from __future__ import annotations

from tastemix.experiments.context import Context, Records
from tastemix.experiments.runs import Run
from tastemix.experiments.settings import run_of
from tastemix.report.exhibits import Lines, Section, Series, Table

NAME = "largest"
TITLE = "The largest prediction"

METHODS = ("NMF", "RNMF(0.1)", "RNMF(0.2)", "PR(mid)", "PRD", "MIXR(20)", "MIXD(20)")


def _runs(context: Context) -> dict[str, Run]:
    rank = context.settings.largest_rank
    return {name: run_of(name, rank, context.settings, largest=True) for name in METHODS}


def plan(context: Context) -> list[Run]:
    """Each method at one rank, measured over all pairs along its steps."""
    return list(_runs(context).values())


def section(context: Context, records: Records) -> Section:
    """The largest prediction against the steps, on a log axis, and after the last one."""
    found = {name: records[run] for name, run in _runs(context).items()}
    series = [
        Series(
            name,
            [float(step) for step in record.judged],
            [judged["largest"] for judged in record.judged.values()],
        )
        for name, record in found.items()
    ]
    rank, steps = context.settings.largest_rank, context.settings.steps
    rows = [(name, record.last["largest"]) for name, record in found.items()]
    chart = Lines(f"Largest prediction, rank {rank}", "steps", "largest", series, log_y=True)
    table = Table(f"After {steps} steps", ("method", "largest prediction"), rows, digits=1)
    text = (
        "A method that ignores the unknown ratings does not bound its predictions for them. NMF "
        "can exceed the scale by far, an L1 penalty reduces that, and a prior on the unknown "
        f"ratings keeps predictions near the scale, which ends at {context.ratings.scale[1]:g}."
    )
    return Section(NAME, TITLE, text, [chart, table])
