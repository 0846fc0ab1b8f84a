"""The command line: in this process, and where it matters through the entry point."""

import json
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import _native
from tastemix.engine.cuda import card
from tastemix.errors import TastemixError
from tastemix.evaluation import search
from tastemix.methods import anmf, cnmf, default_method
from tastemix.methods.averaged import LEAST_RANK
from tests.cli.commands import started, tastemix

CSV = "user,item,rating\n" + "\n".join(
    f"u{user},i{item},{1 + (user * item) % 5}" for user in range(12) for item in range(8)
)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(CSV)
    return path


def test_train_saves_a_model_that_predicts(ratings: Path, tmp_path: Path) -> None:
    done = started(
        *("train", ratings, "-o", tmp_path / "m", "--method", "rnmf"),
        *("--rank", "3", "--steps", "20", "--seed", "5"),
    )
    assert done.returncode == 0, done.stderr
    assert "96 ratings, 12 users, 8 items" in done.stdout
    assert "RNMF(rank=3, l1=0.2, steps=20, seed=5)" in done.stdout
    model = tm.load(tmp_path / "m")
    expected = tm.RNMF(3, steps=20, seed=5).fit(tm.read(ratings))
    np.testing.assert_array_equal(model.factors.items, expected.factors.items)


def test_train_needs_no_choice_of_method(ratings: Path, tmp_path: Path) -> None:
    done = tastemix("train", ratings, "-o", tmp_path / "m", "--members", "3", "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert "CNMF(rank=8, members=3, steps=24, noise=" in done.stdout
    model = tm.load(tmp_path / "m")
    own = default_method()
    expected = replace(own, members=3, seed=5).fit(tm.read(ratings))
    assert model.method == "CNMF"
    users, items = ["u1", "u2", "nobody"], ["i3", "i0", "i1"]
    found, wanted = (m.predict(users, items, return_std=True) for m in (model, expected))
    np.testing.assert_array_equal(found, wanted)
    assert model.recommend("u1", seen=[]).equals(expected.recommend("u1", seen=[]))


def test_train_can_save_one_small_model(ratings: Path, tmp_path: Path) -> None:
    options = ("--method", "anmf", "--rank", "3", "--steps", "4", "--compress")
    done = tastemix("train", ratings, "-o", tmp_path / "m", *options)
    assert done.returncode == 0, done.stderr
    model = tm.load(tmp_path / "m")
    expected = tm.ANMF(3, steps=4).fit(tm.read(ratings)).compress()
    assert model.factors.members == 1
    np.testing.assert_array_equal(model.factors.users, expected.factors.users)
    assert {row[0] for row in cells(tastemix("tastes", tmp_path / "m").stdout, 3)} == set("123456")


COMPRESS = "--compress merges the fits of a mean: give --members 3, say"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--method", "mixd", "--members", "3"],
            "--members does not apply to mixd",
        ),
        (["--members", "0"], "members is 0"),
        (["--method", "mixd", "--compress"], COMPRESS),
        (["--search", "--compress"], COMPRESS),
        (["--search", "--members", "3"], "--search chooses --members itself"),
        (["--members", "1", "--compress"], COMPRESS),
        (["--method", "als"], "no method 'als'"),
        (["--method", "psvd", "--l1", "1"], "--l1 does not apply to psvd"),
        (["--rank", "0"], "rank is 0"),
        (["--user", "who"], "no column 'who'"),
        (["--scale", "1", "3"], "is 4, outside the scale 1 to 3"),
        (["--duplicates", "first"], "choose 'refuse', 'last', 'mean', 'sum' or 'count'"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    ratings: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = tastemix("train", ratings, "-o", tmp_path / "m", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "m").exists()
    with pytest.raises(TastemixError):
        tastemix("--debug", "train", ratings, "-o", tmp_path / "m", *arguments)


def test_a_folder_that_cannot_be_saved_to_is_refused_before_the_fit(
    ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tm.PR(2, steps=1).fit(tm.read(ratings)).save(tmp_path / "model")
    monkeypatch.setattr(tm.RNMF, "fit", lambda *_, **__: pytest.fail("it was fitted"))
    monkeypatch.setattr(tm.Model, "update", lambda *_, **__: pytest.fail("it was fitted"))
    for output, message in (
        (ratings, "is a file: give the path of a new folder"),
        (tmp_path, "contains other files: give the path of a new folder"),
        ("/proc/q", "cannot be written"),
        (tmp_path / "new" / ("x" * 300), "cannot be written (File name too long)"),
    ):
        for command in (
            ("train", ratings, "--method", "rnmf", "-o", output),
            ("update", tmp_path / "model", ratings, "-o", output),
        ):
            done = tastemix(*command)
            assert done.returncode == 2
            assert message in done.stderr
    assert not (tmp_path / "new").exists()


def test_titles_of_other_items_are_refused_before_the_fit(
    ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "items.csv").write_text("title,key\nPears,i1\nPlums,i2\n")
    monkeypatch.setattr(tm.RNMF, "fit", lambda *_, **__: pytest.fail("it was fitted"))
    options = ("--method", "rnmf", "--items", tmp_path / "items.csv")
    done = tastemix("train", ratings, "-o", tmp_path / "m", *options)
    assert done.returncode == 2
    assert "where items look like 'i0', and here like 'Pears'" in done.stderr
    assert "name the column of the ids with --items-id" in done.stderr
    assert not (tmp_path / "m").exists()


def test_a_mistake_shows_a_traceback_with_debug_alone(ratings: Path, tmp_path: Path) -> None:
    mistake = ("train", ratings, "-o", tmp_path / "m", "--rank", "0")
    done, debugged = started(*mistake), started("--debug", *mistake)
    assert done.returncode == 2
    assert done.stderr == "error: rank is 0: it must be a whole number of 1 or more\n"
    assert debugged.returncode != 0
    assert "Traceback" in debugged.stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = tastemix("train", tmp_path / "no.csv", "-o", tmp_path / "m")
    assert done.returncode == 2
    assert "no.csv does not exist" in done.stderr


def test_ctrl_c_writes_nothing(ratings: Path, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("tastemix")
    running = subprocess.Popen(
        [program, "train", ratings, "-o", tmp_path / "m", "--steps", "100000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert "96 ratings" in running.stdout.readline()  # it has started
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "m").exists()


def cells(text: str, columns: int) -> list[list[str]]:
    """The body of the tables of so many columns, row by row."""
    lines = [line for line in text.splitlines() if line.count("│") == columns + 1]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]


def test_the_demos_report_shows_tastes_an_explanation_a_map_and_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tastemix("demo", "--out", str(tmp_path)).returncode == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    images = [image.split('"')[0] for image in page.split('role="img" aria-label="')[1:]]
    assert [image.split(":")[0] for image in images] == [
        "Tastes and their items",
        *(f"{dish} for Abeni" for dish in dishes_for(tmp_path, "Abeni")),
        "A map of the items",
        "RMSE",
        "P@10",
    ]
    assert "Seared Scallops" in images[0]
    assert "sum" in images[1]
    assert "CNMF 0.6" in images[5]
    assert "&lt; .001" in page
    assert '<td class="n">.000</td>' not in page
    compare = sys.modules["tastemix.cli.compare"]
    monkeypatch.setattr(compare, "find_spec", lambda name: None)  # without matplotlib
    assert tastemix("demo", "--out", str(tmp_path)).returncode == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "Means over 3 folds" in page


def dishes_for(folder: Path, user: str) -> list[str]:
    best: list[str] = tm.load(folder / "dishes.tastemix").recommend(user, 3)["item"].to_pylist()
    return best


def test_the_demo_compares_finds_the_tastes_recommends_and_explains() -> None:
    done = started("demo", env={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    assert "\x1b[" not in done.stdout  # no colours in a pipe
    rmse = {row[0]: float(row[1]) for row in cells(done.stdout, 9)}
    assert rmse["CNMF"] < rmse["MIXD"] < rmse["Baseline"] < rmse["Random"]
    tables = cells(done.stdout, 3)
    planted = [row[1] for row in tables if " of 8)" in row[1]]
    assert len({name.split()[0] for name in planted}) == 6
    assert sum("(8 of 8)" in name for name in planted) == 6
    named = ("taste ", "baseli", "sum")
    parts = {row[0]: float(row[1]) for row in tables if row[0][:6] in named}
    assert parts.pop("sum") == pytest.approx(sum(parts.values()), abs=0.04)
    assert parts.pop("baseline", 0) >= 0  # not shown where the tastes say it all
    number = {f"taste {row[0]}, {row[1].split()[0]}" for row in tables if " of 8)" in row[1]}
    assert set(parts) <= number  # a taste has the same number and name in both tables


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "ratings.csv").write_text(CSV)
    ratings = tm.read(folder / "ratings.csv")
    tm.RNMF(3, steps=20).fit(ratings.subset(np.arange(0, 96, 2))).save(folder / "m")
    return folder / "m"


def test_recommend_prints_what_the_library_says(model: Path) -> None:
    done = tastemix("recommend", model, "--user", "u3", "-n", "2")
    expected = tm.load(model).recommend("u3", 2).to_pylist()
    shown = [[row["item"], f"{row['score']:.3f}", f"{row['rating']:.3f}"] for row in expected]
    assert cells(done.stdout, 3) == shown
    as_json = json.loads(tastemix("recommend", model, "--user", "u3", "-n", "2", "--json").stdout)
    assert as_json == expected
    everything = tastemix("recommend", model, "--user", "u3", "--include-seen", "--json").stdout
    assert len(json.loads(everything)) == 8


def test_recommend_without_known_ratings_names_the_option(model: Path, tmp_path: Path) -> None:
    tm.load(model).save(tmp_path / "small", ratings=False)
    done = tastemix("recommend", tmp_path / "small", "--user", "u3")
    assert done.returncode == 2
    assert "what users have seen is not known: add --include-seen" in done.stderr


def test_recommend_serves_several_users(model: Path) -> None:
    options = ("--user", "u3", "--user", "u5", "-n", "2")
    expected = tm.load(model).recommend(["u3", "u5"], 2).to_pylist()
    assert {row["user"] for row in expected} == {"u3", "u5"}
    assert json.loads(tastemix("recommend", model, *options, "--json").stdout) == expected
    shown = cells(tastemix("recommend", model, *options).stdout, 4)
    assert [row[:3] for row in shown] == [
        [row["user"], row["item"], f"{row['score']:.3f}"] for row in expected
    ]
    unknown = tastemix("recommend", model, "--user", "u3", "--user", "nobody")
    assert "user 'nobody' is not in the ratings" in unknown.stderr


def test_counts_are_refused_as_ratings_unless_they_are_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    rows = [f"u{u},i{i},{900 if u == i else 1 + (u * i) % 3}" for u in range(12) for i in range(8)]
    path.write_text("\n".join(["user,item,playcount", *rows]))
    how = ("--rating", "playcount")
    train = ("train", path, "-o", tmp_path / "m", "--method", "mixd", "--steps", "22")
    compare = ("compare", path, "--methods", "baseline", "--folds", "2")
    for command, whom in ((train, ""), (compare, " to tastemix train")):
        done = tastemix(*command, *how)
        assert done.returncode == 2
        assert done.stderr == (
            "error: the ratings are whole numbers up to 900, half of them at most 1, as counts "
            f"are: pass --feedback implicit{whom} if they are plays or clicks, or --feedback "
            "explicit if they are ratings\n"
        )
        assert tastemix(*command, *how, "--feedback", "explicit").returncode == 0
    for_plays = tastemix(*train[:4], "--method", "popular", *how)
    assert for_plays.returncode == 0
    assert "tastemix train --feedback implicit" in (
        tastemix(*compare, *how, "--feedback", "implicit").stderr
    )


def test_a_mistake_in_a_file_names_the_options_to_use(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("who,item,rating\na,x,1\na,x,2\n")
    options = ("train", tmp_path / "r.csv", "-o", tmp_path / "m")
    missing = tastemix(*options).stderr
    assert "Name yours with --user, --item and --rating" in missing
    twice = tastemix(*options, "--user", "who").stderr
    assert "--duplicates last or --duplicates mean" in twice
    assert "=" not in missing + twice


def test_explain_shows_parts_that_add_up(model: Path) -> None:
    rows = json.loads(tastemix("explain", model, "--user", "u3", "--item", "i2", "--json").stdout)
    raw = tm.load(model).predict(["u3"], ["i2"], clip=False)[0]
    assert sum(row["value"] for row in rows) == pytest.approx(raw)
    shown = tastemix("explain", model, "--user", "u3", "--item", "i2").stdout
    assert f"the parts add up to the prediction {raw:.3f}" in shown


def test_explain_and_tastes_show_what_recommend_orders_by(tmp_path: Path, ratings: Path) -> None:
    fitted = tm.ANMF(2, steps=3).fit(tm.read(ratings))
    fitted.save(tmp_path / "m")
    score = fitted.recommend("u3", 1, seen=[]).to_pylist()[0]
    options = ("--user", "u3", "--item", score["item"], "--of", "score")
    shown = tastemix("explain", tmp_path / "m", *options).stdout
    assert f"the parts add up to the score {score['score']:.3f}" in shown
    rows = cells(tastemix("tastes", tmp_path / "m", "--of", "score").stdout, 3)
    assert [row[0] for row in rows] == [str(number) for number in range(1, 7)]
    wrong = tastemix("tastes", tmp_path / "m", "--of", "rank")
    assert "of is 'rank': choose 'rating' or 'score'" in wrong.stderr


def test_messy_files_are_read_by_commands_too(tmp_path: Path) -> None:
    pairs = [(u, i) for u in range(20) for i in range(20)]
    rows = [f"{u};{i};{(u + 3 * i) % 10 + 1 if (u + i) % 3 else 0}" for u, i in pairs]
    (tmp_path / "r.csv").write_text("\n".join(rows))
    places = ("--user", "0", "--item", "1", "--rating", "2")
    train = ("train", (tmp_path / "r.csv").as_uri(), "-o", tmp_path / "m", "--method", "baseline")
    warned = tastemix(*train, *places)
    assert warned.returncode == 0
    assert "of 400 ratings are 0" in warned.stderr
    assert "pass --missing 0; if it is one, --scale 0 10" in warned.stderr
    assert tastemix(*train, *places, "--scale", "0", "10").stderr == ""
    done = tastemix(*train, *places, "--missing", "0")
    assert done.stderr == ""
    assert tm.load(tmp_path / "m").scale == (1, 10)
    missing = tastemix(*train).stderr
    assert (
        "has no header: say where the columns are, such as --user 0, --item 1, --rating 2"
        in missing
    )


def test_titles_and_attributes_of_a_file_are_shown(model: Path, tmp_path: Path) -> None:
    lines = [f"i{i},{'odd' if i % 2 else 'even'}|all,Title {min(i, 6)}" for i in range(8)]
    (tmp_path / "items.csv").write_text("\n".join(["item,kind,title", *lines]))
    options = ("--items", tmp_path / "items.csv")
    attributes = {f"i{i}": ["odd" if i % 2 else "even", "all"] for i in range(8)}
    names = tm.load(model).tastes(1, attributes=attributes)["name"].to_pylist()
    shown = cells(tastemix("tastes", model, *options, env={"COLUMNS": "200"}).stdout, 4)
    assert len(shown) == len(names) == 3
    assert all(title.startswith("Title ") for row in shown for title in row[3].split(", "))
    by_title = ("--user", "u3", "--item", "Title 2", "--json")
    parts = json.loads(tastemix("explain", model, *by_title, *options).stdout)
    by_id = ("--user", "u3", "--item", "i2", "--json")
    assert json.loads(tastemix("explain", model, *by_id, *options).stdout) == parts
    for row in parts:
        assert row["name"] == shown[int(row["part"].removeprefix("taste ")) - 1][2]
        assert row["titles"] == [f"Title {min(int(i[1:]), 6)}" for i in row["because"]]
    assert "2 items have the title 'Title 6': give one id of i6, i7" in (
        tastemix("explain", model, "--user", "u3", "--item", "Title 6", *options).stderr
    )
    found = tastemix("recommend", model, "--user", "u3", "--include-seen", "--json", *options)
    for row in json.loads(found.stdout):
        assert row["title"] == f"Title {min(int(row['item'][1:]), 6)}"


def test_a_model_keeps_the_titles_it_was_trained_with(ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("what,code\nPears,i1\nPlums,i2\n")
    options = ("--items", tmp_path / "items.csv", "--items-id", "code", "--items-title", "what")
    train = ("train", ratings, "-o", tmp_path / "m", "--method", "rnmf", "--steps", "2")
    assert tastemix(*train, *options).returncode == 0
    found = tastemix("recommend", tmp_path / "m", "--user", "u3", "--include-seen", "--json")
    titles = {row["item"]: row["title"] for row in json.loads(found.stdout)}
    assert (titles["i1"], titles["i2"], titles["i3"]) == ("Pears", "Plums", "i3")
    who = ("--user", "u3", "--json")
    named = tastemix("predict", tmp_path / "m", *who, "--item", "Plums", "--item", "i3")
    by_id = tastemix("predict", tmp_path / "m", *who, "--item", "i2", "--item", "i3")
    assert json.loads(named.stdout) == json.loads(by_id.stdout)
    drawn = ("plot", tmp_path / "m", "-o", tmp_path / "p.svg", "--kind", "explain", "--user", "u3")
    assert tastemix(*drawn, "--item", "Plums").returncode == 0
    assert "Plums" in (tmp_path / "p.svg").read_text()
    unknown = tastemix("predict", tmp_path / "m", *who, "--item", "Figs").stderr
    assert "item 'Figs' is not in the ratings" in unknown
    assert "no item has this title, either" in unknown
    wrong = tastemix(*train, *options[:2], "--items-id", "key").stderr
    assert "there is no column 'key'; the columns are 'what', 'code'" in wrong
    assert "--items-id" in wrong
    assert "give --items, too" in tastemix(*train, *options[2:]).stderr


def test_tastes_lists_every_taste(model: Path) -> None:
    rows = cells(tastemix("tastes", model, "-n", "2").stdout, 3)
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert len(json.loads(tastemix("tastes", model, "-n", "2", "--json").stdout)) == 6


def test_evaluate_judges_other_ratings(model: Path, ratings: Path) -> None:
    found = json.loads(tastemix("evaluate", model, ratings, "--json").stdout)
    table, loaded = tm.read(ratings), tm.load(model)
    half = table.by_user
    predicted = loaded.predict(table.users.take(half.rows), table.items.take(half.indices))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - half.values) ** 2)))
    assert len(found) == 25
    assert found["catalogue_coverage"] == loaded.evaluate(table)["catalogue_coverage"]
    assert ["rmse", f"{found['rmse']:.4f}"] in cells(tastemix("evaluate", model, ratings).stdout, 2)


def test_integer_ids_are_typed_as_they_look(tmp_path: Path) -> None:
    ratings = tm.Ratings.from_arrays([7, 7, 9, 9], [1, 2, 2, 3], [1, 2, 3, 4])
    tm.RNMF(1, steps=3).fit(ratings).save(tmp_path / "m")
    done = tastemix("recommend", tmp_path / "m", "--user", "7", "--json")
    assert [row["item"] for row in json.loads(done.stdout)] == [3]
    wrong = tastemix("recommend", tmp_path / "m", "--user", "ann")
    assert wrong.returncode == 2
    assert "'ann' is no user id" in wrong.stderr


def test_compare_prints_a_row_per_method(ratings: Path) -> None:
    options = ("--methods", "random,rnmf", "--rank", "2", "--folds", "2")
    rows = cells(tastemix("compare", ratings, *options).stdout, 9)
    assert [row[0] for row in rows] == ["Random", "RNMF"]
    summary = json.loads(tastemix("compare", ratings, *options, "--json").stdout)
    assert f"{summary[1]['rmse']:.3f}" == rows[1][1]


def test_compare_lets_anmf_choose_its_rank(ratings: Path) -> None:
    options = ("--methods", "baseline,anmf", "--rank", "7", "--folds", "2")
    rows = cells(tastemix("compare", ratings, *options).stdout, 9)
    assert [row[0] for row in rows] == ["Baseline", "ANMF"]
    table = tm.read(ratings)
    own = tm.ANMF().tuned_for(table)
    expected = tm.cross_validate([own], table, 2, catalogue=True).summary()
    assert rows[1][1] == f"{expected['rmse'][0].as_py():.3f}"
    assert rows[1][7] == f"{expected['catalogue_precision_at_10'][0].as_py():.3f}"
    every = json.loads(tastemix("compare", ratings, "--folds", "2", "--rank", "2", "--json").stdout)
    assert every[-1]["method"] == "CNMF"


def test_a_figure_that_finds_no_room_is_named(model: Path, tmp_path: Path) -> None:
    (tmp_path / "full.svg").symlink_to("/dev/full")
    done = tastemix("plot", model, "-o", tmp_path / "full.svg")
    assert done.returncode == 2
    assert "full.svg cannot be written (No space left on device)" in done.stderr


def test_a_port_that_cannot_be_had_says_to_choose_another(model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tastemix("serve", model, "--port", str(port))
    assert done.returncode == 2
    assert f"port {port} is in use: choose another --port" in done.stderr


def test_search_reports_what_it_tried_and_chose(ratings: Path, tmp_path: Path) -> None:
    done = tastemix("train", ratings, "-o", tmp_path / "m", "--search", "--budget", "20")
    assert done.returncode == 0, done.stderr
    tried = cells(done.stdout, 3)
    errors = [float(row[1]) for row in tried]
    assert errors == sorted(errors)
    assert f"chosen: {tried[0][0]}" in done.stdout
    assert "a held-out tenth of the ratings, not used in the choice" in done.stdout
    assert tried[0][0].startswith(tm.load(tmp_path / "m").method)
    both = tastemix("train", ratings, "-o", tmp_path / "n", "--search", "--rank", "3")
    assert "--search chooses --rank itself" in both.stderr


@pytest.mark.parametrize(
    "best", [tm.ANMF(2, members=2, steps=3, l2=0.7, seed=4), tm.RNMF(2, steps=3), tm.Baseline()]
)
def test_the_model_saved_is_the_one_the_search_chose(
    best, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = search.Search(best, 1.25, 1.5, (search.Trial(best, 1.0, 0.1),))
    monkeypatch.setattr(search, "search", lambda *_, **__: choice)
    done = tastemix("train", ratings, "-o", tmp_path / "m", "--search", "--seed", "9")
    assert done.returncode == 0, done.stderr
    assert "1.2500" in done.stdout
    model, expected = tm.load(tmp_path / "m"), best.fit(tm.read(ratings))
    assert model.parameters == expected.parameters
    np.testing.assert_array_equal(model.factors.items, expected.factors.items)


def test_datasets_lists_what_is_known() -> None:
    rows = json.loads(tastemix("datasets", "--json").stdout)
    assert {"ml-1m", "ml-10m", "ml-100k", "jester", "finefoods"} == {row["name"] for row in rows}


def test_reproduce_says_what_it_would_run(ratings: Path, tmp_path: Path) -> None:
    done = tastemix("reproduce", ratings, "--out", tmp_path / "r", "--only", "facts", "--plan")
    assert "facts: 0 fits, 0 steps in total" in done.stdout
    wrong = tastemix("reproduce", "ml-2m", "--out", tmp_path / "r")
    assert wrong.returncode == 2
    assert "ml-2m" in wrong.stderr
    assert not (tmp_path / "r").exists()


def test_no_colours_in_a_pipe() -> None:
    assert "\x1b[" not in started("--help").stdout


@pytest.mark.parametrize(
    ("variable", "value"), [("TASTEMIX_THREADS", "abc"), ("TASTEMIX_ISA", "mmx")]
)
def test_a_wrong_environment_variable_is_one_sentence(variable: str, value: str) -> None:
    done = started("demo", env={variable: value})
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_named(ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    options = ("--methods", "random", "--folds", "2", "--out", tmp_path / "taken")
    done = tastemix("compare", ratings, *options)
    assert done.returncode == 2
    assert "taken" in done.stderr
    assert "Traceback" not in done.stderr


def test_json_holds_no_nan(model: Path, tmp_path: Path) -> None:
    (tmp_path / "low.csv").write_text("user,item,rating\nu3,i1,1\nu3,i2,1\n")
    found = json.loads(tastemix("evaluate", model, tmp_path / "low.csv", "--json").stdout)
    assert found["map"] is None


def test_version() -> None:
    assert started("--version").stdout == f"tastemix {tm.__version__}\n"


def test_an_engine_is_chosen_by_name(ratings: Path, tmp_path: Path) -> None:
    command = ("train", ratings, "--method", "rnmf", "--rank", "2", "--steps", "3")
    assert tastemix(*command, "-o", tmp_path / "r", "--engine", "reference").returncode == 0
    assert tastemix(*command, "-o", tmp_path / "c", "--engine", "cpu").returncode == 0
    slow, fast = tm.load(tmp_path / "r").factors, tm.load(tmp_path / "c").factors
    np.testing.assert_allclose(slow.users, fast.users, rtol=1e-3, atol=1e-4)
    assert not np.array_equal(slow.users, fast.users)
    for wrong in ((*command, "-o", tmp_path / "x"), ("compare", ratings)):
        done = started(*wrong, "--engine", "gpu")
        assert done.returncode == 2
        assert "engine is 'gpu': choose one of cpu, cuda, dask, reference" in done.stderr
    assert not (tmp_path / "x").exists()


def test_the_help_of_train_names_the_defaults_of_the_methods() -> None:
    told = " ".join(tastemix("train", "--help", env={"COLUMNS": "300"}).stdout.split())
    assert f"(default: 100; cnmf: {tm.CNMF().length}, anmf: {tm.ANMF().length})" in told
    most = f"cnmf: {LEAST_RANK} to {cnmf.MOST_RANK}, read as at most {tm.CNMF().tastes} tastes"
    assert f"(default: 10; {most}" in told
    assert f"anmf: {LEAST_RANK} to {anmf.MOST_RANK}" in told
    assert f"(default: {tm.CNMF().members} and {tm.ANMF().members})" in told


def test_doctor_tells_what_this_machine_can_do() -> None:
    told = tastemix("doctor").stdout
    assert _native.current_isa() + " used" in told
    assert f"{_native.threads()} threads" in told
    assert f"tastemix {tm.__version__}" in told
    missing = card.missing()
    assert (f"none: {missing}" if missing else "compute capability") in told
