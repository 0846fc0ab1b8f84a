"""What was tried beyond the paper, and how the result does on four data sets.

python benchmarks/beyond.py trials          on a validation part of MovieLens 1M
python benchmarks/beyond.py final           five folds of four data sets, beside the paper's methods
python benchmarks/beyond.py errors          how far predictions are off, and whether the model knows
python benchmarks/beyond.py compression     one small model in place of an average
python benchmarks/beyond.py sparse          few ratings, and other scales

Results land in docs/beyond/: <part>.json, <part>.md for a page to include, and charts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gibbs
import tastemix as tm
from peers import pages
from peers.pages import data
from tastemix.engine import Pair
from tastemix.methods import default_method
from tastemix.report import figures
from tastemix.report.exhibits import Lines, Series

DOCS = Path(__file__).resolve().parents[1] / "docs" / "beyond"
SETS = ("ml-100k", "ml-1m", "finefoods-users6plus", "jester")
TITLES = ("MovieLens 100K", "MovieLens 1M", "Fine Foods", "Jester, stars")
MEMBERS = (1, 2, 4, 8)
SHARES = (0.01, 0.03, 0.1, 0.3)
SCALES = ((1.0, 10.0), (0.0, 100.0), (-10.0, 10.0))
RANKS = (2, 5, 10, 20)
PAPER = (tm.PSVD, tm.SSVD, tm.NMF, tm.RNMF, tm.PR, tm.PRD, tm.MIXR, tm.MIXD)
OURS = tm.ANMF().recipe((1.0, 5.0)).phases[0].objective
OWN: dict[str, Any] = {
    "CNMF": tm.CNMF(ranking=False),
    "CNMF, mean of 4": tm.CNMF(members=4, ranking=False),
}
JUDGED = {"rmse": ("RMSE", min), "mae": ("MAE", min), "rank_score": ("RankScore", max)}
Predict = Callable[[int], np.ndarray]
"""Seed → predictions for the validation part."""


def rmse(error: np.ndarray) -> float:
    return math.sqrt(float(np.square(error, dtype=np.float64).mean()))


# What was tried


class Trials:
    """Candidates on a validation part: single fits, and means of several."""

    def __init__(self, name: str) -> None:
        learning, _ = tm.holdout(data(name))
        self.train, self.later = tm.holdout(learning, seed=7)
        half = self.later.by_user
        self.pairs, self.truth = (half.rows, half.indices), half.values
        self.rows: list[list[str]] = []
        self.measured: list[dict[str, Any]] = []

    def fitted(self, recipe: tm.ANLS) -> Predict:
        """Seeds of one recipe."""
        return lambda seed: replace(recipe, seed=seed).fit(self.train).predict_numbers(*self.pairs)

    def add(self, name: str, predict: Predict, most: int = MEMBERS[-1]) -> None:
        """Fit, print and keep a trial."""
        began = time.perf_counter()
        predictions = [predict(seed) for seed in range(most)]
        seconds = (time.perf_counter() - began) / most
        means = {
            count: rmse(np.mean(predictions[:count], axis=0) - self.truth)
            for count in MEMBERS
            if count <= most
        }
        means[1] = float(np.mean([rmse(p - self.truth) for p in predictions]))
        self.measured.append({"trial": name, "seconds": seconds, "rmse": means})
        cells = [f"{means[count]:.4f}" if count in means else "–" for count in MEMBERS]
        self.rows.append([name, *cells])
        print(f"{name:60} {' '.join(cells)} {seconds:6.2f} s", flush=True)


def trials() -> None:
    """Every trial, those that failed too."""
    large = t = Trials("ml-1m")

    def ours(
        rank: int = tm.ANMF().rank, steps: int = 20, first: Any = (), **changed: Any
    ) -> tm.ANLS:
        objective = replace(OURS, **changed)
        return tm.ANLS(rank, [*first, tm.Phase(objective, steps)], offsets=True)

    mid = 3.0
    t.add("**ANMF: offsets, λ₂ towards the average row**", t.fitted(ours()))
    t.add("λ₂ towards zero", t.fitted(ours(centre="zero")))
    t.add("no offsets", t.fitted(replace(ours(), offsets=False)))
    t.add("λ₂′ alone", t.fitted(ours(l2=0.0)))
    t.add("λ₂ alone, 10", t.fitted(ours(l2=10.0, l2_per_rating=0.0)))
    t.add("L1 of .5 besides", t.fitted(ours(l1=0.5)))
    for rank in (6, 14, 30, 46):
        t.add(f"rank {rank}", t.fitted(ours(rank)))
    t.add("12 steps", t.fitted(ours(steps=12)))
    t.add("40 steps", t.fitted(ours(steps=40)))
    for tolerance, name in ((1e-2, "10⁻²"), (1e-4, "10⁻⁴")):
        phase = tm.Phase(OURS, tm.ANMF().steps, tolerance)
        t.add(
            f"a row is done at {name} of the best gain", t.fitted(replace(ours(), phases=[phase]))
        )
    for weight in (1.0, 0.1):
        first = [tm.Phase(replace(OURS, prior=mid, weight=weight), 5)]
        t.add(
            f"warm start: 5 steps with a prior, w = {weight:g}",
            t.fitted(ours(steps=15, first=first)),
        )
    for weight in (0.001, 0.003, 0.01):
        t.add(f"prior 3 throughout, w = {weight:g}", t.fitted(ours(prior=mid, weight=weight)))
    t.add("dynamic prior, w = .003", t.fitted(ours(prior="dynamic", weight=0.003)))
    ranks = (14, 18, 22, 26, 30, 16, 20, 28)
    t.add("members of rank 14 to 30", lambda seed: t.fitted(ours(ranks[seed]))(seed))
    t.add("rank grown 7, 14, 21", lambda seed: grown(t, seed))
    sparse = t = Trials("finefoods-users6plus")
    t.add("**ANMF, rank 20**", t.fitted(ours(20)))
    t.add("λ₂ towards zero", t.fitted(ours(20, centre="zero")))
    small = t = Trials("ml-100k")
    t.add("**ANMF, rank 10**", t.fitted(ours(10)))
    t.add(
        "an item's shrunk mean for unknown ratings, w = .001", lambda seed: item_prior(t, seed), 2
    )
    for name, ridge in (
        ("fixed λ", None),
        ("λ sampled by column", "zero"),
        ("μ and λ by column", "mean"),
    ):
        t.add(f"Gibbs, 60 samples after 10, {name}", lambda seed, r=ridge: sampled(t, seed, r), 2)
    header = ["trial", *(f"mean of {n}" if n > 1 else "one fit" for n in MEMBERS)]
    parts = {"MovieLens 1M": large, "Fine Foods": sparse, "MovieLens 100K, rank 10": small}
    text = "\n".join(f"{title}:\n\n{pages.table(header, p.rows)}" for title, p in parts.items())
    write("trials", {title: part.measured for title, part in parts.items()}, text)
    draw_members(large.measured)


def draw_members(measured: list[dict[str, Any]]) -> None:
    """The errors of means of several fits as docs/beyond/members.svg."""
    shown = ("**ANMF: offsets, λ₂ towards the average row**", "rank 6", "rank 14", "rank 46")
    series = [
        Series(
            row["trial"].split(":")[0].strip("*"),
            [float(n) for n in row["rmse"]],
            list(row["rmse"].values()),
        )
        for row in measured
        if row["trial"] in shown
    ]
    chart = Lines("What averaging gives", "members", "RMSE on the validation part", series)
    (DOCS / "members.svg").write_text(figures.svg(chart, "members"))


def grown(t: Trials, seed: int) -> np.ndarray:
    """Seven tastes first, then seven more, twice: new ones start small and at random."""
    start, rng = None, np.random.default_rng(seed)
    for rank, steps in ((7, 7), (14, 7), (21, 7)):
        recipe = tm.ANLS(rank, [tm.Phase(OURS, steps)], seed, offsets=True)
        model = recipe.fit(t.train, start=start)
        f = model.factors
        more = [0.3 * rng.random((len(rows), 7), np.float32) for rows in (f.users, f.items)]
        start = Pair(
            *(
                np.hstack([rows[:, :rank], new, rows[:, rank:]])
                for rows, new in zip((f.users, f.items), more, strict=True)
            )
        )
    return model.predict_numbers(*t.pairs)


def item_prior(t: Trials, seed: int, weight: float = 0.001, steps: int = 15) -> np.ndarray:
    plain = gibbs.opened(t.train, 10, seed, 0)
    half, mean = t.train.by_item, float(t.train.by_item.values.mean())
    sums = np.bincount(half.rows, half.values - mean, len(half.pointers) - 1)
    prior = (mean + sums / (half.counts + 10)).astype(np.float32)
    for _ in range(steps):
        for side in (1, 0):
            ridge = (OURS.l2 + OURS.l2_per_rating * plain.halves[side].counts)[:, None]
            centre = OURS.l2 * plain.factors[side].mean(axis=0) / ridge
            plain.half_step(
                *(side, ridge.astype(np.float32), centre.astype(np.float32)),
                weight=weight,
                item_prior=prior,
            )
    return plain.errors(t.later)[0].clip(1, 5)


def sampled(t: Trials, seed: int, hyper: str | None, burn: int = 10, keep: int = 60) -> np.ndarray:
    plain, total = gibbs.opened(t.train, 10, seed, 10), 0.0
    for sweep in range(burn + keep):
        predicted, truth = plain.errors(t.train)
        variance = float(np.square(predicted - truth).mean())
        for side in (1, 0):
            x = plain.factors[side]
            ridge, centre = (
                np.full((1, x.shape[1]), 5.0, np.float32),
                np.zeros(x.shape[1], np.float32),
            )
            if hyper == "zero":
                ridge = variance / np.maximum(np.square(x).mean(axis=0), 1e-3)[None]
            elif hyper == "mean":
                centre = x.mean(axis=0)
                ridge = variance / np.maximum(x.var(axis=0), 1e-3)[None]
            plain.half_step(side, ridge.astype(np.float32), centre, temperature=variance)
        if sweep >= burn:
            total = total + plain.errors(t.later)[0]
    return (total / keep).clip(1, 5)


# What came of it


def final() -> None:
    """Five folds (Jester: one split); the paper's methods with the rank that does best on test.

    What docs/beyond/final.json has of the paper's methods is not measured again.
    """
    kept = json.loads((DOCS / "final.json").read_text()) if (DOCS / "final.json").exists() else {}
    rows, measured = [], {}
    for name, title in zip(SETS, TITLES, strict=True):
        ratings = data(name)
        paper = {short(method(rank)): method(rank) for method in PAPER for rank in RANKS}
        known = kept.get("sets", {}).get(name, {})
        summary = {label: known[label] for label in paper if label in known}
        ours = {**OWN, "Baseline": tm.Baseline()}
        ours |= {label: method for label, method in paper.items() if label not in summary}
        parts: Any = [tm.holdout(ratings)] if name == "jester" else 5
        results = tm.cross_validate(list(ours.values()), ratings, parts)
        for label, row in zip(ours, results.summary().to_pylist(), strict=True):
            summary[label] = {metric: row[metric] for metric in (*JUDGED, "seconds")}
        measured[name] = summary
        for metric, (label, best) in JUDGED.items():
            leader = best(paper, key=lambda key: summary[key][metric])
            cells = [f"{summary[key][metric]:.4f}" for key in (*OWN, "Baseline")]
            cells.insert(len(OWN), f"{summary[leader][metric]:.4f}, {leader}")
            rows.append([f"{title}, {label}", *cells])
            print(rows[-1], flush=True)
    header = ["mean over the folds", *OWN, "best of the paper's methods", "Baseline"]
    write("final", {"sets": measured}, pages.table(header, rows))


def short(method: Any) -> str:
    """A method's name with its rank."""
    return f"{type(method).__name__}({method.rank})"


