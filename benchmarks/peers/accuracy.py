"""Test error on five folds of four data sets: ours as it comes, the peers tuned.

python benchmarks/peers/accuracy.py [--only CNMF myFM …] [--sets ml-100k …] [--again CNMF …]

Every result is kept in docs/beyond/accuracy.json as soon as it is there, and what is there with the
same setting is not measured again: an interrupted run goes on where it was. --again forgets the
results of an entry.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import envs
import isolated
import numpy as np
import pages
from entries import Entry, Setting, grid

import tastemix as tm
from tastemix.data.splits import fold

WORKER = Path(__file__).with_name("accuracy_worker.py")
DOCS = pages.ROOT / "docs" / "beyond"
KEPT = DOCS / "accuracy.json"
TIMEOUT = 7200.0
SPLITS = 5
SETS = {
    "ml-100k": "MovieLens 100K",
    "finefoods-users6plus": "Fine Foods",
    "ml-1m": "MovieLens 1M",
    "jester": "Jester, stars",
}
TENTH = "ml-1m, 90/10"
"""MovieLens 1M with a tenth of the ratings as test, five random splits."""
PUBLISHED = {"GLocal-K": 0.8227, "Sparse FC": 0.824, "CF-NADE": 0.829, "I-AutoRec": 0.831}
"""RMSE on MovieLens 1M, 90/10, as the papers have it."""


def own(name: str, **setting: Any) -> Entry:
    return Entry(name, "tastemix", "Ours", setting, nonnegative=True)


OURS = [
    own("CNMF", method="CNMF", ranking=0),
    own("CNMF, mean of 4", method="CNMF", members=4, ranking=0),
    own("CNMF, mean of 8", method="CNMF", members=8, ranking=0),
    own("CNMF, mean of 8, 40 steps", method="CNMF", members=8, steps=40, ranking=0),
    own("ANMF", method="ANMF", ranking=0),
    own("Baseline", method="Baseline"),
]
LIBMF = {"lambda_p1": 0.0, "lambda_q1": 0.0, "nr_iters": 40}
"""The Python package of LIBMF sets L1 penalties where LIBMF itself has L2 ones."""
PEERS = [
    Entry("myFM", "myfm", "MyFM", {}, grid(rank=[8, 14, 24], n_iter=[100], grouped=[True])),
    Entry(
        "Cornac MF",
        "cornac",
        "CornacMF",
        {},
        grid(k=[40, 100], lambda_reg=[0.02, 0.04, 0.08, 0.12], max_iter=[20, 50, 100]),
    ),
    Entry(
        "LIBMF",
        "libmf",
        "Libmf",
        {},
        [
            {"k": k, "lambda_p2": l2, "lambda_q2": l2, "eta": eta, **LIBMF}
            for k in (16, 48)
            for l2 in (0.03, 0.05, 0.08, 0.12, 0.18)
            for eta in (0.03, 0.05)
        ],
    ),
    Entry(
        "cmfrec",
        "cmfrec",
        "Cmfrec",
        {},
        grid(
            scale_lam=[True],
            k=[10, 40],
            lambda_=[0.08, 0.13, 0.2],
            add_implicit_features=[False, True],
        ),
    ),
]
"""A peer's settings are the best of its grid on a tenth of the first fold's training part."""
WIDER = {
    ("finefoods-users6plus", "Cornac MF"): grid(
        k=[100, 200], lambda_reg=[0.01, 0.02], max_iter=[100, 200]
    ),
    ("finefoods-users6plus", "LIBMF"): [
        {"k": k, "lambda_p2": l2, "lambda_q2": l2, "eta": eta, **LIBMF, "nr_iters": 100}
        for k in (48, 120)
        for l2 in (0.01, 0.03, 0.05)
        for eta in (0.05, 0.1)
    ],
    ("finefoods-users6plus", "cmfrec"): grid(
        scale_lam=[True], k=[40, 80, 120], lambda_=[0.03, 0.05, 0.08], add_implicit_features=[False]
    ),
}
"""More settings where the best lay at the edge of a grid."""
FEWER = {
    ("ml-1m", "myFM"): 2,
    ("jester", "CNMF, mean of 8, 40 steps"): 1,
    **{("jester", entry.name): 1 for entry in PEERS},
}
"""Folds of what takes long, where not all."""
INTRODUCTION = """\
RMSE of clipped predictions, mean over the folds ± standard deviation. Ours have the default \
settings; several members are named. A peer's settings are the best of a small grid on a tenth \
of the first fold's training part, for every data set anew.
"""


def split(ratings: tm.Ratings, name: str, number: int) -> Any:
    """Train and test of a fold, or of a random split."""
    if name == TENTH:
        return tm.holdout(ratings, 0.1, seed=number)
    return fold(ratings, number, SPLITS)


class Files:
    """The parts of one data set as files for the workers, written when first asked for."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.ratings = pages.data("ml-1m" if name == TENTH else name)

    def fold(self, number: int) -> dict[str, Any]:
        return self._job(f"{number}", lambda: split(self.ratings, self.name, number))

    def validation(self) -> dict[str, Any]:
        """A tenth of the first fold's training part as test."""
        return self._job(
            "validation", lambda: tm.holdout(split(self.ratings, self.name, 0).train, 0.1, seed=1)
        )

    def _job(self, which: str, parts: Callable[[], Any]) -> dict[str, Any]:
        paths = {part: self.folder / f"{which}-{part}.npz" for part in ("train", "test")}
        if not paths["test"].exists():
            for path, part in zip(paths.values(), parts(), strict=True):
                half = part.by_user
                isolated.save(path, half.rows, half.indices, half.values)
        shape = [len(self.ratings.users), len(self.ratings.items)]
        files = {part: str(path) for part, path in paths.items()}
        return {"shape": shape, "scale": list(self.ratings.scale), **files}


