"""How predictions and lists are judged: the metrics of a test part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tastemix.data.ids import Indices
from tastemix.data.plays import strengths
from tastemix.data.ratings import Ratings
from tastemix.evaluation import metrics
from tastemix.model.factors import Scores
from tastemix.model.model import Model
from tastemix.model.ordering import Ordering


@dataclass(frozen=True)
class Judge:
    """How predictions for a test part are judged; None is the default of `metrics.evaluate`."""

    relevant: float | None = None
    predicted: float | None = None
    at: int = 10
    raw: bool = False
    """Judge the bare products, neither clipped to the scale nor replaced for the unknown: the
    paper's protocol."""
    catalogue: bool = False
    """Also judge the best items of the whole catalogue: names start with `catalogue_`."""

    def __call__(
        self, scores: Scores, train: Ratings, test: Ratings, unclipped: Any
    ) -> dict[str, float]:
        """Every metric of unclipped predictions for the test part; errors are those after clipping
        unless `raw`, ranking always goes by what was not clipped. The catalogue goes by `scores`.
        """
        half, scale = test.by_user, test.scale
        found = metrics.evaluate(
            half.rows,
            half.values,
            unclipped if self.raw else unclipped.clip(*scale),
            score=unclipped,
            relevant=self.relevant,
            predicted=self.predicted,
            at=self.at,
            scale=scale,
        )
        if self.catalogue:
            for name, value in self.over_catalogue(scores, train, test).items():
                found[f"catalogue_{name}"] = value
        return found

    def over_catalogue(self, scores: Scores, train: Ratings, test: Ratings) -> dict[str, float]:
        """Precision, recall, NDCG, coverage and popularity of the best unrated items."""
        liked = metrics.inputs.relevant_from(self.relevant, test.scale)
        relevant = test.subset(test.by_user.values >= liked).by_user
        everyone = np.arange(len(train.users), dtype=np.int32)
        all_items = np.ones(len(train.items), np.uint8)
        best = scores.best(everyone, train.by_user, all_items, self.at)
        return metrics.evaluate_catalogue(
            best, relevant.pointers, relevant.indices, train.by_item.counts
        )


def of_model(
    model: Model,
    test: Ratings,
    *,
    relevant: float | None = None,
    predicted: float | None = None,
    at: int = 10,
) -> dict[str, float]:
    """See Model.evaluate."""
    if model.implicit:
        test, relevant = strengths(test), 0.0
    judge = Judge(relevant, predicted, at)
    half, train = test.by_user, model.ratings
    user = model.users.ids.find(test.users.values)[half.rows]
    item = model.items.ids.find(test.items.values)[half.indices]
    found: dict[str, float] = {}
    if not (model.implicit or isinstance(model.scores, Ordering)):
        unclipped = model.predict_numbers(user, item, clip=False)
        found = judge(model.ordering, test, replace(test, scale=model.scale), unclipped)
    if train is not None:
        new = _unrated(model, train, test, user, item)
        for name, value in judge.over_catalogue(model.ordering, train, new).items():
            found[f"catalogue_{name}"] = value
    return found


def _unrated(model: Model, train: Ratings, test: Ratings, user: Indices, item: Indices) -> Ratings:
    """The test ratings of users and items that the model knows, and of pairs it was not given."""
    items = len(model.items.ids)
    rated = train.by_user.rows.astype(np.int64) * items + train.by_user.indices
    asked = user.astype(np.int64) * items + item
    kept = (user >= 0) & (item >= 0) & ~np.isin(asked, rated)
    return Ratings.from_numbers(
        model.users.ids,
        model.items.ids,
        user[kept],
        item[kept],
        test.by_user.values[kept],
        model.scale,
    )
