"""The ten best items out of the whole catalogue, beside EASE on the stars.

python benchmarks/topn.py [--quick] [set ...]

Five folds of MovieLens 1M, 100K and a tenth of MovieLens 1M drawn at random, and one fold of Fine
Foods. Relevant are held-out items of 4 stars and more. EASE (Steck, 2019) is fitted to the stars.
Its λ is the best on a tenth of the training part: it is multiplied or divided by 10^½ for as long
as that helps. Ours has its own settings. Results of the sets that are named replace those in
docs/beyond/topn.json; those of EASE, which takes long, are kept unless --again is said. --quick:
the first fold alone.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import csr_array

import tastemix as tm
from peers import pages
from tastemix.data.splits import fold
from tastemix.model.topn import best_items, chosen

DOCS = Path(__file__).resolve().parents[1] / "docs" / "beyond"
N, RELEVANT = 10, 4.0
FIRST = {"ml-1m": 1000.0, "ml-100k": 300.0, "thinned": 3000.0, "finefoods-users6plus": 10.0}
TITLES = {
    "ml-1m": "MovieLens 1M",
    "ml-100k": "MovieLens 100K",
    "thinned": "MovieLens 1M, a tenth",
    "finefoods-users6plus": "Fine Foods",
}
FOLDS = {"ml-1m": 5, "ml-100k": 5, "thinned": 5, "finefoods-users6plus": 1}
EASE = "EASE on stars, λ tuned"
SPACING, MOST_TRIED = math.sqrt(10), 8


def data(name: str) -> tm.Ratings:
    if name == "thinned":
        ratings = data("ml-1m")
        return tm.holdout(ratings, 0.1).test
    path = pages.movielens().with_name(f"{name}.parquet")
    return tm.read(path, scale=(1, 5), duplicates="last")


class Judge:
    """P@10 and NDCG@10 over the whole catalogue."""

    def __init__(self, train: tm.Ratings, test: tm.Ratings) -> None:
        liked = test.subset(test.by_user.values >= RELEVANT).by_user
        self.users = np.flatnonzero(liked.counts).astype(np.int32)
        self.seen, self.liked = chosen(train.by_user, self.users), chosen(liked, self.users)
        self.counts = train.by_item.counts

    def __call__(self, best: Any) -> dict[str, float]:
        """best(users, seen): the lists."""
        pointers = self.liked.pointers - self.liked.pointers[0]
        items = self.liked.indices[self.liked.pointers[0] : self.liked.pointers[-1]]
        found = tm.metrics.evaluate_catalogue(
            best(self.users, self.seen), pointers, items, self.counts
        )
        return {name: found[name] for name in (f"precision_at_{N}", f"ndcg_at_{N}", "coverage")}

    def of(self, model: tm.Model) -> dict[str, float]:
        return self(lambda users, seen: model.ordering.best(users, seen, None, N))


class Ease:
    """B = I − P / diag(P), P = (XᵀX + λI)⁻¹, by items or, where these are more, by users."""

    def __init__(self, ratings: tm.Ratings) -> None:
        half, shape = ratings.by_user, (len(ratings.users), len(ratings.items))
        self.x = csr_array((half.values, half.indices, half.pointers), shape=shape)
        self.square = float(np.square(half.values, dtype=np.float64).mean())
        self.by_user = shape[1] > 10_000

    def scores(self, times: float) -> Any:
        """users → their scores for all items, at λ so many times the mean square of a rating."""
        ridge = times * self.square
        if not self.by_user:
            gram = (self.x.T @ self.x).toarray().astype(np.float64)
            inverse = _inverse(gram, ridge)
            weights = inverse / -np.diag(inverse)
            np.fill_diagonal(weights, 0)
            weights = weights.astype(np.float32)
            return lambda users: self.x[users] @ weights
        inverse = _inverse((self.x @ self.x.T).toarray(), ridge)
        # XP = K⁻¹X with K = XXᵀ + λI, and P_ii = (1 − x_i·K⁻¹x_i) / λ.
        products = np.ascontiguousarray((self.x.T @ inverse).T)
        entries = self.x.tocoo()
        own = entries.data * products[entries.coords]
        diagonal = (1 - np.bincount(entries.coords[1], own, self.x.shape[1])) / ridge
        products /= -diagonal.astype(np.float32)
        return lambda users: products[users]

    def lists(self, times: float) -> Any:
        scores = self.scores(times)
        return lambda users, seen: best_items(scores, users, seen, None, N)


def _inverse(gram: Any, ridge: float) -> Any:
    """Of a symmetric positive matrix, in its place."""
    gram[np.diag_indices_from(gram)] += ridge
    factor, failed = linalg.lapack.get_lapack_funcs("potrf", (gram,))(gram, overwrite_a=True)
    inverse, wrong = linalg.lapack.get_lapack_funcs("potri", (factor,))(factor, overwrite_c=True)
    if failed or wrong:
        raise SystemExit("EASE has no inverse")
    upper = np.triu(inverse)
    return upper + np.triu(upper, 1).T


def tuned(name: str, train: tm.Ratings) -> tuple[float, dict[float, float]]:
    """The λ with the best lists, and all that were tried."""
    learning, later = tm.holdout(train, 0.1, seed=1)
    judge, ease = Judge(learning, later), Ease(learning)
    found: dict[float, float] = {}

    def precision(times: float) -> float:
        times = float(f"{times:.3g}")
        if times not in found:
            found[times] = judge(ease.lists(times))[f"precision_at_{N}"]
        return found[times]

    best = FIRST[name]
    for step in (SPACING, 1 / SPACING):
        while len(found) < MOST_TRIED and precision(best * step) > precision(best):
            best = float(f"{best * step:.3g}")
    return best, found


def entries(
    judge: Judge, train: tm.Ratings, model: tm.Model
) -> Iterator[tuple[str, dict[str, float]]]:
    yield "Popular", judge.of(tm.Popular().fit(train))
    tastes = model.ranking.factors
    yield (
        "tastes of `tm.fit` alone",
        judge(lambda users, seen: tastes.best(users, seen, None, N)),
    )
    yield "`Neighbours()`", judge.of(tm.Neighbours().fit(train))
    yield "**`tm.fit`**", judge.of(model)


def measure(name: str, quick: bool, known: dict[str, Any] | None) -> dict[str, Any]:
    """known: what there is of EASE."""
    rows: dict[str, list[dict[str, float]]] = {"Popular": [], EASE: []}
    penalties, weights = [], []
    ratings = data(name)
    for number in range(1 if quick else FOLDS[name]):
        train, test = fold(ratings, number)
        judge = Judge(train, test)
        if known is None or number >= len(known["ease"]):
            penalty, tried = tuned(name, train)
            penalties.append({"best": penalty, "tried": tried})
            rows[EASE].append(judge(Ease(train).lists(penalty)))
        else:
            penalties.append(known["ease"][number])
            rows[EASE].append(known["rows"][EASE][number])
        print(name, number, EASE, rows[EASE][-1], flush=True)
        model = tm.fit(train)
        weights.append(model.ranking.weights._asdict())
        for entry, found in entries(judge, train, model):
            rows.setdefault(entry, []).append(found)
            print(name, number, entry, found, flush=True)
    return {"rows": rows, "ease": penalties, "weights": weights}


def text(measured: dict[str, Any]) -> str:
    there = [name for name in TITLES if name in measured]
    rows = []
    for entry in measured[there[0]]["rows"]:
        means = (
            np.mean([row[f"precision_at_{N}"] for row in measured[name]["rows"][entry]])
            for name in there
        )
        rows.append([entry, *(f"{mean:.4f}" for mean in means)])
    folds = [f"{TITLES[n]} ({len(measured[n]['ease'])})" for n in there]
    return "P@10 over the whole catalogue, in brackets the number of folds:\n\n" + pages.table(
        ["method", *folds], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", choices=[*TITLES, []], default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    path = DOCS / "topn.json"
    measured = json.loads(path.read_text()) if path.exists() else {}
    for name in options.sets or TITLES:
        known = None if options.again else measured.get(name)
        measured[name] = measure(name, options.quick, known)
        path.write_text(json.dumps(measured, indent=1) + "\n")
        path.with_suffix(".md").write_text(text(measured))
    print(text(measured))


if __name__ == "__main__":
    main()
