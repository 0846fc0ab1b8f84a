"""One small model in the place of a mean of several."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.errors import ParameterError
from tests.methods.test_averaged import judged, planted
from tests.real import fitted, ml_1m

METHOD = tm.ANMF(3, members=4, steps=8)


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return METHOD.fit(planted())


@pytest.mark.parametrize(("rank", "tastes"), [(None, 6), (1, 1), (3, 3), (7, 7), (30, 30)])
def test_the_rank_is_twice_that_of_a_member_or_as_asked(
    model: tm.Model, rank: int | None, tastes: int
) -> None:
    small = model.compress(rank)
    assert small.factors.members == 1
    assert small.factors.rank == tastes + 2
    assert small.factors.held == ((tastes + 1,), (tastes,))
    assert len(set(small.tastes(1)["taste"].to_pylist())) == tastes
    for side, at in (("users", tastes + 1), ("items", tastes)):
        np.testing.assert_array_equal(getattr(small.factors, side)[:, at], 1)
        assert getattr(small.factors, side).min() >= 0


def test_more_tastes_come_nearer_to_the_average(model: tm.Model) -> None:
    pairs = np.divmod(np.arange(120 * 60), 60)
    expected = model.predict(*pairs, clip=False)
    off = [
        np.sqrt(np.mean((model.compress(rank).predict(*pairs, clip=False) - expected) ** 2))
        for rank in (1, 3, 12)
    ]
    assert off[0] > off[1] > off[2]
    spread = np.mean([f.pairs(*map(np.int32, pairs)) - expected for f in model.factors.parts], 0)
    assert np.abs(spread).max() < 1e-4  # they are what it is the mean of
    single = np.sqrt(np.mean((model.factors.parts[0].pairs(*map(np.int32, pairs)) - expected) ** 2))
    assert off[2] < 0.5 * single


def test_everything_else_is_kept(model: tm.Model) -> None:
    small = model.compress()
    assert small.ranking is not None
    assert model.ranking is not None
    first = model.ranking.factors.parts[0]
    np.testing.assert_array_equal(small.ranking.factors.users, first.users)
    assert small.noise is model.noise
    assert np.isfinite(small.predict([0], [0], return_std=True)).all()
    raw = small.predict([0], [0], clip=False)[0]
    values = small.explain(0, 0)["value"].to_pylist()
    assert min(values) >= 0
    assert sum(values) == pytest.approx(raw)
    assert len(small.recommend(0, 3)) == 3
    assert len(small.fold_in({0: 5}).recommend(3)) == 3
    assert small.update(planted().subset(np.arange(5)), steps=1).factors.members == 1
    assert model.factors.members == 4  # as it was


def test_the_same_model_every_time(model: tm.Model) -> None:
    np.testing.assert_array_equal(model.compress().factors.users, model.compress().factors.users)


def test_ratings_below_zero_are_compressed_likewise() -> None:
    half = planted().by_user
    below = tm.Ratings.from_arrays(half.rows, half.indices, half.values - 11, scale=(-10, -6))
    model = METHOD.fit(below)
    whole, small = (m.predict(half.rows, half.indices) for m in (model, model.compress(12)))
    np.testing.assert_allclose(small, whole, atol=0.5)
    assert np.abs(small - whole).mean() < 0.05


def test_what_cannot_be_compressed_is_refused(model: tm.Model) -> None:
    with pytest.raises(ParameterError, match=r"without its ratings .*compressed"):
        dataclasses.replace(model, ratings=None).compress()
    for single in (tm.ANMF(3, members=1, steps=2).fit(planted()), model.compress()):
        with pytest.raises(ParameterError, match="is not an average of several"):
            single.compress()
    for rank in (0, -1, 2.5, "x"):
        with pytest.raises(ParameterError, match=f"rank is {rank!r}: it must be"):
            model.compress(rank)
    with pytest.raises(ParameterError, match="a Random model has no factors"):
        tm.Random().fit(planted()).compress()


def test_most_of_what_the_average_gains_on_movielens_is_kept(data: Path) -> None:
    model, test = fitted(tm.ANMF(), data), ml_1m(data).test
    singles = [judged(dataclasses.replace(model, scores=f), test) for f in model.factors.parts]
    gain = np.mean(singles) - judged(model, test)
    assert gain > 0.008
    assert np.mean(singles) - judged(model.compress(), test) > 0.8 * gain
