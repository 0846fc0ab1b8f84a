"""Rows shown to those that need them, against all rows to all workers. Used by `cluster.py`.

Ratings of many users who rated few items each, where routing is worth most.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tastemix as tm
from tastemix.data.ratings import Side
from tastemix.engine import RandomStart
from tastemix.engine.dask import Dask, placed
from tastemix.engine.objective import Objective
from tastemix.engine.sides import OTHER, SIDES

USERS, ITEMS, RANK, STEPS, ROUNDS = 1_500_000, 30_000, 20, 2, 3
EACH = (2, 4, 8)
"""Ratings of a user."""


def ratings_of(each: int) -> tm.Ratings:
    """Users who rated so many items, drawn uniformly."""
    rng = np.random.default_rng(each)
    user = np.repeat(np.arange(USERS, dtype=np.int32), each)
    item = rng.integers(0, ITEMS, len(user), dtype=np.int32)
    _, one = np.unique(user.astype(np.int64) * ITEMS + item, return_index=True)
    stars = rng.integers(1, 6, len(one)).astype(np.float32)
    return tm.Ratings.from_arrays(user[one], item[one], stars)


def compared(client: Any, now: Callable[[], float]) -> list[dict[str, Any]]:
    """A step of each, with tables and without: processor seconds and bytes, and the same bits."""
    workers, few, found = len(client.nthreads()), placed.FEW, []
    for each in EACH:
        ratings = ratings_of(each)
        there = {}
        for way, share in (("whole", 0.0), ("routed", 1.0)):
            placed.FEW = share
            began = now()
            there[way] = Dask(client, every=10**6).place(ratings)
            print(way, each, "placed in", now() - began, flush=True)
        placed.FEW = few
        run = {"workers": workers, "each": each, "ratings": len(ratings)}
        layout = there["routed"].layout
        run["share"] = float(np.mean(_shares(layout, "items")))
        run["bytes"] = {way: shown(placed_.layout) for way, placed_ in there.items()}
        sessions = {way: there[way].open(RandomStart(RANK)) for way in there}
        run["cpu"] = _timed(sessions, now)
        one, other = (session.factors() for session in sessions.values())
        run["same_bits"] = all(map(np.array_equal, one, other))
        print(run, flush=True)
        found.append(run)
        for placed_ in there.values():
            placed_.close()
    return found


def _shares(layout: Any, side: Side) -> list[float]:
    """Of the rows of the other side, what the workers of a side are shown."""
    rows = layout.rows(OTHER[side])
    return [shown / rows for (of, _), shown in layout.shown.items() if of == side]


def shown(layout: Any) -> int:
    """Bytes of rows that workers are shown in a step, their own among them."""
    return 4 * RANK * sum(layout.shown.values())


def _timed(sessions: dict[str, Any], now: Callable[[], float]) -> dict[str, float]:
    """Processor seconds of a step, by turns; the least of several rounds."""
    taken: dict[str, list[float]] = {way: [] for way in sessions}
    for session in sessions.values():
        _steps(session, 1)
    for _ in range(ROUNDS):
        for way, session in sessions.items():
            before = now()
            _steps(session, STEPS)
            taken[way].append((now() - before) / STEPS)
            time.sleep(0.1)
    return {way: min(times) for way, times in taken.items()}


def _steps(session: Any, count: int) -> None:
    for _ in range(count):
        for side in reversed(SIDES):
            session.half_step(side, Objective(prior="dynamic"), 1e-3)


def table(runs: list[dict[str, Any]]) -> list[str]:
    """The runs as lines of a table."""
    lines = [
        f"{USERS:,} users who rated a few of {ITEMS:,} items each, drawn uniformly; PRD at rank "
        f"{RANK}. Workers have blocks of items, and are shown all users or, whatever their share, "
        "those that rated these. MB shown in a step, own rows among them; processor seconds of a "
        "step, of all processes, beside other programs.",
        "",
        "| workers | ratings a user | users a worker needs | by 1 − (1 − 1/p)^d | MB shown, all | "
        "MB shown, needed | seconds, all | seconds, needed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        said = 1 - (1 - 1 / run["workers"]) ** (run["ratings"] / USERS)
        megabytes, cpu = run["bytes"], run["cpu"]
        lines.append(
            f"| {run['workers']} | {run['each']} | {run['share']:.0%} | {said:.0%} | "
            f"{megabytes['whole'] / 1e6:.0f} | {megabytes['routed'] / 1e6:.0f} | "
            f"{cpu['whole']:.2f} | {cpu['routed']:.2f} |"
        )
    return lines
