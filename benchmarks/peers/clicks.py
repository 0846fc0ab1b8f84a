"""Lists from clicks: MovieLens 1M with every rating a 1, any held-out item relevant.

python benchmarks/peers/clicks.py [--quick]

The split, the tuning and the judge are those of topn.py. implicit's ALS and EASE are tuned; ours
are as they are. Nothing is timed. Results: docs/beyond/implicit.json and .md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pages

import tastemix as tm
from topn import ENTRIES, Entry, described, measure

OURS = (
    Entry("tastemix Popular", "tastemix", "tastemix", {"method": "Popular"}),
    Entry("tastemix `Implicit`", "tastemix", "tastemix", {"method": "Implicit"}),
    Entry("tastemix `Neighbours`", "tastemix", "tastemix", {"method": "Neighbours"}),
)


def peers() -> list[Entry]:
    """implicit's ALS and EASE, with clicks in place of likes."""
    wanted = {"implicit ALS": {}, "EASE in NumPy": {"l2": (200, 400, 800, 1600, 3200)}}
    found = []
    for entry in ENTRIES:
        if entry.name in wanted:
            choices = {key: value for key, value in entry.choices.items() if key != "liked"}
            choices |= wanted[entry.name]
            found.append(
                Entry(entry.name, entry.peer, entry.recommender, dict(entry.setting), choices)
            )
    return found


def clicks() -> tm.Ratings:
    """MovieLens 1M with a 1 for every rating."""
    ratings = tm.read(pages.movielens(), scale=(1, 5))
    half = ratings.by_user
    ones = np.ones(len(ratings), np.float32)
    return tm.Ratings.from_numbers(
        ratings.users, ratings.items, half.rows, half.indices, ones, (1.0, 5.0)
    )


def text(measured: dict[str, Any]) -> str:
    names = ("precision_at_10", "recall_at_10", "ndcg_at_10", "coverage")
    rows = [
        [row["name"], *(f"{row[name]:.4f}" for name in names), described(row["setting"]) or "–"]
        for row in measured["rows"]
    ]
    return pages.table(["method", "P@10", "R@10", "NDCG@10", "coverage", "setting"], rows)


def main() -> None:
    options = pages.options(__doc__)
    if not options.quick:
        options.folder = pages.ROOT / "docs" / "beyond"
    measured = measure(clicks(), [*OURS, *peers()], 1, options.quick, repeats=1)
    for row in measured["rows"]:
        for timed in (row, *row["tried"]):
            timed.pop("fit", None), timed.pop("top", None)
    pages.write(options.folder, "implicit", measured, text(measured))


if __name__ == "__main__":
    main()