def errors() -> None:
    """The 80 % interval in quintiles of the predicted spread, and the likelihood."""
    rows, measured = [], {}
    for name, title, _, test, model in fits(ranking=0):
        half = test.by_user
        ids = test.users.take(half.rows), test.items.take(half.indices)
        predicted, std = model.predict(*ids, return_std=True)
        error = half.values - predicted
        quintile = np.searchsorted(np.quantile(std, [0.2, 0.4, 0.6, 0.8]), std)
        inside = np.abs(error) <= 1.2816 * std
        coverage = [float(inside[quintile == q].mean()) for q in range(5)]
        likelihood = float(-0.5 * (np.log(2 * np.pi * std**2) + (error / std) ** 2).mean())
        constant = -0.5 * (math.log(2 * math.pi * float((error**2).mean())) + 1)
        measured[name] = {"coverage": coverage, "likelihood": likelihood, "constant": constant}
        cells = [f"{share:.1%}" for share in coverage]
        rows.append([title, *cells, f"{likelihood:.4f}", f"{constant:.4f}"])
        print(rows[-1], flush=True)
    names = ("narrowest fifth", "2nd", "3rd", "4th", "widest fifth")
    header = ["inside the 80 % interval", *names, "log-likelihood", "constant spread"]
    write("errors", {"sets": measured}, pages.table(header, rows))


