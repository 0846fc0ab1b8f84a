"""The whole of `tm.fit` on MovieLens 1M beside myFM, and beside an earlier version of ours.

python benchmarks/peers/whole.py [--repeats 5] [--earlier PYTHON]

--earlier is the interpreter of an environment with the earlier version, such as the .venv of a
checkout of it. All of them take turns, so that what else the machine does meets all alike. Writes
docs/performance/whole.json and whole.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import envs
import isolated
import pages

import tastemix as tm

WORKER = Path(__file__).with_name("whole_worker.py")
TIMEOUT = 1800.0
MYFM = {"rank": 10, "n_iter": 100}
INTRODUCTION = """\
MovieLens 1M, 80 % to learn from; {threads} threads, of which myFM uses one. Each fit has a \
process of its own, after a short one that is not counted. The fastest of {repeats} repeats.
"""


def jobs(earlier: Path | None) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Name → interpreter and what its worker is to fit."""
    own = {"library": "Whole", "setting": {}}
    found = {"`tm.fit`": (envs.python("tastemix"), own)}
    if earlier is not None:
        found["`tm.fit` of 0.1"] = (earlier, own)
    found["myFM, 100 samples"] = (envs.python("myfm"), {"library": "MyFM", "setting": MYFM})
    return found


def table(measured: dict[str, list[dict[str, float]]]) -> str:
    """A row per fit, with its ratio to the first."""
    header = ["", "seconds", "ratio", "processor seconds", "ratio"]
    first, rows = None, []
    for name, fits in measured.items():
        if not fits:
            rows.append(pages.failed(name, "failed", len(header)))
            continue
        best = [min(fit[kind] for fit in fits) for kind in ("seconds", "processor")]
        first = first or best
        cells = [
            cell
            for own, ours in zip(best, first, strict=True)
            for cell in (f"{own:.2f}", f"{own / ours:.1f}")
        ]
        rows.append([name, *cells])
    return pages.table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--earlier", type=Path, help="the interpreter of an earlier version")
    options = parser.parse_args()
    ratings = pages.data("ml-1m")
    half = tm.holdout(ratings).train.by_user
    fits = jobs(options.earlier)
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in fits}
    with tempfile.TemporaryDirectory() as folder:
        file = isolated.save(Path(folder) / "train.npz", half.rows, half.indices, half.values)
        shape = [len(ratings.users), len(ratings.items)]
        for _ in range(options.repeats):
            for name, (interpreter, job) in fits.items():
                asked = {**job, "train": file, "shape": shape}
                found = isolated.answer(interpreter, WORKER, asked, TIMEOUT)
                print(f"{name}: {found}", file=sys.stderr, flush=True)
                if "error" not in found:
                    measured[name].append(found)
    text = INTRODUCTION.format(threads=isolated.THREADS, repeats=options.repeats)
    pages.write(pages.DOCS, "whole", {"fits": measured}, f"{text}\n{table(measured)}")


if __name__ == "__main__":
    main()
