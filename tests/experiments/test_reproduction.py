"""The published reproduction, as committed: how far it is from the paper's printed figures."""

import csv
from itertools import combinations
from pathlib import Path

import pytest

from tastemix.evaluation.metrics import rank_score
from tastemix.experiments import paper

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"
COLUMNS = {
    "RMSE": "rmse",
    "MAE": "mae",
    "F1": "f1",
    "Accuracy": "accuracy",
    "MAP": "map",
    "AUC": "auc",
    "NDCG": "ndcg",
    "NDCG@10": "ndcg_at_10",
}
EXCEPTIONS = {("ml-1m", "MIXD(20)", "auc")}  # a misprint: .743 between neighbours of .76 and .77


def table(dataset: str, name: str) -> list[dict[str, str]]:
    with (FOLDER / dataset / "tables" / f"{name}.csv").open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("dataset", ["ml-1m", "jester"])
def test_every_figure_is_within_six_thousandths_of_the_paper(dataset: str) -> None:
    ours = {row["method"]: row for row in table(dataset, "comparison-here")}
    printed = paper.comparison(dataset)
    assert set(ours) == set(printed)
    for method, figures in printed.items():
        for title, metric in COLUMNS.items():
            if (dataset, method, metric) not in EXCEPTIONS:
                found = float(ours[method][title])
                assert found == pytest.approx(figures[metric], abs=0.006), (method, metric)


@pytest.mark.parametrize("dataset", ["ml-1m", "jester"])
def test_methods_keep_the_order_of_their_printed_rank_scores(dataset: str) -> None:
    ours = {row["method"]: float(row["RankScore"]) for row in table(dataset, "comparison-here")}
    printed = {
        method: rank_score(f["map"], f["auc"], f["ndcg"], f["f1_at_10"], f["ndcg_at_10"])
        for method, f in paper.comparison(dataset).items()
    }
    compared = 0
    for one, other in combinations(printed, 2):
        if abs(printed[one] - printed[other]) > 0.005:
            compared += 1
            assert (ours[one] > ours[other]) == (printed[one] > printed[other]), (one, other)
    assert compared > 15


def test_ranking_metrics_agree_with_each_other_and_mae_with_accuracy() -> None:
    """NDCG with F1@10 is .936 here and .945 in the paper, whose F1@10 is another."""
    rows = {row[""]: row for row in table("ml-1m", "correlation-here-in-percent")}
    ranking = ("MAP", "AUC", "NDCG", "F1@10", "NDCG@10")
    for one, other in combinations(ranking, 2):
        least = 93 if {one, other} == {"NDCG", "F1@10"} else 94
        assert float(rows[one][other]) >= least, (one, other)
    assert float(rows["MAE"]["Accuracy"]) >= 95


@pytest.mark.parametrize("dataset", ["ml-1m", "jester"])
def test_the_report_says_how_it_was_made(dataset: str) -> None:
    page = (FOLDER / dataset / "report.html").read_text()
    assert f"tastemix reproduce {dataset}" in page
    assert "numpy" in page
