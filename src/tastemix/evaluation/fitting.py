"""Fitting any method, on the engine that was asked for."""

from __future__ import annotations

from inspect import signature
from typing import Any

from tastemix.data.ratings import Ratings
from tastemix.engine.base import Engine
from tastemix.model.model import Model

EngineChoice = Engine | str | None
"""An engine, its name, or None for the default."""


def fitted(method: Any, ratings: Ratings, engine: EngineChoice = None, **options: Any) -> Model:
    """The method's model of the ratings; a `fit` that takes no engine is not given one."""
    if engine is not None and "engine" in signature(method.fit).parameters:
        options["engine"] = engine
    model: Model = method.fit(ratings, **options)
    return model