class Results:
    """Set → entry → what was validated and the folds; kept in a file."""

    def __init__(self) -> None:
        self.sets: dict[str, Any] = json.loads(KEPT.read_text())["sets"] if KEPT.exists() else {}

    def of(self, name: str, entry: Entry) -> dict[str, Any]:
        return self.sets.get(name, {}).get(entry.name, {"folds": {}})

    def keep(self, name: str, entry: Entry, found: dict[str, Any]) -> None:
        self.sets.setdefault(name, {})[entry.name] = found

    def forget(self, entry: str) -> None:
        for found in self.sets.values():
            found.pop(entry, None)

    def write(self) -> None:
        pages.write(
            DOCS, "accuracy", {"installed": envs.installed(), "sets": self.sets}, text(self)
        )


def fitted(entry: Entry, settings: list[Setting], job: dict[str, Any]) -> Any:
    """The rows of the worker, or one line of error."""
    asked = {"library": entry.library, "settings": settings, **job}
    found = isolated.run(entry.peer, WORKER, asked, TIMEOUT)
    return found.get("rows") or found["error"]


def measure(entry: Entry, files: Files, results: Results) -> Iterator[str]:
    """Everything of one entry on one data set that is not there yet; a line after each step."""
    found = results.of(files.name, entry)
    found.pop("error", None)
    results.keep(files.name, entry, found)
    setting, wider = entry.default, WIDER.get((files.name, entry.name), [])
    if entry.grid:
        rows = {_named(row["setting"]): row for row in found.get("validated", [])}
        settings = {_named(tried): tried for tried in (*entry.grid, *wider)}
        missing = [tried for name, tried in settings.items() if name not in rows]
        if missing:
            fits = fitted(entry, missing, files.validation())
            if isinstance(fits, str):
                found["error"] = fits
                yield fits
                return
            rows |= {_named(row["setting"]): row for row in fits}
        found["validated"] = [rows[name] for name in settings]
        setting = _best(found)
        yield f"validation: {_named(setting)}"
    kept = found["folds"].items()
    folds = found["folds"] = {at: fold for at, fold in kept if fold["setting"] == setting}
    for number in range(FEWER.get((files.name, entry.name), SPLITS)):
        if str(number) in folds:
            continue
        rows = fitted(entry, [setting], files.fold(number))
        if isinstance(rows, str):
            found["error"] = rows
            yield rows
            return
        folds[str(number)] = rows[0]
        yield f"{number} {rows[0]['rmse']:.4f} {rows[0]['seconds']:.1f} s"


def text(results: Results) -> str:
    """Both tables, and what was chosen for the peers."""
    header = ["five folds", *SETS.values()]
    rows = []
    for entry in (*OURS, *PEERS):
        name = f"**{entry.name}**" if entry.peer == "tastemix" else f"{entry.name}, tuned"
        rows.append([name, *(_cell(results.of(data, entry)) for data in SETS)])
    notes = [
        f"- {entry.name}, {title}: {_named(_best(results.of(name, entry)))}."
        for entry in PEERS
        for name, title in SETS.items()
        if "validated" in results.of(name, entry)
    ]
    tenth = [
        [f"**{entry.name}**", _cell(results.of(TENTH, entry)), "mean of five random splits"]
        for entry in OURS
        if results.of(TENTH, entry)["folds"]
    ]
    tenth += [[name, _rmse(value), "as published"] for name, value in PUBLISHED.items()]
    tables = [pages.table(header, rows), *notes, ""]
    tables.append(pages.table(["MovieLens 1M, 90/10", "RMSE", ""], tenth))
    return "\n".join([INTRODUCTION, *tables])


def _cell(found: dict[str, Any]) -> str:
    errors = [fold["rmse"] for fold in found["folds"].values()]
    if not errors:
        return str(found.get("error", "–")).replace("|", "/")
    if len(errors) == SPLITS:
        return f"{_rmse(np.mean(errors))} ± {_rmse(np.std(errors, ddof=1))}"
    return f"{_rmse(np.mean(errors))}, {len(errors)} fold{'s' * (len(errors) > 1)}"


def _rmse(value: Any) -> str:
    return f"{value:.4f}".lstrip("0")


def _best(found: dict[str, Any]) -> Setting:
    """The setting with the least error on the validation part."""
    return min(found["validated"], key=lambda row: row["rmse"])["setting"]


def _named(setting: Setting) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def main() -> None:
    names = [entry.name for entry in (*OURS, *PEERS)]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=names, help="the entries to fit, by name")
    parser.add_argument("--sets", nargs="*", default=[*SETS, TENTH], help="the data sets")
    parser.add_argument("--again", nargs="*", default=[], help="entries to measure again")
    options = parser.parse_args()
    results = Results()
    for name in options.again:
        results.forget(name)
    for name in options.sets:
        with tempfile.TemporaryDirectory() as folder:
            files = Files(name, Path(folder))
            for entry in (*OURS, *PEERS):
                if entry.name not in options.only or (name == TENTH and entry.grid):
                    continue
                for line in measure(entry, files, results):
                    print(f"{name}, {entry.name}: {line}", file=sys.stderr, flush=True)
                    results.write()
    results.write()


if __name__ == "__main__":
    main()
