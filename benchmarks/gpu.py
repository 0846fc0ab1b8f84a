"""Steps and fits on a CUDA card, beside the processor of its machine. Data are made on the card.

python benchmarks/gpu.py [--most 1000000000] [--commit NAME]    measure, then draw
python benchmarks/gpu.py --draw                                 the table and the chart alone
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tastemix as tm
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.cuda import card
from tastemix.engine.objective import Objective

DOCS = Path(__file__).resolve().parents[1] / "docs" / "performance"
SIZES = (10**5, 10**6, 10**7, 10**8, 10**9)
MOST_HERE = 10**8
"""Ratings that the processor is asked to fit."""
FIT = 16_000_000
RANK = 32
OBJECTIVES = {
    "RNMF": Objective(l1=0.2),
    "PRD": Objective(prior="dynamic"),
    "choices": Objective(l2=2.0, l2_per_rating=0.03, centre="choices"),
    "CNMF": Objective(l2=0.05, centre="choices", noise=0.7),
}
Row = dict[str, Any]


def made(count: int, seed: int = 0) -> Any:
    """About so many distinct ratings of count/100 users: pointers, items, stars, on the card."""
    import cupy as cp

    from tastemix.engine.cuda.halves import CudaHalf, Values

    users, items = count // 100, int(200_000 * (count / 10**9) ** 0.5)
    cp.random.seed(seed)
    rng = np.random.default_rng(seed)
    edges = [
        cp.asarray(np.cumsum(rng.lognormal(0, spread, size)))
        for spread, size in ((1.0, users), (1.5, items))
    ]
    tastes = [cp.random.random((size, 4), dtype=cp.float32) for size in (users, items)]
    block, keys = 1 << 26, cp.empty(int(1.25 * count), cp.int64)
    for begin in range(0, len(keys), block):
        here = keys[begin : begin + block]
        user, item = (
            cp.searchsorted(edge[:-1], cp.random.random(len(here)) * edge[-1]) for edge in edges
        )
        here[:] = user * items + item
    keys.sort()
    keys = keys[cp.concatenate([cp.ones(1, bool), keys[1:] != keys[:-1]])]
    keys = keys[cp.random.random(len(keys), dtype=cp.float32) < count / len(keys)]
    indices, codes = cp.empty(len(keys), cp.int32), cp.empty(len(keys), cp.uint8)
    for begin in range(0, len(keys), block):
        user, item = keys[begin : begin + block] // items, keys[begin : begin + block] % items
        mean = 0.5 + 2 * (tastes[0][user] * tastes[1][item]).sum(axis=1)
        noise = cp.random.standard_normal(len(user), dtype=cp.float32)
        indices[begin : begin + block] = item
        codes[begin : begin + block] = cp.rint(mean + noise).clip(0, 4)
    pointers = cp.searchsorted(keys, cp.arange(users + 1, dtype=cp.int64) * items)
    levels = cp.arange(1, 6, dtype=cp.float32)
    return CudaHalf(pointers.astype(cp.int64), indices, Values(codes, levels)), items


def here(half: Any, items: int) -> tm.Ratings:
    """The same ratings in this machine's memory."""
    users = half.rows
    ids = tm.Ratings.from_sparse(_one(users, items))
    rows, indices = half.rows_of_entries.get(), half.indices.get()
    values = half.values.of(0, len(indices)).get()
    return tm.Ratings.from_numbers(ids.users, ids.items, rows, indices, values, (1, 5))


