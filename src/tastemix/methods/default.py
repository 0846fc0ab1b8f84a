"""The default method."""

from __future__ import annotations

from typing import Any

from tastemix.data.ratings import Duplicates, Ratings, Scale, as_ratings
from tastemix.methods.anmf import ANMF
from tastemix.model.model import Model


def default_method(ratings: Ratings) -> ANMF:
    """The method `fit` uses."""
    return ANMF().tuned_for(ratings)


def fit(
    data: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates | None = None,
    **options: Any,
) -> Model:
    """Fit the default method with settings that suit the ratings; see `ANMF.fit` for more options.

    data: ratings, or a table, a path or a sparse matrix to read them from.
    user, item, rating, scale, duplicates: how to read it, as in `Ratings.from_table`.
    """
    ratings = as_ratings(
        data, user=user, item=item, rating=rating, scale=scale, duplicates=duplicates
    )
    return default_method(ratings).fit(ratings, **options)
