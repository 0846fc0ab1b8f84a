"""What every experiment is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tastemix.data.ratings import Ratings
from tastemix.experiments.runs import Record, Run
from tastemix.experiments.settings import Settings, sweep
from tastemix.report.exhibits import Section

Records = Mapping[Run, Record]


@dataclass(frozen=True, eq=False)
class Context:
    """A data set by name, its ratings, and the size of the experiments."""

    dataset: str
    ratings: Ratings
    settings: Settings

    def sweep(self) -> dict[tuple[str, int], Run]:
        """The runs that several experiments read: every method at every rank, along its steps."""
        return sweep(self.settings, min(len(self.ratings.users), len(self.ratings.items)))


class Experiment(Protocol):
    """A module that plans runs and shows what they found."""

    NAME: str
    TITLE: str

    def plan(self, context: Context) -> list[Run]:
        """The runs it needs; they may be shared with others."""
        ...

    def section(self, context: Context, records: Records) -> Section:
        """Its tables and charts."""
        ...


def best_rank(context: Context, records: Records, name: str, metric: str = "rank_score") -> int:
    """The rank at which a method of the sweep scores best after its last step."""
    runs = {rank: run for (method, rank), run in context.sweep().items() if method == name}
    return max(runs, key=lambda rank: records[runs[rank]].last[metric])
