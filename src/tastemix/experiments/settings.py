"""What the experiments try: methods under the paper's names, ranks, steps and folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tastemix import methods as m
from tastemix.experiments.runs import Run

Make = Callable[[int, int], Any]
"""A method of a rank and a number of steps."""

RANDOM = "RANDOM"
SVDS: dict[str, Make] = {
    "PSVD": lambda rank, steps: m.PSVD(rank),
    "SSVD(mid)": lambda rank, steps: m.SSVD(rank),
}
FACTORISATIONS: dict[str, Make] = {
    "PR(0)": lambda rank, steps: m.PR(rank, prior=0.0, steps=steps),
    "PR(mid)": lambda rank, steps: m.PR(rank, steps=steps),
    "PRD": lambda rank, steps: m.PRD(rank, steps=steps),
    "RNMF(0.2)": lambda rank, steps: m.RNMF(rank, steps=steps),
    "MIXD(20)": lambda rank, steps: m.MIXD(rank, steps=steps),
    "MIXR(20)": lambda rank, steps: m.MIXR(rank, steps=steps),
}
VARIANTS: dict[str, Make] = {
    "RNMF(0.1)": lambda rank, steps: m.RNMF(rank, l1=0.1, steps=steps),
    "RNMF(0.5)": lambda rank, steps: m.RNMF(rank, l1=0.5, steps=steps),
    "PR(1)": lambda rank, steps: m.PR(rank, prior=1.0, steps=steps),
    "PR(2)": lambda rank, steps: m.PR(rank, prior=2.0, steps=steps),
}
UNBOUNDED: dict[str, Make] = {"NMF": lambda rank, steps: m.NMF(rank, steps=steps)}
NAMED = {**SVDS, **FACTORISATIONS, **VARIANTS, **UNBOUNDED}


@dataclass(frozen=True)
class Settings:
    """The size of the experiments."""

    ranks: tuple[int, ...]
    checkpoints: tuple[int, ...]
    folds: int
    """Folds the comparison is run on."""
    fold_counts: tuple[int, ...]
    largest_rank: int = 6

    @property
    def steps(self) -> int:
        """Steps of the longest fit."""
        return max(self.checkpoints)


FULL = Settings(
    ranks=(2, 4, 6, 8, 10, 15, 20, 30, 40),
    checkpoints=(2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
    folds=5,
    fold_counts=(3, 4, 5, 6),
)
QUICK = Settings(ranks=(2, 6, 10), checkpoints=(5, 10, 20, 40), folds=1, fold_counts=(3, 6))


def run_of(name: str, rank: int, settings: Settings, **options: Any) -> Run:
    """The run of a method by name with all checkpoints of the settings, or one fit of an SVD."""
    checkpoints = () if name in SVDS else settings.checkpoints
    return Run(NAMED[name](rank, settings.steps), checkpoints, **options)


def sweep(settings: Settings, limit: int) -> dict[tuple[str, int], Run]:
    """Every method at every rank (SVDs up to `limit`), judged along its steps, on one fold."""
    names = (*SVDS, *FACTORISATIONS, *VARIANTS)
    return {
        (name, rank): run_of(name, rank, settings)
        for name in names
        for rank in settings.ranks
        if name not in SVDS or rank < limit
    }
