"""The training loop, on its own and through the methods' common `fit`."""

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import CpuEngine, Pair, RandomStart, ReferenceEngine, Session
from tastemix.engine.objective import Objective
from tastemix.engine.reference import objective_value
from tastemix.errors import ParameterError
from tastemix.training import loop
from tastemix.training.phase import Phase
from tests.conftest import random_ratings

RATINGS = random_ratings(60, 40, 0.3)


def test_the_start_is_the_same_on_every_machine() -> None:
    """Values of PCG64's raw output, computed once by hand from its first 64-bit words."""
    users, items = RandomStart(3, seed=0).pair(60, 40)
    words = np.random.PCG64(0).random_raw(2)
    assert users[0, 0] == np.float32(((int(words[0]) >> 41) + 0.5) / 2**23)
    assert users[0, 1] == np.float32(((int(words[1]) >> 41) + 0.5) / 2**23)
    assert users.shape == (60, 3)
    assert 0 < users.min() < 0.05
    assert 0.95 < users.max() < 1
    assert not items.any()
    assert items.shape == (40, 3)


def test_history_counts_steps_over_phases() -> None:
    phases = [Phase(Objective(prior=3.0), 2), Phase(Objective(l1=0.1), 3)]
    model = tm.ANLS(4, phases).fit(RATINGS)
    assert [(step.number, step.phase) for step in model.history] == [
        (1, 0),
        (2, 0),
        (3, 1),
        (4, 1),
        (5, 1),
    ]
    last = model.history[-1]
    factors = model.factors.users, model.factors.items
    assert last.objective == pytest.approx(objective_value(RATINGS, factors, phases[1].objective))
    assert last.largest == max(factor.max() for factor in factors)
    assert all(step.updates > 0 and step.seconds > 0 for step in model.history)


def test_a_phase_sequence_is_a_warm_start() -> None:
    """h steps of PR and then RNMF is RNMF started from PR's factors, bit for bit."""
    whole = tm.MIXR(5, prior_steps=4, steps=9).fit(RATINGS)
    first = tm.PR(5, steps=4).fit(RATINGS).factors
    rest = tm.RNMF(5, steps=5).fit(RATINGS, start=Pair(first.users, first.items)).factors
    np.testing.assert_array_equal(whole.factors.users, rest.users)
    np.testing.assert_array_equal(whole.factors.items, rest.items)


def test_the_callback_sees_every_step_and_may_end_the_run() -> None:
    seen = []

    def watch(step: loop.Step, session: Session) -> bool:
        seen.append((step.number, session.factors().items.max()))
        return step.number == 3

    model = tm.RNMF(4, steps=50).fit(RATINGS, on_step=watch)
    assert [number for number, _ in seen] == [1, 2, 3]
    assert len(model.history) == 3
    assert seen[-1][1] == model.factors.items.max()


def test_early_stop_keeps_the_factors_of_the_best_step() -> None:
    train, held_out = tm.holdout(random_ratings(200, 80, 0.15), seed=1)
    errors = []
    half = held_out.by_user

    def rmse(factors: Pair) -> float:
        predicted = np.einsum("ij,ij->i", factors.users[half.rows], factors.items[half.indices])
        return float(np.sqrt(np.mean((predicted - half.values) ** 2)))

    model = tm.NMF(12, steps=200).fit(
        train,
        held_out=held_out,
        patience=4,
        on_step=lambda step, session: errors.append(rmse(session.factors())),
    )
    best = int(np.argmin(errors))
    assert len(errors) == best + 1 + 4
    assert len(errors) < 200
    assert rmse(Pair(model.factors.users, model.factors.items)) == pytest.approx(min(errors))


def test_early_stop_waits_for_the_last_phase() -> None:
    train, held_out = tm.holdout(random_ratings(200, 80, 0.15), seed=1)
    model = tm.MIXR(8, prior_steps=30, steps=100).fit(train, held_out=held_out, patience=1)
    assert 30 < len(model.history) < 100


def test_offsets_are_coordinates_held_at_one() -> None:
    recipe = tm.ANLS(3, [Phase(Objective(l2=1.0, l2_per_rating=0.05), 20)], offsets=True)
    users, items = recipe.fit(RATINGS).factors.users, recipe.fit(RATINGS).factors.items
    assert users.shape == (60, 5)
    assert (users[:, 4] == 1).all()
    assert (items[:, 3] == 1).all()
    assert users[:, 3].max() > 0
    assert items[:, 4].max() > 0
    again = recipe.fit(RATINGS, start=Pair(users, items)).factors
    assert (again.users[:, 4] == 1).all()
    assert (again.items[:, 3] == 1).all()


