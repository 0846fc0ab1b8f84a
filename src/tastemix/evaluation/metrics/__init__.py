"""How good predictions are: pure functions of arrays, one value per test pair.

`evaluate` computes everything at once; the modules hold the single metrics:
rating (errors), classification (pooled decisions), ranking (per-user order), scores (their means)
and catalogue (recommendations from all items, instead of the order of the test items).
"""

from numpy.typing import ArrayLike

from tastemix.checks import whole
from tastemix.evaluation.metrics.catalogue import evaluate_catalogue
from tastemix.evaluation.metrics.classification import (
    accuracy,
    confusion,
    f1,
    fallout,
    precision,
    recall,
)
from tastemix.evaluation.metrics.inputs import (
    Scale,
    pairs,
    predicted_from,
    relevant_from,
    scale_of,
)
from tastemix.evaluation.metrics.ranking import (
    Ranking,
    auc,
    average,
    average_precision,
    f1_at,
    map_arithmetic,
    map_geometric,
    map_harmonic,
    map_quadratic,
    ndcg,
    precision_at,
    rank,
    recall_at,
    roc_curve,
)
from tastemix.evaluation.metrics.rating import cmae, mae, mse, nmae, rmse
from tastemix.evaluation.metrics.scores import RANK_SCORE_AT, class_score, rank_score, rating_score

__all__ = [
    "Ranking",
    "accuracy",
    "auc",
    "average",
    "average_precision",
    "class_score",
    "cmae",
    "confusion",
    "evaluate",
    "evaluate_catalogue",
    "f1",
    "f1_at",
    "fallout",
    "mae",
    "map_arithmetic",
    "map_geometric",
    "map_harmonic",
    "map_quadratic",
    "mse",
    "ndcg",
    "nmae",
    "precision",
    "precision_at",
    "rank",
    "rank_score",
    "rating_score",
    "recall",
    "recall_at",
    "rmse",
    "roc_curve",
]


def evaluate(
    user: ArrayLike,
    truth: ArrayLike,
    prediction: ArrayLike,
    *,
    score: ArrayLike | None = None,
    relevant: float | None = None,
    predicted: float | None = None,
    at: int = 10,
    scale: Scale | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Every metric of predictions for test pairs, as {name: value}.

    rating          rmse mae mse nmae cmae: over all pairs
    classification  precision recall fallout f1 accuracy: pooled over all pairs
    ranking         map auc ndcg precision_at_N recall_at_N f1_at_N ndcg_at_N, where N = at: means
                    over the users with a relevant test item, nan without any
    scores          rank_score (with N = 10 by definition, whatever `at`) class_score rating_score

    A pair is relevant when truth >= relevant and predicted when prediction >= predicted; by default
    lowest + 3/4 and lowest + 5/8 of the scale's range, and the scale is (min, max) of the truth.
    Ranking goes by `score` where it is given: predictions that were clipped tie at the ends.
    Ties in prediction count 1/2 in auc and are ordered by the seed elsewhere in ranking. Empty and
    one-sided lists: see each metric.
    """
    a, b = pairs(truth, prediction)
    at = whole("at", at, 1)
    scale = scale_of(a, scale)
    relevant, predicted = relevant_from(relevant, scale), predicted_from(predicted, scale)
    by = b if score is None else score
    ranking = rank(user, a, by, relevant=relevant, scale=scale, seed=seed)

    result = {
        "rmse": rmse(a, b),
        "mae": mae(a, b),
        "mse": mse(a, b),
        "nmae": nmae(a, b, scale=scale),
        "cmae": cmae(a, b, relevant=relevant, predicted=predicted),
        "precision": precision(a, b, relevant=relevant, predicted=predicted),
        "recall": recall(a, b, relevant=relevant, predicted=predicted),
        "fallout": fallout(a, b, relevant=relevant, predicted=predicted),
        "f1": f1(a, b, relevant=relevant, predicted=predicted),
        "accuracy": accuracy(a, b, relevant=relevant, predicted=predicted),
        "map": map_arithmetic(ranking),
        "auc": average(auc(ranking)),
        "ndcg": average(ndcg(ranking)),
        f"precision_at_{at}": average(precision_at(ranking, at)),
        f"recall_at_{at}": average(recall_at(ranking, at)),
        f"f1_at_{at}": average(f1_at(ranking, at)),
        f"ndcg_at_{at}": average(ndcg(ranking, at=at)),
    }
    f1_at_10 = average(f1_at(ranking, RANK_SCORE_AT))
    ndcg_at_10 = average(ndcg(ranking, at=RANK_SCORE_AT))
    result["rank_score"] = rank_score(
        result["map"], result["auc"], result["ndcg"], f1_at_10, ndcg_at_10
    )
    result["class_score"] = class_score(result["f1"], result["accuracy"])
    result["rating_score"] = rating_score(result["rmse"], result["mae"], scale=scale)
    return result
