"""Processor time of a step on a local cluster of Dask, against the local engine and a cost model.

    python benchmarks/cluster.py calibrate      what a question, a byte and waiting cost
    python benchmarks/cluster.py step 2         a step of 20 M ratings on two workers; also 4, 8
    python benchmarks/cluster.py kills          ten fits that lose a worker, one the scheduler
    python benchmarks/cluster.py bits           a few steps of every method on 1, 2 and 5 blocks
    python benchmarks/cluster.py routing 8      a step where workers need few of many rows; also 4
    python benchmarks/cluster.py show           docs/performance/cluster.md

Each but the last adds to docs/performance/cluster.json. Ratings are generated once, into --folder.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import cluster_bits
import cluster_routing
import tastemix as tm
from cluster_kills import fits_that_lose, sentences
from generate import triples
from tastemix.data.disk.writing import write
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.dask import Dask
from tastemix.engine.dask.cluster import Cluster
from tastemix.engine.objective import Objective

RESULTS = Path(__file__).parents[1] / "docs" / "performance" / "cluster.json"
METHODS = {"RNMF": Objective(l1=0.2), "PRD": Objective(prior="dynamic")}
STEPS, RANK, ROUNDS, CORES = 2, 20, 8, 2
CALIBRATED = (3, 6)
"""Workers of the clusters on which coefficients are measured: none that is predicted."""


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of so many local workers of one thread."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def of_all(client: Any) -> Callable[[], float]:
    """The processor time of this process, which has the scheduler too, and of all workers."""
    return lambda: processor_time() + sum(client.run(processor_time).values())


def generated(folder: Path, count: int) -> tm.Ratings:
    """Ratings that are mapped from a folder."""
    to = folder / f"{count}.tmr"
    if not to.exists():
        write(tm.Ratings.from_arrays(*triples(count, count // 144, count // 740)), to)
    return tm.open(to, verify=False)


def steps(session: Any, objective: Objective, count: int) -> None:
    for _ in range(count):
        for side in ("items", "users"):
            session.half_step(side, objective, 1e-3)


def measured(session: Any, objective: Objective, now: Callable[[], float]) -> tuple[float, float]:
    """Processor seconds and seconds of a step."""
    before, began = now(), time.perf_counter()
    steps(session, objective, STEPS)
    wall = time.perf_counter() - began
    return (now() - before) / STEPS, wall / STEPS


def questions_of(session: Any, objective: Objective) -> int:
    """That a step asks, each of all workers."""
    steps(session, objective, 1)  # the first asks for sums that later ones have already
    asked, ask = [0], Cluster.ask

    def counted(*arguments: Any) -> Any:
        asked[0] += 1
        return ask(*arguments)

    Cluster.ask = counted  # type: ignore[method-assign]
    try:
        steps(session, objective, 1)
    finally:
        Cluster.ask = ask  # type: ignore[method-assign]
    return asked[0]


def moved(rows: int, workers: int) -> int:
    """Bytes of rows that reach a worker from another in a step: each is shown all of both sides."""
    return 4 * RANK * rows * (workers - 1)


def calibrate(ratings: tm.Ratings) -> dict[str, Any]:
    """What a question costs, and for each worker, likewise waiting a second; a byte moved, and by
    what share each worker beside it slows a worker of the same machine.
    """
    small = tm.Ratings.from_arrays([0, 1, 600], [0, 1, 700], [1.0, 2.0, 3.0])
    objective, costs, rest, causes = METHODS["PRD"], [], [], []
    for workers in CALIBRATED:
        with cluster(workers) as client:
            now = of_all(client)
            before, began = now(), time.perf_counter()
            time.sleep(5)
            idle = (now() - before) / (time.perf_counter() - began)
            placed = Dask(client, every=10**6, blocks=workers).place(small)
            session = placed.open(RandomStart(2))
            asked = questions_of(session, objective)
            before, began = now(), time.perf_counter()
            steps(session, objective, 50)
            spent = now() - before - idle * (time.perf_counter() - began)
            costs.append({"workers": workers, "question": spent / 50 / asked, "idle": idle})
            placed.close()
        for name, run in step(ratings, workers).items():
            print(workers, name, run, flush=True)
            told = run["questions"] * costs[-1]["question"] + run["seconds"] * idle
            rest.append(run["cluster"] - run["two_threads"] - told)
            causes.append((run["bytes"], (workers - 1) * run["two_threads"]))
    byte, beside = np.linalg.lstsq(np.array(causes), np.array(rest), rcond=None)[0]
    return {
        "question": line(costs, "question"),
        "idle": line(costs, "idle"),
        "byte": float(byte),
        "beside": float(beside),
    }


def line(costs: list[dict[str, Any]], name: str) -> tuple[float, float]:
    """What it costs anyhow, and for each worker, by two clusters."""
    one, other = costs
    each = (other[name] - one[name]) / (other["workers"] - one["workers"])
    return one[name] - each * one["workers"], each


def said(run: dict[str, Any], workers: int, model: dict[str, Any]) -> float:
    """The processor time of a step by the cost model."""
    question, idle = (model[name][0] + workers * model[name][1] for name in ("question", "idle"))
    cost = run["two_threads"] * (1 + (workers - 1) * model["beside"])
    cost += run["questions"] * question + run["seconds"] * idle
    return float(cost + run["bytes"] * model["byte"])


def step(ratings: tm.Ratings, workers: int) -> dict[str, Any]:
    """A step of every method here and on a cluster, by turns; the least of several rounds."""
    found: dict[str, Any] = {}
    rows = len(ratings.users) + len(ratings.items)
    with cluster(workers) as client:
        placed, now = Dask(client).place(ratings), of_all(client)
        here = CpuEngine().place(ratings)
        for name, objective in METHODS.items():
            far, near = placed.open(RandomStart(RANK)), here.open(RandomStart(RANK))
            steps(near, objective, 2)
            asked = questions_of(far, objective)  # also two steps
            taken: dict[str, list[tuple[float, float]]] = {"one": [], "two": [], "cluster": []}
            for _ in range(ROUNDS):
                for threads, of in ((1, "one"), (CORES, "two")):
                    tm.set_threads(threads)
                    taken[of].append(measured(near, objective, processor_time))
                for _ in range(2):
                    taken["cluster"].append(measured(far, objective, now))
            (one, _), (two, _), (cost, wall) = (min(taken[of]) for of in taken)
            same = all(map(np.array_equal, far.factors(), near.factors()))
            found[name] = {
                "one_thread": one,
                "two_threads": two,
                "cluster": cost,
                "seconds": wall,
                "questions": asked,
                "bytes": moved(rows, workers),
                "same_bits": same,
            }
        placed.close()
    return found


def note(**found: Any) -> None:
    """Add to the results."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, **found}, indent=1) + "\n")