def test_any_engine_runs_any_method() -> None:
    native = tm.MIXD(4, prior_steps=2, steps=5).fit(RATINGS, engine=CpuEngine())
    plain = tm.MIXD(4, prior_steps=2, steps=5).fit(RATINGS, engine=ReferenceEngine())
    np.testing.assert_allclose(native.factors.users, plain.factors.users, atol=2e-2)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Pair(np.ones((60, 3)), np.ones((40, 4))), r"start.users has shape \(60, 3\)"),
        (Pair(np.ones((60, 4)), -np.ones((40, 4))), "start.items has negative"),
        (Pair(np.full((60, 4), np.nan), np.ones((40, 4))), "start.users has .*non-finite"),
    ],
)
def test_a_wrong_start_is_refused(start: Pair, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        tm.RNMF(4).fit(RATINGS, start=start)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tm.RNMF(0).fit(RATINGS), "rank is 0: it must be a whole number of 1 or more"),
        (lambda: tm.RNMF(2.5).fit(RATINGS), "rank is 2.5"),
        (lambda: tm.RNMF(2, l1=-1).fit(RATINGS), "l1 is -1: it must be a number from 0"),
        (
            lambda: tm.PR(2, weight=1.5).fit(RATINGS),
            "weight is 1.5: it must be a number from 0 to 1",
        ),
        (
            lambda: tm.PR(2, prior=float("nan")).fit(RATINGS),
            "prior is nan: it must be a number from -1e",
        ),
        (
            lambda: tm.NMF(2, steps=-1).fit(RATINGS),
            "steps is -1: .* 0 or more",
        ),
        (
            lambda: tm.MIXD(2, prior_steps=9, steps=5).fit(RATINGS),
            "prior_steps is 9: .*from 0 to 5",
        ),
        (
            lambda: tm.MIXR(2, prior_steps=9, steps=5).fit(RATINGS),
            "prior_steps is 9: .*from 0 to 5",
        ),
        (lambda: tm.NMF(2, steps=2.5).fit(RATINGS), "steps is 2.5: it must be a whole number"),
        (
            lambda: tm.RNMF(2, l1=1e39).fit(RATINGS),
            "l1 is 1e\\+39: it must be a number from 0",
        ),
        (
            lambda: tm.PR(2, prior=1e25).fit(RATINGS),
            "prior is 1e\\+25: it must be a number from -1e",
        ),
        (lambda: tm.NMF(2, seed=-1).fit(RATINGS), "seed is -1: it must be a whole number from 0"),
        (lambda: tm.NMF(2, seed=0.5).fit(RATINGS), "seed is 0.5: it must be a whole number"),
        (lambda: tm.PSVD(2, seed=-1).fit(RATINGS), "seed is -1"),
        (lambda: tm.holdout(RATINGS, seed=-1), "seed is -1"),
        (
            lambda: tm.NMF(2).fit(RATINGS, held_out=random_ratings(61, 40, 0.3)),
            "held_out has other users than the ratings",
        ),
        (
            lambda: tm.NMF(2).fit(tm.Ratings.from_arrays([0, 0, 1], [0, 1, 1], [1e19, 2e19, 1e19])),
            "the objective overflowed in step 1",
        ),
        (lambda: Objective(prior="static"), "prior is 'static': give a number, 'dynamic' or None"),
        (lambda: Phase(Objective(), 5, tolerance=1.0), "tolerance is 1.0"),
        (lambda: tm.NMF(2).fit(RATINGS, held_out=RATINGS, patience=0), "patience is 0"),
        (
            lambda: tm.NMF(2).fit(RATINGS, held_out=RATINGS.subset(np.array([], int))),
            "held_out has no ratings",
        ),
    ],
)
def test_a_parameter_outside_its_range_is_named(make, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_the_empty_part_of_a_split_cannot_be_learnt_from() -> None:
    with pytest.raises(tm.errors.DataError, match="there are no ratings to learn from"):
        tm.RNMF(2).fit(RATINGS.subset(np.array([], int)))
