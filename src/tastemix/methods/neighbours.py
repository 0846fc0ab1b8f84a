"""Neighbours: an item is scored by those of the items a user rated that speak for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings
from tastemix.engine import placed_by
from tastemix.engine.base import Engine, Placed
from tastemix.engine.neighbours import Linking, Settings, neighbours_in
from tastemix.errors import DataError
from tastemix.methods.validation import Validation
from tastemix.model.links import Links, stars_by_user, stars_on
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.model.ordering import by_links

TRIED = (0.3, 3.0, 30.0, 300.0)
"""Penalties that `tuned_for` tries."""


@dataclass(frozen=True)
class Neighbours:
    """Nonnegative weights between items: s_ui = Σ_j a_uj w_ji over the items j that u rated.

    a_uj are the ratings as stars from 1 to 5, zero where there is none. The weights of an item are
    those that give its ratings from the other items, by least squares over w ≥ 0. `l2` is the
    penalty on a weight, in ratings of average square; `l2_per_rating` adds to it for every rating
    of the item that speaks; `l1` is the penalty on the sum, in the same unit. Only the `candidates`
    items that would gain most by themselves are considered for an item.
    """

    l2: float = 30.0
    l2_per_rating: float = 1.0
    l1: float = 0.0
    candidates: int = 400
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("l2", "l2_per_rating", "l1", "tolerance"):
            checks.number(name, getattr(self, name), least=0)
        checks.whole("candidates", self.candidates)

    def tuned_for(self, ratings: Ratings) -> Neighbours:
        """With the `l2` that gave the best lists on a part of the ratings that was held back."""
        validation = Validation(ratings)
        if len(validation.users) == 0:
            return self
        tried = [replace(self, l2=l2) for l2 in TRIED]
        hits = [validation.hits(method.fit(validation.learning).ordering) for method in tried]
        return tried[int(np.argmax(hits))]

    def links(self, ratings: Ratings, placed: Placed | None = None) -> Links:
        """The weights between the items of these ratings, found where they are placed, if so."""
        settings = Settings(
            *(self.l2, self.l2_per_rating, self.l1, self.candidates, self.tolerance)
        )
        stars = stars_on(ratings.scale)
        half = placed.neighbours(settings, stars) if isinstance(placed, Linking) else None
        return Links(neighbours_in(ratings, settings, stars) if half is None else half)

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings. All engines give the same, but for rounding."""
        if len(ratings) == 0:
            raise DataError(NOTHING_TO_LEARN)
        with placed_by(engine, ratings) as placed:
            links = self.links(ratings, placed)
        return Model.of(self, by_links(links, stars_by_user(ratings)), ratings)
