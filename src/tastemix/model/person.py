"""What was folded in: a new person, a new item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tastemix.data.ids import single
from tastemix.model.factors import Floats
from tastemix.model.fold_in import NEW

if TYPE_CHECKING:
    from tastemix.model.model import Model


@dataclass(frozen=True, eq=False)
class Person:
    """Someone who was folded in."""

    model: Model
    """A model of this one person."""

    @property
    def weights(self) -> Floats:
        """How much of each taste there is."""
        return np.asarray(self.model.factors.users[0], np.float64)

    def predict(self, items: Any, **options: Any) -> Any:
        """As Model.predict, for this person and these items, or this one."""
        return self.model.predict(NEW if single(items) else [NEW] * len(items), items, **options)

    def recommend(self, n: int = 10, **options: Any) -> pa.Table:
        """As Model.recommend, for this person; what they rated is left out."""
        return self.model.recommend(NEW, n, **options)

    def explain(self, item: Any, **options: Any) -> pa.Table:
        """As Model.explain, for this person."""
        return self.model.explain(NEW, item, **options)


@dataclass(frozen=True, eq=False)
class NewItem:
    """An item that was folded in."""

    origin: Model
    model: Model
    """A model of this one item."""

    @property
    def weights(self) -> Floats:
        """How much of each taste it has."""
        return np.asarray(self.model.factors.items[0], np.float64)

    def predict(self, users: Any, **options: Any) -> Any:
        """As Model.predict, for this item and these users, or this one."""
        return self.model.predict(users, NEW if single(users) else [NEW] * len(users), **options)

    def similar(self, n: int = 5) -> pa.Table:
        """The n known items with the most similar mix of tastes; see Model.similar."""
        return self.origin.item_directions.like(self.model.factors.items[0], n)
