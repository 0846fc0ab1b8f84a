"""What the engine does in a second. Best of several repeats; ratios compare within this one run.

make bench                                  all parts
python benchmarks/engine.py fits gram       some of them
python benchmarks/engine.py growth --millions 16
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import generate
import tastemix as tm
from tastemix.data.ratings import Side
from tastemix.engine import CpuEngine, Pair, RandomStart, _native
from tastemix.engine.cpu import CpuSession
from tastemix.engine.objective import Objective
from tastemix.engine.sides import OTHER, SIDES
from tastemix.training import loop


def best(work: Callable[[], object], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def resident_bytes() -> int:
    """What the process holds, after giving back what it only keeps for later."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def fits() -> None:
    """The paper's settings on the training part of MovieLens 1M."""
    folder = os.environ.get("TASTEMIX_DATA")
    if not folder:
        print("fits: set TASTEMIX_DATA to the folder of ml-1m.parquet")
        return
    train, test = tm.holdout(tm.read(Path(folder) / "ml-1m.parquet", scale=(1, 5)))
    half = test.by_user
    print(f"\n{'fit on ML-1M, 80 %':30} {'seconds':>8} {'test RMSE':>10} {'M updates':>10}")
    methods = (
        *(tm.RNMF(6), tm.MIXD(10), tm.MIXR(8, steps=50), tm.PRD(15), tm.PR(15)),
        *(tm.PR(10, prior=0, steps=10), tm.PSVD(10)),
    )
    for method in methods:
        model = method.fit(train)
        error = model.predict_numbers(half.rows, half.indices, clip=False) - half.values
        updates = sum(step.updates for step in model.history) / 1e6
        name = f"{model.method} rank {method.rank} × {len(model.history) or 1}"
        seconds = best(lambda method=method: method.fit(train), 3)
        rmse = float(np.sqrt((error**2).mean()))
        print(f"{name:30} {seconds:8.2f} {rmse:10.4f} {updates:10.1f}")


def row_grams(session: CpuSession, side: Side) -> None:
    blocks = session.team.blocks
    blocks[side].mover.row_grams(blocks[OTHER[side]].rows)


def gram() -> None:
    """The row-Gram kernel against NumPy's float32 matrix product, k(k+1) operations a rating."""
    ratings = tm.Ratings.from_arrays(*generate.ml_1m_like(1))
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 2048, 2048), np.float32)
    print(f"\n{'row Grams, 1 M ratings':30} {'GFLOP/s':>8} {'of NumPy':>9}")
    for rank in (8, 16, 20, 32, 64, 128):
        start = RandomStart(rank, 0).pair(len(ratings.users), len(ratings.items))
        items = rng.random((len(ratings.items), rank), np.float32)
        session = CpuEngine().place(ratings).open(Pair(start.users, items))
        matmul, grams = np.inf, np.inf
        for _ in range(3):  # turn by turn, so that a slow moment hits both
            matmul = min(matmul, best(lambda: a @ b, 2))
            grams = min(grams, best(lambda session=session: row_grams(session, "users"), 3))
        peak = 2 * 2048**3 / matmul / 1e9
        rate = len(ratings) * rank * (rank + 1) / grams / 1e9
        print(f"{f'rank {rank}':30} {rate:8.1f} {rate / peak:9.1%}")
    print(f"{'NumPy matrix product':30} {peak:8.1f}")


def waits() -> None:
    """What a step on MovieLens 1M waits for, in milliseconds of one thread."""
    folder = os.environ.get("TASTEMIX_DATA")
    if not folder:
        print("waits: set TASTEMIX_DATA to the folder of ml-1m.parquet")
        return
    train, _ = tm.holdout(tm.read(Path(folder) / "ml-1m.parquet", scale=(1, 5)))
    own, threads = tm.ANMF(), _native.threads()
    recipes = {
        "RNMF(6)": tm.RNMF(6).recipe(train.scale),
        "ANMF, a member": own.recipe(train.scale),
        "ANMF, what it recommends by": own.ranking_recipe(train.scale),
        "PRD(20)": tm.PRD(20).recipe(train.scale),
    }
    _native.set_threads(1)
    print(f"\n{'one thread':30} {'ms':>8} {'1st pass':>9} {'Grams':>7} {'descent':>8}")
    for name, recipe in recipes.items():
        session, objective = CpuEngine().place(train).open(recipe.start), recipe.phases[0].objective

        def step(tolerance: float, session=session, objective=objective) -> None:
            session.half_step("items", objective, tolerance)
            session.half_step("users", objective, tolerance)

        for _ in range(2):
            step(1e-3)
        whole = best(lambda step=step: step(1e-3), 6)
        survey = best(lambda step=step: step(0.99999), 6)  # next to no row is above that
        own_gram = objective.unknown_weight < 1
        gram = best(lambda s=session: [row_grams(s, side) for side in SIDES]) * own_gram
        rest = max(whole - survey - gram, 0)
        shares = f"{survey / whole:9.0%} {gram / whole:7.0%} {rest / whole:8.0%}"
        print(f"{name:30} {whole * 1e3:8.1f} {shares}")
    _native.set_threads(threads)


