"""A new user, and a new item, that were folded in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tastemix.data.ids import single
from tastemix.model.factors import Floats
from tastemix.model.fold_in import NEW

if TYPE_CHECKING:
    from tastemix.model.model import Model


@dataclass(frozen=True, eq=False)
class Person:
    """A user who was folded in; see `Model.fold_in`."""

    model: Model
    """A model with this user only."""

    @property
    def weights(self) -> Floats:
        """The weight of the user in each taste: that of the mean user is 1."""
        return self.model.tastes_of("rating").user_weights(self.model.factors.users[0])

    def predict(self, items: Any, **options: Any) -> Any:
        """The predicted ratings of items, or of one item; see Model.predict."""
        return self.model.predict(NEW if single(items) else [NEW] * len(items), items, **options)

    def recommend(self, n: int = 10, **options: Any) -> pa.Table:
        """The n best items, without those the user rated; see Model.recommend."""
        return self.model.recommend(NEW, n, **options)

    def explain(self, item: Any, **options: Any) -> pa.Table:
        """The parts of a prediction; see Model.explain."""
        return self.model.explain(NEW, item, **options)


@dataclass(frozen=True, eq=False)
class NewItem:
    """An item that was folded in; see `Model.fold_in_item`."""

    origin: Model
    model: Model
    """A model with this item only."""

    @property
    def weights(self) -> Floats:
        """The weight of the item in each taste: what it adds for the mean user."""
        weights: Floats = self.model.tastes_of("rating").item_weights(self.model.factors.items)[0]
        return weights

    def predict(self, users: Any, **options: Any) -> Any:
        """The predicted ratings by users, or by one user; see Model.predict."""
        return self.model.predict(users, NEW if single(users) else [NEW] * len(users), **options)

    def similar(self, n: int = 5) -> pa.Table:
        """The n known items with the most similar mix of tastes; see Model.similar."""
        return self.origin.item_directions.like(self.model.factors.items[0], n)
