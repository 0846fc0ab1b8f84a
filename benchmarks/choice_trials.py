"""The trials of benchmarks/choices.py: labels, and for each the settings to choose from.

All start from the settings of a split; the first trial is what the others are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from choice_drift import Drift
from choice_fit import Variant
from tastemix.engine.objective import CHOICE_ITERATIONS

AROUND = (1 / 3, 1.0, 3.0)


@dataclass(frozen=True)
class Shipped:
    """A fit of the library."""

    noise: float
    penalty: float
    ridge: float
    per_rating: float = 0.0
    steps: int = 20
    shrinkage: float = 15.0
    tolerance: float = 1e-3
    seed: int = 0


@dataclass(frozen=True)
class Default:
    """What `tm.fit` does; or `Baseline`, which is the user's mean where an item has no ratings."""

    baseline: bool = False
    seed: int = 0


Fit = Variant | Shipped | Default
Trials = dict[str, list[Fit]]
"""A label, and the settings to choose from on the validation part."""


def around(fit: Variant, multiples: tuple[float, ...] = AROUND, **changed: Any) -> list[Fit]:
    return [replace(fit, penalty=fit.penalty * by, **changed) for by in multiples]


def same(base: Variant) -> Trials:
    own = base.noise, base.penalty, base.ridge
    fixed = 0.0, 3.0, 6.0, 0.05
    return {
        "**the library**": [Shipped(*own)],
        "the library, rows solved to 10⁻⁵ of the best gain": [Shipped(*own, tolerance=1e-5)],
        "in NumPy": [base],
        "the library, fixed ridges": [Shipped(*fixed)],
        "in NumPy, fixed ridges": [Variant(*fixed)],
    }


def sides(base: Variant) -> Trials:
    return {
        "**choices of users and of items**": around(base),
        "of users alone: which items they rated": around(base, sides=("users",)),
        "of items alone: who rated them": around(base, sides=("items",)),
        "neither": [replace(base, sides=())],
    }


def power(base: Variant) -> Trials:
    """B changes its size with the power, and ρ with it, for rows of some 150 ratings."""
    found: Trials = {"**\\|Ω\\| + 15 to the power of −½**": around(base)}
    for name, exponent in (("0", 0.0), ("−¼", 0.25), ("−¾", 0.75), ("−1", 1.0)):
        by = 150.0 ** (1 - 2 * exponent)
        multiples = tuple(by * each for each in AROUND)
        found[f"of {name}"] = around(base, multiples, power=exponent)
    return found


def direct(base: Variant) -> Trials:
    ways = {
        "Z to the rows, then to the ratings": "woven",
        "Z to the ratings alone": "alone",
        "likewise, Z and a row's own part nonnegative": "positive",
        "likewise, rows of any sign (SVD++)": "free",
    }
    found: Trials = {"**Z to the rows**": around(base)}
    return found | {name: around(base, direct=way) for name, way in ways.items()}


def time(base: Variant) -> Trials:
    several = [(share, days) for share in (0.1, 0.3) for days in (0.001, 0.01, 0.1, 10)]
    of_users = [Drift("users", *each) for each in several]
    earlier = [Drift("users", *each, filtered=True) for each in several]
    of_items = [Drift("items", 0.01, days) for days in (30, 300)]
    return {
        "**no drift**": [base],
        "users' offsets drift": [replace(base, drift=(each,)) for each in of_users],
        "likewise, from earlier ratings": [replace(base, drift=(each,)) for each in earlier],
        "items' offsets drift": [replace(base, drift=(each,)) for each in of_items],
    }


def attributes(base: Variant) -> Trials:
    base = replace(base, usual=True)
    weights = 0.3, 1.0, 3.0, 10.0
    with_them = [fit for weight in weights for fit in around(base, (1.0,), attributes=weight)]
    alone = [replace(fit, sides=("users",)) for fit in with_them]
    others = [replace(fit, shuffled=True) for fit in with_them]
    return {
        "**choices alone**": [base],
        "and attributes of items": with_them,
        "and those of another item, drawn at random": others,
        "attributes instead of who rated an item": alone,
        "`tm.fit`": [Default()],
        "`Baseline`": [Default(baseline=True)],
    }


def iterations(base: Variant) -> Trials:
    counts = {"1": 1, "2": 2, "4": 4, "solved exactly": 0}
    order = sorted(counts, key=lambda name: counts[name] != CHOICE_ITERATIONS)
    return {
        f"**{name}**" if counts[name] == CHOICE_ITERATIONS else name: [
            replace(base, iterations=counts[name])
        ]
        for name in order
    }


def library(base: Variant) -> Trials:
    own = Shipped(base.noise, base.penalty, base.ridge)
    found: Trials = {"**20 steps, tolerance 10⁻³, c = 15**": [own]}
    for steps in (10, 15, 30, 40):
        found[f"{steps} steps"] = [replace(own, steps=steps)]
    for name, tolerance in (("10⁻²", 1e-2), ("10⁻⁴", 1e-4), ("10⁻⁵", 1e-5)):
        found[f"tolerance {name}"] = [replace(own, tolerance=tolerance)]
    found["30 steps, tolerance 10⁻⁴"] = [replace(own, steps=30, tolerance=1e-4)]
    for shrinkage in (0, 5, 50):
        found[f"c = {shrinkage}"] = [replace(own, shrinkage=float(shrinkage))]
    return found


PARTS = {
    "same": same,
    "sides": sides,
    "power": power,
    "direct": direct,
    "time": time,
    "attributes": attributes,
    "iterations": iterations,
    "library": library,
}
