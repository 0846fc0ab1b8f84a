"""What is known: the model, its tastes, items and users as they are, and the map."""

from __future__ import annotations

import numpy as np

from tastemix.data.ids import Indices
from tastemix.serve import shapes, tastemap
from tastemix.serve.prepared import Prepared

NEAR = 3
"""Related tastes that are shown beside a taste."""


def about(known: Prepared) -> shapes.About:
    """What is known about the model."""
    model = known.model
    return shapes.About(
        name=known.name,
        generation=known.generation,
        method=model.method,
        parameters=dict(model.parameters),
        users=len(model.users.ids),
        items=len(model.items.ids),
        ratings=None if model.ratings is None else len(model.ratings),
        tastes=0 if known.tastes is None else len(known.tastes.adds),
        low=model.scale[0],
        high=model.scale[1],
        mean=model.mean,
        kinds=shapes.Kinds(known.users.type, known.items.type),
        predicts=known.predicts,
        ranges=model.noise is not None,
        titled=known.titles.given,
        renames=known.labels.path is not None,
        compared=known.compared,
    )


def all_tastes(known: Prepared, n: int) -> shapes.Tastes:
    """Every taste with its n most typical items."""
    called = known.called()
    return shapes.Tastes(
        [_taste(known, at, top[:n], called) for at, top in enumerate(known.typical)]
    )


def taste(known: Prepared, number: int, n: int) -> shapes.Taste:
    """One taste with its n most typical items."""
    top = known.typical
    if not 1 <= number <= len(top):
        raise LookupError(f"there is no taste {number}: they go from 1 to {len(top)}")
    return _taste(known, number - 1, top[number - 1, :n], known.called())


def _taste(known: Prepared, at: int, top: Indices, called: list[str]) -> shapes.Taste:
    tastes = known.own_tastes
    weights = tastes.item_weights(known.model.factors.items[top])[:, at].tolist()
    typical = tastes.typical[top, at].tolist()
    near = [o for o in np.argsort(-known.alike[at], kind="stable").tolist() if o != at][:NEAR]
    return shapes.Taste(
        taste=at + 1,
        name=known.names[at],
        label=known.labels.read().get(at + 1),
        adds=float(tastes.adds[at]),
        items=[
            shapes.Typical(*told, weight, much)
            for told, weight, much in zip(known.told(top), weights, typical, strict=True)
        ],
        near=[shapes.Near(o + 1, called[o], float(known.alike[at, o])) for o in near],
    )


def rename(known: Prepared, number: int, label: str | None, n: int) -> shapes.Taste:
    """Give a taste a name by hand, or take it away."""
    taste(known, number, 1)
    known.labels.write(number, label)
    return taste(known, number, n)


def find_items(known: Prepared, query: str, after: int, n: int) -> shapes.Items:
    """Items by the beginnings of words in their titles."""
    numbers, more = known.item_finder.find(query, after, n)
    return shapes.Items([_item(known, at) for at in numbers.tolist()], _cursor(more))


def find_users(known: Prepared, query: str, after: int, n: int) -> shapes.Users:
    """Users by the beginnings of words in their ids."""
    numbers, more = known.user_finder.find(query, after, n)
    return shapes.Users([_user(known, at) for at in numbers.tolist()], _cursor(more))


def item(known: Prepared, number: int, n: int) -> shapes.ItemPage:
    """An item, its mix of tastes and the n who like it best."""
    base, mix = _item(known, number), list[shapes.Share]()
    if known.tastes is not None:
        weights = known.tastes.item_weights(known.model.factors.items[[number]])[0]
        mix = known.mix(weights, weights)
    return shapes.ItemPage(
        base.id,
        base.title,
        base.ratings,
        base.mean,
        words=known.titles.words(number),
        tastes=mix,
        likers=_likers(known, number, n),
    )


def _likers(known: Prepared, number: int, n: int) -> list[shapes.Rater] | None:
    if known.model.ratings is None:
        return None
    who, stars = known.model.ratings.by_item.row(number)
    if len(stars) > n:
        enough = stars >= np.partition(stars, -n)[-n]
        who, stars = who[enough], stars[enough]
    best = np.lexsort((known.model.users.mean[who], -stars))[:n]
    means = known.model.users.mean[who[best]].tolist()
    told = zip(known.users.shown(who[best]), stars[best].tolist(), means, strict=True)
    return [shapes.Rater(user, rating, mean) for user, rating, mean in told]


def similar(known: Prepared, number: int, n: int) -> shapes.Similar:
    """The n items with the most similar mix of tastes."""
    model = known.model
    found = model.item_directions.like(model.factors.items[number], n, number)
    numbers = model.items.ids.find(found["item"].to_pylist())
    told = zip(known.told(numbers), found["similarity"].to_pylist(), strict=True)
    return shapes.Similar([shapes.Alike(*one, much) for one, much in told])


def user(known: Prepared, number: int, n: int) -> shapes.UserPage:
    """A user, their mix of tastes and the n items they rated highest."""
    base, mix, rated = _user(known, number), list[shapes.Share](), None
    if known.tastes is not None:
        mix = known.person_mix(known.model.factors.users[number])
    if known.model.ratings is not None:
        items, stars = known.model.ratings.by_user.row(number)
        best = np.lexsort((-known.model.items.count[items], -stars))[:n]
        told = zip(known.told(items[best]), stars[best].tolist(), strict=True)
        rated = [shapes.Rated(*one, rating) for one, rating in told]
    return shapes.UserPage(base.id, base.ratings, base.mean, mix, rated)


def map_of(known: Prepared, n: int) -> shapes.Map:
    """The tastes and the n most rated items on a map."""
    tastes, where, called = known.own_tastes, known.map_places, known.called()
    numbers, _ = known.item_finder.find("", 0, n)
    found, main = tastemap.points(tastes, numbers, where)
    counts = known.model.items.count[numbers].tolist()
    items = [
        shapes.Point(*one, taste + 1, x, y, count)
        for one, taste, (x, y), count in zip(
            known.told(numbers), main.tolist(), found.round(4).tolist(), counts, strict=True
        )
    ]
    spots = zip(called, where.round(4).tolist(), strict=True)
    return shapes.Map(
        [shapes.Place(at, name, x, y) for at, (name, (x, y)) in enumerate(spots, 1)], items
    )


def _item(known: Prepared, number: int) -> shapes.Item:
    items = known.model.items
    mean = float(items.mean[number])
    return shapes.Item(
        known.items.one(number),
        known.titles.title(number),
        int(items.count[number]),
        None if mean != mean else mean,
    )


def _user(known: Prepared, number: int) -> shapes.User:
    users = known.model.users
    mean = float(users.mean[number])
    return shapes.User(
        known.users.one(number), int(users.count[number]), None if mean != mean else mean
    )


def _cursor(more: int | None) -> str | None:
    return None if more is None else str(more)