def scaling(millions: list[float], rank: int = 10) -> None:
    """Time per rating and step as users, items and ratings grow together."""
    print(f"\n{f'one step, rank {rank}':30} {'ns/rating':>10} {'ratio':>6}")
    first: dict[str, float] = {}
    for size in millions:
        ratings = tm.Ratings.from_arrays(*generate.ml_1m_like(size))
        for name, objective in (("RNMF", Objective(l1=0.2)), ("PRD", Objective(prior="dynamic"))):
            session = CpuEngine().place(ratings).open(RandomStart(rank, 0))
            seconds = [step.seconds for step in loop.run(session, [tm.Phase(objective, 6)])]
            cost = min(seconds[2:]) / len(ratings) * 1e9
            first.setdefault(name, cost)
            label = f"{name}, {size:g} M ratings"
            print(f"{label:30} {cost:10.1f} {cost / first[name]:6.2f}")


def growth(millions: float, rank: int = 20) -> None:
    """How much the process grows while a fit runs, in units of a rating's 12 bytes."""
    print(f"\n{'growth during a fit':30} {'MB':>8} {'× 12 bytes a rating':>20}")
    ratings = tm.Ratings.from_arrays(*generate.ml_1m_like(millions))
    tm.RNMF(2, steps=1).fit(ratings.subset(np.arange(1000)))  # the thread pool and its stacks
    for method in (tm.RNMF(rank, steps=2), tm.MIXD(rank, prior_steps=1, steps=2)):
        before = resident_bytes()
        most = before

        def watch(step: loop.Step, session: object) -> None:
            nonlocal most
            most = max(most, resident_bytes())

        model = method.fit(ratings, on_step=watch)
        grown = max(most, resident_bytes()) - before
        label = f"{model.method} rank {rank}, {millions:g} M ratings"
        print(f"{label:30} {grown / 1e6:8.0f} {grown / (12 * len(ratings)):20.2f}")


def importing() -> None:
    """`import tastemix` against `import numpy, pyarrow`, each in a fresh process."""

    def seconds(statement: str) -> float:
        program = (
            f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        )
        runs = (
            subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            )
            for _ in range(7)
        )
        return min(float(run.stdout) for run in runs)

    base, ours = seconds("import numpy, pyarrow"), seconds("import tastemix")
    used = seconds("import tastemix; tastemix.MIXD; tastemix.read")
    print(f"\n{'import':30} {'ms':>8} {'ratio':>6}")
    print(f"{'numpy, pyarrow':30} {base * 1e3:8.0f} {1:6.2f}")
    print(f"{'tastemix':30} {ours * 1e3:8.0f} {ours / base:6.2f}")
    print(f"{'tastemix, and its methods used':30} {used * 1e3:8.0f} {used / base:6.2f}")


def main() -> None:
    parts = ("fits", "gram", "waits", "scaling", "growth", "importing")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help=f"of {', '.join(parts)}")
    parser.add_argument("--millions", type=float, default=16, help="ratings of the largest data")
    options = parser.parse_args()
    chosen = options.parts or parts
    print(f"{_native.threads()} threads, {_native.current_isa()}, NumPy {np.__version__}")
    if "fits" in chosen:
        fits()
    if "gram" in chosen:
        gram()
    if "waits" in chosen:
        waits()
    if "scaling" in chosen:
        scaling([1, 4, options.millions])
    if "growth" in chosen:
        growth(options.millions)
    if "importing" in chosen:
        importing()


if __name__ == "__main__":
    main()
