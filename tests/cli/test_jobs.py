"""Whole jobs by command: predict, similar, fold in, update, recommend to everyone."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.model import everyone
from tests.cli.commands import started, tastemix
from tests.cli.test_cli import CSV


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    path.write_text(CSV)
    return path


@pytest.fixture(scope="module")
def model(ratings: Path) -> Path:
    table = tm.read(ratings)
    folder = ratings.with_name("m")
    tm.RNMF(3, steps=20).fit(table.subset(np.arange(0, 96, 2))).save(folder)
    return folder


def test_predict_prints_what_the_library_says(model: Path) -> None:
    options = ("--user", "u3", "--item", "i2", "--item", "i5")
    assert "has no standard deviations" in tastemix("predict", model, *options, "--std").stderr
    found = json.loads(tastemix("predict", model, *options, "--json").stdout)
    expected = tm.load(model).predict(["u3", "u3"], ["i2", "i5"])
    assert [(row["user"], row["item"]) for row in found] == [("u3", "i2"), ("u3", "i5")]
    assert [row["rating"] for row in found] == pytest.approx(list(expected))


def test_predict_takes_the_pairs_of_a_file_in_their_order(model: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("film,who\ni5,u3\ni1,nobody\ni5,u3\n")
    command = ("predict", model, tmp_path / "pairs.csv", "--user", "who", "--item", "film")
    expected = tm.load(model).predict(["u3", "nobody", "u3"], ["i5", "i1", "i5"])
    for name, read in (("p.parquet", pq.read_table), ("p.csv", pa.csv.read_csv)):
        done = tastemix(*command, "-o", tmp_path / name)
        assert "3 rows in" in done.stdout, done.stderr
        table = read(tmp_path / name)
        assert table["user"].to_pylist() == ["u3", "nobody", "u3"]
        assert table["rating"].to_pylist() == pytest.approx(list(expected))


def test_similar_lists_items_or_users(model: Path) -> None:
    loaded = tm.load(model)
    items = json.loads(tastemix("similar", model, "--item", "i2", "-n", "3", "--json").stdout)
    assert items == loaded.similar("i2", 3).to_pylist()
    users = tastemix("similar", model, "--user", "u3", "-n", "2", "--csv").stdout
    assert [row["user"] for row in csv.DictReader(io.StringIO(users))] == (
        loaded.similar_users("u3", 2)["user"].to_pylist()
    )


def test_fold_in_recommends_and_explains_to_someone_new(model: Path) -> None:
    person = tm.load(model).fold_in({"i1": 5, "i2": 1.5})
    rows = json.loads(tastemix("fold-in", model, "i1=5", "i2=1.5", "-n", "3", "--json").stdout)
    assert rows == person.recommend(3).to_pylist()
    why = json.loads(
        tastemix("fold-in", model, "i1=5", "i2=1.5", "--explain", "i4", "--json").stdout
    )
    assert sum(row["value"] for row in why) == pytest.approx(person.predict("i4", clip=False))


def test_update_takes_ratings_in_and_replaces_the_model(
    model: Path, ratings: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("user,item,rating\nu99,i1,5\nu1,i99,2\n")
    done = tastemix("update", model, tmp_path / "new.csv", "-o", tmp_path / "m", "--steps", "2")
    assert "2 ratings taken in, of 1 new users and 1 new items" in done.stdout, done.stderr
    expected = tm.load(model).update(tm.read(tmp_path / "new.csv", scale=(1, 5)), steps=2)
    np.testing.assert_array_equal(tm.load(tmp_path / "m").factors.users, expected.factors.users)
    assert tastemix("update", tmp_path / "m", tmp_path / "new.csv").returncode == 0
    assert len(tm.load(tmp_path / "m").history) > len(expected.history)


@pytest.mark.parametrize("name", ["top.parquet", "top.csv"])
def test_recommend_to_everyone_writes_what_recommend_says(
    model: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(everyone, "MOST_USERS", 5)  # three batches
    done = tastemix("recommend", model, "--all", "-n", "2", "-o", tmp_path / name)
    assert "24 recommendations for 12 users in" in done.stdout, done.stderr
    read = pq.read_table if name.endswith("parquet") else pa.csv.read_csv
    loaded = tm.load(model)
    expected = loaded.recommend(loaded.users.ids.values, 2)
    found = read(tmp_path / name)
    assert found["item"].to_pylist() == expected["item"].to_pylist()
    assert found["score"].to_pylist() == pytest.approx(expected["score"].to_pylist())


def test_an_interrupted_job_leaves_the_older_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "top.csv").write_text("older")
    monkeypatch.setattr(everyone, "MOST_USERS", 5)
    recommend, calls = tm.Model.recommend, []

    def fails_later(self: tm.Model, users: object, n: int) -> pa.Table:
        calls.append(users)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return recommend(self, users, n)

    monkeypatch.setattr(tm.Model, "recommend", fails_later)
    done = tastemix("recommend", model, "--all", "-o", tmp_path / "top.csv")
    assert done.returncode == 130
    assert (tmp_path / "top.csv").read_text() == "older"
    assert [path.name for path in tmp_path.iterdir()] == ["top.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recommend",), "give --user ID or --all, one of the two"),
        (("recommend", "--all", "--user", "u1"), "give --user ID or --all, one of the two"),
        (("recommend", "--all"), "--all needs a file: add -o top.parquet"),
        (("recommend", "--all", "-o", "top.xls"), "top.xls ends in neither .csv nor .parquet"),
        (("recommend", "--user", "u1", "--json", "--csv"), "leave one of them out"),
        (("predict",), "there is nothing to predict: give a file, or --user and --item"),
        (("similar",), "Give --item ID or --user ID, one of the two"),
        (("similar", "--item", "i77"), "item 'i77' is not in the ratings"),
        (("fold-in", "Heat"), "'Heat' is not ITEM=RATING, such as Heat=5"),
        (("fold-in", "i1=good"), "'i1=good' is not ITEM=RATING"),
    ],
)
def test_a_mistake_is_one_sentence(model: Path, arguments: tuple[str, ...], message: str) -> None:
    command, *options = arguments
    done = tastemix(command, model, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_tables_are_printed_as_csv(model: Path, ratings: Path) -> None:
    loaded = tm.load(model)
    tables = {
        ("recommend", model, "--user", "u3"): loaded.recommend("u3"),
        ("explain", model, "--user", "u3", "--item", "i2"): loaded.explain("u3", "i2"),
        ("tastes", model): loaded.tastes(),
    }
    for command, expected in tables.items():
        rows = list(csv.DictReader(io.StringIO(tastemix(*command, "--csv").stdout)))
        assert list(rows[0]) == expected.column_names
        assert len(rows) == len(expected)
    parts = csv.DictReader(
        io.StringIO(tastemix("explain", model, "--user", "u3", "--item", "i2", "--csv").stdout)
    )
    because = loaded.explain("u3", "i2")["because"].to_pylist()
    assert [row["because"] for row in parts] == ["|".join(items) for items in because]
    judged = csv.DictReader(io.StringIO(tastemix("evaluate", model, ratings, "--csv").stdout))
    found = {row["metric"]: float(row["value"]) for row in judged}
    assert found == pytest.approx(loaded.evaluate(ratings), nan_ok=True)
    options = ("--methods", "random,baseline", "--folds", "2", "--csv")
    compared = csv.DictReader(io.StringIO(tastemix("compare", ratings, *options).stdout))
    assert [row["method"] for row in compared] == ["Random", "Baseline"]


def test_the_shell_completes_commands_and_methods(ratings: Path) -> None:
    shell = {"_TASTEMIX_COMPLETE": "complete_bash"}
    words = {**shell, "COMP_WORDS": "tastemix fo", "COMP_CWORD": "1"}
    assert started(env=words).stdout.split() == ["fold-in"]
    words = {**shell, "COMP_WORDS": "tastemix train r.csv --method mix", "COMP_CWORD": "4"}
    assert started(env=words).stdout.split() == ["mixr", "mixd"]
    words = {**shell, "COMP_WORDS": "tastemix compare r.csv --methods mixd,mi", "COMP_CWORD": "4"}
    assert started(env=words).stdout.split() == ["mixd,mixr"]
    words = {**shell, "COMP_WORDS": "tastemix train r.csv --engine c", "COMP_CWORD": "4"}
    assert started(env=words).stdout.split() == ["cpu", "cuda"]


def test_figures_are_files(model: Path, ratings: Path, tmp_path: Path) -> None:
    for name, *options in (
        ("tastes.svg", model),
        ("why.png", model, "--kind", "explain", "--user", "u3", "--item", "i2"),
        ("ratings.svg", ratings),
    ):
        done = tastemix("plot", *options, "-o", tmp_path / name)
        assert "drawn in" in done.stdout, done.stderr
        assert (tmp_path / name).stat().st_size > 3000
    assert ">i2 for u3<" not in (tmp_path / "tastes.svg").read_text()
    assert "96 ratings of 8 items by 12" in (tmp_path / "ratings.svg").read_text()
    for wrong, said in (
        (("-o", "x.gif"), "x.gif ends in none of .svg, .png, .pdf"),
        (("-o", "x.svg", "--kind", "pie"), "--kind is 'pie': choose one of tastes, map"),
        (("-o", "x.svg", "--user", "u3"), "belong together: give all three"),
    ):
        assert said in tastemix("plot", model, *wrong).stderr
