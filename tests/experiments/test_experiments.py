"""The eight experiments: what they plan, and what they show of known records."""

from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.errors import ParameterError
from tastemix.evaluation.metrics.facts import NINE
from tastemix.experiments import (
    EXPERIMENTS,
    FULL,
    QUICK,
    Context,
    Settings,
    comparison,
    correlation,
    paper,
    plan,
    reproduce,
)
from tastemix.experiments.settings import FACTORISATIONS, NAMED
from tastemix.report.exhibits import Heat, Lines, Section, Table
from tests.conftest import random_ratings

RATINGS = random_ratings(60, 130, 0.6)  # lists longer than ten
TINY = Settings(ranks=(2, 3), checkpoints=(1, 20, 24), folds=2, fold_counts=(3, 4), largest_rank=2)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    folder = tmp_path_factory.mktemp("experiments")
    return {section.name: section for section in reproduce("mine", RATINGS, folder, TINY)}


def test_all_eight_run_on_any_ratings(sections: dict[str, Section]) -> None:
    assert list(sections) == list(EXPERIMENTS)
    assert len(sections) == 8
    for section in sections.values():
        assert section.exhibits
        for exhibit in section.exhibits:
            if isinstance(exhibit, Table):
                assert all(len(row) == len(exhibit.columns) for row in exhibit.rows)
            if isinstance(exhibit, Lines):
                assert all(np.isfinite(series.y).all() for series in exhibit.series)


def test_experiments_share_their_runs() -> None:
    context = Context("mine", RATINGS, TINY)
    together = plan(context)
    apart = sum(len(plan(context, [name])) for name in EXPERIMENTS)
    assert len(together) == len(set(together)) < apart


def test_the_full_correlation_has_about_500_models() -> None:
    context = Context("ml-1m", RATINGS, FULL)
    count = 0
    for (name, _), run in context.sweep().items():
        steps = set(run.checkpoints) & set(correlation.STEPS) if run.checkpoints else {0}
        count += sum(not (name.startswith("MIX") and step <= 20) for step in steps)
    assert 450 <= count <= 550


def test_the_correlation_is_symmetric_with_a_unit_diagonal(sections: dict[str, Section]) -> None:
    heat = next(e for e in sections["correlation"].exhibits if isinstance(e, Heat))
    np.testing.assert_allclose(heat.values, heat.values.T)
    np.testing.assert_allclose(np.diag(heat.values), 1)
    assert heat.values.shape == (9, 9)


def test_the_comparison_is_the_mean_over_the_folds(sections: dict[str, Section]) -> None:
    table = sections["comparison"].exhibits[0]
    assert isinstance(table, Table)
    row = next(row for row in table.rows if row[0] == "RNMF(0.2)")
    results = tm.cross_validate([tm.RNMF(10, steps=24)], RATINGS, folds=5, raw=True)
    expected = [results.values("RNMF", metric)[:2].mean() for metric in NINE]
    assert row[1:3] == ("10", "24")
    assert list(row[3:12]) == pytest.approx(expected)


def test_the_paper_is_shown_beside_its_own_data_sets() -> None:
    assert paper.comparison("ml-1m")["RNMF(0.2)"]["rmse"] == 0.871
    assert paper.comparison("ml-100k") == {}
    methods = paper.compared_methods("ml-1m")
    assert methods["RANDOM"] == tm.Random()
    assert methods["PR(0)"] == tm.PR(10, prior=0.0, steps=10)
    assert methods["MIXR(20)"] == tm.MIXR(8, prior_steps=20, l1=0.2, steps=50)
    assert methods["SSVD(mid)"] == tm.SSVD(10)
    assert paper.best_ranks("jester")["PRD"] == 5
    assert paper.facts("ml-1m")["ratings"] == "1000209"
    assert paper.facts("ml-100k") == {}
    np.testing.assert_allclose(paper.correlation(), paper.correlation().T)


@pytest.mark.parametrize("dataset", paper.DATASETS)
def test_every_method_of_every_printed_table_is_known(dataset: str) -> None:
    assert set(paper.compared_methods(dataset)) == set(paper.comparison(dataset))


def test_the_quick_plan_is_much_smaller() -> None:
    full, quick = (Context("ml-1m", RATINGS, settings) for settings in (FULL, QUICK))

    def steps(context: Context) -> int:
        return sum(getattr(run.method, "steps", 1) for run in plan(context))

    assert 6 * steps(quick) < steps(full)


def test_an_unknown_experiment_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no experiment 'nine': choose from facts"):
        reproduce("mine", RATINGS, tmp_path, TINY, ["nine"])


def test_small_data_is_compared_at_a_rank_it_has(tmp_path: Path) -> None:
    small = random_ratings(12, 6, 0.9)
    context = Context("mine", small, TINY)
    assert comparison.methods(context)["PSVD"].rank == 6
    assert all(run.method.rank < 6 for (name, _), run in context.sweep().items() if "SVD" in name)


def test_each_model_is_counted_once_in_the_correlation() -> None:
    """MIXR and MIXD are PR(mid) for their first 20 steps."""
    wide = Settings(ranks=(2,), checkpoints=(10, 20, 40), folds=1, fold_counts=(3,))
    context = Context("mine", RATINGS, wide)

    class Everywhere(dict):
        def __missing__(self, run):
            from tastemix.experiments.runs import Record

            steps = run.checkpoints or (0,)
            return Record({step: dict.fromkeys(NINE, 0.5) for step in steps}, 0)

    columns = correlation.observations(context, Everywhere())
    factorisations = [name for name in NAMED if "SVD" not in name and name != "NMF"]
    mixed = [name for name in FACTORISATIONS if name.startswith("MIX")]
    assert len(columns["rmse"]) == 2 + 3 * (len(factorisations) - len(mixed)) + len(mixed)