def _one(users: int, items: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array(([1.0], ([0], [0])), shape=(users, items))


def best_step(session: Any, objective: Objective, steps: int) -> float:
    """Seconds of the fastest step after the first two."""
    seconds = []
    for _ in range(steps):
        began = time.perf_counter()
        session.half_step("items", objective, 1e-3)
        session.half_step("users", objective, 1e-3)
        seconds.append(time.perf_counter() - began)
    return min(seconds[2:])


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def sizes(most: int) -> Iterator[Row]:
    """A step at every size; the processor's where it fits, and what it takes to place ratings."""
    import cupy as cp

    from tastemix.engine.cuda.session import CudaPlaced

    pool = cp.get_default_memory_pool()
    for size in (size for size in SIZES if size <= most):
        half, items = made(size)
        pool.free_all_blocks()
        seconds, placed = timed(lambda h=half, n=items: CudaPlaced(h, n, (1.0, 5.0), 0.0))
        pool.free_all_blocks()
        row: Row = {"ratings": placed.ratings, "users": half.rows, "items": items}
        row |= {"turned": seconds, "ratings_bytes": pool.used_bytes(), "card": {}, "bytes": {}}
        start = RandomStart(RANK, 0, False, 0.5, 0.3)
        for name, objective in OBJECTIVES.items():
            session = placed.open(start)
            factors = 4 * RANK * (half.rows + items)
            row["card"][name] = best_step(session, objective, 6)
            row["bytes"][name] = (pool.total_bytes() - factors) / placed.ratings
            del session
            pool.free_all_blocks()
        if size <= MOST_HERE:
            ratings = here(half, items)
            placed.close()
            row["place"], placed = timed(lambda ratings=ratings: tm_place(ratings))
            on_cpu, row["processor"] = CpuEngine().place(ratings), {}
            for name, objective in OBJECTIVES.items():
                row["processor"][name] = best_step(on_cpu.open(start), objective, 4)
            del ratings, on_cpu
        placed.close()
        print(json.dumps(row), flush=True)
        yield row


def tm_place(ratings: tm.Ratings) -> Any:
    from tastemix.engine import engine_of

    return engine_of("cuda").place(ratings)


def fits() -> Row:
    """`tm.fit` of 16 million ratings in this machine's memory, on both, and a step at rank 24."""
    from tastemix.engine.cuda.session import CudaPlaced

    half, items = made(FIT)
    ratings = here(half, items)
    train, test = tm.holdout(ratings)
    truth = test.by_user.values
    found: Row = {"ratings": len(ratings)}
    session = CudaPlaced(half, items, (1.0, 5.0), 0.0).open(RandomStart(24, 0))
    found["rank_24"] = best_step(session, OBJECTIVES["RNMF"], 8)
    for name in ("cuda", "cuda", "cpu"):  # the first one compiles
        seconds, model = timed(lambda name=name: tm.fit(train, engine=name))
        error = model.predict_numbers(test.by_user.rows, test.by_user.indices) - truth
        found[name] = {"seconds": seconds, "rmse": float(np.sqrt((error**2).mean()))}
        found.setdefault("first", seconds)
        print(name, found[name], flush=True)
    return found


def about(commit: str | None) -> Row:
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(asked, capture_output=True, text=True).stdout.split(",")[:2]
    if commit is None:
        told = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(told, capture_output=True, text=True).stdout.strip()
    return {
        "card": name.strip(),
        "driver": driver.strip().splitlines()[0],
        "commit": commit,
        "cores": os.cpu_count(),
        "rank": RANK,
        "command": "python benchmarks/gpu.py",
    }


def milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:,.{1 if seconds < 0.1 else 0}f}"


def draw(found: Row, folder: Path) -> None:
    """The table and the chart."""
    head = ["ratings", *(f"{name}, {where}" for name in OBJECTIVES for where in ("card", "cpu"))]
    lines = [
        f"Milliseconds of a step at rank {found['rank']}: {found['card']}, driver "
        f"{found['driver']}, beside {found['cores']} cores of the same machine.\n",
        "| " + " | ".join([*head, "to the card"]) + " |",
        "|---" + "|---:" * len(head) + "|",
    ]
    for row in found["sizes"]:
        cells = [f"{row['ratings']:,}"]
        for name in OBJECTIVES:
            cells += [milliseconds(row["card"][name])]
            cells += [milliseconds(row.get("processor", {}).get(name))]
        lines.append("| " + " | ".join([*cells, milliseconds(row.get("place"))]) + " |")
    (folder / "gpu.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gpu"}):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for number, name in enumerate(("RNMF", "PRD", "CNMF")):
            for where, style in (("card", "o-"), ("processor", "s--")):
                rows = [row for row in found["sizes"] if where in row]
                across = [row["ratings"] for row in rows]
                up = [1e3 * row[where][name] for row in rows]
                axes.loglog(across, up, style, color=f"C{number}", label=f"{name}, {where}")
        axes.set(xlabel="ratings", ylabel="milliseconds a step")
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / "gpu.svg", format="svg", metadata={"Date": None, "Creator": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="ratings of the largest data")
    parser.add_argument("--commit", help="what was measured, where git cannot tell")
    parser.add_argument("--folder", type=Path, default=DOCS)
    parser.add_argument("--draw", action="store_true", help="from what was measured before")
    parser.add_argument("--no-fit", action="store_true", help="steps alone")
    options = parser.parse_args()
    path = options.folder / "gpu.json"
    if options.draw:
        draw(json.loads(path.read_text(encoding="utf-8")), options.folder)
        return
    if reason := card.missing():
        sys.exit(reason)
    found = about(options.commit) | {"sizes": []}
    if not options.no_fit:
        found["fit"] = fits()
    for row in sizes(options.most):
        found["sizes"].append(row)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found, options.folder)


if __name__ == "__main__":
    main()
