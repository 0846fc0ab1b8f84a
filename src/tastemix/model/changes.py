"""Models derived from a model: updated, with rows folded in, compressed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings, Side
from tastemix.engine import engine_of, placed_by
from tastemix.engine.base import Engine
from tastemix.errors import ParameterError
from tastemix.model import distil, fold_in
from tastemix.model.factors import Factors, Head, Population
from tastemix.model.links import stars_by_user
from tastemix.model.ordering import Ordering
from tastemix.model.usual import counted_from_usual

if TYPE_CHECKING:
    from tastemix.model.model import Model


def updated(
    model: Model, ratings: Ratings, steps: int, engine: Engine | str | None = None
) -> Model:
    """See Model.update."""
    if model.ratings is None:
        raise ParameterError(
            "this model was saved without its ratings and cannot be updated: fit a new one"
        )
    if not model.phases:
        raise ParameterError(f"a {model.method} model cannot be updated: fit a new one")
    both = fold_in.joined(model.ratings, ratings)
    users = model.users.ids.find(both.users.values)
    items = model.items.ids.find(both.items.values)
    ranking = model.ranking
    with placed_by(engine, both) as placed:
        where = placed, users, items, checks.whole("steps", steps, least=0)
        head, done = fold_in.updated(Head(model.factors, model.phases), *where)
        if ranking is not None and not model.shares_tastes:
            ranking, _ = fold_in.updated(ranking, *where)
    if ranking is not None and ranking.links is not None:
        ranking = dataclasses.replace(ranking, links=ranking.links.over(items))
    history = [
        dataclasses.replace(step, number=len(model.history) + at, phase=len(model.phases) - 1)
        for at, step in enumerate(done, 1)
    ]
    noise, labels = model.noise, model.labels
    if noise is not None:
        noise = noise.rows("users", users).rows("items", items)
    populations = Population.of(both.users, both.by_user), Population.of_items(both)
    scores = counted_from_usual(head.factors, *populations)
    return dataclasses.replace(
        model,
        scores=scores,
        users=populations[0],
        items=populations[1],
        mean=both.by_user.mean(),
        history=(*model.history, *history),
        ratings=both,
        ranking=_sharing(model, ranking, scores),
        noise=noise,
        labels=None if labels is None else labels.over(both.items),
        origin=None,
        numbering=None,
    )


def compressed(model: Model, rank: int | None, engine: Engine | str | None = None) -> Model:
    """See Model.compress."""
    if model.ratings is None:
        raise ParameterError("this model was saved without its ratings and cannot be compressed")
    if model.factors.members == 1:
        raise ParameterError(
            "this model is not an average of several: there is nothing to compress"
        )
    if rank is None:
        rank = 2 * len(model.factors.coordinates)
    ranking = model.ranking
    if ranking is not None and not model.shares_tastes:
        ranking = dataclasses.replace(ranking, factors=ranking.factors.parts[0])
    scores = distil.compressed(model.factors, model.ratings, rank, engine)
    return dataclasses.replace(
        model,
        scores=scores,
        phases=model.phases if model.factors.pulls is None else (distil.PHASE,),
        ranking=_sharing(model, ranking, scores),
        method="Compressed",
        parameters={"rank": rank, "of": model.made_by},
        origin=None,
        numbering=None,
    )


def folded(model: Model, given: Ratings, side: Side, engine: Engine | str | None = None) -> Model:
    """The model with the rows of `given` in place of this side's, the other side fixed."""
    if isinstance(model.scores, Ordering):
        return _with_ratings(model, model.scores, given, side)
    half, ranking = given.half(side), model.ranking
    newcomers = model.newcomers(side)
    if newcomers is None:
        scores = fold_in.folded(Head(model.factors, model.phases), half, side, engine)
    else:
        rows = fold_in.rows(half, newcomers.base, side, model.phases, engine_of(engine))
        scores = newcomers.joined(rows, half)
    if ranking is not None and not model.shares_tastes:
        ranking = dataclasses.replace(ranking, factors=fold_in.folded(ranking, half, side, engine))
    if ranking is not None and side == "items":
        weights = ranking.weights._replace(rated=0.0)
        ranking = dataclasses.replace(ranking, links=None, weights=weights)
    ranking = _sharing(model, ranking, scores)
    new = np.full(len(given.ids(side)), -1, np.int32)
    changed: dict[str, Any] = {side: Population.of(given.ids(side), half)}
    changed["noise"] = None if model.noise is None else model.noise.rows(side, new)
    if side == "items":
        changed["labels"] = None
    return dataclasses.replace(
        model,
        scores=scores,
        ratings=given,
        history=(),
        ranking=ranking,
        origin=model,
        numbering=None,
        **changed,
    )


def _sharing(model: Model, ranking: Head | None, scores: Factors) -> Head | None:
    """The ranking with these factors, if it shared those of the model."""
    if ranking is None or not model.shares_tastes:
        return ranking
    return dataclasses.replace(ranking, factors=scores)


def _with_ratings(model: Model, scores: Ordering, given: Ratings, side: Side) -> Model:
    """A model that scores by what users rated, with these ratings in place of theirs."""
    if side == "items":
        raise ParameterError(
            f"a {model.method} model links items that were rated together, and cannot take a new "
            "one: fit a new model"
        )
    users = Population.of(given.users, given.by_user)
    scores = dataclasses.replace(scores, stars=stars_by_user(given))
    return dataclasses.replace(model, scores=scores, users=users, ratings=given)
