"""Reading a csv of user, item, rating until a library can fit it: seconds and memory.

python benchmarks/peers/loading.py [--quick]

MovieLens 1M and ten million generated ratings, each reader in a process of its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

sys.path.append(str(Path(__file__).resolve().parents[1]))

import isolated
import pages

import generate

WORKER = Path(__file__).with_name("loading_worker.py")
COLUMNS = ["user", "item", "rating"]
READERS = {
    "tastemix": ("tastemix", "tastemix `read`"),
    "pandas": ("tastemix", "pandas `read_csv`, `factorize`, SciPy csr"),
    "cornac": ("cornac", "Cornac `Reader`, `Dataset.from_uir`"),
    "surprise": ("surprise", "Surprise `load_from_file`, `build_full_trainset`"),
    "spark": ("spark", "Spark `read.csv`, `StringIndexer`"),
}
"""Reader → the environment it runs in, and its title."""
REPEATS = 3


def tables(quick: bool) -> dict[str, pa.Table]:
    """The ratings by name; the ids of the generated ones are numbers, in random order."""
    found = {"MovieLens 1M": pq.read_table(pages.movielens(), columns=COLUMNS)}
    if not quick:
        generated = generate.triples(10_000_000, 69_878, 10_677)
        found["10 M generated"] = pa.table(list(generated), COLUMNS)
    return found


def fastest(reader: str, path: Path, small: Path, repeats: int) -> dict[str, Any]:
    """The fastest of some reads, each in a fresh process; slow readers are asked once."""
    peer = READERS[reader][0]
    job = {"reader": reader, "path": str(path), "small": str(small)}
    answers: list[dict[str, Any]] = []
    while len(answers) < repeats:
        answer = isolated.run(peer, WORKER, job, timeout=300)
        if "error" in answer:
            return answer
        answers.append(answer)
        if answer["seconds"] > 20:
            break
    return min(answers, key=lambda answer: answer["seconds"])


def measure(quick: bool) -> dict[str, Any]:
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "all.csv"), Path(folder, "small.csv")
        for name, table in tables(quick).items():
            csv.write_csv(table, path)
            csv.write_csv(table[:1000], small)
            measured[name] = {
                reader: fastest(reader, path, small, 1 if quick else REPEATS) for reader in READERS
            }
            shapes = {tuple(row["shape"]) for row in measured[name].values() if "shape" in row}
            if len(shapes) != 1:
                raise SystemExit(f"{name}: the readers disagree on users, items, ratings: {shapes}")
    return measured


def text(measured: dict[str, Any]) -> str:
    parts = []
    for name, readers in measured.items():
        ours = readers["tastemix"].get("seconds", float("nan"))
        rows = []
        for reader, (_, title) in READERS.items():
            found = readers[reader]
            if "error" in found:
                rows.append(pages.failed(title, found["error"], 4))
                continue
            seconds = found["seconds"]
            cells = f"{seconds:.2f}", f"{seconds / ours:.1f}", f"{found['growth'] / 1e6:,.0f}"
            rows.append([title, *cells])
        shape = next(row["shape"] for row in readers.values() if "shape" in row)
        size = "{:,} users, {:,} items, {:,} ratings".format(*shape)
        header = ["reader", "seconds", "ratio", "peak growth, MB"]
        parts.append(f"{name} as csv ({size}):\n\n" + pages.table(header, rows))
    return "\n".join(parts)


def main() -> None:
    options = pages.options(__doc__)
    measured = measure(options.quick)
    pages.write(options.folder, "loading", measured, text(measured))


if __name__ == "__main__":
    main()
