"""Engines: the only place where half-steps run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tastemix.data.ratings import Ratings, Side
from tastemix.engine.base import Engine, Placed, Session, StepReport
from tastemix.engine.cpu import CpuEngine, set_threads
from tastemix.engine.reference import ReferenceEngine
from tastemix.engine.sides import Held, Pair, Pulls
from tastemix.engine.start import RandomStart
from tastemix.errors import ParameterError


def _cuda() -> Engine:
    from tastemix.engine import cuda

    return cuda.engine()


def _dask() -> Engine:
    from tastemix.engine import dask

    return dask.Dask()


ENGINES: dict[str, Callable[[], Engine]] = {
    "cpu": CpuEngine,
    "cuda": _cuda,
    "dask": _dask,
    "reference": ReferenceEngine,
}


def engine_of(engine: Engine | str | None) -> Engine:
    """The engine given, by itself or by name; None is that of TASTEMIX_ENGINE, by default cpu."""
    if engine is not None and not isinstance(engine, str):
        return engine
    name = engine or os.environ.get("TASTEMIX_ENGINE") or "cpu"
    if name not in ENGINES:
        where = "engine" if engine else "TASTEMIX_ENGINE"
        raise ParameterError(f"{where} is {name!r}: choose one of {', '.join(ENGINES)}")
    return ENGINES[name]()


@contextmanager
def placed_by(engine: Engine | str | None, ratings: Ratings) -> Iterator[Placed]:
    """Ratings placed by an engine, released afterwards, whatever ends what is done with them."""
    placed = engine_of(engine).place(ratings)
    try:
        yield placed
    finally:
        placed.close()


__all__ = [
    "ENGINES",
    "CpuEngine",
    "Engine",
    "Held",
    "Pair",
    "Placed",
    "Pulls",
    "RandomStart",
    "ReferenceEngine",
    "Session",
    "Side",
    "StepReport",
    "engine_of",
    "placed_by",
    "set_threads",
]