def compression() -> None:
    """How much of what averaging gains a single small model keeps."""
    rows, measured = [], {}
    for name, title, train, test, model in fits(ranking=0, members=4):
        half = test.by_user

        def error(scores: Any, half: Any = half, train: Any = train) -> float:
            return rmse(scores.pairs(half.rows, half.indices).clip(*train.scale) - half.values)

        members = model.factors.parts
        one = float(np.mean([error(member) for member in members]))
        began = time.perf_counter()
        small = model.compress()
        seconds = time.perf_counter() - began
        mean, left = error(model.factors), error(small.factors)
        kept = (one - left) / (one - mean)
        measured[name] = {"one": one, "mean": mean, "compressed": left, "kept": kept}
        ranks = f"{members[0].rank - 2}", f"{model.factors.rank}", f"{small.factors.rank}"
        figures_ = f"{one:.4f}", f"{mean:.4f}", f"{left:.4f}", f"{kept:.0%}", f"{seconds:.1f}"
        rows.append([title, " → ".join(ranks[1:]), *figures_])
        print(rows[-1], flush=True)
    header = ["80/20", "numbers a row", "one member", "mean of 4", "compressed", "gain kept", "s"]
    write("compression", {"sets": measured}, pages.table(header, rows))


def sparse() -> None:
    """RMSE beside Baseline where ratings are few, and how far predictions follow other scales."""
    measured, rows = {}, []
    for name, title, share in (
        *(("ml-1m", f"MovieLens 1M, {share:.0%}", share) for share in SHARES),
        ("finefoods-users6plus", "Fine Foods", 1.0),
    ):
        ratings = thinned(data(name), share)
        train, test = tm.holdout(ratings)
        half = test.by_user
        pairs = half.rows, half.indices
        base = rmse(tm.Baseline().fit(train).predict_numbers(*pairs) - half.values)
        ours = tm.CNMF(ranking=0).fit(train).predict_numbers(*pairs)
        apart = 0.0
        for low, high in SCALES:
            unit = (high - low) / 4

            def stretched(values: Any, low: float = low, unit: float = unit) -> Any:
                return (low + (values.astype(np.float64) - 1) * unit).astype(np.float32)

            model = tm.CNMF(ranking=0).fit(train.having(stretched, (low, high)))
            found = (model.predict_numbers(*pairs) - low) / unit + 1
            apart = max(apart, float(np.abs(found - ours).max()) / 4)
        own = rmse(ours - half.values)
        measured[title] = {"baseline": base, "ours": own, "apart": apart}
        rows.append([title, f"{len(train):,}", f"{base:.4f}", f"{own:.4f}", f"{apart:.1e}"])
        print(rows[-1], flush=True)
    header = ["RMSE, 80/20", "ratings", "Baseline", "`tm.fit`", "stretch"]
    write("sparse", {"sets": measured}, pages.table(header, rows))


def thinned(ratings: tm.Ratings, share: float) -> tm.Ratings:
    """A random share of the ratings, with the users and items that are left."""
    if share == 1:
        return ratings
    half = ratings.subset(np.random.default_rng(0).random(len(ratings)) < share).by_user
    return tm.Ratings.from_arrays(half.rows, half.indices, half.values, scale=ratings.scale)


def fits(**options: Any) -> Iterator[tuple[str, str, tm.Ratings, tm.Ratings, tm.Model]]:
    """A default fit on 80 % of every data set."""
    for name, title in zip(SETS, TITLES, strict=True):
        train, test = tm.holdout(data(name))
        model = replace(default_method(), **options).fit(train)
        yield name, title, train, test, model


def write(part: str, measured: dict[str, Any], text: str) -> None:
    pages.write(DOCS, part, measured, text)


def main() -> None:
    parts = {"trials": trials, "final": final, "errors": errors}
    parts |= {"compression": compression, "sparse": sparse}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help=f"of {', '.join(parts)}")
    for part in parser.parse_args().parts or parts:
        parts[part]()


if __name__ == "__main__":
    main()
