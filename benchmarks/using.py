"""Recommending in bulk: seconds, and how much the process grows.

python benchmarks/using.py
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

import tastemix as tm
from engine import resident_bytes
from tastemix.data.ratings import Half
from tastemix.engine import _native


def movielens() -> None:
    """The ten best of all users of MovieLens 1M."""
    folder = os.environ.get("TASTEMIX_DATA")
    if not folder:
        print("set TASTEMIX_DATA to the folder of ml-1m.parquet")
        return
    ratings = tm.read(Path(folder) / "ml-1m.parquet", scale=(1, 5))
    model = tm.MIXD(10).fit(ratings)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        table = model.recommend(ratings.users.values, 10)
        seconds.append(time.perf_counter() - began)
    print(f"ML-1M, {len(table):,} recommendations: {min(seconds):.3f} s")


def large(users: int = 200_000, items: int = 50_000, rank: int = 20, at_once: int = 20_000) -> None:
    """Ten of many items for many users, each having seen a hundred, a block of users at a time."""
    rng = np.random.default_rng(0)
    factors = tm.Factors(
        rng.random((users, rank), np.float32), rng.random((items, rank), np.float32)
    )
    pointers = np.arange(0, 100 * users + 1, 100, dtype=np.int64)
    indices = rng.integers(0, items, 100 * users, dtype=np.int32)
    seen = Half(pointers, indices, np.zeros(0, np.float32))
    allowed = np.ones(items, np.uint8)
    factors.best(np.arange(64, dtype=np.int32), seen, allowed, 10)  # the thread pool
    before = most = resident_bytes()
    began = time.perf_counter()
    for block in np.array_split(np.arange(users, dtype=np.int32), users // at_once):
        factors.best(block, seen, allowed, 10)
        most = max(most, resident_bytes())
    seconds = time.perf_counter() - began
    print(
        f"{users:,} users × {items:,} items, rank {rank}: {seconds:.1f} s, "
        f"{users / seconds:,.0f} users a second, the process grew by {(most - before) / 1e6:.0f} MB"
    )
    before = resident_bytes()
    best = factors.best(np.arange(users, dtype=np.int32), seen, allowed, 10)
    grown = (resident_bytes() - before) / 1e6
    result = best.nbytes / 1e6
    print(f"all {len(best):,} at once: it grew by {grown:.0f} MB, {result:.0f} of them the result")


if __name__ == "__main__":
    print(f"{_native.threads()} threads, {_native.current_isa()}")
    movielens()
    large()
