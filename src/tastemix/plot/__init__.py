"""Figures and HTML of models, ratings and results, for notebooks and slides."""

from __future__ import annotations

from types import ModuleType

from tastemix.errors import EngineError


def figures(name: str) -> ModuleType:
    """A module of this room that draws, which needs matplotlib."""
    from importlib import import_module

    try:
        return import_module(f"tastemix.plot.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise EngineError(
            "figures need matplotlib, which is not installed: pip install 'tastemix[report]'"
        ) from None
