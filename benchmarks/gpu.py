"""Steps and fits on a CUDA card, beside the processor of its machine. Data are made on the card.

python benchmarks/gpu.py [--most 1000000000] [--commit NAME]    measure, then draw
python benchmarks/gpu.py --no-fit                               the same, steps alone
python benchmarks/gpu.py --draw                                 the table and the chart alone
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tastemix as tm
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.cuda import card
from tastemix.engine.objective import Objective
from tastemix.model.factors import Factors, Head
from tastemix.model.links import Links, Weights
from tastemix.model.model import Model

DOCS = Path(__file__).resolve().parents[1] / "docs" / "performance"
SIZES = (10**5, 10**6, 10**7, 10**8, 10**9)
MOST_HERE = 10**8
"""Ratings that the processor is asked to fit."""
FIT = 16_000_000
FITS = (10**5, 10**6, FIT, 10**8)
"""Ratings to fit to, beside a quarter as many to be judged by."""
LISTS = (10_000_000, 200_000)
"""Users and items of the lists."""
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


def fits(sizes: tuple[int, ...]) -> Iterator[Row]:
    """`tm.fit` of ratings in this machine's memory, on both; the first one on the card compiles."""
    for size in sizes:
        half, items = made(size * 5 // 4)
        train, test = tm.holdout(here(half, items))
        truth = test.by_user.values
        found: Row = {"ratings": len(train)}
        for name in ("cuda", "cuda", "cuda", "cpu") if size <= FIT else ("cuda",):
            fresh = replace(train)  # nothing of the fit before is kept
            seconds, model = timed(lambda fresh=fresh, name=name: tm.fit(fresh, engine=name))
            error = model.predict_numbers(test.by_user.rows, test.by_user.indices) - truth
            before = found.get(name, {}).get("seconds", math.inf)
            rmse = float(np.sqrt((error**2).mean()))
            found[name] = {"seconds": min(seconds, before), "rmse": rmse}
            found.setdefault("first", seconds)
        print(json.dumps(found), flush=True)
        yield found


def rank_24() -> float:
    """Seconds of a step of RNMF, 16 million ratings."""
    from tastemix.engine.cuda.session import CudaPlaced

    half, items = made(FIT)
    session = CudaPlaced(half, items, (1.0, 5.0), 0.0).open(RandomStart(24, 0))
    return best_step(session, OBJECTIVES["RNMF"], 8)


def everybody(users: int, items: int, rated: int = 10, linked: int = 50) -> Row:
    """`recommend` for all users in one call, by tastes, rated items and popularity."""
    from tastemix.data.ratings import Half

    rng, ids = np.random.default_rng(0), tm.Ratings.from_sparse(_one(users, items))

    def spread_out(rows: int, each: int) -> Half:
        """So many ascending items a row, with numbers between 0 and 1."""
        at = (rng.random((rows, each), np.float32) + np.arange(each)) * (items // each)
        pointers = np.arange(rows + 1, dtype=np.int64) * each
        return Half(pointers, at.astype(np.int32).ravel(), rng.random(rows * each, np.float32))

    by_user = spread_out(users, rated)
    half = Half(by_user.pointers, by_user.indices, 1 + 4 * by_user.stored[:])
    factors = Factors(rng.random((users, RANK), np.float32), rng.random((items, RANK), np.float32))
    head = Head(factors, (), Links(spread_out(items, linked)), Weights(1.0, 0.5, 1e-5))
    ratings = tm.Ratings(ids.users, ids.items, half, (1.0, 5.0))
    model = Model.of(tm.NMF(RANK), factors, ratings, ranking=head)
    model.recommend([0, 1], engine="cpu")  # what is made once per model
    found: Row = {"users": users, "items": items, "rank": RANK, "rated": rated, "linked": linked}
    found["seconds"], table = timed(lambda: model.recommend(np.arange(users), engine="cuda"))
    few = 2000
    found["processor_users"] = few
    found["processor"], other = timed(lambda: model.recommend(np.arange(few), engine="cpu"))
    here, there = (t["item"].slice(0, 10 * few).to_numpy() for t in (table, other))
    found["rows"], found["same"] = table.num_rows, float((here == there).mean())
    print(json.dumps(found), flush=True)
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
    """The tables and the chart."""
    lines = [*of_steps(found), "", *of_fits(found), "", *of_lists(found["lists"]), ""]
    lines += [f"Steps of commit {found['commit']}, fits and lists of {found['rest_commit']}."]
    (folder / "gpu.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gpu"}):
        figure = Figure(figsize=(8.4, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, name in enumerate(("RNMF", "PRD", "CNMF")):
            for where, style in (("card", "o-"), ("processor", "s--")):
                rows = [row for row in found["sizes"] if where in row]
                across = [row["ratings"] for row in rows]
                up = [1e3 * row[where][name] for row in rows]
                left.loglog(across, up, style, color=f"C{number}", label=f"{name}, {where}")
        for where, style, name in (("cuda", "o-", "card"), ("cpu", "s--", "processor")):
            rows = [row for row in found["fits"] if where in row]
            up = [row[where]["seconds"] for row in rows]
            right.loglog([row["ratings"] for row in rows], up, style, color="C2", label=name)
        left.set(xlabel="ratings", ylabel="milliseconds a step")
        right.set(xlabel="ratings", ylabel="seconds of tm.fit, transfer included")
        for axes in (left, right):
            axes.legend(frameon=False, fontsize=8, loc="upper left")
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / "gpu.svg", format="svg", metadata={"Date": None, "Creator": None})


def of_steps(found: Row) -> Iterator[str]:
    """A line for every size."""
    head = ["ratings", *(f"{name}, {where}" for name in OBJECTIVES for where in ("card", "cpu"))]
    yield (
        f"Milliseconds of a step at rank {found['rank']}: {found['card']}, driver "
        f"{found['driver']}, beside {found['cores']} cores of the same machine. At rank 24, a step "
        f"of RNMF over {FIT // 10**6} million ratings takes {milliseconds(found['rank_24'])}.\n"
    )
    yield "| " + " | ".join([*head, "to the card"]) + " |"
    yield "|---" + "|---:" * len(head) + "|"
    for row in found["sizes"]:
        cells = [f"{row['ratings']:,}"]
        for name in OBJECTIVES:
            cells += [milliseconds(row["card"][name])]
            cells += [milliseconds(row.get("processor", {}).get(name))]
        yield "| " + " | ".join([*cells, milliseconds(row.get("place"))]) + " |"
    bytes_ = ", ".join(f"{name} {n:.1f}" for name, n in found["sizes"][-1]["bytes"].items())
    count = found["sizes"][-1]["ratings"]
    yield f"\nBytes on the card for each of {count:,} ratings, beside the factors: {bytes_}."


def of_fits(found: Row) -> Iterator[str]:
    """A line for every fit of the default method."""
    yield "| `tm.fit`, ratings | seconds, card | seconds, cpu | RMSE, card | RMSE, cpu |"
    yield "|---:" * 5 + "|"
    for row in found["fits"]:
        cells = [f"{row['ratings']:,}"]
        for what, form in (("seconds", "{:.2f}"), ("rmse", "{:.4f}")):
            for name in ("cuda", "cpu"):
                cells.append(form.format(row[name][what]) if name in row else "–")
        yield "| " + " | ".join(cells) + " |"


def of_lists(row: Row) -> Iterator[str]:
    """What `recommend` took."""
    here = row["processor"] / row["processor_users"] * row["users"]
    yield (
        f"`recommend` for {row['users']:,} users in one call, ten of {row['items']:,} items each, "
        f"by tastes (rank {row['rank']}), {row['rated']} rated items with {row['linked']} links "
        f"each and popularity: {row['seconds']:.0f} seconds on the card; at the processor's pace "
        f"{here:,.0f}."
    )


def rest(commit: str) -> Row:
    """What is measured beside the steps."""
    return {"fits": [*fits(FITS)], "lists": everybody(*LISTS), "rest_commit": commit}


def rest_before(path: Path) -> Row:
    """The same, as it was measured before."""
    before = json.loads(path.read_text(encoding="utf-8"))
    return {name: before[name] for name in ("fits", "lists", "rest_commit")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="ratings of the largest data")
    parser.add_argument("--commit", help="what was measured, where git cannot tell")
    parser.add_argument("--folder", type=Path, default=DOCS)
    parser.add_argument("--draw", action="store_true", help="from what was measured before")
    parser.add_argument(
        "--no-fit", action="store_true", help="steps alone; the rest stays as it was"
    )
    options = parser.parse_args()
    path = options.folder / "gpu.json"
    if options.draw:
        draw(json.loads(path.read_text(encoding="utf-8")), options.folder)
        return
    if reason := card.missing():
        sys.exit(reason)
    found = about(options.commit) | {"rank_24": rank_24(), "sizes": []}
    found |= rest_before(path) if options.no_fit else rest(found["commit"])
    for row in sizes(options.most):
        found["sizes"].append(row)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found, options.folder)


if __name__ == "__main__":
    main()
