"""The paper's three cumulative scores: one number each for ranking, classification and rating.

They are plain means of metrics, so averaging sets and tie rules are those of their parts, and a
part that is nan makes the score nan.
"""

from tastemix.evaluation.metrics.inputs import Scale, bounds

RANK_SCORE_AT = 10
"""The list length in the definition of RankScore, whatever lengths are reported beside it."""


def rank_score(
    mean_average_precision: float, auc: float, ndcg: float, f1_at_10: float, ndcg_at_10: float
) -> float:
    """Mean of MAP, AUC, NDCG, F1@10 and NDCG@10."""
    return (mean_average_precision + auc + ndcg + f1_at_10 + ndcg_at_10) / 5


def class_score(f1: float, accuracy: float) -> float:
    """Mean of F1 and accuracy."""
    return (f1 + accuracy) / 2


def rating_score(rmse: float, mae: float, *, scale: Scale) -> float:
    """Mean of 1 - RMSE/range and 1 - MAE/range; negative when errors exceed the range."""
    low, high = bounds(scale)
    return 1 - (rmse + mae) / 2 / (high - low)
