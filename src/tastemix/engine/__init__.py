"""Engines: the only place where half-steps run."""

from tastemix.engine.base import Engine, Held, Pair, Session, Side, StepReport
from tastemix.engine.cpu import CpuEngine, set_threads
from tastemix.engine.reference import ReferenceEngine

__all__ = [
    "CpuEngine",
    "Engine",
    "Held",
    "Pair",
    "ReferenceEngine",
    "Session",
    "Side",
    "StepReport",
    "set_threads",
]
