"""Per-user ranking metrics against loops, scikit-learn and values worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from tastemix.errors import ParameterError
from tastemix.evaluation import metrics

VECTORS = {
    "ap": metrics.average_precision,
    "auc": metrics.auc,
    "ndcg": metrics.ndcg,
    "p@3": lambda r: metrics.precision_at(r, 3),
    "r@3": lambda r: metrics.recall_at(r, 3),
    "f1@3": lambda r: metrics.f1_at(r, 3),
    "ndcg@3": lambda r: metrics.ndcg(r, at=3),
}


def every_metric(ranking):
    return {name: metric(ranking).tolist() for name, metric in VECTORS.items()}


def naive(user, truth, prediction, relevant, n=3):
    """The same by loops, for predictions without ties inside a user; AUC also with them."""
    result = {name: [] for name in VECTORS}
    for u in sorted(set(user)):
        rows = [i for i in range(len(user)) if user[i] == u]
        rows.sort(key=lambda i: -prediction[i])
        wanted = [truth[i] >= relevant for i in rows]
        if not any(wanted):
            continue
        precisions = [sum(wanted[: k + 1]) / (k + 1) for k in range(len(rows)) if wanted[k]]
        result["ap"].append(sum(precisions) / len(precisions))
        contests = [
            (prediction[i] > prediction[j]) + 0.5 * (prediction[i] == prediction[j])
            for i in rows
            for j in rows
            if truth[i] >= relevant > truth[j]
        ]
        result["auc"].append(sum(contests) / len(contests) if contests else 1.0)
        for name, cut in [("ndcg", len(rows)), ("ndcg@3", n)]:
            gains = [2 ** truth[i] - 1 for i in rows]
            ideal = sorted(gains, reverse=True)
            got, best = (
                sum(g / math.log2(2 + k) for k, g in enumerate(order[:cut]))
                for order in (gains, ideal)
            )
            result[name].append(got / best if best else 1.0)
        hits = sum(wanted[:n])
        p, r = hits / min(n, len(rows)), hits / min(n, sum(wanted))
        result["p@3"].append(p)
        result["r@3"].append(r)
        result["f1@3"].append(2 * p * r / (p + r) if p + r else 0.0)
    return result


def assert_same(one, other):
    for name in VECTORS:
        assert one[name] == pytest.approx(other[name], abs=1e-12), name


@st.composite
def untied_pairs(draw):
    size = draw(st.integers(1, 40))
    user = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    truth = draw(st.lists(st.sampled_from([0, 1, 2.5, 4, 5]), min_size=size, max_size=size))
    number = st.floats(-1e9, 1e9) | st.floats(1, 1 + 1e-12) | st.floats(-1e-300, 1e-300)
    prediction = draw(st.lists(number, min_size=size, max_size=size, unique=True))
    return user, truth, prediction


@settings(max_examples=100, deadline=None)
@given(untied_pairs())
def test_agrees_with_loops(pairs):
    user, truth, prediction = pairs
    ranking = metrics.rank(user, truth, prediction, relevant=4, scale=(0, 5))
    assert_same(every_metric(ranking), naive(user, truth, prediction, 4))


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_scikit_learn_on_one_user(seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 50)
    truth, prediction = rng.integers(0, 6, size), rng.permutation(size) / 7
    truth[:2] = 5, 0
    wanted = truth >= 4
    ranking = metrics.rank(np.zeros(size, int), truth, prediction, relevant=4, scale=(0, 5))
    assert metrics.average_precision(ranking)[0] == pytest.approx(
        average_precision_score(wanted, prediction)
    )
    assert metrics.auc(ranking)[0] == pytest.approx(roc_auc_score(wanted, prediction))
    gains = [2.0**truth - 1]
    assert metrics.ndcg(ranking)[0] == pytest.approx(ndcg_score(gains, [prediction]))
    assert metrics.ndcg(ranking, at=5)[0] == pytest.approx(ndcg_score(gains, [prediction], k=5))


@pytest.mark.parametrize("seed", range(20))
def test_auc_counts_ties_one_half_like_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(1, 6, 30), rng.integers(0, 4, 30) / 3
    truth[:2] = 5, 1
    ranking = metrics.rank(["ann"] * 30, truth, prediction, relevant=4, scale=(1, 5))
    assert metrics.auc(ranking)[0] == pytest.approx(roc_auc_score(truth >= 4, prediction))


def test_auc_with_ties_agrees_with_counting_pairs_over_many_users():
    rng = np.random.default_rng(5)
    user, truth = rng.integers(0, 40, 600), rng.integers(1, 6, 600)
    prediction = rng.integers(0, 5, 600)
    ranking = metrics.rank(user, truth, prediction, relevant=4, scale=(1, 5))
    expected = naive(user.tolist(), truth.tolist(), prediction.tolist(), 4)["auc"]
    assert metrics.auc(ranking).tolist() == pytest.approx(expected)


def test_values_by_hand():
    # ann: 5, 1, 4, 2 in this order (hits at 1 and 3); bob: 3, 4 (hit at 2); cat has none
    user = ["cat", "ann", "ann", "bob", "ann", "bob", "ann"]
    truth = [3, 2, 5, 4, 4, 3, 1]
    prediction = [9, 1, 4, 1, 2, 2, 3]
    ranking = metrics.rank(user, truth, prediction, relevant=4, scale=(1, 5))
    assert ranking.users.tolist() == ["ann", "bob"]
    got = every_metric(ranking)
    log3 = math.log2(3)
    assert got["ap"] == pytest.approx([(1 + 2 / 3) / 2, 1 / 2])
    assert got["auc"] == pytest.approx([3 / 4, 0])
    assert got["p@3"] == pytest.approx([2 / 3, 1 / 2])
    assert got["r@3"] == pytest.approx([1, 1])
    assert got["f1@3"] == pytest.approx([4 / 5, 2 / 3])
    ideal = 31 + 15 / log3 + 3 / 2
    assert got["ndcg@3"] == pytest.approx(
        [(31 + 1 / log3 + 15 / 2) / ideal, (7 + 15 / log3) / (15 + 7 / log3)]
    )
    fifth = math.log2(5)
    assert got["ndcg"][0] == pytest.approx(
        (31 + 1 / log3 + 15 / 2 + 3 / fifth) / (ideal + 1 / fifth)
    )


def test_the_four_means_of_average_precision():
    ranking = metrics.rank([1, 1, 2], [5, 1, 5], [1, 2, 1], relevant=4)  # APs 1/2 and 1
    assert metrics.map_arithmetic(ranking) == pytest.approx(0.75)
    assert metrics.map_geometric(ranking) == pytest.approx(math.sqrt(0.5))
    assert metrics.map_harmonic(ranking) == pytest.approx(2 / 3)
    assert metrics.map_quadratic(ranking) == pytest.approx(math.sqrt(1.25 / 2))


def test_a_list_without_irrelevant_items_is_perfect_except_in_ndcg():
    ranking = metrics.rank([7, 7], [4, 5], [2, 1], relevant=4, scale=(1, 5))
    got = every_metric(ranking)
    log3 = math.log2(3)
    expected = (15 + 31 / log3) / (31 + 15 / log3)
    assert got["ndcg"] == got["ndcg@3"] == pytest.approx([expected])
    assert all(got[name] == [1] for name in ("ap", "auc", "p@3", "r@3", "f1@3"))


def test_a_list_of_one_relevant_item_is_perfect():
    ranking = metrics.rank([7], [5], [-2], relevant=4, scale=(1, 5))
    assert all(values == [1] for values in every_metric(ranking).values())


def test_without_relevant_items_vectors_are_empty_and_means_nan():
    ranking = metrics.rank([1, 1, 2], [1, 2, 3], [3, 3, 1], relevant=4, scale=(1, 5))
    assert all(values == [] for values in every_metric(ranking).values())
    for mean in (
        metrics.map_arithmetic,
        metrics.map_geometric,
        metrics.map_harmonic,
        metrics.map_quadratic,
    ):
        assert math.isnan(mean(ranking))
    assert math.isnan(metrics.average(metrics.auc(ranking)))


def test_no_hit_among_the_first_n_gives_0():
    ranking = metrics.rank([1] * 4, [1, 2, 1, 5], [4, 3, 2, 1], relevant=4, scale=(1, 5))
    assert every_metric(ranking)["p@3"] == [0]
    assert every_metric(ranking)["r@3"] == [0]
    assert every_metric(ranking)["f1@3"] == [0]


def test_ndcg_of_gains_that_are_all_0_is_1():
    ranking = metrics.rank([1, 1], [0, 0], [1, 2], relevant=0, scale=(0, 5))
    assert metrics.ndcg(ranking).tolist() == metrics.ndcg(ranking, at=1).tolist() == [1]


def test_recall_is_capped_at_n_relevant_items():
    ranking = metrics.rank([1] * 4, [5, 5, 5, 5], [4, 3, 2, 1], relevant=4, scale=(1, 5))
    assert metrics.recall_at(ranking, 2).tolist() == [1]


@pytest.mark.parametrize("scale", [(-10.0, 10.0), (0.0, 100.0)])
def test_gains_of_scales_outside_0_to_10_are_those_of_1_to_5(scale):
    rng = np.random.default_rng(0)
    user, stars, prediction = rng.integers(0, 9, 90), rng.uniform(1, 5, 90), rng.random(90)
    low, high = scale
    wide = np.clip(low + (stars - 1) / 4 * (high - low), low, high)
    mapped = metrics.ndcg(metrics.rank(user, wide, prediction, relevant=low, scale=scale))
    plain = metrics.ndcg(metrics.rank(user, stars, prediction, relevant=1, scale=(1, 5)))
    assert mapped == pytest.approx(plain)


def test_gains_of_scales_inside_0_to_10_are_left_alone():
    ranking = metrics.rank([1, 1], [0.5, 10], [2, 1], relevant=4, scale=(0, 10))
    assert ranking.gain == pytest.approx([2**0.5 - 1, 1023])


def test_relevant_defaults_to_three_quarters_of_the_range():
    ranking = metrics.rank([1, 2, 3], [-10, 4.9, 5], [1, 1, 1], scale=(-10, 10))
    assert ranking.users.tolist() == [3]


@settings(max_examples=100, deadline=None)
@given(untied_pairs(), st.randoms(use_true_random=False))
def test_storage_order_does_not_matter(pairs, random):
    shuffled = list(zip(*pairs, strict=True))
    random.shuffle(shuffled)
    before = metrics.rank(*pairs, relevant=4, scale=(0, 5))
    after = metrics.rank(*zip(*shuffled, strict=True), relevant=4, scale=(0, 5))
    assert every_metric(before) == every_metric(after)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(-30, 30)),
        min_size=1,
        max_size=40,
    )
)
def test_increasing_functions_of_the_prediction_change_nothing(rows):
    user, truth, prediction = (np.array(column) for column in zip(*rows, strict=True))
    plain = metrics.rank(user, truth, prediction, relevant=4, scale=(1, 5))
    for transformed in (np.exp(prediction / 3), prediction**3 - 1e5, np.float32(prediction)):
        other = metrics.rank(user, truth, transformed, relevant=4, scale=(1, 5))
        assert every_metric(plain) == every_metric(other)


@settings(max_examples=100, deadline=None)
@given(untied_pairs())
def test_names_of_users_do_not_matter(pairs):
    user, truth, prediction = pairs
    plain = metrics.rank(user, truth, prediction, relevant=4, scale=(0, 5))
    for rename in (
        lambda u: f"user {u + 3}",
        lambda u: u * 10**15,
        lambda u: np.uint64(2**63 + 3 + u),
        lambda u: np.int8(u * 42),
        lambda u: u + 0.5,
    ):
        other = metrics.rank([rename(u) for u in user], truth, prediction, relevant=4, scale=(0, 5))
        assert every_metric(plain) == every_metric(other)
        assert other.users.tolist() == [rename(u) for u in plain.users.tolist()]


def test_integer_ids_at_the_ends_of_their_type_are_kept_apart():
    for ids in (np.int8([-128, 127]), np.uint64([2**64 - 1, 2**64 - 2]), np.int64([-(2**63), 0])):
        ranking = metrics.rank(ids, [5, 5], [1, 1], relevant=4, scale=(1, 5))
        assert ranking.users.tolist() == sorted(ids.tolist())
        assert ranking.length.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_roc_curve_agrees_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    wanted, prediction = rng.random(50) < 0.4, rng.integers(0, 12, 50) / 3
    ours = metrics.roc_curve(wanted, prediction)
    theirs = sklearn_roc_curve(wanted, prediction, drop_intermediate=False)
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(expected)


def test_roc_curve_of_one_sided_pairs_has_a_rate_that_is_nan():
    fpr, tpr, thresholds = metrics.roc_curve([True, True], [1, 2])
    assert np.isnan(fpr).all()
    assert tpr.tolist() == [0, 0.5, 1]
    assert thresholds.tolist() == [math.inf, 2, 1]
    fpr, tpr, _ = metrics.roc_curve([False, False], [1, 1])
    assert fpr.tolist() == [0, 1]
    assert np.isnan(tpr).all()


def test_roc_curve_refuses_ratings_in_place_of_relevance():
    with pytest.raises(ParameterError, match=r"truth_relevant\[1\] is 4"):
        metrics.roc_curve([1, 4], [1, 2])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"truth": [1, math.nan, 3]}, r"truth\[1\] is nan"),
        ({"prediction": [math.inf, 1, 1]}, r"prediction\[0\] is inf"),
        ({"user": [1, 2]}, "user has 2 values and truth has 3"),
        ({"user": [[1, 2, 3]]}, "user has 2 dimensions"),
        ({"user": []}, "user is empty"),
        ({"user": [1.0, math.nan, 2.0]}, r"user\[1\] is nan"),
        ({"user": np.array(["a", None, 3], object)}, "user mixes ids"),
        ({"scale": (1, 4)}, r"truth\[2\] is 5.0: the scale is \(1.0, 4.0\)"),
        ({"scale": None, "truth": [3, 3, 3]}, "every truth is 3.0.*: pass scale"),
        ({"relevant": math.nan}, "relevant is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_unusable_input_is_refused_by_name_and_position(changed, message):
    good = {
        "user": [1, 1, 2],
        "truth": [1, 3, 5],
        "prediction": [1, 2, 3],
        "relevant": 4,
        "scale": (1, 5),
    }
    with pytest.raises(ParameterError, match=message):
        metrics.rank(**(good | changed))


@pytest.mark.parametrize("n", [0, -1, 2.0, None, "ten"])
def test_a_list_length_below_1_is_refused(n):
    ranking = metrics.rank([1], [5], [1], relevant=4, scale=(1, 5))
    with pytest.raises(ParameterError, match=f"n is {n!r}"):
        metrics.precision_at(ranking, n)
    if n is not None:
        with pytest.raises(ParameterError, match=f"at is {n!r}"):
            metrics.ndcg(ranking, at=n)
