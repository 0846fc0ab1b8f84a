"""Choosing method and settings: exactly what was tried, judged by ratings the choice never saw."""

import json

import numpy as np
import pytest

import tastemix as tm
from tastemix.data import splits
from tastemix.errors import ParameterError
from tastemix.evaluation.search import Search, Trial, beside, candidates, search
from tests.conftest import Watched, random_ratings


def planted(rank: int, noise: float = 0.02, users: int = 300, items: int = 120) -> tm.Ratings:
    rng = np.random.default_rng(0)
    values = rng.gamma(0.5, 1, (users, rank)) @ rng.gamma(0.5, 1, (items, rank)).T
    values = 1 + 4 * values / values.max() + noise * rng.standard_normal(values.shape)
    user, item = np.nonzero(rng.random(values.shape) < 0.4)
    return tm.Ratings.from_arrays(user, item, values[user, item].clip(1, 5), scale=(1, 5))


def offsets_only() -> tm.Ratings:
    """Ratings of five people each, in which nothing but means and noise can be found."""
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(200), 5)
    item = np.concatenate([rng.choice(40, 5, replace=False) for _ in range(200)])
    values = 3 + rng.normal(0, 0.3, 200)[user] + rng.normal(0, 0.6, 40)[item]
    return tm.Ratings.from_arrays(
        user, item, (values + rng.normal(0, 1, 1000)).clip(1, 5), scale=(1, 5)
    )


FIRST = len(candidates(planted(3)))


@pytest.fixture(scope="module")
def found() -> tuple[tm.Ratings, Search, list[Trial]]:
    ratings, seen = planted(3), []
    return ratings, search(ratings, seed=4, on_trial=seen.append), seen


def test_the_best_is_the_best_trial_and_its_figure_comes_from_unseen_ratings(
    found: tuple[tm.Ratings, Search, list[Trial]],
) -> None:
    ratings, result, seen = found
    assert result.trials == tuple(seen)
    assert result.method == min(seen, key=lambda trial: trial.rmse).method
    learning, test = splits.holdout(ratings, 0.1, 4)
    half = test.by_user
    predicted = result.method.fit(learning).predict_numbers(half.rows, half.indices)
    assert result.rmse == pytest.approx(np.sqrt(np.mean((predicted - half.values) ** 2)))
    assert result.rmse < result.baseline_rmse


def test_the_baseline_is_a_candidate_and_may_be_the_best() -> None:
    result = search(offsets_only(), [tm.Baseline(), tm.RNMF(5)])
    assert result.method == tm.Baseline()
    assert result.rmse == result.baseline_rmse
    assert tm.Baseline() in candidates(planted(2))


def test_where_ratings_are_mostly_noise_our_own_method_is_as_good_as_the_baseline() -> None:
    """No table of settings knows that there are no tastes here; the estimated ridges find out."""
    rmse = {type(trial.method).__name__: trial.rmse for trial in search(offsets_only()).trials[:2]}
    assert rmse["CNMF"] < 1.005 * rmse["Baseline"]


def test_settings_beside_the_best_are_tried(
    found: tuple[tm.Ratings, Search, list[Trial]],
) -> None:
    _, result, seen = found
    tried = {trial.method for trial in seen}
    assert len(tried) == len(seen)
    assert set(beside(min(seen[:FIRST], key=lambda trial: trial.rmse).method)) <= tried
    assert len(seen) > FIRST
    assert result.method in tried
    assert {(m.rank, m.l1) for m in beside(tm.RNMF(10, l1=0.2))} == {
        *((7, 0.2), (14, 0.2)),
        *((10, 0.1), (10, 0.4)),
    }
    assert [m.rank for m in beside(tm.CNMF(rank=10))] == [7, 14]
    assert [m.shrinkage for m in beside(tm.Baseline())] == [2.5, 10]
    assert {m.l2 for m in beside(tm.ANMF(rank=10, l2=3.0))} == {1.5, 3, 6}
    assert list(beside(tm.Popular())) == []


def test_ranks_grow_with_the_ratings() -> None:
    few, many = planted(2), planted(2, users=3000, items=300)

    def ranks(ratings: tm.Ratings) -> list[int]:
        return [method.rank for method in candidates(ratings) if isinstance(method, tm.RNMF)]

    assert max(ranks(few)) < max(ranks(many))
    assert all(a <= b for a, b in zip(ranks(few), ranks(many), strict=True))


def test_the_seed_is_that_of_the_method_found() -> None:
    seeds = {method.seed for method in candidates(planted(2), 7) if hasattr(method, "seed")}
    assert seeds == {7}


def test_methods_of_ones_own_are_tried_as_they_are_and_no_others() -> None:
    mine = [tm.RNMF(2, steps=5), tm.PSVD(2), tm.Baseline()]
    result = search(planted(2), mine)
    assert [trial.method for trial in result.trials] == mine


def test_the_table_tells_what_was_tried_the_best_first() -> None:
    result = search(planted(2), [tm.Baseline(), tm.RNMF(2, steps=30)])
    assert result.table.column_names == ["method", "settings", "rmse", "seconds"]
    best, other = result.table.to_pylist()
    assert best["method"] == type(result.method).__name__
    assert best["rmse"] < other["rmse"]
    settings = {row["method"]: json.loads(row["settings"]) for row in (best, other)}
    assert settings["RNMF"] == {"rank": 2, "l1": 0.2, "steps": 30, "seed": 0}


def test_on_trial_may_end_the_search() -> None:
    result = search(planted(2), on_trial=lambda trial: True)
    assert [trial.method for trial in result.trials] == [result.method]


def test_the_engine_is_handed_to_methods_that_take_one() -> None:
    mine = Watched([])
    search(planted(2), [mine, tm.Random()], engine="cuda")
    assert mine.engines == ["cuda", "cuda"]  # a trial, and the figure that is reported
    search(planted(2), [mine])
    assert mine.engines[2:] == [None, None]


def test_a_mistake_is_named() -> None:
    with pytest.raises(ParameterError, match="share is 0: "):
        search(planted(2), share=0)
    with pytest.raises(ParameterError, match="9 ratings are too few"):
        search(random_ratings(3, 3, 1.0))
    with pytest.raises(ParameterError, match="give 200 or more"):
        search(random_ratings(10, 10, 1.0), share=0.01)
    with pytest.raises(ParameterError, match="no method to try"):
        search(planted(2), [])
