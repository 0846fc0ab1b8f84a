"""`tastemix ingest`, and its folder in place of a file."""

from pathlib import Path

import tastemix as tm
from tests.cli.commands import tastemix

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


def test_a_mistake_is_told_in_options_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(CSV + "u0,0,3\n")
    to = tmp_path / "ratings.tmr"
    done = tastemix("ingest", tmp_path / "ratings.csv", "-o", to, *COLUMNS)
    assert done.returncode == 2
    assert "rated item 0 twice" in done.stderr
    assert "--duplicates last" in done.stderr
    assert "Traceback" not in done.stderr
    assert not to.exists()
