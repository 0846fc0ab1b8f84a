"""The engine on a CUDA card. Nothing of it is imported unless it is asked for."""

from __future__ import annotations

from tastemix.engine.base import Engine
from tastemix.engine.cuda import card
from tastemix.errors import EngineError


def engine() -> Engine:
    """The engine; where it cannot run, the reason and the way out."""
    if reason := card.missing():
        raise EngineError(f"engine 'cuda' cannot run here: {reason}")
    from tastemix.engine.cuda.session import CudaEngine

    return CudaEngine()
