"""The examples do what they say, run as a newcomer runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tastemix as tm

EXAMPLES = Path(__file__).parent.parent / "examples"
BOOKS = EXAMPLES / "books.py"


def run(script: str, *arguments: str | Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, *arguments],
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_thirty_lines_go_from_a_raw_csv_of_books_to_a_served_recommendation(tmp_path: Path) -> None:
    lines = [line for line in BOOKS.read_text().splitlines() if line and not line.startswith('"')]
    assert len(lines) <= 30
    run("invented.py", tmp_path)
    raw = (tmp_path / "ratings.csv").read_bytes()
    assert raw.startswith(b'"User-ID";"ISBN";"Book-Rating"\n')
    assert b';"0"\n' in raw
    with pytest.raises(UnicodeDecodeError):
        (tmp_path / "books.csv").read_text("utf-8")
    printed = run("books.py", tmp_path)
    found = re.search(r"recommends (.+) to reader (\d+): ([0-9.]+) of 10", printed)
    assert found, printed
    title, reader, stars = found.groups()
    model = tm.load(tmp_path / "books.tastemix")
    best = model.recommend(reader, 1).to_pylist()[0]
    assert best["title"] == title
    assert float(stars) == pytest.approx(best["rating"], abs=0.051)
    parts = [float(value) for value in re.findall(r"^  ([-+][0-9.]+)  ", printed, re.MULTILINE)]
    assert sum(parts) == pytest.approx(best["rating"], abs=0.05)
    assert model.ratings is not None
    assert model.ratings.scale == (1, 10)


def test_without_a_folder_the_books_say_how_they_are_run() -> None:
    done = subprocess.run([sys.executable, BOOKS], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "python examples/books.py ." in done.stderr
    assert "Traceback" not in done.stderr


def test_the_books_fall_into_the_kinds_they_were_made_of(tmp_path: Path) -> None:
    run("invented.py", tmp_path)
    names = {"user": "User-ID", "item": "ISBN", "rating": "Book-Rating"}
    books = tm.read_items(tmp_path / "books.csv")
    with pytest.warns(UserWarning, match="missing=0"):
        tm.read(tmp_path / "ratings.csv", **names)
    model = tm.fit(tm.read(tmp_path / "ratings.csv", **names, missing=0), items=books)
    kinds = {name.partition(":")[0] for name in model.tastes(1)["name"].to_pylist()}
    assert kinds == {"crime", "romance", "fantasy", "space", "history", "cooking"}
