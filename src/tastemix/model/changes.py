"""Models made of a model: with newer ratings, with rows folded in, as a small one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from tastemix.data.ratings import Ratings
from tastemix.engine.base import Side
from tastemix.errors import ParameterError
from tastemix.model import distil, explain, fold_in
from tastemix.model.factors import Head, Population

if TYPE_CHECKING:
    from tastemix.model.model import Model


def updated(model: Model, ratings: Ratings, steps: int) -> Model:
    """See Model.update."""
    if model.ratings is None:
        raise ParameterError("this model came without its ratings: it cannot be updated")
    if not model.phases:
        raise ParameterError(f"a {model.method} model was not made by steps: fit it anew")
    both = fold_in.joined(model.ratings, ratings)
    users = model.users.ids.find(both.users.values)
    items = model.items.ids.find(both.items.values)
    head, done = fold_in.updated(Head(model.factors, model.phases), both, users, items, steps)
    history = [
        dataclasses.replace(step, number=len(model.history) + at, phase=len(model.phases) - 1)
        for at, step in enumerate(done, 1)
    ]
    ranking, noise = model.ranking, model.noise
    if ranking is not None:
        ranking, _ = fold_in.updated(ranking, both, users, items, steps)
    if noise is not None:
        noise = noise.rows("users", users).rows("items", items)
    return dataclasses.replace(
        model,
        scores=head.factors,
        users=Population.of(both.users, both.by_user),
        items=Population.of(both.items, both.by_item),
        mean=float(both.by_user.values.mean(dtype=np.float64)),
        history=(*model.history, *history),
        ratings=both,
        ranking=ranking,
        noise=noise,
    )


def compressed(model: Model, rank: int | None) -> Model:
    """See Model.compress."""
    if model.ratings is None:
        raise ParameterError("this model came without its ratings: it cannot be compressed")
    if model.factors.members == 1:
        raise ParameterError("this model is no average of several: there is nothing to compress")
    if rank is None:
        rank = len(explain.tastes_of(model.factors)) * 3 // (2 * model.factors.members)
    ranking = model.ranking
    if ranking is not None:
        ranking = dataclasses.replace(ranking, factors=ranking.factors.split()[0])
    scores = distil.compressed(model.factors, model.ratings, rank)
    return dataclasses.replace(
        model,
        scores=scores,
        ranking=ranking,
        method="Compressed",
        parameters={"rank": rank, "of": model.made_by},
    )


def folded(model: Model, given: Ratings, side: Side) -> Model:
    """The model with the rows of `given` in place of this side's, the other side fixed."""
    half = given.by_user if side == "users" else given.by_item
    head = fold_in.folded(Head(model.factors, model.phases), given, side)
    ranking = None if model.ranking is None else fold_in.folded(model.ranking, given, side)
    scores = head.factors
    if side == "users":
        scores = model.factors.for_users(scores.users)
        if model.ranking is not None and ranking is not None:
            factors = model.ranking.factors.for_users(ranking.factors.users)
            ranking = dataclasses.replace(ranking, factors=factors)
    new = np.full(len(getattr(given, side)), -1, np.int32)
    changed: dict[str, Any] = {side: Population.of(getattr(given, side), half)}
    changed["noise"] = None if model.noise is None else model.noise.rows(side, new)
    return dataclasses.replace(
        model, scores=scores, ratings=given, history=(), ranking=ranking, **changed
    )
