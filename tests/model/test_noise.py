"""How far a prediction may be off: generated errors come back, and so do those of MovieLens."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, spearmanr

import tastemix as tm
from tastemix.errors import ParameterError
from tastemix.model import uncertainty
from tests.conftest import random_ratings

USERS, ITEMS = 300, 120
EVERY = np.divmod(np.arange(USERS * ITEMS), ITEMS)


METHOD = tm.ANMF(2, members=4, ranking=0)


def generated(
    *levels: float, seed: int = 0, method: tm.ANMF = METHOD
) -> tuple[np.ndarray, np.ndarray]:
    """For every pair: the predicted spread, and the true one around the prediction.

    User u's ratings have the spread of level u mod n; the prediction is off the truth as well.
    """
    rng = np.random.default_rng(seed)
    truth = 2 + 2 * rng.random((USERS, 1)) + 2 * rng.random(ITEMS)
    level = np.array(levels)[np.arange(USERS) % len(levels), None]
    values = truth + level * rng.standard_normal(truth.shape)
    rated = np.nonzero(rng.random(truth.shape) < 0.5)
    model = method.fit(tm.Ratings.from_arrays(*rated, values[rated]))
    prediction, std = model.predict(*EVERY, return_std=True)
    true = np.hypot(level, prediction.reshape(truth.shape) - truth)
    return std.reshape(truth.shape), true


def rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_people_who_rate_at_random_are_found(seed: int) -> None:
    std, true = map(rms, generated(0.3, 0.6, 1.2, seed=seed))
    assert spearmanr(std, true).statistic > 0.85
    for level in range(3):
        np.testing.assert_allclose(np.median(std[level::3] / true[level::3]), 1, atol=0.15)


@pytest.mark.parametrize("level", [0.5, 1.0])
def test_the_same_spread_everywhere_is_told_everywhere(level: float) -> None:
    std, true = generated(level)
    assert std.std() < 0.05 * std.mean()
    assert std.mean() == pytest.approx(true.mean(), rel=0.05)


def test_the_spread_is_that_of_ratings_the_fit_has_not_seen() -> None:
    """A fit with hardly a penalty follows the noise of those it has seen."""
    method = tm.ANMF(12, members=1, l2=0.1, l2_per_rating=0.0, ranking=0)
    std, true = generated(1.0, method=method)
    assert std.mean() == pytest.approx(true.mean(), rel=0.1)


def test_divisive_items_are_found() -> None:
    rng = np.random.default_rng(0)
    level = np.where(np.arange(ITEMS) % 2, 1.2, 0.3)
    values = 3 + rng.random((USERS, 1)) + level * rng.standard_normal((USERS, ITEMS))
    rated = np.nonzero(rng.random(values.shape) < 0.5)
    model = METHOD.fit(tm.Ratings.from_arrays(*rated, values[rated]))
    std = model.predict(*EVERY, return_std=True)[1].reshape(values.shape)
    assert 2 < std[:, 1::2].mean() / std[:, ::2].mean() < 6


def test_the_coefficients_make_the_errors_most_likely() -> None:
    rng = np.random.default_rng(0)
    features = np.hstack([np.ones((500, 1)), rng.standard_normal((500, 6))])
    wanted = np.array([-1.0, 0.5, 0.0, 1.0, -0.3, 0.2, 0.0])
    squared = np.exp(features @ wanted) * rng.chisquare(1, 500)

    def loss(b: np.ndarray) -> float:
        likelihood = norm.logpdf(np.sqrt(squared), scale=np.exp(features @ b / 2)).sum()
        return -likelihood + 0.5 * uncertainty.CAUTION * float(b[1:] @ b[1:])

    found = uncertainty._fitted(features, squared)
    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert loss(found) <= loss(best.x) + 1e-9
    np.testing.assert_allclose(found, wanted, atol=0.2)


def test_a_spread_is_the_formula_of_its_docstring() -> None:
    ratings = random_ratings(70, 40, 0.3)
    model = tm.ANMF(3, members=2, steps=5).fit(ratings)
    assert model.noise is not None
    user, item = 7, 11
    prediction, std = model.predict([user], [item], return_std=True)
    place = (prediction[0] - 1) / 4
    counts = [
        np.log1p(half.counts[at]) for half, at in ((ratings.by_user, 7), (ratings.by_item, 11))
    ]
    features = [
        1,
        place,
        place**2,
        model.noise.users[7],
        counts[0],
        model.noise.items[11],
        counts[1],
    ]
    expected = np.exp(0.5 * np.dot(features, model.noise.coefficients))
    assert std[0] == pytest.approx(expected)
    half = ratings.by_user
    off = model.predict(half.rows, half.indices) - half.values
    mine = off[half.rows == user]
    share = ((mine**2).sum() + 8 * (off**2).mean()) / (len(mine) + 8) / (off**2).mean()
    assert model.noise.users[user] == pytest.approx(np.log(share))


def test_unknown_ids_have_a_spread_too() -> None:
    model = tm.ANMF(3, members=2, steps=5).fit(random_ratings(70, 40, 0.3))
    prediction, std = model.predict([0, 99, 99, 3], [99, 0, 99, 4], return_std=True)
    assert np.isfinite(prediction).all()
    assert ((std > 0.1) & (std < 10)).all()
    person = model.fold_in({0: 5, 1: 1})
    _, std = person.predict([0, 1, 99], return_std=True)
    assert ((std > 0.1) & (std < 10)).all()
    _, std = model.fold_in_item({0: 5, 1: 1}).predict([0, 1, 99], return_std=True)
    assert ((std > 0.1) & (std < 10)).all()
    raw = model.predict([0, 99], [0, 0], return_std=True, clip=False, fallback=None)
    assert np.isnan(raw[0][1])
    assert np.isfinite(raw[1]).all()


@pytest.mark.parametrize("method", [tm.MIXD(2), tm.Random(), tm.Baseline()])
def test_a_model_that_knows_no_errors_says_so(method) -> None:
    model = method.fit(random_ratings(20, 10, 0.5))
    name = type(method).__name__
    with pytest.raises(ParameterError, match=rf"a {name} model has no standard dev.*tm.CNMF"):
        model.predict([0], [0], return_std=True)


def test_four_of_five_ratings_of_movielens_lie_within_the_middle_of_their_spread(
    data: Path,
) -> None:
    """However wide it is; and it tells more than the best spread that is the same for all."""
    train, test = tm.holdout(tm.read(data / "ml-100k.parquet", scale=(1, 5)))
    half = test.by_user
    pairs = test.users.take(half.rows), test.items.take(half.indices)
    prediction, std = tm.fit(train).predict(*pairs, return_std=True)
    off = half.values - prediction
    within = np.abs(off) < norm.ppf(0.9) * std
    fifth = np.digitize(std, np.quantile(std, [0.2, 0.4, 0.6, 0.8]))
    covered = np.array([within[fifth == at].mean() for at in range(5)])
    assert ((covered > 0.75) & (covered < 0.85)).all(), covered
    spread = [std[fifth == at].mean() for at in (0, 4)]
    assert spread[1] > 1.4 * spread[0]
    constant = norm.logpdf(off, scale=np.sqrt((off**2).mean())).mean()
    assert norm.logpdf(off, scale=std).mean() > constant + 0.02  # −1.283 against −1.312
