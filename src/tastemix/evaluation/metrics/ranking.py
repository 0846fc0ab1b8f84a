"""Metrics of the order in which each user's own test items are predicted.

`rank` sorts the test pairs once; every metric reads the result and returns one value per user:

    ranking = rank(user, truth, prediction, relevant=4, scale=(1, 5))
    average(auc(ranking)), average(ndcg(ranking, at=10))

Averaging set, everywhere: the users with at least one relevant test item. Without any, the vectors
are empty and their means nan. Ties, everywhere but in AUC: in an order drawn from the seed, never
the order in which the pairs are stored.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tastemix.checks import seed as checked_seed
from tastemix.checks import whole
from tastemix.evaluation.metrics.inputs import (
    Floats,
    Scale,
    numbers,
    pairs,
    refuse_where,
    relevant_from,
    same_length,
    scale_of,
)
from tastemix.evaluation.metrics.order import (
    Ints,
    group_users,
    order_within,
    renumber,
    shuffle_ties,
)

PerUser = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The lists of all users with a relevant test item, end to end, best prediction first."""

    users: NDArray[Any]
    """Ids of these users, ascending; the order of every per-user vector."""
    length: Ints
    """Per user, number of test items."""
    relevant: Ints
    """Per user, number of relevant test items, at least 1."""
    place: Ints
    """Per pair, its position in the user's list, from 1."""
    gain: NDArray[np.float64]
    """Per pair, 2^a - 1."""
    ideal: NDArray[np.float64]
    """The same gains, each user's largest first."""
    hit_place: Ints
    """Per relevant pair, its position in the user's list."""
    hit_mean_place: NDArray[np.float64]
    """Per relevant pair, the mean position of the pairs tied with it."""


