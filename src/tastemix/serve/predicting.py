"""What is computed for a person: recommendations, predictions, explanations, someone new."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, starmap
from typing import Any

import numpy as np

from tastemix.data.ids import Indices
from tastemix.data.ratings import Half
from tastemix.errors import ParameterError
from tastemix.model import topn
from tastemix.model.explain import Part
from tastemix.model.model import Model, Of
from tastemix.model.uncertainty import placed_on
from tastemix.serve import shapes
from tastemix.serve.prepared import Prepared, nothing_seen

WITHOUT_RATINGS = "this model was saved without its ratings: add include_seen=true"


def recommend(
    known: Prepared, number: int, n: int, *, parts: bool = False, include_seen: bool = False
) -> shapes.Recommendations:
    """The n best items for a user."""
    seen = nothing_seen() if include_seen else _seen(known, number)
    items = _best(known, known.model, number, n, seen, parts=parts)
    return shapes.Recommendations(known.users.one(number), items)


def _seen(known: Prepared, number: int) -> Half:
    if known.model.ratings is None:
        raise ParameterError(WITHOUT_RATINGS)
    return topn.chosen(known.model.ratings.by_user, np.array([number], np.int32))


def _best(
    known: Prepared, model: Model, number: int, n: int, seen: Half, *, parts: bool = False
) -> list[shapes.Recommended]:
    """The n best items for a user of the model, or of one that someone was folded into."""
    most = min(n, len(model.items.ids))
    asked = np.array([number], np.int32)
    lists, scored = model.ordering.best_scored(asked, seen, None, most)
    best = lists[lists >= 0]
    users = np.full(len(best), number, np.int32)
    told, scores = known.told(best), scored[0, : len(best)].tolist()
    if not known.predicts:
        pairs = zip(told, scores, strict=True)
        return [shapes.Recommended(*one, score, None) for one, score in pairs]
    predicted = model.predict_numbers(users, best)
    ratings: list[Any] = predicted.tolist()
    if not parts:
        plain = zip(told, scores, ratings, strict=True)
        return [shapes.Recommended(*one, score, rating) for one, score, rating in plain]
    bars: Sequence[shapes.Bar | None] = [None] * len(best)
    if known.tastes is not None:
        of_these = known.bars if model is known.model else known.new_bars
        bars = of_these.of(model.factors.users[number], best)
    full = zip(told, scores, ratings, _std(known, model, users, best, predicted), bars, strict=True)
    return [shapes.Recommended(*one, *rest) for one, *rest in full]


def _std(
    known: Prepared, model: Model, users: Indices, items: Indices, predicted: Any
) -> list[Any]:
    """The standard deviation of each rating; None where the model knows none."""
    if model.noise is None:
        return [None] * len(items)
    counts, place = (model.users.count, model.items.count), placed_on(predicted, model.scale)
    return list(model.noise.std(users, items, counts, place).tolist())


def explain(known: Prepared, user: int, item: int, of: Of) -> shapes.Explanation:
    """The parts of a predicted rating or of a score."""
    model = known.model
    found = model.explain_numbers(user, item, of=of)
    called = _called(known, of) if any(part.kind == "taste" for part in found) else []
    because = np.array([number for part in found for number in part.because], np.int32)
    titled = starmap(shapes.Titled, known.told(because))
    parts = [_part(part, called, list(islice(titled, len(part.because)))) for part in found]
    pair = np.array([user], np.int32), np.array([item], np.int32)
    rating = std = None
    if known.predicts:
        predicted = model.predict_numbers(*pair)
        rating, std = float(predicted[0]), _std(known, model, *pair, predicted)[0]
    return shapes.Explanation(
        user=known.users.one(user),
        item=known.items.one(item),
        title=known.titles.title(item),
        of=of,
        total=sum(part.value for part in parts),
        rating=rating,
        std=std,
        parts=parts,
    )


def _called(known: Prepared, of: Of) -> list[str]:
    """What the tastes behind the ratings or the scores are called."""
    tastes = known.model.tastes_of(of)
    return known.called() if tastes is known.tastes else tastes.names()


def predict(known: Prepared, asked: shapes.Pairs) -> shapes.Predictions:
    """The predicted ratings of pairs; unknown ids are predicted as the model does."""
    if len(asked.users) != len(asked.items):
        raise ParameterError(
            f"there are {len(asked.users):,} users but {len(asked.items):,} items: "
            "give one item per user"
        )
    users = np.array([known.users.find(value) for value in asked.users], np.int32)
    items = np.array([known.items.find(value) for value in asked.items], np.int32)
    ratings = known.model.predict_numbers(users, items)
    if not asked.std:
        return shapes.Predictions(ratings.tolist())
    if known.model.noise is None:
        raise ParameterError(f"a {known.model.method} model has no standard deviations")
    return shapes.Predictions(ratings.tolist(), _std(known, known.model, users, items, ratings))


def person(known: Prepared, asked: shapes.NewPerson) -> shapes.PersonPage:
    """Someone new, folded in: their mix of tastes and the n best items."""
    if not asked.ratings:
        raise ParameterError("there are no ratings: give at least one")
    items = [known.items.number(one.item) for one in asked.ratings]
    if len(set(items)) < len(items):
        raise ParameterError("an item is rated twice: give each item once")
    new = known.model.fold_in_numbers(items, [one.rating for one in asked.ratings]).model
    assert new.ratings is not None
    best = _best(known, new, 0, asked.n, new.ratings.by_user, parts=asked.parts)
    mix = [] if known.tastes is None else known.person_mix(new.factors.users[0])
    return shapes.PersonPage(mix, best)


def batch(known: Prepared, asked: shapes.Asked) -> shapes.Batch:
    """The best items for each of several users."""
    numbers = [known.users.number(value) for value in asked.users]
    return shapes.Batch([recommend(known, number, asked.n) for number in numbers])


def _part(part: Part, called: list[str], because: list[shapes.Titled]) -> shapes.Part:
    """A part of `Model.explain`, by the names of the tastes and the titles of items."""
    taste, name = None, str(part.kind)
    if part.kind == "taste" and part.number is not None:
        taste, name = part.number, called[part.number - 1]
    elif part.kind == "rated":
        name = because[0].title
    weights = part.user_weight, part.item_weight
    return shapes.Part(part.kind, taste, name, part.value, *weights, because)
