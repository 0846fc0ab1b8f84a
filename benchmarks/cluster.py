"""Processor time of a step on a local cluster of Dask, against the local engine and the cost model.

python benchmarks/cluster.py            writes docs/performance/cluster.json and cluster.md
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import tastemix as tm
from generate import triples
from tastemix.engine import CpuEngine, RandomStart
from tastemix.engine.dask import Dask
from tastemix.engine.dask.cluster import Cluster
from tastemix.engine.objective import Objective

OUT = Path(__file__).parents[1] / "docs" / "performance"
METHODS = {"RNMF": Objective(l1=0.2), "PRD": Objective(prior="dynamic")}
STEPS, RANK = 3, 20


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Counter:
    """Tasks submitted, and the processor time of this process and of all workers."""

    def __init__(self, client: Any) -> None:
        self.client, self.tasks = client, 0
        submit = Cluster.submit

        def counted(cluster: Any, *arguments: Any) -> Any:
            self.tasks += 1
            return submit(cluster, *arguments)

        Cluster.submit = counted  # type: ignore[method-assign]

    def now(self) -> tuple[float, int]:
        return processor_time() + sum(self.client.run(processor_time).values()), self.tasks


def measured(session: Any, objective: Objective, now: Any) -> tuple[float, float, int]:
    """Processor seconds, seconds and tasks of a step, after one that is not counted."""
    for side in ("items", "users"):
        session.half_step(side, objective, 1e-3)
    (before, tasks), began = now(), time.perf_counter()
    for _ in range(STEPS):
        for side in ("items", "users"):
            session.half_step(side, objective, 1e-3)
    after, done = now()
    wall = (time.perf_counter() - began) / STEPS
    return (after - before) / STEPS, wall, (done - tasks) // STEPS


def overhead(ratings: tm.Ratings, client: Any, counter: Counter) -> tuple[float, float]:
    """Processor seconds of a task, and of a byte of rows that is shown to another worker."""
    small = tm.Ratings.from_arrays([0, 1, 600], [0, 1, 700], [1.0, 2.0, 3.0])
    placed = Dask(client).place(small)
    cost, _, tasks = measured(placed.open(RandomStart(2)), METHODS["PRD"], lambda: counter.now())
    placed.close()
    per_task = cost / tasks
    shape, (one, other) = (len(ratings.users), RANK), sorted(client.nthreads())[:2]
    made = [client.submit(np.ones, shape, np.float32, workers=[one], pure=False) for _ in range(4)]
    distributed.wait(made)
    before = counter.now()[0]
    looked = [client.submit(lambda x: float(x[0, 0]), rows, workers=[other]) for rows in made]
    client.gather(looked)
    spent = counter.now()[0] - before - 4 * per_task
    return per_task, max(spent, 0.0) / (4 * 4 * shape[0] * shape[1])


def moved_bytes(ratings: tm.Ratings, workers: int) -> int:
    """Of a step: every worker is shown all rows of either side once."""
    return 4 * RANK * (len(ratings.users) + len(ratings.items)) * workers


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--millions", type=float, default=20)
    options = arguments.parse_args()
    tm.set_threads(1)
    count = int(options.millions * 1e6)
    user, item, stars = triples(count, count // 144, count // 740)
    ratings = tm.Ratings.from_arrays(user, item, stars)
    del user, item, stars
    near = {}
    for name, objective in METHODS.items():
        session = CpuEngine().place(ratings).open(RandomStart(RANK))
        near[name] = measured(session, objective, lambda: (processor_time(), 0))[0]
        print(f"{name} here: {near[name]:.3f} s of processor time a step", flush=True)
    found: dict[str, Any] = {
        "ratings": count,
        "users": len(ratings.users),
        "items": len(ratings.items),
        "rank": RANK,
        "here": near,
        "runs": [],
    }
    for workers in (2, 4, 8):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            ) as local,
            distributed.Client(local) as client,
        ):
            counter = Counter(client)
            if "task" not in found:
                found["task"], found["byte"] = overhead(ratings, client, counter)
                print(f"{found['task'] * 1e3:.2f} ms a task, {found['byte'] * 1e9:.2f} ns a byte")
            placed = Dask(client).place(ratings)
            for name, objective in METHODS.items():
                session = placed.open(RandomStart(RANK))
                cost, wall, tasks = measured(session, objective, counter.now)
                size = moved_bytes(ratings, workers)
                said = near[name] + tasks * found["task"] + size * found["byte"]
                found["runs"].append(
                    {
                        "blocks": workers,
                        "method": name,
                        "processor": cost,
                        "seconds": wall,
                        "tasks": tasks,
                        "bytes": size,
                        "ratio": cost / near[name],
                        "model": said,
                        "off": said / cost - 1,
                    }
                )
                print(json.dumps(found["runs"][-1]), flush=True)
            placed.close()
        write(found)


def write(found: dict[str, Any]) -> None:
    (OUT / "cluster.json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        f"{found['ratings']:,} generated ratings of {found['users']:,} users and "
        f"{found['items']:,} items, rank {found['rank']}, "
        "as many blocks a side as workers; processor seconds a step, of all "
        f"processes. A task costs {found['task'] * 1e3:.1f} ms, a byte shown to a worker "
        f"{found['byte'] * 1e9:.1f} ns.",
        "",
        "| method | blocks | here | cluster | ratio | tasks | MB shown | cost model | off by |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in found["runs"]:
        lines.append(
            f"| {run['method']} | {run['blocks']} | {found['here'][run['method']]:.2f} | "
            f"{run['processor']:.2f} | {run['ratio']:.2f} | {run['tasks']} | "
            f"{run['bytes'] / 1e6:.0f} | {run['model']:.2f} | {run['off']:+.0%} |"
        )
    (OUT / "cluster.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
