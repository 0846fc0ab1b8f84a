"""The ten best items out of the whole catalogue: how good they are, how long they take.

python benchmarks/peers/topn.py [--quick]

MovieLens 1M, 20 % held out, relevant from 4 stars, rated items left out. What can be tuned is tuned
on a tenth of the training ratings, one parameter after the other and all of them twice, then fitted
to the whole training part. One judge, ours, looks at everybody's lists.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import isolated
import numpy as np
import pages

import tastemix as tm

WORKER = Path(__file__).with_name("topn_worker.py")
RELEVANT, PASSES = 4, 2
Setting = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A recommender of a peer's environment: a setting to start from, and what else to try."""

    name: str
    peer: str
    recommender: str
    setting: Setting
    choices: dict[str, Sequence[Any]] = field(default_factory=dict)


LIKED = {"liked": (1, RELEVANT)}
ENTRIES = (
    Entry("tastemix Popular", "tastemix", "tastemix", {"method": "Popular"}),
    Entry("tastemix `tm.fit`", "tastemix", "tastemix", {"method": "fit"}),
    Entry("tastemix MIXD", "tastemix", "tastemix", {"method": "MIXD", "rank": 10}),
    Entry("tastemix PR(mid)", "tastemix", "tastemix", {"method": "PR", "rank": 15}),
    Entry(
        "tastemix PR, tuned",
        "tastemix",
        "tastemix",
        {"method": "PR", "rank": 30, "prior": 0, "weight": 1.0},
        {
            "prior": (0, 1, 2, 3),
            "weight": (0.1, 0.3, 1.0),
            "rank": (15, 30, 60),
            "steps": (15, 100),
        },
    ),
    Entry(
        "implicit ALS",
        "implicit",
        "implicit",
        {"factors": 64, "regularization": 1.0, "alpha": 2.0, "liked": 1},
        {
            **LIKED,
            "alpha": (1.0, 2.0, 5.0, 10.0, 40.0),
            "factors": (16, 24, 32, 64, 128),
            "regularization": (0.1, 1.0, 10.0, 30.0, 100.0),
        },
    ),
    Entry(
        "Cornac BPR",
        "cornac",
        "cornac",
        {"k": 50, "max_iter": 50, "learning_rate": 0.03, "lambda_reg": 0.01, "liked": 1},
        {
            **LIKED,
            "learning_rate": (0.01, 0.03, 0.1),
            "lambda_reg": (0.003, 0.01, 0.03),
            "max_iter": (50, 100),
            "k": (25, 50, 100),
        },
    ),
    Entry(
        "EASE in NumPy",
        "tastemix",
        "ease",
        {"l2": 300, "liked": 1},
        {**LIKED, "l2": (50, 100, 200, 300, 500, 1000)},
    ),
)


class Judge:
    """A split, a file of its training part for the workers, and our judge of their lists."""

    def __init__(
        self, split: tuple[tm.Ratings, tm.Ratings], path: Path, relevant: float = RELEVANT
    ) -> None:
        train, test = split
        half = train.by_user
        self.saved = isolated.save(path, half.rows, half.indices, half.values)
        self.train = train
        self.relevant = test.subset(test.by_user.values >= relevant).by_user

    def __call__(self, entry: Entry, settings: list[Setting], repeats: int) -> list[dict[str, Any]]:
        """Seconds and metrics of each setting; one row with the error if it failed."""
        with tempfile.TemporaryDirectory() as folder:
            job = {
                "recommender": entry.recommender,
                "train": self.saved,
                "users": len(self.train.users),
                "items": len(self.train.items),
                "settings": settings,
                "repeats": repeats,
                "lists": str(Path(folder) / "lists.npz"),
            }
            answer = isolated.run(entry.peer, WORKER, job, timeout=600)
            if "error" in answer:
                return [{"setting": settings[0], "error": answer["error"]}]
            with np.load(job["lists"]) as arrays:
                found = arrays["lists"]
        return [
            {"setting": setting, **row, **self.metrics(lists)}
            for setting, row, lists in zip(settings, answer["rows"], found, strict=True)
        ]

    def metrics(self, lists: Any) -> dict[str, float]:
        """Our metrics of lists; nothing rated in training may be in them."""
        half, items = self.train.by_user, len(self.train.items)
        pairs = np.arange(len(lists))[:, None] * items + lists
        if np.isin(pairs[lists >= 0], half.rows.astype(np.int64) * items + half.indices).any():
            raise SystemExit("a list holds an item that was rated in training")
        return tm.metrics.evaluate_catalogue(
            lists, self.relevant.pointers, self.relevant.indices, self.train.by_item.counts
        )


