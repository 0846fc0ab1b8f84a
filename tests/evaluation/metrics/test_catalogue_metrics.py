"""Whole-catalogue metrics against loops and by hand."""

import math

import numpy as np
import pytest

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics
from tastemix.evaluation.metrics import catalogue


def naive(recommended, held, counts):
    """The same by loops; held is a list of relevant items per user."""
    n = len(recommended[0])
    precisions, recalls, ndcgs = [], [], []
    for offered, liked in zip(recommended, held, strict=True):
        if not liked:
            continue
        hits = [i in liked for i in offered]
        precisions.append(sum(hits) / n)
        recalls.append(sum(hits) / min(n, len(liked)))
        ideal = sum(1 / math.log2(k + 2) for k in range(min(n, len(liked))))
        ndcgs.append(sum(hit / math.log2(k + 2) for k, hit in enumerate(hits)) / ideal)
    shown = [i for offered in recommended for i in offered if i >= 0]
    return {
        f"precision_at_{n}": np.mean(precisions),
        f"recall_at_{n}": np.mean(recalls),
        f"ndcg_at_{n}": np.mean(ndcgs),
        "coverage": len(set(shown)) / len(counts),
        "median_popularity": np.median([counts[i] for i in shown]),
    }


def compressed(held):
    return np.cumsum([0] + [len(h) for h in held]), np.array([i for h in held for i in h], int)


@pytest.mark.parametrize("block", [1, 40, 1 << 18])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_loops_for_any_block_size(seed, block, monkeypatch):
    monkeypatch.setattr(catalogue, "BLOCK", block)
    rng = np.random.default_rng(seed)
    users, items, n = 30, 25, 6
    recommended = np.argsort(rng.random((users, items)), axis=1)[:, :n].astype(np.int32)
    recommended[rng.random((users, n)) < 0.1] = -1
    held = [rng.permutation(items)[: rng.integers(0, 12)].tolist() for _ in range(users)]
    counts = rng.integers(0, 100, items)
    got = metrics.evaluate_catalogue(recommended, *compressed(held), counts)
    expected = naive(recommended.tolist(), held, counts)
    assert list(got) == list(expected)
    assert got == pytest.approx(expected)


def test_values_by_hand():
    # ann: hit at 2 of one relevant; bob: one hit at 1 of three, one slot empty; cat is not judged
    recommended = [[0, 1], [2, -1], [1, 0]]
    got = metrics.evaluate_catalogue(recommended, [0, 1, 4, 4], [1, 4, 2, 3], [50, 10, 4, 0, 9])
    log3 = math.log2(3)
    assert got == pytest.approx(
        {
            "precision_at_2": (1 / 2 + 1 / 2) / 2,
            "recall_at_2": (1 + 1 / 2) / 2,
            "ndcg_at_2": (1 / log3 + 1 / (1 + 1 / log3)) / 2,
            "coverage": 3 / 5,
            "median_popularity": 10,  # of 50, 10, 4, 10, 50
        }
    )


def test_no_recommendation_at_all():
    got = metrics.evaluate_catalogue([[-1, -1]], [0, 1], [0], [3, 4])
    assert math.isnan(got.pop("median_popularity"))
    assert got == {"precision_at_2": 0, "recall_at_2": 0, "ndcg_at_2": 0, "coverage": 0}


def test_no_relevant_item_at_all():
    got = metrics.evaluate_catalogue([[0, 1]], [0, 0], [], [3, 4])
    assert all(math.isnan(got[name]) for name in ("precision_at_2", "recall_at_2", "ndcg_at_2"))
    assert got["coverage"] == 1
    assert got["median_popularity"] == 3.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"recommended": [[0, 1], [1, 3]]}, r"recommended\[1, 1\] is 3: items are numbered 0 to 2"),
        ({"recommended": [[0, -2], [1, 2]]}, r"recommended\[0, 1\] is -2"),
        ({"recommended": [[0, 1], [2, 2]]}, r"recommended\[1\] holds item 2 twice"),
        ({"recommended": [0, 1]}, "recommended is a 1-d array"),
        ({"recommended": [[0.0, 1.0], [1, 2]]}, "recommended is a 2-d array of float64"),
        ({"recommended": np.zeros((0, 2), int)}, r"recommended has shape \(0, 2\)"),
        ({"pointers": [0, 2]}, "pointers has 2 values for 2 users"),
        ({"pointers": [0, 2, 1]}, "pointers does not rise.* from 0 to 2"),
        ({"pointers": [1, 1, 2]}, "pointers does not rise.* from 0 to 2"),
        ({"items": [0, 7]}, r"items\[1\] is 7"),
        ({"items": [0, -1]}, r"items\[1\] is -1"),
        ({"pointers": [0, 0, 2], "items": [1, 1]}, "items holds item 1 twice for user 1"),
        ({"counts": []}, "counts is empty"),
        ({"counts": [1, -1, 2]}, r"counts\[1\] is -1"),
    ],
)
def test_unusable_input_is_refused_by_name_and_position(changed, message):
    good = {
        "recommended": [[0, 1], [1, 2]],
        "pointers": [0, 1, 2],
        "items": [0, 2],
        "counts": [5, 6, 7],
    }
    with pytest.raises(ParameterError, match=message):
        metrics.evaluate_catalogue(**(good | changed))
