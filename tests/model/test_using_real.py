"""Using models of MovieLens 1M: explanations, newcomers, recommendations."""

from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import CpuEngine
from tastemix.model import fold_in
from tastemix.model.factors import Head
from tests.real import fitted, ml_1m


def rmse(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def test_a_thousand_explanations_add_up(data: Path) -> None:
    model = fitted(tm.MIXD(10), data)
    rng = np.random.default_rng(0)
    users = model.users.ids.take(rng.integers(0, 6040, 1_000).astype(np.int32)).to_pylist()
    items = model.items.ids.take(rng.integers(0, 3706, 1_000).astype(np.int32)).to_pylist()
    raw = model.predict(users, items, clip=False, fallback=None)
    summed = [
        sum(model.explain(user, item)["value"].to_pylist())
        for user, item in zip(users, items, strict=True)
    ]
    np.testing.assert_allclose(summed, raw, atol=1e-5)


@pytest.mark.parametrize("method", [tm.PR(15), tm.RNMF(6), tm.MIXR(8, steps=50)])
def test_trained_users_fold_in_where_training_left_them(method, data: Path) -> None:
    train = ml_1m(data).train
    factors = fitted(method, data).factors
    phases = method.recipe(train.scale).phases
    rows = fold_in.rows(train.by_user, factors, "users", phases, CpuEngine())
    length = np.linalg.norm(factors.users, axis=1)
    errors = np.linalg.norm(rows - factors.users, axis=1)[length > 0] / length[length > 0]
    assert np.median(errors) < 0.01


@pytest.mark.parametrize("method", [tm.PRD(15), tm.MIXD(10)])
def test_a_dynamic_prior_folds_in_as_well_as_it_trains(method, data: Path) -> None:
    train, test = ml_1m(data)
    factors, half = fitted(method, data).factors, test.by_user
    phases = method.recipe(train.scale).phases
    rows = fold_in.rows(train.by_user, factors, "users", phases, CpuEngine())
    folded = tm.Factors(rows, factors.items)
    trained, again = (
        rmse(f.pairs(half.rows, half.indices), half.values) for f in (factors, folded)
    )
    assert again == pytest.approx(trained, abs=0.03)


def test_strangers_with_five_ratings_are_predicted_better_than_by_item_means(data: Path) -> None:
    """The last 500 users are left out of training; five of their ratings are given at random."""
    ratings = tm.read(data / "ml-1m.parquet", scale=(1, 5))
    stranger = ratings.by_user.rows >= 5540
    model = tm.fit(ratings.subset(~stranger))
    theirs = ratings.subset(stranger)
    order = np.random.default_rng(0).permutation(len(theirs))
    order = order[np.argsort(theirs.by_user.rows[order], kind="stable")]
    place = np.arange(len(order)) - theirs.by_user.pointers[theirs.by_user.rows[order]]
    given = np.zeros(len(theirs), bool)
    given[order[place < 5]] = True
    few, rest = theirs.subset(given), theirs.subset(~given).by_user
    assert few.by_user.counts.max() == 5
    folded = fold_in.folded(Head(model.factors, model.phases), few.by_user, "users")
    predicted = folded.pairs(rest.rows, rest.indices)
    means = np.where(np.isnan(model.items.mean), model.mean, model.items.mean)[rest.indices]
    known = model.items.count[rest.indices] > 0
    predicted = np.where(known, predicted, model.mean).clip(1, 5)
    # .974 against .998; MIXD's dynamic prior has .995
    assert rmse(predicted, rest.values) < rmse(means, rest.values) - 0.02


def test_recommendations_for_everyone_leave_out_what_was_rated(data: Path) -> None:
    train = ml_1m(data).train
    model = fitted(tm.MIXD(10), data)
    table = model.recommend(train.users.values, 10)
    assert len(table) == 60_400
    rated = set(zip(*(train.to_table()[c].to_pylist() for c in ("user", "item")), strict=True))
    shown = set(zip(*(table[c].to_pylist() for c in ("user", "item")), strict=True))
    assert len(shown) == 60_400
    assert not shown & rated
