"""Messy files at the command line: the options that `tm.read` has, to the same effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tastemix as tm
from tests.cli.commands import tastemix
from tests.data.test_messy import MESSY, REFUSED, lines, rows


def typed(options: dict[str, Any]) -> list[str]:
    """Arguments of `tm.read` as options of a command."""
    found: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            found.append(f"--{'' if value else 'no-'}{name}")
        elif value is not None:
            found += [f"--{name}", str(value)]
    return found


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "ratings.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("kind", MESSY)
def test_a_command_reads_what_the_library_reads(kind: str, tmp_path: Path) -> None:
    content, options, expected = MESSY[kind]
    path = written(tmp_path, content)
    how = ["--feedback", "implicit"] if options.get("rating", "") is None else []
    # A method that takes any ratings, however few.
    done = tastemix(
        "train", path, "-o", tmp_path / "m", "--method", "popular", *how, *typed(options)
    )
    assert done.returncode == 0, done.stderr
    model = tm.load(tmp_path / "m")
    assert model.ratings is not None
    assert rows(model.ratings) == expected


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_names_options_of_the_command(kind: str, tmp_path: Path) -> None:
    content, options, _, _ = REFUSED[kind]
    done = tastemix("inspect", written(tmp_path, content), *typed(options))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "=" not in done.stderr.replace("'é", "")


def test_every_command_with_ratings_takes_a_messy_file(tmp_path: Path) -> None:
    people = [(f"u{n % 9}", f"Amélie {n % 7}", 1 + n % 5) for n in range(63)]
    text = "".join(f"{user}|{item}|{stars},5\n" for user, item, stars in dict.fromkeys(people))
    path = written(tmp_path, text.encode("utf-16"))
    how = ("--user", "0", "--item", "1", "--rating", "2", "--no-header", "--delimiter", "|")
    how = (*how, "--encoding", "utf-16", "--decimal", ",", "--duplicates", "last")
    model = tmp_path / "m"
    assert tastemix("train", path, "-o", model, "--method", "baseline", *how).returncode == 0
    for command in (
        ("ingest", path, "-o", tmp_path / "ratings.tmr", *how),
        ("compare", path, "--methods", "baseline", "--folds", "2", *how),
        ("evaluate", model, path, *how),
        ("reproduce", path, "--out", tmp_path / "r", "--plan", *how),
        ("inspect", path, *how[:-2]),
        ("plot", path, "-o", tmp_path / "p.svg", *how[:-2]),
        ("predict", model, path, *how[:4], *how[6:-2]),
    ):
        done = tastemix(*command)
        assert done.returncode == 0, (command, done.stderr)
    factors = tmp_path / "f"
    assert tastemix("train", path, "-o", factors, "--method", "rnmf", *how).returncode == 0
    assert tastemix("update", factors, path, *how).returncode == 0


def test_a_comma_in_a_rating_hints_at_the_option(tmp_path: Path) -> None:
    path = written(tmp_path, 'user,item,rating\na,x,"4,5"\na,y,2.5\n')
    said = tastemix("inspect", path).stderr
    assert "'4,5': it must be a number; if fractions are written so, give --decimal ,\n" in said
    assert (
        "row 1 is '2.5', and others have ','" in tastemix("inspect", path, "--decimal", ",").stderr
    )


def test_a_tab_may_be_typed_as_backslash_t(tmp_path: Path) -> None:
    path = written(tmp_path, lines("\t"))
    done = tastemix("inspect", path, "--delimiter", r"\t", "--json")
    assert json.loads(done.stdout)["rows"] == 3, done.stderr


def test_zeros_are_looked_at_as_no_ratings(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item,rating\na,x,0\na,y,5\nb,x,0\nb,y,4\n")
    found = json.loads(tastemix("inspect", path, "--missing", "0", "--json").stdout)
    assert (found["rows"], found["lowest"]) == (2, 4)
