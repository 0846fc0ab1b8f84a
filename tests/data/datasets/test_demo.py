"""The embedded demo data: always the same, skewed like real data, and its tastes found again."""

import hashlib

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.data.datasets.dishes import DISHES

SEEDS = range(5)


def test_tastes_are_named_and_each_dish_has_one():
    tastes = demo.tastes()
    assert list(tastes) == ["sweet", "spicy", "seafood", "comfort", "green", "smoky"]
    dishes = [dish for names in tastes.values() for dish in names]
    assert len(dishes) == len(set(dishes)) == 240
    assert "Lemon Ricotta Tart" in tastes["sweet"]
    assert "Smoked Trout Pâté" in tastes["smoky"]
    assert not any("|" in dish or dish != dish.strip() for dish in dishes)
    for taste in DISHES:
        for _, second in demo._lines(taste):
            assert second is None or second in set(DISHES) - {taste}


def test_everyone_and_every_dish_is_there_by_name_with_whole_stars():
    ratings = demo.ratings()
    assert len(ratings.users) == 600
    assert set(ratings.items.values.to_pylist()) == set().union(*demo.tastes().values())
    assert ratings.scale == (1, 5)
    assert set(ratings.by_user.values.tolist()) == {1, 2, 3, 4, 5}


def test_a_seed_always_gives_the_same_ratings():
    rows = "\n".join(
        f"{row['user']}|{row['item']}|{row['rating']:g}"
        for row in demo.ratings(seed=0).to_table().to_pylist()
    )
    assert hashlib.sha256(rows.encode()).hexdigest() == (
        "49cd70427ed6bced37e06c124215327b070790ad01bf91ba6f71857cd60b8983"
    )
    assert demo.ratings(seed=1).fingerprint != demo.ratings(seed=0).fingerprint


@pytest.mark.parametrize("seed", SEEDS)
def test_ratings_are_sparse_and_fame_is_skewed(seed):
    ratings = demo.ratings(seed)
    assert 0.12 < ratings.density < 0.15
    fame = np.sort(ratings.by_item.counts)[::-1]
    assert fame[:24].sum() > 0.3 * fame.sum()
    assert fame[-1] >= 10
    assert ratings.by_user.counts.min() >= 5


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_liked_is_rated_a_little_more(seed):
    draw = demo._Draws(seed)
    likes, holds = demo._likes(draw, 600), demo._holds(draw)
    liked = (likes @ holds.T) > 0.8
    ratings = demo.ratings(seed)
    dishes = [dish for names in demo.tastes().values() for dish in names]
    rated = np.zeros((600, 240), bool)
    user = {name: n for n, name in enumerate(demo._people())}
    item = {name: n for n, name in enumerate(dishes)}
    for row in ratings.to_table().to_pylist():
        rated[user[row["user"]], item[row["item"]]] = True
    assert 1.1 < rated[liked].mean() / rated[~liked].mean() < 1.8


METHODS = {
    "RNMF": tm.RNMF(6).fit,
    "MIXD": tm.MIXD(6).fit,
    "default": tm.fit,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fit", METHODS.values(), ids=METHODS)
def test_each_planted_taste_has_a_taste_of_eight_of_its_dishes_and_names_it(fit, seed):
    model, planted = fit(demo.ratings(seed)), demo.tastes()
    kinds = {dish: taste for taste, dishes in planted.items() for dish in dishes}
    found = {}
    for row in model.tastes(8, attributes=kinds).to_pylist():
        found.setdefault((row["taste"], row["name"].split(":")[0]), set()).add(row["item"])
    for taste, dishes in planted.items():
        assert any(name == taste and top <= set(dishes) for (_, name), top in found.items()), taste


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", [tm.RNMF(6), tm.MIXD(6)], ids=["RNMF", "MIXD"])
def test_the_tastes_predict_far_better_than_item_means(method, seed):
    train, test = tm.holdout(demo.ratings(seed))
    item, truth = test.by_user.indices, test.by_user.values
    means = np.bincount(train.by_user.indices, train.by_user.values) / train.by_item.counts
    predicted = method.fit(train).predict_numbers(test.by_user.rows, item)

    def rmse(values):
        return np.sqrt(np.mean((values - truth) ** 2))

    assert rmse(predicted) < 0.75 * rmse(means[item])
