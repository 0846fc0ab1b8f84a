"""Experiment 2: Spearman's correlation between the metrics."""

from __future__ import annotations

import numpy as np

from tastemix.evaluation.cross_validation import spearman
from tastemix.evaluation.metrics.facts import NINE, labels
from tastemix.experiments import paper
from tastemix.experiments.context import Context, Records
from tastemix.experiments.runs import LAST, Run
from tastemix.report.exhibits import Exhibit, Heat, Role, Section, Table

NAME = "correlation"
TITLE = "How the metrics agree"

STEPS = (10, 20, 40, 60, 80, 100)
"""Of the sweep's steps, those counted; with them there are about 500 models, as in the paper."""
PRIOR_STEPS = 20
"""The first steps of MIXR and MIXD are those of PR(mid): they are not counted again."""


def plan(context: Context) -> list[Run]:
    """The sweep."""
    return list(context.sweep().values())


def observations(context: Context, records: Records) -> dict[str, np.ndarray]:
    """The nine metrics of every (method, rank, steps) of the sweep, each model once."""
    found: list[dict[str, float]] = []
    for (name, _), run in context.sweep().items():
        for step, judged in records[run].judged.items():
            repeats = name.startswith("MIX") and step <= PRIOR_STEPS
            if step in (LAST, *STEPS) and not repeats:
                found.append(judged)
    return {name: np.array([judged[name] for judged in found]) for name in NINE}


def section(context: Context, records: Records) -> Section:
    """Spearman's ρ as a heat map and a table, with the paper's for ML-1M."""
    columns = observations(context, records)
    table = spearman(columns)
    matrix = np.array([table[name].to_pylist() for name in NINE])
    count = len(columns["rmse"])
    exhibits: list[Exhibit] = [Heat(f"Spearman's ρ over {count} models", labels(*NINE), matrix)]
    exhibits.append(_table("Here, in percent", matrix, "here"))
    if context.dataset == "ml-1m":
        printed = paper.correlation()
        exhibits.append(_table("The paper, in percent", printed, "printed"))
        title = "Here minus the paper, in percentage points"
        exhibits.append(_table(title, matrix - printed, "difference"))
    text = (
        f"Every metric ranks {count} models (method × rank × steps, with several λ and α), better "
        "first; ρ measures how far two metrics agree on that order. Ranking metrics agree with "
        "each other, MAE with accuracy. The level of the rest depends on which models are "
        "compared: many that are bad in every way (a prior of 0, 1 or 2) bring errors, decisions "
        "and rankings closer."
    )
    return Section(NAME, TITLE, text, exhibits)


def _table(title: str, matrix: np.ndarray, role: Role) -> Table:
    names = labels(*NINE)
    rows = [(name, *(100 * row)) for name, row in zip(names, matrix, strict=True)]
    return Table(title, ("", *names), rows, role=role, digits=1)
