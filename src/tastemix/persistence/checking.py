"""Models that no fit gives are refused, when they are saved and when they are loaded."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tastemix.engine.sides import MOST_ENTRY, bounded
from tastemix.errors import ModelFileError
from tastemix.model.factors import Factors, Head, Population
from tastemix.model.links import Links
from tastemix.model.model import Model
from tastemix.model.ordering import Ordering
from tastemix.model.uncertainty import COEFFICIENTS, Noise

MOST_STEPS = 1_000_000
"""Of a phase."""
MOST_DYNAMIC_STEPS = 10_000
"""Of a phase with a dynamic prior: folding in takes them all again."""
MOST_NESTED = 32
"""Levels of lists and objects in the parameters."""
MOST_RANK = 2**16
_LARGEST = float(np.finfo(np.float32).max)


def check(model: Model) -> None:
    """Raise an error for values that no fit gives."""
    if not model.method.isidentifier():
        raise ModelFileError(f"its method is {reprlib.repr(model.method)}: expected a name")
    if _nested(model.parameters, MOST_NESTED):
        raise ModelFileError(f"its parameters are nested in more than {MOST_NESTED} levels")
    low, high = model.scale
    if not low <= high:
        raise ModelFileError(f"its scale is {model.scale}: the lower end must come first")
    if model.ranking is not None and not model.ranking.phases:
        raise ModelFileError("its ranking has no phases")
    heads = [model.ranking] if model.ranking else []
    if not isinstance(model.scores, Ordering):
        heads = [Head(model.factors, model.phases), *heads]
    shifts = [head.factors.shift for head in heads]
    if max(map(abs, (low, high, model.mean, *shifts))) > _LARGEST:
        raise ModelFileError("its scale, its mean or its shift exceeds the range of 32-bit floats")
    for head in heads:
        for phase in head.phases:
            most = MOST_DYNAMIC_STEPS if phase.objective.dynamic else MOST_STEPS
            if phase.steps > most:
                raise ModelFileError(f"a phase has {phase.steps:,} steps, more than {most:,}")
        _check_factors(head.factors)
        _check_pulls(head.factors)
        if not all(0 <= weight <= _LARGEST for weight in head.weights):
            raise ModelFileError("one weight of its ranking is negative or too large")
    if (links := links_of(model)) is not None:
        _check_links(links)
    if model.noise is not None:
        _check_noise(model.noise)
    for population in (model.users, model.items):
        _check_population(population)


def _nested(value: Any, levels: int) -> bool:
    """Whether lists and objects lie in each other in more levels than these."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_nested(entry, levels - 1) for entry in inner)


def _check_factors(factors: Factors) -> None:
    ranks = [rows.shape[1] for rows in (factors.users, factors.items)]
    if ranks[0] != ranks[1]:
        raise ModelFileError(
            f"its user vectors have length {ranks[0]} and its item vectors {ranks[1]}: "
            "they must have the same length"
        )
    if not 1 <= factors.rank <= MOST_RANK:
        raise ModelFileError(f"its rank is {factors.rank:,}: expected 1 to {MOST_RANK:,}")
    for rows in (factors.users, factors.items):
        if bounded(rows):
            continue
        if not np.isfinite(rows).all():
            raise ModelFileError("one vector has entries that are not finite")
        raise ModelFileError(
            f"one vector has entries beyond {MOST_ENTRY:g} / rank, whose squares overflow: "
            "scale its ratings down"
        )
    for held in factors.held:
        if len(set(held)) < len(held) or not all(r < factors.rank for r in held):
            raise ModelFileError(f"it holds coordinates {reprlib.repr(held)} of {factors.rank}")
    if not 1 <= factors.members <= factors.rank or factors.rank % factors.members:
        raise ModelFileError(
            f"its rank {factors.rank} is not a multiple of {factors.members} members"
        )
    width = factors.rank // factors.members
    for held in factors.held:
        if sorted(held) != sorted(
            {at + r % width for r in held for at in range(0, factors.rank, width)}
        ):
            raise ModelFileError(f"its members hold different coordinates: {reprlib.repr(held)}")


def _check_pulls(factors: Factors) -> None:
    if (pulls := factors.pulls) is None:
        return
    for pull in pulls:
        if len(pull.mean) != factors.rank or pull.z.shape[1] != factors.rank:
            raise ModelFileError(f"what its rows are pulled towards is not of rank {factors.rank}")
        if not (bounded(pull.mean) and bounded(pull.z)):
            if not (np.isfinite(pull.mean).all() and np.isfinite(pull.z).all()):
                raise ModelFileError("what its rows are pulled towards is not finite")
            raise ModelFileError(
                f"what its rows are pulled towards is beyond {MOST_ENTRY:g} / rank"
            )
        for ridges in (pull.least, pull.variances):
            if ridges is None:
                continue
            if ridges.shape[-1] != factors.rank:
                raise ModelFileError(f"the ridges of its rows are not of rank {factors.rank}")
            if not (bounded(ridges) and ridges.min(initial=0) >= 0):
                raise ModelFileError("a ridge of its rows is negative, too large or not a number")


def _check_links(links: Links) -> None:
    half = links.by_target
    item, other = half.rows, half.indices
    if (item == other).any():
        raise ModelFileError("one item speaks for itself")
    if not (np.isfinite(half.values).all() and (half.values > 0).all() and bounded(half.values)):
        raise ModelFileError("one weight between items is not positive, or too large")


def _check_noise(noise: Noise) -> None:
    if len(noise.coefficients) != COEFFICIENTS:
        raise ModelFileError(
            f"its noise has {len(noise.coefficients)} coefficients: expected {COEFFICIENTS}"
        )
    if not (np.isfinite(noise.users).all() and np.isfinite(noise.items).all()):
        raise ModelFileError("one value of the noise is not finite")


def _check_population(population: Population) -> None:
    what, rated = population.ids.what, population.count > 0
    if (population.count < 0).any():
        raise ModelFileError(f"one {what} has a negative number of ratings")
    if not np.isfinite(population.mean[rated]).all():
        raise ModelFileError(f"one {what} has ratings but no finite mean")
    if not np.isnan(population.mean[~rated]).all():
        raise ModelFileError(f"one {what} has a mean but no ratings")


def links_of(model: Model) -> Links | None:
    """The links of the scores, or of what `recommend` orders by."""
    if isinstance(model.scores, Ordering):
        return model.scores.links
    return None if model.ranking is None else model.ranking.links
