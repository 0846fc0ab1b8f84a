"""The paper's eight experiments, for any ratings, resumable, each with its tables and charts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation.fitting import EngineChoice
from tastemix.evaluation.judging import Judge
from tastemix.experiments import (
    comparison,
    convergence,
    correlation,
    facts,
    fold_counts,
    largest,
    ranks,
    sensitivity,
)
from tastemix.experiments.context import Context
from tastemix.experiments.runs import Log, OnRun, Run, execute
from tastemix.experiments.settings import FULL, QUICK, Settings
from tastemix.report.exhibits import Section

EXPERIMENTS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (
        *(facts, comparison, correlation, sensitivity),
        *(fold_counts, ranks, largest, convergence),
    )
}
JUDGE = Judge(raw=True)
"""The paper's protocol: bare products, default thresholds (4 and 3.5 on a scale of 1 to 5)."""

_LISTED = 10

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Context", "Log", "Settings", "plan", "reproduce"]


def plan(context: Context, names: Iterable[str] = EXPERIMENTS) -> list[Run]:
    """The runs that these experiments need, each once."""
    return list(dict.fromkeys(run for name in _checked(names) for run in _planned(name, context)))


def reproduce(
    dataset: str,
    ratings: Ratings,
    folder: Path,
    settings: Settings = FULL,
    names: Iterable[str] = EXPERIMENTS,
    on_run: OnRun | None = None,
    engine: EngineChoice = None,
    tell: Callable[[str], None] = warnings.warn,
) -> list[Section]:
    """Run these experiments on ratings and return their tables and charts.

    Finished runs are in `runs.jsonl` of the folder and are not run again: rerun to resume.
    tell: takes a sentence about lines of it that are damaged.
    """
    context = Context(dataset, ratings, settings)
    chosen = _checked(names)
    log = Log(folder / "runs.jsonl")
    try:
        if log.damaged:
            shown = ", ".join(map(str, log.damaged[:_LISTED]))
            more = ", …" if len(log.damaged) > _LISTED else ""
            tell(
                f"{folder / 'runs.jsonl'} is damaged in line {shown}{more}: what was there is run "
                "again, and the rest is kept"
            )
        records = execute(plan(context, chosen), ratings, log, JUDGE, on_run, engine)
    finally:
        log.close()
    sections: list[Section] = [EXPERIMENTS[name].section(context, records) for name in chosen]
    return sections


def _planned(name: str, context: Context) -> list[Run]:
    runs: list[Run] = EXPERIMENTS[name].plan(context)
    return runs


def _checked(names: Iterable[str]) -> list[str]:
    chosen = list(names)
    for name in chosen:
        if name not in EXPERIMENTS:
            raise ParameterError(
                f"there is no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}"
            )
    return chosen
