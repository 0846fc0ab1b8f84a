"""The paper's figures on the real data, and what its methods do there."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.splits import Split
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.objective import Objective
from tests.real import fitted, ml_1m

# method, and (RMSE, MAE) as printed; raw predictions, ratings split 80/20, seed 0
ML_1M = {
    "PSVD": (tm.PSVD(10), 2.770, 2.508),
    "SSVD(mid)": (tm.SSVD(10), 1.077, 0.881),
    "PR(0)": (tm.PR(10, prior=0, steps=10), 2.825, 2.567),
    "PR(mid)": (tm.PR(15), 1.072, 0.876),
    "PRD": (tm.PRD(15), 0.926, 0.715),
    "RNMF(0.2)": (tm.RNMF(6), 0.871, 0.680),
    "MIXD(20)": (tm.MIXD(10), 0.861, 0.677),
    "MIXR(20)": (tm.MIXR(8, steps=50), 0.872, 0.679),
    "RANDOM": (tm.Random(), 2.181, 1.765),
}
JESTER = {
    "PSVD": (tm.PSVD(5), 1.487, 1.197),
    "SSVD(mid)": (tm.SSVD(10), 0.937, 0.745),
    "PR(0)": (tm.PR(3, prior=0, steps=10), 1.473, 1.189),
    "PR(mid)": (tm.PR(10), 0.937, 0.745),
    "PRD": (tm.PRD(5, steps=90), 0.919, 0.708),
    "RNMF(0.2)": (tm.RNMF(5), 0.921, 0.708),
    "MIXD(20)": (tm.MIXD(5), 0.921, 0.709),
    "MIXR(20)": (tm.MIXR(5), 0.921, 0.708),
    "RANDOM": (tm.Random(), 2.111, 1.715),
}


@cache
def jester(data: Path) -> Split:
    """As stars: rint((r + 10) / 5 + 1)."""
    raw = tm.read(data / "jester.parquet", scale=(-10, 10)).to_table()
    stars = np.rint((raw["rating"].to_numpy().astype(float) + 10) / 5 + 1)
    return tm.holdout(tm.Ratings.from_arrays(raw["user"], raw["item"], stars, scale=(1, 5)))


def errors(model: tm.Model, test: tm.Ratings) -> tuple[float, float]:
    half = test.by_user
    raw = model.predict_numbers(half.rows, half.indices, clip=False, fallback=None)
    error = raw - half.values
    return float(np.sqrt(np.mean(error**2))), float(np.abs(error).mean())


@pytest.mark.parametrize("name", ML_1M)
def test_ml_1m(name: str, data: Path) -> None:
    method, rmse, mae = ML_1M[name]
    assert errors(fitted(method, data), ml_1m(data).test) == pytest.approx((rmse, mae), abs=0.012)


@pytest.mark.parametrize("name", JESTER)
def test_jester_as_stars(name: str, data: Path) -> None:
    train, test = jester(data)
    method, rmse, mae = JESTER[name]
    assert errors(method.fit(train), test) == pytest.approx((rmse, mae), abs=0.012)


@pytest.mark.parametrize(
    ("file", "table"), [("table-ml-1m.csv", ML_1M), ("table-jester.csv", JESTER)]
)
def test_the_figures_above_are_the_printed_ones(file: str, table: dict, data: Path) -> None:
    path = data.parent / "paper" / file
    if not path.exists():
        pytest.skip("the paper's tables are not beside the data")
    with path.open() as lines:
        printed = {
            row["method"]: (float(row["rmse"]), float(row["mae"])) for row in csv.DictReader(lines)
        }
    assert {name: figures for name, (_, *figures) in table.items()} == {
        name: list(figures) for name, figures in printed.items()
    }


def test_the_largest_prediction_explodes_for_nmf_alone(data: Path) -> None:
    """Over all pairs at rank 6: after 100 steps NMF's is over 20 times RNMF's; methods with a prior
    stay below 10 from step 5 on.
    """
    train = ml_1m(data).train
    nmf, rnmf = (fitted(method, data).factors.largest() for method in (tm.NMF(6), tm.RNMF(6)))
    assert nmf > 20 * rnmf

    for method in (tm.PR(6), tm.PRD(6), tm.MIXD(6)):
        largest = {}

        def watch(step, session, largest=largest) -> None:
            if step.number in (5, 10, 20, 50, 100):
                largest[step.number] = tm.Factors(*session.factors()).largest()

        method.fit(train, on_step=watch)
        assert len(largest) == 5
        assert max(largest.values()) < 10, (method, largest)


def test_nmf_stays_finite_for_500_steps_on_jester(data: Path) -> None:
    train = jester(data).train
    model = tm.NMF(5, steps=500).fit(train.subset(train.by_user.rows % 8 == 0))
    for factor in (model.factors.users, model.factors.items):
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()


def test_a_rank_beyond_the_data_stays_finite_on_jester(data: Path) -> None:
    train = jester(data).train
    few = train.subset(train.by_user.rows < 300)
    model = tm.NMF(150, steps=30).fit(few)
    for factor in (model.factors.users, model.factors.items):
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()


@pytest.mark.parametrize(
    "objective", [Objective(), Objective(l1=0.2), Objective(prior=3.0), Objective(prior="dynamic")]
)
def test_no_half_step_raises_the_objective_on_ml_1m(objective: Objective, data: Path) -> None:
    from tastemix.engine.reference import objective_value

    train = ml_1m(data).train
    session = CpuEngine().place(train).open(RandomStart(10, 0))
    value = objective_value(train, session.factors(), objective)
    for _ in range(6):
        for side in ("items", "users"):
            session.half_step(side, objective, 1e-3)
            after = objective_value(train, session.factors(), objective)
            assert after <= value * (1 + 1e-6)
            value = after
