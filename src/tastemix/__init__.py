"""Nonnegative factorisation of ratings: tastes that add up.

    import tastemix as tm

    ratings = tm.read("ratings.csv")
    model = tm.MIXD(rank=10).fit(ratings)
    model.predict(["ann", "bob"], ["Heat", "Alien"])

Names are imported when they are first used; `__init__.pyi` is what type checkers read.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "averaged": ("ANMF", "fit"),
    "engine.cpu": ("set_threads",),
    "errors": ("TastemixError",),
    "evaluate": ("Results", "cross_validate"),
    "methods": (
        *("ANLS", "MIXD", "MIXR", "NMF", "PR", "PRD", "PSVD", "RNMF", "SSVD"),
        *("Baseline", "Popular", "Random"),
    ),
    "factors": ("Factors",),
    "model": ("Model", "load"),
    "objective": ("Objective", "Phase"),
    "ratings": ("Ratings", "read"),
    "splits": ("folds", "holdout", "leave_out", "temporal"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = ("datasets", "errors", "metrics")

__all__ = sorted([*_MODULE_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tastemix")
    elif name in _MODULES:
        value = import_module(f"tastemix.{name}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"tastemix.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'tastemix' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
