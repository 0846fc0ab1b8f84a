"""Nonnegative factorisation of ratings: tastes that add up.

    import tastemix as tm

    ratings = tm.read("ratings.csv")
    model = tm.MIXD(rank=10).fit(ratings)
    model.predict(["ann", "bob"], ["Heat", "Alien"])

Names are imported when they are first used; `__init__.pyi` is what type checkers read.
"""

import _thread
from importlib import import_module
from typing import Any


def _in_main_interpreter() -> bool:
    """NumPy and the compiled core are there once a process: a second interpreter hangs."""
    asked = getattr(_thread, "_is_main_interpreter", None)  # from Python 3.13 on
    if asked is not None:
        return bool(asked())
    try:
        interpreters = import_module("_xxsubinterpreters")
    except ImportError:  # a Python built without them
        return True
    return bool(interpreters.get_current() == interpreters.get_main())


if not _in_main_interpreter():
    raise ImportError(
        "tastemix cannot be used in a sub-interpreter: use threads, or a process of its own"
    )

_HOME = {
    "data.disk.ingest": ("ingest",),
    "data.disk.store": ("open",),
    "data.items": ("Items",),
    "data.ratings": ("Ratings", "read"),
    "data.reading_items": ("read_items",),
    "data.splits": ("folds", "holdout", "leave_out", "temporal"),
    "engine.cpu": ("set_threads",),
    "engine.objective": ("Objective",),
    "errors": ("TastemixError",),
    "evaluation.cross_validation": ("Results", "cross_validate"),
    "evaluation.search": ("search",),
    "methods.anmf": ("ANMF",),
    "methods.baselines": ("Baseline", "Popular", "Random"),
    "methods.cnmf": ("CNMF",),
    "methods.default": ("fit",),
    "methods.implicit": ("Implicit",),
    "methods.neighbours": ("Neighbours",),
    "methods.paper": ("MIXD", "MIXR", "NMF", "PR", "PRD", "PSVD", "RNMF", "SSVD"),
    "methods.recipe": ("ANLS",),
    "model.factors": ("Factors",),
    "model.model": ("Model",),
    "persistence": ("load",),
    "plot.cards": ("show",),
    "training.phase": ("Phase",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = {
    "datasets": "data.datasets",
    "engines": "engine.engines",
    "errors": "errors",
    "metrics": "evaluation.metrics",
}

__all__ = sorted([*_MODULE_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tastemix")
    elif name in _MODULES:
        value = import_module(f"tastemix.{_MODULES[name]}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"tastemix.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'tastemix' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
