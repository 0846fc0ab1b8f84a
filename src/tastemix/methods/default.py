"""The default method."""

from __future__ import annotations

from typing import Any

from tastemix.data.ratings import Duplicates, Scale, as_ratings
from tastemix.data.reading_items import as_items
from tastemix.methods.cnmf import CNMF
from tastemix.model.model import Model


def default_method() -> CNMF:
    """The method `fit` uses."""
    return CNMF()


def fit(
    data: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates | None = None,
    items: Any = None,
    **options: Any,
) -> Model:
    """Fit the default method, CNMF, which finds its own settings; see `CNMF.fit` for more options.

    data: ratings, or a table, a path or a sparse matrix to read them from.
    user, item, rating, scale, duplicates: how to read it, as in `Ratings.from_table`.
    items: titles and attributes for the model, as in `Model.label`.
    """
    known = None if items is None else as_items(items)  # before the fit, which may take long
    ratings = as_ratings(
        data, user=user, item=item, rating=rating, scale=scale, duplicates=duplicates
    )
    model = default_method().fit(ratings, **options)
    return model if known is None else model.label(known)
