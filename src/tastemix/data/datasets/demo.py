"""Embedded demo data: invented people rate dishes by the tastes that were planted in both.

A rating is a sum over tastes, how much of each the person likes times how much of each the dish
has, plus noise, rounded to stars. So a nonnegative factorisation of rank six can find the tastes
again. The numbers come from a raw PCG64 stream by additions, products and comparisons alone: the
same seed gives the same ratings on any machine and NumPy version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tastemix.data.datasets.dishes import DISHES, PEOPLE
from tastemix.data.ratings import Ratings

Floats = NDArray[np.float64]

SCALE = (1.0, 5.0)
NOISE = 0.5
"""The standard deviation of what is added before rounding, in stars."""


def tastes() -> dict[str, list[str]]:
    """The planted tastes by name, each with the dishes that are mainly of it."""
    return {taste: [dish for dish, _ in _lines(taste)] for taste in DISHES}


def ratings(seed: int = 0) -> Ratings:
    """Stars of 600 people for 240 dishes, about one pair in seven."""
    draw = _Draws(seed)
    people, dishes = _people(), [dish for names in tastes().values() for dish in names]
    likes, holds = _likes(draw, len(people)), _holds(draw)
    enjoyed = np.zeros((len(people), len(dishes)))
    for taste in range(len(DISHES)):  # a matrix product may add in another order elsewhere
        enjoyed += np.multiply.outer(likes[:, taste], holds[:, taste])
    stars = np.rint(5 * enjoyed + NOISE * draw.normal(*enjoyed.shape)).clip(*SCALE)
    user, item = np.nonzero(_rated(draw, enjoyed))
    return Ratings.from_arrays(
        [people[u] for u in user], [dishes[i] for i in item], stars[user, item], scale=SCALE
    )


def _lines(taste: str) -> list[tuple[str, str | None]]:
    """The dishes of a taste, each with its second taste if it has one."""
    split = [line.strip().partition(" | ") for line in DISHES[taste].strip().splitlines()]
    return [(dish, second or None) for dish, _, second in split]


def _people() -> list[str]:
    """Every first name twice, once alone and once with an initial."""
    names = PEOPLE.split()
    initials = "BDFGHJKLMNPRSTVW"
    return names + [f"{name} {initials[n % len(initials)]}." for n, name in enumerate(names)]


def _likes(draw: _Draws, count: int) -> Floats:
    """How much each person likes each taste: one or two a lot, the others somewhat."""
    likes = 0.25 + 0.25 * draw.uniform(count, len(DISHES))
    order = np.argsort(draw.uniform(count, len(DISHES)), axis=1, kind="stable")
    everyone = np.arange(count)
    likes[everyone, order[:, 0]] = 0.9 + 0.2 * draw.uniform(count)
    two = everyone[draw.uniform(count) < 0.6]
    likes[two, order[two, 1]] = 0.75 + 0.2 * draw.uniform(len(two))
    return likes


def _holds(draw: _Draws) -> Floats:
    """How much each dish has of each taste: mostly one, sometimes some of a second."""
    number = {taste: n for n, taste in enumerate(DISHES)}
    rows = [(number[taste], second) for taste in DISHES for _, second in _lines(taste)]
    holds = np.zeros((len(rows), len(DISHES)))
    quality = 0.8 + 0.25 * draw.uniform(len(rows))
    for row, (main, second) in enumerate(rows):
        if second is None:
            holds[row, main] = quality[row]
        else:
            holds[row, main] = 0.8 * quality[row]
            holds[row, number[second]] = 0.2 * quality[row]
    return holds


def _rated(draw: _Draws, enjoyed: Floats) -> NDArray[np.bool_]:
    """Who rated what: famous dishes and busy people more, and what is liked a little more."""
    people, dishes = enjoyed.shape
    place = np.argsort(draw.uniform(dishes), kind="stable")
    fame = 1 / (1 + place / 18)
    busy = 0.5 + draw.uniform(people)
    chance = 0.58 * np.multiply.outer(busy, fame) * (0.6 + 1.2 * enjoyed)
    return draw.uniform(people, dishes) < chance


class _Draws:
    """Uniform and nearly normal numbers from the raw bits of PCG64, which never change."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def uniform(self, *shape: int) -> Floats:
        """On [0, 1)."""
        raw = np.asarray(self._bits.random_raw(int(np.prod(shape))), np.uint64)
        return ((raw >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)

    def normal(self, *shape: int) -> Floats:
        """Mean 0, variance 1: twelve uniforms added up."""
        total = np.full(shape, -6.0)
        for _ in range(12):
            total += self.uniform(*shape)
        return total
