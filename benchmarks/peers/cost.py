"""How the cost of a step grows with ratings, rank and threads, beside a model of it.

python benchmarks/peers/cost.py [--quick]

Generated ratings of MovieLens 10M's shape, each size in a process of its own. The model is a
nonnegative least-squares fit of relative errors with the terms of the operation count; k is the
rank as the engine pads it, to whole vectors of 8.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cost_chart
import isolated
import numpy as np
import pages
from scipy.optimize import nnls

WORKER = Path(__file__).with_name("cost_worker.py")
MILLIONS, RANK = (1, 2, 4, 8, 16, 32, 64), 20
"""The sizes, all at this rank."""
RANKS, AT_MILLIONS = (5, 10, 20, 32, 50, 64, 100, 128), 4
"""The ranks, all at this size."""
SPREADS, SPREAD_AT = (4, 16), (20, 64)
"""So many times the users and items at that size, at these ranks. Without them s and m + n would
be proportional, and no fit could tell s·k² from (m+n)·k²."""
THREADS_AT = (20, 64)
"""The ranks at which one thread is compared with two."""

Row = dict[str, Any]
TERMS: dict[str, Callable[[Row, int], float]] = {
    "s·k²": lambda row, k: row["ratings"] * k**2,
    "s·k": lambda row, k: row["ratings"] * k,
    "s": lambda row, k: row["ratings"],
    "(m+n)·k²": lambda row, k: (row["users"] + row["items"]) * k**2,
    "updates·k": lambda row, k: row["updates"] * k,
}
SHARED = ("s·k", "s", "(m+n)·k²", "updates·k")
MODEL = {"RNMF": ("s·k²", *SHARED), "PRD": SHARED}
"""The terms of a method's step: its Gram is its own row by row, or shared by all rows."""


def ask(
    millions: float, ranks: tuple[int, ...], threads: tuple[int, ...], steps: int, spread: int = 1
) -> list[Row]:
    """The rows of one process; none, and the reason printed, where it failed."""
    job = {"millions": millions, "spread": spread, "ranks": ranks, "threads": threads}
    job |= {"steps": steps, "repeats": 2}
    answer = isolated.run("tastemix", WORKER, job, timeout=900)
    said = answer.get("error", "measured")
    what = f"{millions} M ratings, spread {spread}, ranks {ranks}, threads {threads}"
    print(f"{what}: {said}", flush=True)
    return answer.get("rows", [])