def tuned(entry: Entry, judge: Judge, tried: list[dict[str, Any]]) -> Setting:
    """The setting with the best precision, from one parameter after the other, gone over twice."""
    best = entry.setting
    for name, values in PASSES * list(entry.choices.items()):
        wanted = [{**best, name: value} for value in values]
        new = [setting for setting in wanted if all(row["setting"] != setting for row in tried)]
        if new:
            rows = judge(entry, new, repeats=1)
            if "error" in rows[0]:
                return best
            tried += rows
        known = [row for row in tried if row["setting"] in wanted]
        best = max(known, key=lambda row: row["precision_at_10"])["setting"]
    return best


def at_an_edge(entry: Entry, setting: Setting) -> list[str]:
    """Parameters whose best value is the first or the last that was tried: more might be better."""
    return [
        name
        for name, values in entry.choices.items()
        if len(values) > 2 and setting[name] in (values[0], values[-1])
    ]


def measure(
    ratings: tm.Ratings,
    entries: Sequence[Entry],
    relevant: float,
    quick: bool,
    repeats: int = 3,
) -> dict[str, Any]:
    split = tm.holdout(ratings)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        final = Judge(split, Path(folder) / "train.npz", relevant)
        held = tm.holdout(split.train, 0.1)
        validation = Judge(held, Path(folder) / "validation.npz", relevant)
        for entry in entries:
            tried: list[dict[str, Any]] = []
            setting = entry.setting if quick else tuned(entry, validation, tried)
            (row,) = final(entry, [setting], repeats)
            edges = at_an_edge(entry, setting) if tried else []
            rows.append({"name": entry.name, **row, "edges": edges, "tried": tried})
            print(entry.name, row, flush=True)
    return {"rows": rows}


def described(setting: Setting) -> str:
    words = {"liked": "liked from", "l2": "λ"}
    shown = {words.get(name, name): value for name, value in setting.items() if name != "method"}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def text(measured: dict[str, Any]) -> str:
    header = ["method", "P@10", "NDCG@10", "coverage", "fit, s", "lists of all, s", "setting"]
    rows = []
    for row in measured["rows"]:
        if "error" in row:
            rows.append(pages.failed(row["name"], row["error"], len(header)))
            continue
        quality = [f"{row[name]:.3f}" for name in ("precision_at_10", "ndcg_at_10", "coverage")]
        seconds = [f"{row['fit']:.2f}", f"{row['top']:.3f}"]
        rows.append([row["name"], *quality, *seconds, described(row["setting"])])
    title = "Ten items for each of 6,040 users of MovieLens 1M, 2 threads:\n"
    ended = [
        f"{row['name']} ({', '.join(row['edges'])})" for row in measured["rows"] if row["edges"]
    ]
    note = f"\nBest at an end of what was tried: {'; '.join(ended)}.\n" if ended else ""
    return title + "\n" + pages.table(header, rows) + note


def main() -> None:
    options = pages.options(__doc__)
    ratings = tm.read(pages.movielens(), scale=(1, 5))
    measured = measure(ratings, ENTRIES, RELEVANT, options.quick)
    pages.write(options.folder, "topn", measured, text(measured))


if __name__ == "__main__":
    main()
