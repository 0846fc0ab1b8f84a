"""The command line through its entry point, as a person runs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm

CSV = "user,item,rating\n" + "\n".join(
    f"u{user},i{item},{1 + (user * item) % 5}" for user in range(12) for item in range(8)
)


def tastemix(*arguments: str | Path, **options) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("tastemix")
    environment = {**os.environ, "COLUMNS": "100", **options.pop("env", {})}
    return subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(CSV)
    return path


def test_train_saves_a_model_that_predicts(ratings: Path, tmp_path: Path) -> None:
    done = tastemix(
        *("train", ratings, "-o", tmp_path / "m", "--method", "rnmf"),
        *("--rank", "3", "--steps", "20", "--seed", "5"),
    )
    assert done.returncode == 0, done.stderr
    assert "96 ratings, 12 users, 8 items" in done.stdout
    assert "RNMF(rank=3, l1=0.2, steps=20, seed=5)" in done.stdout
    model = tm.load(tmp_path / "m")
    expected = tm.RNMF(3, steps=20, seed=5).fit(tm.read(ratings))
    np.testing.assert_array_equal(model.factors.items, expected.factors.items)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "als"], "there is no method 'als': choose one of nmf, rnmf, pr"),
        (["--method", "psvd", "--l1", "1"], "--l1 does not apply to psvd: it takes --rank, --seed"),
        (["--rank", "0"], "rank is 0: it must be a whole number of 1 or more"),
        (["--user", "who"], "there is no column 'who'; the columns are 'user', 'item', 'rating'"),
        (["--scale", "1", "3"], "is 4, outside the scale 1 to 3"),
        (["--duplicates", "first"], "choose 'refuse', 'last' or 'mean'"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    ratings: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = tastemix("train", ratings, "-o", tmp_path / "m", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m").exists()
    assert (
        "Traceback"
        in tastemix("--debug", "train", ratings, "-o", tmp_path / "m", *arguments).stderr
    )


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


def test_the_demo_runs_and_finds_the_floor_below_the_methods() -> None:
    done = tastemix("demo")
    assert done.returncode == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.count("│") == 5]
    rmse = {row[1].strip(): float(row[2]) for row in rows if row[1].strip() != "method"}
    assert rmse["MIXD"] < rmse["Baseline"] < rmse["Random"]


def test_no_colours_in_a_pipe() -> None:
    assert "\x1b[" not in tastemix("--help").stdout + tastemix("demo").stdout


def test_version() -> None:
    assert tastemix("--version").stdout == f"tastemix {tm.__version__}\n"
