"""Seconds and test error of fits on MovieLens 1M, ours and the peers', from one split.

python benchmarks/peers/fits.py [--repeats 3] [--only "Cornac MF" …]

Writes docs/performance/fits.json, fits.md and fits.svg; with --only, into benchmarks/out/ instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import envs
import fit_chart
import isolated
import ours
import pages
import reach
from entries import PEERS, Entry, Setting

import tastemix as tm

WORKER = Path(__file__).with_name("fit_worker.py")
TIMEOUT = 900.0
"""Seconds that one entry may take, tuning and all."""
MOST_LONGER = 8
"""Times that a racer who falls short on the test part gets more steps."""
INTRODUCTION = """\
MovieLens 1M, 80 % to learn from, the other 20 % as test; {threads} threads. Seconds run from the \
library's own form of the ratings to a model that predicts, ours from the bare arrays; they are \
the fastest of {repeats} fits, and *first* is the first fit of a process. No prediction is \
clipped. *Tuned* is the best of a small grid on a tenth of the training part, fitted to all of it.
"""


def parts(folder: Path) -> dict[str, Any]:
    """Train and test, 80/20; train again as cut and validation, 90/10; all as files."""
    ratings = tm.read(pages.movielens(), scale=(1, 5))
    train, test = tm.holdout(ratings)
    cut, validation = tm.holdout(train, 0.1, seed=1)
    halves = {"train": train, "test": test, "cut": cut, "validation": validation}
    files = {
        name: isolated.save(
            folder / f"{name}.npz", part.by_user.rows, part.by_user.indices, part.by_user.values
        )
        for name, part in halves.items()
    }
    return {"shape": [len(ratings.users), len(ratings.items)], **files}


def measured(entry: Entry, files: dict[str, Any], repeats: int, tries: int = 1) -> dict[str, Any]:
    """An entry fitted, tuned and judged in its own environment; `tries` fits for a validation."""
    job = {
        "library": entry.library,
        "default": entry.default,
        "grid": list(entry.grid),
        "repeats": repeats,
        "validation_repeats": tries,
        **files,
    }
    found = isolated.run(entry.peer, WORKER, job, TIMEOUT)
    facts = {"name": entry.name, "peer": entry.peer, "nonnegative": entry.nonnegative}
    print(f"{entry.name}: {_line(found)}", file=sys.stderr, flush=True)
    return {**facts, "note": entry.note, **found}


def raced(results: list[dict[str, Any]], files: dict[str, Any], repeats: int) -> list[Any]:
    """The shortest of our fits beside each peer that is to be outrun."""

    def fit(settings: list[Setting], repeats: int) -> dict[str, Any]:
        entry = Entry("race", "tastemix", "Ours", settings[0], settings[1:])
        return measured(entry, files, repeats, tries=2)

    validated = fit(ours.RACERS, 1).get("validated", [])
    targets = reach.targets(results, validated)
    races = []
    for target in targets:
        setting, race = target["setting"], {}
        for _ in range(MOST_LONGER):
            race = reach.finished({**target, "setting": setting}, fit([setting], repeats))
            if "error" in race or race["reached"]:
                break
            setting = reach.longer(setting)
        races.append(race)
    return races


def table(results: list[dict[str, Any]]) -> str:
    """A row per entry."""
    header = ["", "nonnegative", "seconds", "first", "RMSE", "tuned: seconds", "RMSE"]
    rows = []
    for found in results:
        name = found["name"] if found["peer"] != "tastemix" else f"**{found['name']}**"
        if "error" in found:
            rows.append(pages.failed(name, found["error"], len(header)))
            continue
        default, tuned = found["default"], found["tuned"]
        sign = "yes" if found["nonnegative"] else "no"
        row = [name, sign, _seconds(default["seconds"]), _seconds(found["first"])]
        row += [_rmse(default["rmse"]), _seconds(tuned["seconds"]), _rmse(tuned["rmse"])]
        rows.append(row)
    return pages.table(header, rows)


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _rmse(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".lstrip("0")


def _tuned(found: dict[str, Any]) -> str:
    if "error" in found or found["tuned"] == found["default"]:
        return ""
    setting = found["tuned"]["setting"]
    return "tuned: " + ", ".join(f"{name} {value}" for name, value in setting.items())


def _line(found: dict[str, Any]) -> str:
    if "error" in found:
        return found["error"]
    ends = [found["default"], found["tuned"]]
    return ", tuned ".join(
        f"{_seconds(end['seconds'])} s, RMSE {_rmse(end['rmse'])}" for end in ends
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="the entries to fit, by name")
    options = parser.parse_args()
    chosen = [e for e in (*ours.FITS, *PEERS) if options.only is None or e.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        files = parts(Path(folder))
        results = [measured(entry, files, options.repeats) for entry in chosen]
        races = raced(results, files, 5)
    notes = [
        f"- {found['name']}: {'; '.join(filter(None, (found['note'], _tuned(found))))}."
        for found in results
        if found["note"] or _tuned(found)
    ]
    text = "\n".join(
        [
            INTRODUCTION.format(threads=isolated.THREADS, repeats=options.repeats),
            table(results),
            *notes,
            "",
            reach.table(races),
        ]
    )
    where = pages.DOCS if options.only is None else pages.QUICK
    facts = {"installed": envs.installed(), "fits": results, "races": races}
    pages.write(where, "fits", facts, text)
    fit_chart.write(where / "fits.svg", results)


if __name__ == "__main__":
    main()
