"""cross_validate: what is in its table, and what it makes of broken methods."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import tastemix as tm
from tastemix.errors import ParameterError
from tastemix.evaluation import cross_validation
from tests.conftest import Watched, random_ratings

RATINGS = random_ratings(60, 40, 0.4)


@pytest.fixture(scope="module")
def results() -> tm.Results:
    return tm.cross_validate([tm.Baseline(), tm.RNMF(3, steps=10), tm.Random()], RATINGS, folds=4)


def test_every_value_is_what_metrics_evaluate_says(results: tm.Results) -> None:
    for fold, (train, test) in enumerate(tm.folds(RATINGS, 4)):
        half = test.by_user
        model = tm.RNMF(3, steps=10).fit(train)
        clipped, bare = (
            tm.metrics.evaluate(
                half.rows,
                half.values,
                model.predict_numbers(half.rows, half.indices, clip=clip),
                scale=RATINGS.scale,
            )
            for clip in (True, False)
        )
        ranking = dict(list(bare.items())[10:])  # ranked by what was not clipped
        expected = {**clipped, **ranking}
        expected["rating_score"] = clipped["rating_score"]
        expected["class_score"] = clipped["class_score"]
        for metric, value in expected.items():
            assert results.values("RNMF", metric)[fold] == value


def test_the_table_is_tidy(results: tm.Results) -> None:
    assert results.table.column_names == [
        "method",
        "parameters",
        "fold",
        "metric",
        "value",
        "seconds",
    ]
    assert len(results.table) == 3 * 4 * 20
    row = results.table.to_pylist()[0]
    assert row["method"] == "Baseline"
    assert json.loads(row["parameters"]) == {"shrinkage": 5.0, "sweeps": 10}
    assert row["seconds"] > 0
    assert results.methods() == ["Baseline", "RNMF", "Random"]


def test_the_summary_is_mean_and_spread(results: tm.Results) -> None:
    row = next(row for row in results.summary().to_pylist() if row["method"] == "RNMF")
    values = results.values("RNMF", "auc")
    assert row["auc"] == pytest.approx(values.mean())
    assert row["auc_std"] == pytest.approx(values.std(ddof=1))


def test_compare_is_the_paired_difference_with_the_corrected_variance(results: tm.Results) -> None:
    found = results.compare("RNMF", "Random", "rmse")
    difference = results.values("RNMF", "rmse") - results.values("Random", "rmse")
    assert found["difference"] == pytest.approx(difference.mean())
    plain = stats.ttest_rel(results.values("RNMF", "rmse"), results.values("Random", "rmse"))
    # 1/k becomes 1/k + test/train: the plain statistic shrinks by √(1 + k·test/train).
    share = np.mean([len(test) / len(train) for train, test in tm.folds(RATINGS, 4)])
    assert share == pytest.approx(1 / 3, rel=1e-3)
    shrunk = plain.statistic / np.sqrt(1 + 4 * share)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(shrunk), 3))
    assert results.compare("RNMF", "RNMF")["p_value"] == 1


def test_spearman_is_scipys_with_errors_turned_round(results: tm.Results) -> None:
    table = results.spearman()
    names = table["metric"].to_pylist()
    rmse = np.concatenate([results.values(m, "rmse") for m in results.methods()])
    auc = np.concatenate([results.values(m, "auc") for m in results.methods()])
    expected = stats.spearmanr(-rmse, auc).statistic
    assert table["rmse"][names.index("auc")].as_py() == pytest.approx(expected)
    assert table["rmse"][names.index("rmse")].as_py() == pytest.approx(1)


def test_raw_judges_the_bare_product() -> None:
    clipped, raw = (
        tm.cross_validate([tm.PSVD(3)], RATINGS, folds=2, raw=raw).values("PSVD", "rmse")
        for raw in (False, True)
    )
    train, test = next(tm.folds(RATINGS, 2))
    half = test.by_user
    bare = tm.PSVD(3).fit(train).scores.pairs(half.rows, half.indices)
    assert raw[0] == pytest.approx(np.sqrt(np.mean((bare - half.values) ** 2)))
    assert (clipped < raw).all()


def test_the_catalogue_is_judged_by_unseen_relevant_items() -> None:
    """By hand: each user's ten most rated unseen items against test items of 4 stars or more."""
    found = tm.cross_validate([tm.Popular()], RATINGS, folds=2, catalogue=True)
    train, test = next(tm.folds(RATINGS, 2))
    counts = train.by_item.counts
    precision = []
    for user in range(60):
        items, stars = test.by_user.row(user)
        liked = set(items[stars >= 4].tolist())
        seen = set(train.by_user.row(user)[0].tolist())
        order = sorted((i for i in range(40) if i not in seen), key=lambda i: (-counts[i], i))
        if liked:
            precision.append(len(liked & set(order[:10])) / 10)
    value = found.values("Popular", "catalogue_precision_at_10")[0]
    assert value == pytest.approx(np.mean(precision))


