"""The default method."""

from __future__ import annotations

from typing import Any, get_args

from tastemix.data.plays import Feedback, as_plays, as_rated, refuse_plays
from tastemix.data.ratings import Duplicates, Scale
from tastemix.data.reading_items import as_items
from tastemix.errors import ParameterError
from tastemix.methods.cnmf import CNMF
from tastemix.methods.implicit import Implicit
from tastemix.model.model import Model
from tastemix.training.progress import Progress, wanted


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
    feedback: Feedback | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Model:
    """Fit the default method, CNMF, which finds its own settings; see `CNMF.fit` for more options.

    data: ratings, or a table, a path or a sparse matrix to read them from.
    user, item, rating, scale, duplicates: how to read it, as in `Ratings.from_table`.
    items: titles and attributes for the model, as in `Model.label`.
    feedback: "implicit" for plays and clicks, which `Implicit` is fitted to; without a column of
        ratings every row is one. Ratings that look like these are refused, unless it is "explicit".
    progress: whether to show how far the fit is, once it has taken two seconds; by default in a
        terminal and in a notebook.
    """
    if feedback not in (None, *get_args(Feedback)):
        raise ParameterError(f"feedback is {feedback!r}: choose 'explicit' or 'implicit'")
    implicit = feedback == "implicit"
    known = None if items is None else as_items(items)  # before the fit, which may take long
    ratings = (as_plays if implicit else as_rated)(
        data, user=user, item=item, rating=rating, scale=scale, duplicates=duplicates
    )
    if feedback is None:
        refuse_plays(ratings)
    if known is not None:
        known = known.over(ratings.items)
    method: Implicit | CNMF = Implicit() if implicit else default_method()
    if wanted(progress):
        shown = Progress(method.total_steps, options.pop("on_step", None))
        try:
            model = method.fit(ratings, on_step=shown, **options)
        finally:
            shown.end()
    else:
        model = method.fit(ratings, **options)
    return model if known is None else model.label(known)
