"""Ranking metrics of the first users of a table of pairs: with one judge, timed.

Job: judge, pairs (a file of isolated.save; every user has each item once), users, relevant.
Result: seconds, and the mean over the users of each metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import isolated
import numpy as np

AT, REPEATS = 10, 3
Judged = tuple[float, dict[str, float]]


def best(judge: Callable[[], Any]) -> tuple[float, Any]:
    """The fastest of a few runs, the same number for every judge, and what the last one gave."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        found = judge()
        seconds.append(time.perf_counter() - began)
    return min(seconds), found


def with_tastemix(truth: Any, prediction: Any, relevant: float) -> Judged:
    """The per-user metrics from the bare pairs; the values are those of `metrics.evaluate`."""
    from tastemix.evaluation import metrics

    users, items = truth.shape
    pairs = np.repeat(np.arange(users), items), truth.ravel(), prediction.ravel()
    how = {"relevant": relevant, "scale": (1, 5)}

    def judge() -> None:
        ranking = metrics.rank(*pairs, **how)
        metrics.auc(ranking)
        metrics.average_precision(ranking)
        metrics.ndcg(ranking)
        metrics.ndcg(ranking, at=AT)
        metrics.precision_at(ranking, AT)
        metrics.recall_at(ranking, AT)
        metrics.f1_at(ranking, AT)

    return best(judge)[0], metrics.evaluate(*pairs, at=AT, **how)


def with_cornac(truth: Any, prediction: Any, relevant: float) -> Judged:
    """`ranking_eval`, whose catalogue is the items of the pairs."""
    from cornac import metrics
    from cornac.data import Dataset
    from cornac.eval_methods.base_method import ranking_eval
    from cornac.models import Recommender

    class Given(Recommender):
        """A model whose scores are the predictions."""

        def score(self, user_idx: int, item_idx: int | None = None) -> Any:
            return prediction[user_idx] if item_idx is None else prediction[user_idx, item_idx]

    users, items = truth.shape
    user, item = np.divmod(np.arange(truth.size), items)
    names = {number: number for number in range(users)}, {number: number for number in range(items)}
    test = Dataset.build(list(zip(user, item, truth.ravel(), strict=True)), "UIR", *names)
    # Nothing in training is relevant, so nothing is left out of the lists.
    seen = [(number, 0, 1.0) for number in range(users)] + [(0, n, 1.0) for n in range(1, items)]
    train = Dataset.build(seen, "UIR", *names)
    model = Given("given").fit(train)
    # NDCG of the whole list is left out: beside metrics at 10, only ten items of it are sorted.
    wanted = {
        "auc": metrics.AUC(),
        "map": metrics.MAP(),
        f"ndcg_at_{AT}, relevant or not": metrics.NDCG(AT),
        f"precision_at_{AT}": metrics.Precision(AT),
        f"recall_at_{AT}, uncapped": metrics.Recall(AT),
        f"f1_at_{AT}, uncapped": metrics.FMeasure(AT),
    }
    test.csr_matrix, train.csr_matrix  # noqa: B018 — built at first use, which is not judging

    def judge() -> Any:
        return ranking_eval(model, wanted.values(), train, test, rating_threshold=relevant)

    seconds, (means, _) = best(judge)
    return seconds, dict(zip(wanted, map(float, means), strict=True))


def with_sklearn(truth: Any, prediction: Any, relevant: float) -> Judged:
    """Its functions, one user at a time; one call, the cheapest way, for the three at ten."""
    from sklearn import metrics

    def judge() -> list[tuple[float, ...]]:
        return [of_user(*pair) for pair in zip(truth, prediction, strict=True)]

    def of_user(true: Any, score: Any) -> tuple[float, ...]:
        wanted, gain = true >= relevant, 2.0**true - 1
        top = np.zeros(len(true), bool)
        top[np.argsort(-score)[:AT]] = True
        return (
            metrics.roc_auc_score(wanted, score),
            metrics.average_precision_score(wanted, score),
            metrics.ndcg_score([gain], [score], ignore_ties=True),
            metrics.ndcg_score([gain], [score], k=AT, ignore_ties=True),
            *metrics.precision_recall_fscore_support(wanted, top, average="binary")[:3],
        )

    seconds, rows = best(judge)
    names = (
        *("auc", "map", "ndcg", f"ndcg_at_{AT}", f"precision_at_{AT}"),
        *(f"recall_at_{AT}, uncapped", f"f1_at_{AT}, uncapped"),
    )
    return seconds, dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


JUDGES: dict[str, Callable[[Any, Any, float], Judged]] = {
    "tastemix": with_tastemix,
    "cornac": with_cornac,
    "sklearn": with_sklearn,
}


def work(job: isolated.Job) -> isolated.Job:
    with np.load(job["pairs"]) as arrays:
        truth, prediction = arrays["truth"], arrays["prediction"]
    some = slice(job["users"])
    seconds, values = JUDGES[job["judge"]](truth[some], prediction[some], job["relevant"])
    return {"seconds": seconds, "values": values}


if __name__ == "__main__":
    isolated.serve(work)
