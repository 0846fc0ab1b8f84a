"""Fits on a cluster against fits here, bit for bit. Used by `cluster.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tastemix as tm
from tastemix.engine import CpuEngine, Session
from tastemix.engine.dask import Dask
from tastemix.methods.recipe import trained

STEPS, RANK = 3, 20
BLOCKS = (1, 2, 5)


def recipes(ratings: tm.Ratings) -> dict[str, Any]:
    """A few steps of every method: of CNMF one member, whose settings are not searched for."""
    scale = ratings.scale
    return {
        "RNMF": tm.RNMF(RANK, steps=STEPS).recipe(scale),
        "PR": tm.PR(RANK, steps=STEPS).recipe(scale),
        "PRD": tm.PRD(RANK, steps=STEPS).recipe(scale),
        "CNMF": tm.CNMF(RANK, steps=STEPS).recipe_for(ratings),
    }


def compared(client: Any, ratings: tm.Ratings) -> dict[str, Any]:
    """Whether all bits are the same, for every method and number of blocks a side."""
    here, same = CpuEngine().place(ratings), {}
    for name, recipe in recipes(ratings).items():
        near = fitted(here, recipe, ratings)
        same[name] = {}
        for blocks in BLOCKS:
            placed = Dask(client, blocks=blocks).place(ratings)
            same[name][str(blocks)] = alike(fitted(placed, recipe, ratings), near)
            placed.close()
            print(name, blocks, same[name][str(blocks)], flush=True)
    about = {"ratings": len(ratings), "rank": RANK, "steps": STEPS}
    return {**about, "workers": len(client.nthreads()), "same_bits": same}


def fitted(placed: Any, recipe: Any, ratings: tm.Ratings) -> tuple[Session, list[Any]]:
    """A session after the steps of a recipe, and its objective after each."""
    session = placed.open(recipe.start, shift=recipe.counted_from(ratings))
    return session, [step.objective for step in trained(session, recipe)]


def alike(far: tuple[Session, list[Any]], near: tuple[Session, list[Any]]) -> bool:
    """Whether objectives, factors and what rows are pulled towards are the same bits."""
    one, other = ([*session.factors(), *_pulls(session)] for session, _ in (far, near))
    arrays = len(one) == len(other) and all(
        mine.dtype == yours.dtype and np.array_equal(_bits(mine), _bits(yours))
        for mine, yours in zip(one, other, strict=True)
    )
    return arrays and far[1] == near[1]


def _pulls(session: Session) -> list[Any]:
    return [part for pull in session.pulls() or () for part in pull if part is not None]


def _bits(values: Any) -> Any:
    return np.ascontiguousarray(values).view(np.uint8)


def sentence(found: dict[str, Any]) -> str:
    """What was compared."""
    same = found["same_bits"]
    blocks = ", ".join(next(iter(same.values())))
    runs = [alike for of in same.values() for alike in of.values()]
    return (
        f"{found['steps']} steps of {', '.join(same)} at rank {found['rank']} on "
        f"{found['ratings']:,} ratings, {found['workers']} workers of one thread, {blocks} blocks "
        f"a side: objectives, factors and what rows are pulled towards have the bits of a fit here "
        f"in {sum(runs)} of {len(runs)}."
    )
