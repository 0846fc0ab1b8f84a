"""16 million generated ratings: seconds of an iteration, and how much the process grows in a fit.

python benchmarks/peers/sixteen.py [--quick]

Writes docs/performance/sixteen.json and sixteen.md; --quick takes 1 million, into benchmarks/out/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import isolated
import pages

sys.path.append(str(Path(__file__).resolve().parents[1]))

import generate

WORKER = Path(__file__).with_name("sixteen_worker.py")
USERS, ITEMS = 6_987.8, 1_067.7
"""Per million ratings, as in MovieLens 10M."""
TIMEOUT = 900.0
RANKS = (20, 50)
Row = dict[str, Any]

ITERATIONS = {
    "RNMF": ("tastemix", "OursOrdered", lambda rank: {"method": "RNMF", "rank": rank}),
    "PRD": ("tastemix", "OursOrdered", lambda rank: {"method": "PRD", "rank": rank}),
    "cmfrec, CG": ("cmfrec", "Cmfrec", lambda rank: {"k": rank, "use_cg": True}),
    "cmfrec, Cholesky": ("cmfrec", "Cmfrec", lambda rank: {"k": rank, "use_cg": False}),
    "implicit, CG": ("implicit", "ImplicitALS", lambda rank: {"factors": rank}),
}
"""Name → peer, class of libraries.py, and the setting of a rank."""
DEMANDED = {"RNMF": 1.0, "PRD": 1 / 3}
"""The largest share of the fastest peer's iteration that our step may take."""
FITS = {
    "RNMF": ("tastemix", "OursOrdered", {"method": "RNMF", "rank": 20, "steps": 2}),
    "RNMF, from arrays": ("tastemix", "Ours", {"method": "RNMF", "rank": 20, "steps": 2}),
    "cmfrec": ("cmfrec", "Cmfrec", {"k": 20, "niter": 2}),
    "implicit ALS": ("implicit", "ImplicitALS", {"factors": 20, "iterations": 2}),
    "LensKit ALS": ("lenskit", "LensKitALS", {"embedding_size": 20, "epochs": 2}),
    "Spark ALS": ("spark", "SparkALS", {"rank": 20, "maxIter": 2}),
}
"""Name → peer, class of libraries.py, and the setting of a fit of two iterations at rank 20."""


def asked(name: str, peer: str, job: Row) -> Row:
    """A worker's answer, and a line about it."""
    found = isolated.run(peer, WORKER, job, TIMEOUT)
    print(f"{job['what']}, {name}: {found}", file=sys.stderr, flush=True)
    return {"name": name, "setting": job["setting"], **found}


def iterations(files: Row) -> list[Row]:
    """Every entry at every rank."""
    return [
        {"rank": rank}
        | asked(
            name, peer, {"what": "iterations", "library": library, "setting": at(rank), **files}
        )
        for rank in RANKS
        for name, (peer, library, at) in ITERATIONS.items()
    ]


def growths(files: Row) -> list[Row]:
    """Every library's fit."""
    return [
        asked(name, peer, {"what": "growth", "library": library, "setting": setting, **files})
        for name, (peer, library, setting) in FITS.items()
    ]


def iteration_table(rows: list[Row]) -> str:
    """Seconds by rank, and ours as a share of the fastest peer's."""
    header = ["", "rank", "seconds", "median", "of the fastest peer's", "demanded"]
    lines = []
    for row in rows:
        if "error" in row:
            lines.append(pages.failed(row["name"], row["error"], len(header)))
            continue
        peers = [
            other["seconds"]
            for other in rows
            if other["rank"] == row["rank"]
            and other["name"] not in DEMANDED
            and "error" not in other
        ]
        share = f"{row['seconds'] / min(peers):.2f}" if peers else "–"
        limit = f"≤ {DEMANDED[row['name']]:.2f}" if row["name"] in DEMANDED else ""
        times = [f"{row[what]:.2f}" for what in ("seconds", "median")]
        lines.append([row["name"], row["rank"], *times, share, limit])
    return pages.table(header, lines)


def growth_table(rows: list[Row], count: int) -> str:
    """Megabytes, and multiples of the 12 bytes a rating takes."""
    header = ["", "grows by MB", "× 12 bytes a rating", "held before, MB", "peak, MB"]
    lines = []
    for row in rows:
        if "error" in row:
            lines.append(pages.failed(row["name"], row["error"], len(header)))
            continue
        grown, before = row["growth"], row["before"]
        sizes = [f"{size / 1e6:,.0f}" for size in (grown, before, before + grown)]
        lines.append([row["name"], sizes[0], f"{grown / (12 * count):.2f}", *sizes[1:]])
    return pages.table(header, lines)


def main() -> None:
    options = pages.options(__doc__)
    millions = 1 if options.quick else 16
    count, shape = millions * 1_000_000, [int(USERS * millions), int(ITEMS * millions)]
    with tempfile.TemporaryDirectory() as folder:
        train = isolated.save(Path(folder) / "train.npz", *generate.triples(count, *shape))
        files = {"train": train, "shape": shape}
        timed, grown = iterations(files), growths(files)
    text = f"""\
{millions} million generated ratings of {shape[0]:,} users and {shape[1]:,} items; \
{isolated.THREADS} threads. An iteration, our step, updates both factors once: the fastest and the \
median of those after the first two.

{iteration_table(timed)}
How much the process, and Spark's JVM with it, grows at most during a fit of two iterations at \
rank 20, from the library's own form of the ratings; for us also from bare arrays.

{growth_table(grown, count)}"""
    facts = {"ratings": count, "shape": shape, "iterations": timed, "growth": grown}
    pages.write(options.folder, "sixteen", facts, text)


if __name__ == "__main__":
    main()
