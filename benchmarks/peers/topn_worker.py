"""Top-10 lists of all users by one recommender, for each of some settings.

Job: recommender, train (a file of isolated.save), users, items, settings, repeats, lists (the file
to write). Result: per setting the seconds of the fit and of the lists; the file holds an array
(settings, users, 10) of item numbers, -1 where there is none. Items of the training part are left
out, whichever of its ratings a setting learns from (`liked`: the least that counts).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import isolated
import numpy as np

N, LONG = 10, 10.0
Parts = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]
"""How to fit, how to list the best of everyone with what was fitted, and these as an array."""


class Train:
    """The ratings to learn from, over all users and items."""

    def __init__(self, path: str, users: int, items: int) -> None:
        self.user, self.item, self.rating = isolated.load(path)
        self.users, self.items = users, items

    def ones(self, liked: float) -> Any:
        """A sparse matrix with 1 for every rating that counts."""
        from scipy.sparse import csr_matrix

        there = self.rating >= liked
        entries = np.ones(there.sum(), np.float32), (self.user[there], self.item[there])
        return csr_matrix(entries, shape=(self.users, self.items))


def with_tastemix(train: Train, setting: dict[str, Any]) -> Parts:
    import tastemix as tm

    ratings = tm.Ratings.from_arrays(train.user, train.item, train.rating, scale=(1, 5))
    everyone = ratings.users.values

    def fit() -> Any:
        options = dict(setting)
        method = options.pop("method")
        return tm.fit(ratings) if method == "fit" else getattr(tm, method)(**options).fit(ratings)

    def lists(table: Any) -> Any:
        found = np.full((train.users, N), -1, np.int32)
        found[everyone.to_numpy()] = table["item"].to_numpy().reshape(-1, N)
        return found

    return fit, lambda model: model.recommend(everyone, N), lists


def with_implicit(train: Train, setting: dict[str, Any]) -> Parts:
    """Its own threads, and one of BLAS, as it asks for: more would slow it down."""
    from implicit.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits

    options = dict(setting)
    matrix, seen = train.ones(options.pop("liked")), train.ones(0)
    everyone = np.arange(train.users)

    def fit() -> Any:
        with threadpool_limits(1, "blas"):
            model = AlternatingLeastSquares(**options, num_threads=isolated.THREADS, random_state=0)
            model.fit(matrix, show_progress=False)
        return model

    def best(model: Any) -> Any:
        with threadpool_limits(1, "blas"):
            return model.recommend(everyone, seen, N)[0]

    return fit, best, lambda lists: lists


def with_cornac(train: Train, setting: dict[str, Any]) -> Parts:
    from cornac.data import Dataset
    from cornac.models import BPR

    options = dict(setting)
    there = train.rating >= options.pop("liked")
    triples = np.array(
        list(zip(train.user.tolist(), train.item.tolist(), train.rating.tolist(), strict=True)),
        dtype=object,
    )
    liked = Dataset.build(list(map(tuple, triples[there])))
    names = dict(liked.uid_map), dict(liked.iid_map)
    seen = Dataset.build(list(map(tuple, triples)), "UIR", *names, exclude_unknowns=True)

    def fit() -> Any:
        # A seed would leave it one thread.
        return BPR(**options, num_threads=isolated.THREADS).fit(liked)

    def best(model: Any) -> Any:
        return {user: model.recommend(user, N, True, seen) for user in liked.uid_map}

    def lists(of_user: Any) -> Any:
        found = np.full((train.users, N), -1, np.int32)
        for user, items in of_user.items():
            found[user, : len(items)] = items
        return found

    return fit, best, lists


def with_ease(train: Train, setting: dict[str, Any]) -> Parts:
    """The item-item regression without self-similarity, in closed form.

    B = I − P / diag(P) with P = (XᵀX + λI)⁻¹ (Steck, 2019).
    """
    matrix, seen = train.ones(setting["liked"]), train.ones(0)

    def fit() -> Any:
        gram = (matrix.T @ matrix).toarray().astype(np.float64)
        gram[np.diag_indices_from(gram)] += setting["l2"]
        weights = np.linalg.inv(gram)
        weights /= -np.diag(weights)
        np.fill_diagonal(weights, 0)
        return weights.astype(np.float32)

    def best(weights: Any) -> Any:
        found = np.empty((train.users, N), np.int32)
        for first in range(0, train.users, 1000):
            some = slice(first, first + 1000)
            scores = matrix[some] @ weights
            scores[seen[some].nonzero()] = -np.inf
            top = np.argpartition(-scores, N, axis=1)[:, :N]
            order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
            found[some] = np.take_along_axis(top, order, axis=1)
        return found

    return fit, best, lambda lists: lists


RECOMMENDERS: dict[str, Callable[[Train, dict[str, Any]], Parts]] = {
    "tastemix": with_tastemix,
    "implicit": with_implicit,
    "cornac": with_cornac,
    "ease": with_ease,
}


def timed(task: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The fastest of so many runs, or of those begun within LONG, and what the last one gave."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < LONG:
        began = time.perf_counter()
        result = task()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def work(job: isolated.Job) -> isolated.Job:
    train = Train(job["train"], job["users"], job["items"])
    rows, found = [], []
    for setting in job["settings"]:
        fit, best, as_array = RECOMMENDERS[job["recommender"]](train, setting)
        fitted, model = timed(fit, job["repeats"])
        listed, lists = timed(lambda best=best, model=model: best(model), job["repeats"])
        rows.append({"fit": fitted, "top": listed})
        found.append(as_array(lists))
    np.savez(job["lists"], lists=np.array(found, np.int32))
    return {"rows": rows}


if __name__ == "__main__":
    isolated.serve(work)