def show() -> None:
    """The results as tables."""
    known = json.loads(RESULTS.read_text())
    model, about = known["model"], known["ratings"]
    lines = [
        f"{about['ratings']:,} generated ratings of {about['users']:,} users and "
        f"{about['items']:,} items, rank {RANK}, as many blocks a side as workers of one thread; "
        "processor seconds a step, of all processes, warm, the least of several rounds. The ratio "
        "is to two threads here.",
        "",
        "| method | workers | one thread | two threads | cluster | ratio | questions | MB moved | "
        "cost model | off by |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in METHODS:
        for workers in (2, 4, 8):
            run = known[f"workers_{workers}"][name]
            cost = said(run, workers, model)
            lines.append(
                f"| {name} | {workers} | {run['one_thread']:.3f} | {run['two_threads']:.3f} | "
                f"{run['cluster']:.3f} | {run['cluster'] / run['two_threads']:.2f} | "
                f"{run['questions']} | {run['bytes'] / 1e6:.0f} | {cost:.3f} | "
                f"{cost / run['cluster'] - 1:+.0%} |"
            )
    (base, each), (idle, waiting) = model["question"], model["idle"]
    lines += [
        "",
        f"A question costs {base * 1e3:.2f} ms and {each * 1e3:.2f} ms for each worker, a byte "
        f"between workers {model['byte'] * 1e9:.2f} ns, a second {idle * 1e3:.0f} ms and "
        f"{waiting * 1e3:.0f} ms for each worker, and each worker beside it slows a worker of the "
        f"same machine by {model['beside']:.1%}, measured on clusters of "
        f"{' and '.join(map(str, CALIBRATED))} workers.",
    ]
    if kills := known.get("kills"):
        lines += ["", *sentences(kills)]
    if bits := known.get("bits"):
        lines += ["", cluster_bits.sentence(bits)]
    if runs := [run for workers in (4, 8) for run in known.get(f"routing_{workers}", ())]:
        lines += ["", *cluster_routing.table(runs)]
    RESULTS.with_suffix(".md").write_text("\n".join(lines) + "\n")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument(
        "what", choices=["calibrate", "step", "kills", "bits", "routing", "show"]
    )
    arguments.add_argument("workers", type=int, nargs="?", default=2)
    arguments.add_argument("--millions", type=float, default=20)
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "cluster")
    options = arguments.parse_args()
    count = int(options.millions * 1e6)
    options.folder.mkdir(exist_ok=True)
    if options.what == "show":
        return show()
    if options.what == "routing":
        with cluster(options.workers) as client:
            runs = cluster_routing.compared(client, of_all(client))
        return note(**{f"routing_{options.workers}": runs})
    ratings = generated(options.folder, count)
    if options.what == "calibrate":
        return note(model=calibrate(ratings))
    if options.what == "kills":
        return note(kills=fits_that_lose(ratings, options.folder))
    if options.what == "bits":
        with cluster(2) as client:
            return note(bits=cluster_bits.compared(client, ratings))
    found = step(ratings, options.workers)
    print(found)
    about = {"ratings": count, "users": len(ratings.users), "items": len(ratings.items)}
    return note(ratings=about, **{f"workers_{options.workers}": found})


if __name__ == "__main__":
    main()
