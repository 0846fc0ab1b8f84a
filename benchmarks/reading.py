"""Reading a csv of ratings beside pandas with its arrow engine, which does the same work.

python benchmarks/reading.py [--quick]

Two million ratings, with ids that are integers or text. Both number the ids and order the ratings
by user and item; see loading.py, which also has other readers and memory. Every measurement is in a
process of its own, in turn, and the least of REPEATS. Results: docs/performance/reading.json, .md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyarrow import csv

import loading
from peers import pages

ROWS, QUICK, REPEATS = 2_000_000, 200_000, 9
READERS = ("tastemix", "pandas, arrow, csr")
FILES: dict[str, dict[str, Any]] = {
    "integers, by user": {"text": False, "shuffled": False, "quotes": "none"},
    "integers, shuffled": {"text": False, "shuffled": True, "quotes": "none"},
    "text, by user": {"text": True, "shuffled": False, "quotes": "none"},
    "text, shuffled": {"text": True, "shuffled": True, "quotes": "none"},
    "text in quotes, by user": {"text": True, "shuffled": False, "quotes": "needed"},
}


def least(path: Path, small: Path) -> dict[str, dict[str, float]]:
    """The least seconds and processor seconds of each reader."""
    found: dict[str, list[list[float]]] = {reader: [] for reader in READERS}
    for _ in range(REPEATS):
        for reader in READERS:
            command = [sys.executable, loading.__file__, "--measure", reader, path, small]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[reader].append([float(number) for number in done.stdout.split()])
    return {
        reader: {"seconds": min(row[0] for row in rows), "processor": min(row[1] for row in rows)}
        for reader, rows in found.items()
    }


def main() -> None:
    options = pages.options(__doc__)
    rows = QUICK if options.quick else ROWS
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in FILES.items():
            table = loading.ratings_like_movielens(
                rows, text=kind["text"], shuffled=kind["shuffled"]
            )
            path, small = Path(folder) / "all.csv", Path(folder) / "small.csv"
            how = csv.WriteOptions(quoting_style=kind["quotes"])
            csv.write_csv(table, path, how)
            csv.write_csv(table[:100], small, how)
            found[name] = least(path, small)
    cells = []
    for name, one in found.items():
        ours, theirs = (one[reader] for reader in READERS)
        ratio = ours["processor"] / theirs["processor"]
        cells.append([name, *(f"{r['processor']:.2f}" for r in (ours, theirs)), f"{ratio:.2f}"])
    header = [f"{rows / 1e6:g} M ratings, ids", "`tm.read`", "pandas, arrow engine", "ratio"]
    pages.write(options.folder, "reading", {"rows": rows, **found}, pages.table(header, cells))


if __name__ == "__main__":
    main()
