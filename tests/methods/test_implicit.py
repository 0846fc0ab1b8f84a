"""Plays and clicks: read from tables without ratings, fitted, judged by lists."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import tastemix as tm
from tastemix.data.plays import strengths
from tastemix.errors import ColumnError, DataError, ParameterError, RatingError
from tests.cli.commands import tastemix


def plays(users: int = 120, items: int = 40, groups: int = 4) -> pa.Table:
    """Everyone plays things of their own group, some of them several times, and a few others."""
    rng = np.random.default_rng(3)
    user, item = np.nonzero(
        rng.random((users, items))
        < np.where(np.arange(users)[:, None] % groups == np.arange(items) % groups, 0.6, 0.03)
    )
    times = rng.geometric(0.3, len(user))
    rows = rng.permutation(np.repeat(np.arange(len(user)), times))
    return pa.table({"user": user[rows], "item": item[rows]})


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return tm.fit(plays(), feedback="implicit")


def test_a_table_without_ratings_is_learnt_from(model: tm.Model) -> None:
    assert model.method == "Implicit"
    best = model.recommend(model.users.ids.values, 1)
    same = np.array(best["user"]) % 4 == np.array(best["item"]) % 4
    assert same.mean() > 0.95
    assert model.factors.items.min() >= 0


def test_counts_clicks_and_files_are_the_same_plays(model: tm.Model, tmp_path: Path) -> None:
    rows = plays()
    counted = rows.group_by(["user", "item"]).aggregate([([], "count_all")])
    pacsv.write_csv(rows, tmp_path / "plays.csv")
    others = [
        tm.fit(tmp_path / "plays.csv", feedback="implicit"),
        tm.fit(counted, rating="count_all", feedback="implicit"),
        tm.Implicit().fit(tm.Ratings.from_table(rows, rating=None)),
    ]
    for other in others:
        np.testing.assert_array_equal(other.factors.items, model.factors.items)


def test_more_plays_say_more_and_none_says_nothing() -> None:
    counts = tm.Ratings.from_arrays(list("aaaa"), list("wxyz"), [0, 1, 10, 1000])
    found = strengths(counts)
    # log(1 + count / 10), from .75 up to 1.
    expected = 0.75 + 0.25 * np.log1p([0.1, 1, 100]) / np.log1p(100)
    np.testing.assert_allclose(found.by_user.values, expected, rtol=1e-6)
    assert found.scale == (0, 1)
    clicks = strengths(tm.Ratings.from_arrays(list("ab"), list("xy"), [7, 7]))
    assert clicks.by_user.values.tolist() == [1, 1]
    with pytest.raises(RatingError, match="a count of plays is -1"):
        strengths(tm.Ratings.from_arrays(list("ab"), list("xy"), [-1, 7]))


def test_explanations_add_up_and_name_what_was_played(model: tm.Model) -> None:
    best = model.recommend(0, 1).to_pylist()[0]
    parts = model.explain(0, best["item"], of="score").to_pylist()
    assert sum(part["value"] for part in parts) == pytest.approx(best["score"])
    assert parts[0]["part"].startswith("rated ")
    tastes = model.explain(0, best["item"])
    assert sum(tastes["value"].to_pylist()) == pytest.approx(
        model.predict(0, best["item"], clip=False), rel=1e-6
    )


def test_someone_new_and_new_plays(model: tm.Model) -> None:
    best = model.fold_in({0: 1, 4: 37}).recommend(4)["item"].to_pylist()
    assert all(item % 4 == 0 for item in best)
    newer = model.update(pa.table({"user": [500, 500, 500], "item": [1, 5, 5]}))
    assert all(item % 4 == 1 for item in newer.recommend(500, 3)["item"].to_pylist())


def test_every_held_out_play_is_relevant(model: tm.Model) -> None:
    ratings = tm.Ratings.from_table(plays(), rating=None)
    train, test = tm.holdout(ratings)
    found = tm.Implicit().fit(train).evaluate(test)
    fitted = tm.Implicit().fit(train)
    hits = []
    for user in np.flatnonzero(test.by_user.counts):
        held = set(test.by_user.row(user)[0].tolist())
        best = fitted.recommend(int(ratings.users[user]), 10)["item"].to_pylist()
        hits.append(sum(fitted.items.ids.number(item) in held for item in best) / 10)
    assert found["catalogue_precision_at_10"] == pytest.approx(np.mean(hits))
    assert set(found) == {name for name in found if name.startswith("catalogue_")}


def test_it_is_saved_with_its_links(model: tm.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    loaded = tm.load(tmp_path / "m")
    assert loaded.implicit
    assert loaded.recommend([0, 1], 5).equals(model.recommend([0, 1], 5))


def test_a_table_without_ratings_names_the_way_to_fit_plays(tmp_path: Path) -> None:
    table = pa.table({"user": [1, 1, 2], "item": [1, 2, 2]})
    with pytest.raises(ColumnError, match=r"no column 'rating'.* pass feedback='implicit'"):
        tm.fit(table)
    with pytest.raises(ColumnError, match=r"no column 'stars'[^;]*; [^;]*$"):
        tm.fit(table, rating="stars")
    pacsv.write_csv(table, tmp_path / "plays.csv")
    done = tastemix("train", tmp_path / "plays.csv", "-o", tmp_path / "m")
    assert done.returncode == 2
    assert "give --feedback implicit" in done.stderr


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([5.0] * 40, "all 40 ratings are 5, which tells nobody's taste: pass feedback='implicit'"),
        (
            [1.0] * 30 + [3.0] * 9 + [2500.0],
            "whole numbers up to 2,500, half of them at most 1, as counts are: pass "
            "feedback='implicit' if they are plays or clicks, or feedback='explicit'",
        ),
    ],
)
def test_ratings_that_tell_nothing_are_refused_with_the_way_out(
    values: list[float], message: str, tmp_path: Path
) -> None:
    user, item = np.divmod(np.arange(40), 8)
    table = pa.table({"user": user, "item": item, "rating": values})
    with pytest.raises(DataError, match=message.replace(",", "[,]")):
        tm.fit(table)
    assert tm.fit(table, feedback="implicit").method == "Implicit"
    assert tm.fit(table, feedback="explicit").method == "CNMF"
    pacsv.write_csv(table, tmp_path / "r.csv")
    done = tastemix("train", tmp_path / "r.csv", "-o", tmp_path / "m")
    assert done.returncode == 2
    assert "--feedback implicit if they are plays" in done.stderr
    done = tastemix("train", tmp_path / "r.csv", "-o", tmp_path / "m", "--feedback", "implicit")
    assert done.returncode == 0, done.stderr
    done = tastemix("evaluate", tmp_path / "m", tmp_path / "r.csv", "--csv")
    assert "catalogue_coverage" in done.stdout, done.stderr


@pytest.mark.parametrize("values", [[1, 100, 50, 70], [0.5, 250.5, 1, 1], [0, 1, 1, 0]])
def test_ratings_on_any_scale_are_not_taken_for_plays(values: list[float]) -> None:
    ratings = tm.Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], values)
    assert tm.fit(ratings).method == "CNMF"


def test_other_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="feedback is 'maybe': choose"):
        tm.fit(plays(), feedback="maybe")
    with pytest.raises(DataError, match="there is no column 'item'"):
        tm.fit(plays().rename_columns(["user", "song"]), feedback="implicit")
    with pytest.raises(DataError, match="no column 'stars'"):
        tm.fit(plays(), rating="stars", feedback="implicit")
    with pytest.raises(ParameterError, match="weight is 2"):
        tm.Implicit(weight=2)
