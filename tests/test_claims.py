"""The committed measurements show what the documentation claims of them.

They were made by `make bench-peers` and `python benchmarks/beyond.py`; nothing is timed here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SETS = ("ml-100k", "ml-1m", "finefoods-users6plus", "jester")


def measured(name: str) -> Any:
    return json.loads((DOCS / f"{name}.json").read_text())


def fits() -> dict[str, Any]:
    return {fit["name"]: fit for fit in measured("performance/fits")["fits"]}


@pytest.mark.parametrize("kind", ["default", "tuned"])
def test_a_peers_error_is_reached_in_a_fraction_of_its_time(kind: str) -> None:
    races = [race for race in measured("performance/fits")["races"] if race["kind"] == kind]
    assert {race["peer"] for race in races} == {
        *("cmfrec nonneg", "cmfrec NMF", "Cornac NMF", "Cornac MF"),
        *("Surprise NMF", "Spark ALS nonneg"),
    }
    for race in races:
        assert race["reached"]
        assert race["ratio"] >= race["demanded"], race["peer"]


@pytest.mark.parametrize("ours", ["RNMF(6)", "MIXD(10)"])
def test_full_fits_of_the_paper_take_less_than_cmfrecs_nonnegative_ones(ours: str) -> None:
    found = fits()
    for peer in ("cmfrec nonneg", "cmfrec NMF"):
        for kind in ("default", "tuned"):
            assert found[ours]["default"]["seconds"] <= found[peer][kind]["seconds"]


def test_anmf_has_the_lowest_error_of_all_and_bayesian_factorisation_takes_ten_times_longer() -> (
    None
):
    found = fits()
    ours = found["ANMF"]["default"]["rmse"]
    others = [fit for fit in found.values() if fit["peer"] != "tastemix"]
    assert len(others) >= 15
    for fit in others:
        for kind in ("default", "tuned"):
            assert fit[kind]["rmse"] is None or fit[kind]["rmse"] > ours, fit["name"]
    quick, bayes = found["ANMF, 4 members"]["default"], found["myFM"]["default"]
    assert quick["rmse"] <= min(0.845, bayes["rmse"])
    assert quick["seconds"] <= bayes["seconds"] / 10


@pytest.mark.parametrize("rank", [20, 50])
def test_steps_on_sixteen_million_ratings_are_shorter_than_als_iterations(rank: int) -> None:
    found = measured("performance/sixteen")
    assert found["ratings"] == 16_000_000
    seconds = {row["name"]: row["seconds"] for row in found["iterations"] if row["rank"] == rank}
    peer = min(seconds[name] for name in seconds if name not in ("RNMF", "PRD"))
    assert seconds["RNMF"] <= peer
    assert seconds["PRD"] <= peer / 3


def test_a_fit_of_sixteen_million_ratings_grows_less_than_the_peers() -> None:
    growth = {row["name"]: row["growth"] for row in measured("performance/sixteen")["growth"]}
    others = [name for name in growth if not name.startswith("RNMF")]
    assert {name.split()[0] for name in others} == {"cmfrec", "implicit", "LensKit", "Spark"}
    assert all(growth["RNMF"] < growth[name] for name in others)


def test_judging_is_twenty_times_faster_than_loops_over_users() -> None:
    found = measured("performance/judging")
    assert found["users"] * found["items"] == 2_000_000
    assert min(found["cornac"]["ratio"], found["sklearn"]["ratio"]) >= 20


def test_what_is_recommended_is_liked_more_often_than_implicits() -> None:
    found = {row["name"]: row["precision_at_10"] for row in measured("performance/topn")["rows"]}
    assert found["tastemix `tm.fit`"] >= 0.29
    assert found["tastemix `tm.fit`"] > found["implicit ALS"]


@pytest.mark.parametrize("name", SETS)
def test_the_default_is_better_than_every_method_of_the_paper_at_every_rank(name: str) -> None:
    found = measured("beyond/final")["sets"][name]
    paper = [key for key in found if not key.startswith(("CNMF", "Baseline"))]
    assert len(paper) == 8 * 4
    for metric, sign in (("rmse", 1), ("mae", 1), ("rank_score", -1)):
        best = min(sign * found[key][metric] for key in paper)
        assert sign * found["CNMF"][metric] < best, metric
        assert sign * found["CNMF, mean of 4"][metric] < best, metric


def errors(name: str, entry: str) -> float:
    """The mean test RMSE over five splits."""
    folds = measured("beyond/accuracy")["sets"][name][entry]["folds"]
    assert len(folds) == 5
    return sum(fold["rmse"] for fold in folds.values()) / 5


@pytest.mark.parametrize(
    ("name", "one", "mean"),
    [
        ("ml-1m", 0.833, 0.824),
        ("ml-1m, 90/10", 0.828, 0.8225),
        ("ml-100k", 0.888, 0.88),
        ("finefoods-users6plus", 0.755, 0.748),
        ("jester", 0.887, 0.879),
    ],
)
def test_the_errors_of_cnmf(name: str, one: float, mean: float) -> None:
    assert errors(name, "CNMF") <= one
    assert errors(name, "CNMF, mean of 4") <= mean


def test_the_default_can_be_read() -> None:
    found = measured("beyond/readable")["MovieLens 1M"]["`tm.fit`: CNMF"]
    mean = {figure: sum(values) / len(values) for figure, values in found.items()}
    assert mean["rmse"] <= 0.833
    assert mean["genres"] >= 0.4
    assert mean["parts"] <= 7
    assert mean["baseline"] <= 1 / 3


def test_who_is_new_is_predicted_better_than_by_means() -> None:
    for side in ("users", "items"):
        found = measured("beyond/newcomers")[side]
        assert found["given"] == [0, 1, 2, 5, 10, 20]
        pairs = list(zip(found["ours"], found["means"], strict=True))
        assert all(ours <= means for ours, means in pairs)
        assert pairs[-1][0] <= pairs[-1][1] - 0.025


def test_few_ratings_and_other_scales_are_predicted_better_than_by_offsets() -> None:
    for found in measured("beyond/sparse")["sets"].values():
        assert found["ours"] <= found["baseline"]
        assert found["apart"] < 0.001


@pytest.mark.parametrize("name", ["ml-1m", "ml-100k", "thinned", "finefoods-users6plus"])
def test_lists_are_as_good_as_those_of_tuned_ease(name: str) -> None:
    rows = measured("beyond/topn")[name]["rows"]
    found = {
        row: sum(fold["precision_at_10"] for fold in folds) / len(folds)
        for row, folds in rows.items()
    }
    assert found["**`tm.fit`**"] >= found["EASE on stars, λ tuned"]


@pytest.mark.parametrize("name", SETS)
def test_the_predicted_spread_is_likelier_than_a_constant_one(name: str) -> None:
    found = measured("beyond/errors")["sets"][name]
    assert found["likelihood"] > found["constant"]
    if name != "finefoods-users6plus":  # nearly all of its ratings are five stars
        assert all(0.75 <= share <= 0.85 for share in found["coverage"])


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "jester"])
def test_a_compressed_model_keeps_four_fifths_of_the_gain(name: str) -> None:
    assert measured("beyond/compression")["sets"][name]["kept"] >= 0.8


def test_lists_from_clicks_are_as_good_as_those_of_tuned_peers() -> None:
    found = {row["name"]: row for row in measured("beyond/implicit")["rows"]}
    ours = found["tastemix `Implicit`"]["precision_at_10"]
    assert ours >= found["implicit ALS"]["precision_at_10"]
    assert ours >= 0.98 * found["EASE in NumPy"]["precision_at_10"]
    for peer in ("implicit ALS", "EASE in NumPy"):
        assert len(found[peer]["tried"]) >= 5
