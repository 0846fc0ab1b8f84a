"""Accuracy and readability side by side: can a person read the model that predicts best?

python benchmarks/readable.py            MovieLens 100K and 1M, one split, three seeds each

Of the 15 top items of every taste (`model.tastes`):
    genres       mean cosine of their idf-weighted genres, over pairs of items
    co-liking    NPMI of pairs: how much more often than by chance held-out people like both
Of predictions of liked held-out items (relevant from ¾ of the scale):
    parts        tastes needed for 80 % of what tastes add, the median
    baseline     share of the prediction that no taste adds
    agreement    cosine of tastes matched between two seeds, the mean

Results land in docs/beyond/readable.json and readable.md.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import tastemix as tm
from beyond import DOCS, rmse
from peers import pages

TOP = 15
POPULAR = 1000
SAMPLE = 3000
SEEDS = (0, 1, 2)
METHODS = {
    "RNMF(6)": tm.RNMF(6),
    "MIXD(10)": tm.MIXD(10),
    "ANMF, the mean of 8": tm.ANMF(ranking=0),
    "ANMF, one fit": tm.ANMF(members=1, ranking=0),
    "CNMF, rank 12": tm.CNMF(rank=12, ranking=0),
    "CNMF": tm.CNMF(ranking=0),
    "CNMF, the mean of 3": tm.CNMF(members=3, ranking=0),
}


class Readability:
    """What the tastes of models of one data set are judged by."""

    def __init__(self, name: str) -> None:
        ratings = tm.datasets.load(name)
        self.train, self.test = tm.holdout(ratings)
        self.genres = unit_genres(name, ratings)
        low, high = ratings.scale
        liked = self.test.by_user.values >= low + 0.75 * (high - low)
        self.user, self.item = self.test.by_user.rows[liked], self.test.by_user.indices[liked]
        shape = len(ratings.users), len(ratings.items)
        self.liked = sp.csc_array((np.ones(len(self.user)), (self.user, self.item)), shape=shape)

    def measured(self, method: Any) -> dict[str, float]:
        """The figures of a method: the mean over seeds."""
        models = [replace(method, seed=seed).fit(self.train) for seed in SEEDS]
        each = [self.of(model) for model in models]
        found = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        pairs = itertools.combinations([tastes(model) for model in models], 2)
        found["agreement"] = float(np.mean([agreement(one, other) for one, other in pairs]))
        return found

    def of(self, model: tm.Model) -> dict[str, float]:
        half = self.test.by_user
        predicted = model.predict_numbers(half.rows, half.indices)
        tops = top_items(model)
        some = np.random.default_rng(0).choice(len(self.user), min(SAMPLE, len(self.user)), False)
        parts, baseline = self.parts(model, self.user[some], self.item[some])
        return {
            "rmse": rmse(predicted - half.values),
            "genres": float(np.mean([cosines(self.genres[top]) for top in tops])),
            "co-liking": float(np.mean([self.npmi(top) for top in tops])),
            "parts": parts,
            "baseline": baseline,
        }

    def parts(self, model: tm.Model, user: np.ndarray, item: np.ndarray) -> tuple[float, float]:
        factors = model.factors
        products = (factors.users[user] * factors.items[item])[:, factors.tastes]
        values = products.sum(axis=2) / factors.members
        ordered = -np.sort(-values, axis=1)
        total = ordered.sum(axis=1)
        needed = (np.cumsum(ordered, axis=1) < 0.8 * total[:, None]).sum(axis=1) + 1
        raw = factors.pairs(user.astype(np.int32), item.astype(np.int32))
        return float(np.median(needed)), float(np.mean(1 - total / np.maximum(raw, 1e-9)))

    def npmi(self, top: np.ndarray) -> float:
        """Mean normalised pointwise mutual information over pairs of items."""
        both = (self.liked[:, top].T @ self.liked[:, top]).toarray() / self.liked.shape[0]
        alone = np.diag(both)
        one, other = np.triu_indices(len(top), 1)
        joint = both[one, other]
        seen = joint > 0
        found = np.full(len(joint), -1.0)
        chance = np.log(joint[seen] / (alone[one] * alone[other])[seen])
        found[seen] = chance / -np.log(joint[seen])
        return float(found.mean())

    def by_chance(self) -> float:
        """The genre coherence of popular items."""
        popular = np.argsort(-self.train.by_item.counts)[:POPULAR]
        return cosines(self.genres[popular])


def unit_genres(name: str, ratings: tm.Ratings) -> np.ndarray:
    """A row per item: its genres, weighted by idf, of length one."""
    table = pq.read_table(pages.movielens().with_name(f"{name}-items.parquet"))
    names = dict(zip(table["id"].to_pylist(), table["genres"].to_pylist(), strict=True))
    listed = [names[item].split("|") for item in ratings.items.values.to_pylist()]
    every = sorted(set(itertools.chain.from_iterable(listed)))
    has = np.array([[genre in genres for genre in every] for genres in listed], float)
    weighted = has * np.log(len(has) / has.sum(axis=0))
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    return weighted / np.maximum(length, 1e-12)


def cosines(rows: np.ndarray) -> float:
    """The mean cosine over pairs of rows of length one."""
    return float((rows @ rows.T)[np.triu_indices(len(rows), 1)].mean())


def top_items(model: tm.Model) -> np.ndarray:
    listed = model.tastes(n=TOP)
    numbers = model.items.ids.find(listed["item"])
    return numbers.reshape(-1, TOP)


def tastes(model: tm.Model) -> np.ndarray:
    """A column of length one per taste."""
    rows = model.factors.items[:, model.factors.tastes].mean(axis=2)
    return rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-12)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """The mean cosine of tastes, each matched with one of the other fit."""
    cosine = one.T @ other
    return float(cosine[linear_sum_assignment(cosine, maximize=True)].mean())


def main() -> None:
    measured: dict[str, Any] = {}
    text = ""
    for name, title in (("ml-100k", "MovieLens 100K"), ("ml-1m", "MovieLens 1M")):
        judge = Readability(name)
        rows = []
        for label, method in METHODS.items():
            tuned = method
            if name == "ml-100k" and hasattr(method, "tuned_for") and "rank" not in label:
                tuned = method.tuned_for(judge.train)
            found = judge.measured(tuned)
            measured[f"{title}, {label}"] = found
            figures = [f"{found[key]:.{4 if key == 'rmse' else 2}f}" for key in found]
            rows.append([label, *figures])
            print(rows[-1], flush=True)
        header = [title, "RMSE", "genres", "co-liking", "parts", "baseline", "agreement"]
        chance = f"Popular items by chance: genres {judge.by_chance():.2f}.\n\n"
        text += pages.table(header, rows) + "\n" + chance
    pages.write(DOCS, "readable", measured, text.rstrip() + "\n")


if __name__ == "__main__":
    main()
