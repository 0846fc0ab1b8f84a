"""`tastemix inspect`: figures by hand, and a sentence for what looks wrong."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tastemix.data.inspecting import histogram, inspect
from tests.cli.commands import tastemix

TABLE = pa.table(
    {
        "user": ["ann", "ann", "bob", "bob", "Bob ", "cy"],
        "item": ["x", "y", "x", "x", "y", "z"],
        "rating": [5.0, 0.0, 4.0, 3.0, 4.0, None],
    }
)


def test_the_figures_are_those_counted_by_hand() -> None:
    found = inspect(TABLE)
    assert (found.rows, found.users, found.items, found.pairs) == (6, 3, 2, 4)
    assert found.density == pytest.approx(4 / 6)
    assert (found.lowest, found.highest, found.mean) == (0, 5, 3.2)
    assert found.per_user == (1, 1, 2)
    assert found.per_item == (2, 2, 2)
    assert [(bar.low, bar.count) for bar in found.histogram] == [(0, 1), (3, 1), (4, 2), (5, 1)]
    assert found.wrong == (
        "1 of 6 rows have something missing: drop or fill them",
        "1 rows repeat a pair of user and item: say what to keep with duplicates='last' or "
        "duplicates='mean', or duplicates='sum' or duplicates='count' for plays",
        "1 ratings are 0, far from the others: where 0 stands for no rating, "
        "leave these rows out with missing=0",
        "1 user ids differ from another one only in case or in spaces",
        "100% of the users have fewer than 3 ratings: little to learn from",
        "100% of the items have fewer than 3 ratings: little to learn from",
    )


def test_many_values_share_bars() -> None:
    bars = histogram([float(value) for value in range(25)])
    assert len(bars) == 12
    assert sum(bar.count for bar in bars) == 25
    assert bars[0].name == "0 to 2"


def test_what_nobody_gave_has_no_bar(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    values = [*range(13), *[100] * 200]
    rows = [f"u{number},x,{value}" for number, value in enumerate(values)]
    path.write_text("\n".join(["user,item,rating", *rows]))
    lines = tastemix("inspect", path).stdout.splitlines()
    assert any("91.6667 to 100" in line and "█" * 40 in line for line in lines)
    assert any("8.33333 to 16.6667" in line and "│ █ " in line for line in lines)
    empty = [line for line in lines if "50 to 58.3333" in line]
    assert len(empty) == 1
    assert "█" not in empty[0]


def test_counts_ones_and_robots_are_pointed_out() -> None:
    user = [0] * 200 + [number // 20 for number in range(20, 1020)]
    item = [*range(200), *(number % 20 for number in range(1000))]
    table = pa.table({"user": user, "item": item, "rating": [1] * 1200})
    wrong = " ".join(inspect(table).wrong)
    assert "all 1,200 ratings are 1, which tells nobody's taste" in wrong
    assert "user 0 alone has 17% of all ratings" in wrong
    counts = pa.table({"user": user, "item": item, "rating": [1] * 1199 + [5000]})
    assert "up to 5,000, half of them at most 1, as counts are" in " ".join(inspect(counts).wrong)


def test_the_command_prints_counts_bars_and_sentences(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\na,x,1\na,y,5\na,z,5\nb,x,4\nb,y,4\nb,z,5\nb,z,5\n")
    shown = tastemix("inspect", path).stdout
    assert "6, 100.000% of all" in shown
    assert f"{'█' * 40}" in shown
    assert "look at this: 1 rows repeat a pair of user and item" in shown
    assert "--duplicates last or --duplicates mean, or --duplicates sum" in " ".join(shown.split())
    found = json.loads(tastemix("inspect", path, "--json").stdout)
    assert found["per_user"] == [3, 3, 3]
    assert tastemix("inspect", path, "--csv").stdout.splitlines()[0] == "low,high,count"
    rows = [f"{user},{item},{1 + rating}" for rating, user in enumerate("abc") for item in "xyz"]
    path.write_text("\n".join(["user,item,rating", *rows]))
    assert "nothing looks wrong" in tastemix("inspect", path).stdout
    path.write_text("user,item\na,x\na,x\n")
    plays = tastemix("inspect", path).stdout
    assert "1 to 1, mean 1.00" in plays
    assert "every row is a play or a click; train with --feedback implicit" in plays
    wrong = tastemix("inspect", path, "--user", "who")
    assert wrong.returncode == 2
    assert "there is no column 'who'" in wrong.stderr