@dataclass(frozen=True)
class Broken:
    def fit(self, ratings: tm.Ratings) -> tm.Model:
        raise RuntimeError("no luck")


def test_a_broken_method_fails_alone() -> None:
    results = tm.cross_validate([Broken(), tm.Baseline()], RATINGS, folds=2)
    assert results.methods() == ["Baseline"]
    assert results.failures == {"Broken": "RuntimeError: no luck"}


def test_methods_of_one_name_are_told_apart_by_their_parameters() -> None:
    results = tm.cross_validate([tm.RNMF(2, steps=2), tm.RNMF(3, steps=2)], RATINGS, folds=2)
    assert results.methods() == [
        "RNMF(rank=2, l1=0.2, steps=2, seed=0)",
        "RNMF(rank=3, l1=0.2, steps=2, seed=0)",
    ]


def test_progress_counts_fits_and_tells_the_time_left() -> None:
    seen = []
    tm.cross_validate(
        [tm.Baseline(), tm.Random()],
        RATINGS,
        folds=3,
        on_progress=lambda done, total, name, left: seen.append((done, total, name, left)),
    )
    assert [(done, total) for done, total, _, _ in seen] == [(n, 6) for n in range(1, 7)]
    assert seen[0][3] > 0
    assert seen[-1][3] == 0


def test_own_splits_bring_their_own_sizes() -> None:
    splits = [tm.holdout(RATINGS, 0.2, seed) for seed in range(6)]
    results = tm.cross_validate([tm.Baseline(), tm.Random()], RATINGS, folds=iter(splits))
    assert results.test_share == pytest.approx(0.25, rel=1e-2)
    difference = results.values("Baseline", "rmse") - results.values("Random", "rmse")
    expected = difference.std(ddof=1) * np.sqrt(1 / 6 + results.test_share)
    found = results.compare("Baseline", "Random")
    assert found["standard_error"] == pytest.approx(expected)


def test_own_splits_can_be_given() -> None:
    split = tm.leave_out(RATINGS, 2)
    results = tm.cross_validate([tm.Baseline()], RATINGS, folds=[split])
    assert results.values("Baseline", "rmse").shape == (1,)
    assert np.isnan(results.compare("Baseline", "Baseline")["p_value"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tm.cross_validate([], RATINGS), "there is no method to compare"),
        (lambda: tm.cross_validate([tm.NMF(2), tm.NMF(2)], RATINGS), "is given twice"),
    ],
)
def test_a_mistake_is_named(make, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_an_unknown_metric_lists_the_known(results: tm.Results) -> None:
    with pytest.raises(ParameterError, match="there is no 'hits' of 'RNMF': methods are Baseline"):
        results.values("RNMF", "hits")


def test_a_column_that_does_not_vary_correlates_with_nothing() -> None:
    table = cross_validation.spearman({"auc": np.ones(5), "map": np.arange(5.0)})
    assert np.isnan(table["auc"][1].as_py())


def test_the_engine_is_handed_to_methods_that_take_one() -> None:
    mine = Watched([])
    results = tm.cross_validate([mine, tm.Random()], random_ratings(20, 20, 0.5), 2, engine="cuda")
    assert results.failures == {}
    assert mine.engines == ["cuda", "cuda"]
