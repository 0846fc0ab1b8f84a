"""Results as files: docs/performance/<part>.json, and tables in Markdown for a page to include."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "performance"
QUICK = ROOT / "benchmarks" / "out" / "performance"
"""Where a quick look goes, so that it never replaces a full measurement."""


def options(description: str) -> argparse.Namespace:
    """The command line that all parts share; `folder` is where the results go."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, into benchmarks/out/")
    chosen = parser.parse_args()
    chosen.folder = QUICK if chosen.quick else DOCS
    return chosen


def movielens() -> Path:
    """The file of MovieLens 1M."""
    folder = os.environ.get("TASTEMIX_DATA")
    if not folder:
        raise SystemExit("set TASTEMIX_DATA to the folder of ml-1m.parquet")
    return Path(folder) / "ml-1m.parquet"


def data(name: str) -> Any:
    """The ratings of a data set; Fine Foods is the subset of users with more than five reviews."""
    import tastemix as tm

    if name == "finefoods-users6plus":
        path = movielens().with_name(f"{name}.parquet")
        return tm.read(path, scale=(1, 5), duplicates="last")
    return tm.datasets.load(name, prepared=name == "jester")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    marks = ["---", *("---:" for _ in header[1:])]
    lines = ("| " + " | ".join(map(str, row)) + " |" for row in (header, marks, *rows))
    return "\n".join(lines) + "\n"


def failed(name: str, error: str, columns: int) -> list[str]:
    """The row of what could not be measured: its reason in the last column."""
    return [name, *("–" for _ in range(columns - 2)), error.replace("|", "/")]


def machine() -> dict[str, Any]:
    """Where it was measured."""
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def write(folder: Path, part: str, measured: dict[str, Any], text: str) -> None:
    """Write both files and print the text."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = json.dumps({"machine": machine(), **measured}, indent=1, ensure_ascii=False)
    (folder / f"{part}.json").write_text(facts + "\n")
    (folder / f"{part}.md").write_text(text)
    print(text, flush=True)
