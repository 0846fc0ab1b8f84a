"""`tastemix recommend --all`: 200,000 people × 30,000 items, and the memory it takes.

python benchmarks/everyone.py [--quick]

Four million ratings drawn as in generate.py; a model that orders by tastes, rated items and
popularity, since that takes the most. The command runs in a process of its own, which
notes what it held once the model was loaded and ready, and its peak. Results:
docs/performance/everyone.json and .md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array

import generate
import tastemix as tm
from peers import pages
from tastemix.data.halves import Half
from tastemix.model.factors import Head
from tastemix.model.links import Links, Weights

USERS, ITEMS, RATINGS, N = 200_000, 30_000, 4_000_000, 10
LINKS = 100
"""Of an item to others."""
QUICK = 20
PROGRAM = """
import json, sys, time
from pathlib import Path
import pyarrow as pa
import tastemix as tm
from tastemix.cli import app
def held(mark):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(mark))
import tastemix.cli.use as use
opened = use.opened
at = {}
def ready(path, items):
    model = opened(path, items)
    model.recommend(model.users.ids[0])
    pa.default_memory_pool().release_unused()
    at["ready"] = held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    return model
use.opened = ready
began, used = time.perf_counter(), time.process_time()
app(["recommend", sys.argv[1], "--all", "-n", sys.argv[3], "-o", sys.argv[2]],
    standalone_mode=False)
at |= {"peak": held("VmHWM"), "seconds": time.perf_counter() - began,
       "processor": time.process_time() - used}
print(json.dumps(at))
"""


def linked(ratings: tm.Ratings) -> tm.Model:
    """A model with tastes of rank 16 and links drawn at random: a list costs the same."""
    fitted = tm.PR(16, steps=2).fit(ratings)
    items = len(ratings.items)
    rng = np.random.default_rng(0)
    drawn = (np.unique(rng.integers(0, items, LINKS, np.int32)) for _ in range(items))
    rows = [row[row != item] for item, row in enumerate(drawn)]
    pointers = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    weights = rng.random(int(pointers[-1]), np.float32)
    links = Links(Half(pointers, np.concatenate(rows), weights))
    ranking = Head(fitted.factors, fitted.phases, links, Weights(0.5, 1.0, 0.1))
    return replace(fitted, ranking=ranking)


def measure(quick: bool) -> dict[str, Any]:
    less = QUICK if quick else 1
    users, items = USERS // less, ITEMS // less
    user, item, stars = generate.triples(RATINGS // less, users, items)
    matrix = coo_array((stars, (user, item)), shape=(users, items))
    ratings = tm.Ratings.from_sparse(matrix, scale=(1, 5))
    with tempfile.TemporaryDirectory() as folder:
        model, top = Path(folder) / "m", Path(folder) / "top.parquet"
        linked(ratings).save(model)
        command = [sys.executable, "-c", PROGRAM, str(model), str(top), str(N)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        size = top.stat().st_size
    return {
        **found,
        "users": len(ratings.users),
        "items": len(ratings.items),
        "ratings": len(ratings),
        "n": N,
        "file": size,
    }


def text(found: dict[str, Any]) -> str:
    above = (found["peak"] - found["ready"]) / 2**20
    rows = [
        ["users × items", f"{found['users']:,} × {found['items']:,}"],
        ["recommendations", f"{found['users'] * found['n']:,}"],
        ["seconds, 2 threads", f"{found['seconds']:.0f}"],
        ["processor seconds", f"{found['processor']:.0f}"],
        ["held by the loaded model, MB", f"{found['ready'] / 2**20:.0f}"],
        ["most above that, MB", f"{above:.0f}"],
        ["file, MB", f"{found['file'] / 2**20:.0f}"],
    ]
    return pages.table(["`tastemix recommend --all`", ""], rows)


def main() -> None:
    options = pages.options(__doc__)
    found = measure(options.quick)
    pages.write(options.folder, "everyone", found, text(found))


if __name__ == "__main__":
    main()