def rank(
    user: ArrayLike,
    truth: ArrayLike,
    prediction: ArrayLike,
    *,
    relevant: float | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Ranking:
    """Sort the test pairs by (user, -prediction, seeded key) for all the metrics below.

    Relevant is truth >= relevant, by default lowest + 3/4 of the scale's range. The scale, by
    default (min, max) of the truth, decides the gains: outside 0..10 it is first mapped linearly to
    1..5. The same pairs in another storage order give the same ranking, ties included; other names
    for the users may order ties differently.
    """
    a, b = pairs(truth, prediction)
    ids, code = group_users(user)
    same_length("user", code, "truth", a)
    low, high = scale_of(a, scale)
    seed = checked_seed(seed)

    wanted = a >= relevant_from(relevant, (low, high))
    averaged = np.bincount(code[wanted], minlength=len(ids)) > 0
    if not averaged.all():
        kept = averaged[code]
        ids, code = ids[averaged], renumber(averaged)[code[kept]]
        a, b, wanted = a[kept], b[kept], wanted[kept]

    order = order_within(code, -b)
    owner, score = code[order], b[order]
    same = (owner[1:] == owner[:-1]) & (score[1:] == score[:-1])
    if same.any():
        order = shuffle_ties(order, same, a, seed)

    length = np.bincount(code, minlength=len(ids))
    place = _count_up(length)
    hits = np.flatnonzero(wanted[order])
    gain = _gain(a, low, high)
    return Ranking(
        users=ids,
        length=length,
        relevant=np.bincount(code[wanted], minlength=len(ids)),
        place=place,
        gain=gain[order],
        ideal=gain[order_within(code, -a)],
        hit_place=place[hits],
        hit_mean_place=_mean_over_ties(place, same)[hits],
    )


def average_precision(ranking: Ranking) -> PerUser:
    """AP: per user, mean over the relevant items' positions of the precision at that position.

    1 when every item is relevant. The average over users is MAP.
    """
    precision = _count_up(ranking.relevant) / ranking.hit_place
    return _sum_per_user(precision, ranking.relevant) / ranking.relevant


def auc(ranking: Ranking) -> PerUser:
    """AUC: per user, share of (relevant, irrelevant) pairs of items in the right order.

    A tie counts 1/2, so the seed plays no part. 1 when the user has no irrelevant item.
    """
    relevant = ranking.relevant
    places = _sum_per_user(ranking.hit_mean_place, relevant)
    # Mann-Whitney: what the places exceed 1 + 2 + ... + relevant by is irrelevant items ahead.
    ahead = places - relevant * (relevant + 1) / 2
    return 1 - ahead / np.maximum(relevant * (ranking.length - relevant), 1)


def ndcg(ranking: Ranking, *, at: int | None = None) -> PerUser:
    """NDCG: per user, sum of (2^a - 1)/log2(1 + position), over that of the ideal order.

    With `at`, both sums stop at that position. 1 where the ideal sum is 0 (every gain is 0): all
    orders of such a list are ideal, as for any other list of equal ratings.
    """
    longest = int(ranking.length.max(initial=0))
    cut = longest if at is None else min(whole("at", at, 1), longest)
    discount = np.zeros(longest + 1)
    discount[1 : cut + 1] = 1 / np.log2(np.arange(2, cut + 2))
    weight = discount[ranking.place]
    got = _sum_per_user(ranking.gain * weight, ranking.length)
    ideal = _sum_per_user(ranking.ideal * weight, ranking.length)
    return np.asarray(np.divide(got, ideal, out=np.ones_like(got), where=ideal > 0))


def precision_at(ranking: Ranking, n: int) -> PerUser:
    """P@N: per user, relevant items among the first N, over min(N, test items).

    The cap, which most libraries leave out, lets a short list reach 1.
    """
    return _hits_at(ranking, n) / np.minimum(n, ranking.length)


def recall_at(ranking: Ranking, n: int) -> PerUser:
    """R@N: per user, relevant items among the first N, over min(N, relevant items).

    The cap, which most libraries leave out, lets a user with more than N relevant items reach 1.
    """
    return _hits_at(ranking, n) / np.minimum(n, ranking.relevant)


def f1_at(ranking: Ranking, n: int) -> PerUser:
    """F1@N: per user, harmonic mean of the capped P@N and R@N; 0 when both are 0."""
    p, r = precision_at(ranking, n), recall_at(ranking, n)
    return np.asarray(np.divide(2 * p * r, p + r, out=np.zeros_like(p), where=p + r > 0))


def average(per_user: PerUser) -> float:
    """Arithmetic mean over the averaged users; nan when there are none."""
    return float(per_user.mean()) if per_user.size else math.nan


def map_arithmetic(ranking: Ranking) -> float:
    """MAP: arithmetic mean of the users' average precisions; nan without users."""
    return average(average_precision(ranking))


def map_geometric(ranking: Ranking) -> float:
    """Geometric mean of the users' average precisions, which are never 0; nan without users."""
    return math.exp(average(np.log(average_precision(ranking))))


def map_harmonic(ranking: Ranking) -> float:
    """Harmonic mean of the users' average precisions, which are never 0; nan without users."""
    return 1 / average(1 / average_precision(ranking))


def map_quadratic(ranking: Ranking) -> float:
    """Quadratic mean of the users' average precisions; nan without users."""
    return math.sqrt(average(average_precision(ranking) ** 2))


def roc_curve(
    truth_relevant: ArrayLike, prediction: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(fpr, tpr, thresholds) of "prediction >= threshold", pooled over all pairs.

    From (0, 0) at threshold inf, one point for every distinct prediction, so tied pairs enter
    together. A rate without a relevant (tpr) or irrelevant (fpr) pair is nan throughout.
    """
    wanted, b = numbers("truth_relevant", truth_relevant), numbers("prediction", prediction)
    same_length("truth_relevant", wanted, "prediction", b)
    neither = (wanted != 0) & (wanted != 1)
    refuse_where(neither, "truth_relevant", wanted, "give True or False for every pair")
    order = np.argsort(-b, kind="stable")
    score = b[order].astype(np.float64)
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    hits = np.append(0, np.cumsum(wanted[order] != 0)[last])
    alarms = np.append(0, last + 1) - hits
    nothing = np.full(len(hits), math.nan)
    tpr = hits / hits[-1] if hits[-1] else nothing
    fpr = alarms / alarms[-1] if alarms[-1] else nothing
    return fpr, tpr, np.append(math.inf, score[last])


def _gain(truth: Floats, low: float, high: float) -> NDArray[np.float64]:
    """2^a - 1, of a scale outside 0..10 after mapping it to 1..5."""
    a = truth.astype(np.float64)
    if low < 0 or high > 10:
        a = 1 + 4 * (a - low) / (high - low)
    return np.exp2(a) - 1


def _count_up(size: Ints) -> Ints:
    """1, 2, ..., size of every group, one group after the other."""
    return np.arange(1, size.sum() + 1) - np.repeat(np.cumsum(size) - size, size)


def _sum_per_user(values: NDArray[np.float64], size: Ints) -> PerUser:
    """Sums over consecutive groups, none of which is empty."""
    sums: PerUser = np.add.reduceat(values, np.cumsum(size) - size)
    return sums


def _hits_at(ranking: Ranking, n: int) -> PerUser:
    within = ranking.hit_place <= whole("n", n, 1)
    return _sum_per_user(within.astype(np.float64), ranking.relevant)


def _mean_over_ties(place: Ints, same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Positions, with the mean position of the run for tied rows."""
    first = np.flatnonzero(np.append(True, ~same))[: len(place)]
    size = np.diff(np.append(first, len(place)))
    return np.repeat(place[first] + (size - 1) / 2, size)
