"""`tastemix ingest`, and its folder in place of a file."""

import json
from pathlib import Path

import tastemix as tm
from tests.cli.commands import started, tastemix

CSV = "who,what,stars\n" + "".join(
    f"u{user},{item},{1 + (user * item) % 5}\n" for user in range(8) for item in range(6)
)
COLUMNS = ("--user", "who", "--item", "what", "--rating", "stars")


def test_a_folder_is_made_and_stands_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(CSV)
    to = tmp_path / "ratings.tmr"
    done = tastemix("ingest", tmp_path / "ratings.csv", "-o", to, "--memory", "1MB", *COLUMNS)
    assert done.returncode == 0
    assert "48 ratings, 8 users, 6 items" in done.stdout
    assert len(tm.open(to)) == 48
    trained = tastemix("train", to, "-o", tmp_path / "model", "--method", "popular")
    assert trained.returncode == 0


def test_every_command_with_ratings_takes_the_folder(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(CSV)
    (tmp_path / "some.csv").write_text(CSV.replace(",1\n", ",2\n"))  # another range of ratings
    for name in ("ratings", "some"):
        to = ("-o", tmp_path / f"{name}.tmr")
        assert tastemix("ingest", tmp_path / f"{name}.csv", *to, *COLUMNS).returncode == 0
    model, ratings, some = (tmp_path / name for name in ("m", "ratings.tmr", "some.tmr"))
    train = ("train", ratings, "-o", model, "--method", "rnmf", "--steps", "2")
    assert tastemix(*train).returncode == 0
    for command, columns in (
        (("inspect",), COLUMNS),
        (("evaluate", model), COLUMNS),
        (("predict", model), COLUMNS[:4]),
    ):
        alike = [
            tastemix(*command, some, "--json"),
            tastemix(*command, tmp_path / "some.csv", "--json", *columns),
        ]
        assert [done.returncode for done in alike] == [0, 0], alike
        here, there = (json.loads(done.stdout) for done in alike)
        if command == ("inspect",):
            del here["file"], there["file"]
        if command == ("predict", model):
            by_pair = [
                {(r["user"], r["item"]): r["rating"] for r in rows} for rows in (here, there)
            ]
            here, there = by_pair
        assert here == there
    for done in (
        tastemix("plot", some, "-o", tmp_path / "p.svg"),
        tastemix("compare", some, "--methods", "baseline", "--folds", "2"),
        tastemix("update", model, some, "--steps", "1"),
        tastemix("train", some, "--scale", "0", "6", "-o", model, "--method", "baseline"),
    ):
        assert done.returncode == 0, done.stderr
    assert tm.load(model).scale == (0, 6)
    narrow = tastemix("train", some, "--scale", "3", "4", "-o", model)
    assert "outside the scale 3 to 4" in narrow.stderr


def test_semicolons_and_latin_1_are_found_out(tmp_path: Path) -> None:
    text = "user;item;rating\n" + "".join(f"Amélie {n};é;{n % 5},5\n" for n in range(9))
    (tmp_path / "ratings.csv").write_text(text, encoding="latin-1")
    to = tmp_path / "ratings.tmr"
    done = started("ingest", tmp_path / "ratings.csv", "-o", to)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    known = tm.read(tmp_path / "ratings.csv")
    assert tm.open(to).fingerprint == known.fingerprint
    assert known.users[0] == "Amélie 0"


def test_a_mistake_is_told_in_options_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(CSV + "u0,0,3\n")
    to = tmp_path / "ratings.tmr"
    done = tastemix("ingest", tmp_path / "ratings.csv", "-o", to, *COLUMNS)
    assert done.returncode == 2
    assert "rated item 0 twice" in done.stderr
    assert "--duplicates last" in done.stderr
    assert "Traceback" not in done.stderr
    assert not to.exists()
