"""Choosing method and rank: within a budget, and judged by ratings the choice never saw."""

import numpy as np
import pytest

import tastemix as tm
from tastemix.data import splits
from tastemix.errors import ParameterError
from tastemix.evaluation import search
from tests.conftest import random_ratings


def planted(rank: int, seed: int = 0) -> tm.Ratings:
    rng = np.random.default_rng(seed)
    users, items = rng.gamma(0.5, 1, (300, rank)), rng.gamma(0.5, 1, (120, rank))
    values = users @ items.T
    values = 1 + 4 * values / values.max() + 0.02 * rng.standard_normal(values.shape)
    user, item = np.nonzero(rng.random(values.shape) < 0.4)
    return tm.Ratings.from_arrays(user, item, values[user, item].clip(1, 5), scale=(1, 5))


def test_the_choice_is_the_best_trial_and_its_figure_comes_from_unseen_ratings() -> None:
    ratings, seen = planted(3), []
    choice = search.search(ratings, budget=30, seed=4, on_trial=seen.append)
    assert choice.trials == tuple(seen)
    best = min(choice.trials, key=lambda trial: trial.rmse)
    assert choice.method == best.method
    learning, test = splits.holdout(ratings, 0.1, 4)
    half = test.by_user
    predicted = choice.method.fit(learning).predict_numbers(half.rows, half.indices)
    assert choice.test_rmse == pytest.approx(np.sqrt(np.mean((predicted - half.values) ** 2)))
    assert choice.test_rmse < choice.baseline_rmse


def test_a_small_budget_still_tries_one() -> None:
    choice = search.search(planted(2), budget=1e-9)
    assert len(choice.trials) == 1


def test_ranks_beside_the_best_are_tried() -> None:
    choice = search.search(planted(7), budget=60)
    coarse = len(search.RANKS) * len(search.METHODS)
    assert coarse < len(choice.trials) <= coarse + len(search.BESIDE)


def test_a_mistake_is_named() -> None:
    with pytest.raises(ParameterError, match="budget is 0: give a number of seconds"):
        search.search(planted(2), budget=0)
    with pytest.raises(ParameterError, match="too few to choose by"):
        search.search(random_ratings(3, 3, 1.0))
