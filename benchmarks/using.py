"""Single calls, in microseconds, and recommending in bulk: seconds, and how much the process grows.

python benchmarks/using.py [--quick]

Single calls are asked of the model of `tm.fit`, for the user with the median number of ratings and
the item with the most, on MovieLens 1M and on ten million ratings of its shape (not with --quick).
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tastemix as tm
from engine import resident_bytes
from generate import ml_1m_like
from tastemix.data.ratings import Half
from tastemix.engine import _native
from tastemix.methods import default_method
from tastemix.model import topn

REPEATS, SECONDS = 5000, 3.0
"""Of a call, whichever is reached first."""


def microseconds(call: Callable[[], Any]) -> float:
    """The least of many: what a call costs when nobody else wants the machine."""
    call()
    least, ends = np.inf, time.perf_counter() + SECONDS
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        ended = time.perf_counter()
        least = min(least, ended - began)
        if ended > ends:
            break
    return least * 1e6


def single_calls(model: tm.Model) -> dict[str, float]:
    """Microseconds of each call for one user or one item."""
    counts = model.users.count
    user = model.users.ids[int(np.argsort(counts)[len(counts) // 2])]
    most = np.argsort(-model.items.count)[:5].astype(np.int32)
    items = model.items.ids.take(most).to_pylist()
    given = dict(zip(items, (5, 4, 3, 2, 1), strict=True))
    person = model.fold_in(given)
    calls: dict[str, Callable[[], Any]] = {
        "recommend(user)": lambda: model.recommend(user),
        "predict([user], [item])": lambda: model.predict([user], items[:1]),
        "predict(user, item)": lambda: model.predict(user, items[0]),
        "predict(user, unknown item)": lambda: model.predict(user, -1),
        "explain(user, item)": lambda: model.explain(user, items[0]),
        "similar(item)": lambda: model.similar(items[0]),
        "person.recommend()": person.recommend,
        "fold_in(five)": lambda: model.fold_in(given),
        "fold_in(five).recommend()": lambda: model.fold_in(given).recommend(),
    }
    return {name: microseconds(call) for name, call in calls.items()}


def singles(ratings: tm.Ratings, quick: bool) -> None:
    """A table of single calls."""
    columns = {"ML-1M": single_calls(tm.fit(ratings))}
    if not quick:
        more = tm.Ratings.from_arrays(*ml_1m_like(10), scale=(1, 5))
        # A call costs the same however well the factors fit.
        columns["10 M ratings"] = single_calls(
            dataclasses.replace(default_method(), steps=1).fit(more)
        )
    print(f"{'µs, the least of many':<30}" + "".join(f"{name:>14}" for name in columns))
    for call in columns["ML-1M"]:
        print(f"{call:<30}" + "".join(f"{column[call]:14.1f}" for column in columns.values()))


def movielens(ratings: tm.Ratings) -> None:
    """The ten best of all users of MovieLens 1M."""
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
    few = np.arange(64, dtype=np.int32)
    factors.best(few, topn.chosen(seen, few), None, 10)  # the thread pool
    before = most = resident_bytes()
    began = time.perf_counter()
    for block in np.array_split(np.arange(users, dtype=np.int32), users // at_once):
        factors.best(block, topn.chosen(seen, block), None, 10)
        most = max(most, resident_bytes())
    seconds = time.perf_counter() - began
    print(
        f"{users:,} users × {items:,} items, rank {rank}: {seconds:.1f} s, "
        f"{users / seconds:,.0f} users a second, the process grew by {(most - before) / 1e6:.0f} MB"
    )
    before = resident_bytes()
    best = factors.best(np.arange(users, dtype=np.int32), seen, None, 10)
    grown = (resident_bytes() - before) / 1e6
    result = best.nbytes / 1e6
    print(f"all {len(best):,} at once: it grew by {grown:.0f} MB, {result:.0f} of them the result")


if __name__ == "__main__":
    print(f"{_native.threads()} threads, {_native.current_isa()}")
    folder = os.environ.get("TASTEMIX_DATA")
    if folder:
        movies = tm.read(Path(folder) / "ml-1m.parquet", scale=(1, 5))
        singles(movies, "--quick" in sys.argv)
        movielens(movies)
    else:
        print("set TASTEMIX_DATA to the folder of ml-1m.parquet")
    large()