def terms(name: str, row: Row) -> list[float]:
    """The counts of operations in a step."""
    k = -(-row["rank"] // 8) * 8
    return [TERMS[term](row, k) for term in MODEL[name]]


def fitted(name: str, rows: list[Row]) -> np.ndarray:
    """Seconds per operation of each term, the best in relative error."""
    counts = np.array([terms(name, row) for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    relative = counts / seconds[:, None]
    scale = relative.max(axis=0)
    return nnls(relative / scale, np.ones(len(rows)))[0] / scale


def predicted(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Add the model's seconds to each row; the coefficients in picoseconds."""
    coefficients = {}
    for name in MODEL:
        mine = [row for row in rows if row["method"] == name]
        found = fitted(name, mine)
        for row in mine:
            row["model"] = float(np.dot(terms(name, row), found))
        coefficients[name] = dict(zip(MODEL[name], (found * 1e12).tolist(), strict=True))
    return coefficients


def paired(rows: list[Row]) -> list[tuple[Row, Row]]:
    """RNMF's row and PRD's row of the same measurement."""
    return list(zip(rows[::2], rows[1::2], strict=True))


def step(row: Row) -> list[str]:
    seconds, model = row["seconds"], row["model"]
    return [f"{seconds * 1e3:,.0f}", f"{model * 1e3:,.0f}", f"{seconds / model:.2f}"]


def grown(row: Row) -> list[str]:
    return [f"{row['growth'] / 1e6:,.0f}", f"{row['growth'] / 12 / row['ratings']:.2f}"]


def thread_table(rows: list[Row]) -> str:
    body = []
    for one in rows[: len(rows) // 2]:
        two = next(
            row
            for row in rows
            if row["threads"] > one["threads"]
            and (row["method"], row["rank"]) == (one["method"], one["rank"])
        )
        times = [f"{row['seconds'] * 1e3:,.0f}" for row in (one, two)]
        cores = [f"{row['cores']:.2f}" for row in (one, two)]
        speed_up = one["seconds"] / two["seconds"]
        body.append([f"{one['method']} rank {one['rank']}", *times, f"{speed_up:.2f}", *cores])
    header = ["1 thread, ms", "2 threads, ms", "speed-up", "cores got by 1", "cores got by 2"]
    return pages.table(["method", *header], body)


def busy(rows: list[Row]) -> str:
    """A warning where the machine did not give the threads their cores."""
    starved = sum(row["cores"] < 0.8 * row["threads"] for row in rows)
    if not starved:
        return ""
    return (
        f"**Not a quiet run:** {starved} of {len(rows)} measurements got less than 0.8 of a core "
        "per thread. Their times are too long, and speed-ups mean nothing.\n"
    )


def text(measured: dict[str, Any]) -> str:
    by_size, by_rank, by_shape, by_threads, model = measured.values()
    steps = [f"{name} {what}" for name in MODEL for what in ("step, ms", "model, ms", "ratio")]
    memory = [f"{name} {what}" for name in MODEL for what in ("growth, MB", "× 12 bytes a rating")]
    sizes = [(f"{pair[0]['ratings'] / 1e6:g} M", *pair) for pair in paired(by_size)]
    costs = [
        [name, *(f"{model[name][term]:.2f}" if term in model[name] else "–" for term in TERMS)]
        for name in MODEL
    ]
    size = f"{by_rank[0]['ratings'] / 1e6:g} M ratings"
    parts = (
        busy(by_size + by_rank + by_shape + by_threads),
        f"A step against the number of ratings, rank {RANK}, 2 threads:\n",
        pages.table(
            ["ratings", *steps], [[size, *step(one), *step(two)] for size, one, two in sizes]
        ),
        f"A step against the rank, {size}, 2 threads:\n",
        pages.table(
            ["rank", *steps],
            [[one["rank"], *step(one), *step(two)] for one, two in paired(by_rank)],
        ),
        f"The same with more users and items, {size}:\n",
        pages.table(
            ["users + items, rank", *steps],
            [
                [f"{one['users'] + one['items']:,}, {one['rank']}", *step(one), *step(two)]
                for one, two in paired(by_shape)
            ],
        ),
        "Picoseconds per operation in the model, fitted to these three tables:\n",
        pages.table(["method", *TERMS], costs),
        f"Peak growth of the process during a fit, rank {RANK}:\n",
        pages.table(
            ["ratings", *memory], [[size, *grown(one), *grown(two)] for size, one, two in sizes]
        ),
        f"A step with one thread and with two, {size}:\n",
        thread_table(by_threads),
    )
    return "\n".join(part for part in parts if part)


def main() -> None:
    options = pages.options(__doc__)
    millions = (1, 2, 4) if options.quick else MILLIONS
    at, ranks = (1, (5, 10, 20, 32, 64)) if options.quick else (AT_MILLIONS, RANKS)
    by_size = [row for size in millions for row in ask(size, (RANK,), (2,), steps=6)]
    by_rank = ask(at, ranks, (2,), steps=4)
    by_shape = [row for by in SPREADS for row in ask(at, SPREAD_AT, (2,), steps=4, spread=by)]
    by_threads = ask(at, THREADS_AT, (1, 2), steps=4)
    if not (by_size and by_rank):
        raise SystemExit("there is nothing to fit the model to")
    measured = {
        "by_size": by_size,
        "by_rank": by_rank,
        "by_shape": by_shape,
        "by_threads": by_threads,
        "picoseconds": predicted(by_size + by_rank + by_shape),
    }
    pages.write(options.folder, "cost", measured, text(measured))
    cost_chart.write(options.folder / "cost.svg", by_size, by_rank)


if __name__ == "__main__":
    main()
