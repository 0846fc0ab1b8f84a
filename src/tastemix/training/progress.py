"""A line that says how far a fit is, once it takes longer than people like to wait."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from tastemix.engine.base import Session
from tastemix.training.loop import Step

PATIENCE = 2.0
"""Seconds before anything is shown."""
WIDTH = 24


def wanted(progress: bool | None) -> bool:
    """Whether to show progress: if asked for, or by default in a terminal and in a notebook."""
    if progress is not None:
        return progress
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Progress:
    """Called after every step: a bar, the steps done and the seconds that are likely left."""

    def __init__(self, total: int, then: Any = None, to: TextIO | None = None) -> None:
        self._total, self._then, self._to = total, then, to or sys.stderr
        self._began = time.perf_counter()
        self._shown = False

    def __call__(self, step: Step, session: Session) -> Any:
        """Show this step; what `then` returns decides whether the fit goes on."""
        passed = time.perf_counter() - self._began
        if passed >= PATIENCE:
            done = min(step.number / max(self._total, 1), 1.0)
            bar = ("█" * round(WIDTH * done)).ljust(WIDTH, "░")
            left = passed / max(done, 1e-9) * (1 - done)
            steps = f"step {step.number} of {max(self._total, step.number)}"
            print(f"\r{bar} {steps}, {left:.0f} s left ", end="", file=self._to, flush=True)
            self._shown = True
        return None if self._then is None else self._then(step, session)

    def end(self) -> None:
        """Leave the line as empty as it was."""
        if self._shown:
            print("\r" + " " * 72 + "\r", end="", file=self._to, flush=True)
