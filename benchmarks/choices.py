"""What was tried with CNMF: Z, time, attributes of items, iterations and steps.

python benchmarks/choices.py                 all, about twenty minutes on two cores
python benchmarks/choices.py sides time      some; the others are kept as they were measured

    same        how near the fit in NumPy, which is tried below, comes to the library's
    sides       choices for users, for items, for both, for neither
    power       of |Ω| in the centre
    direct      Z fitted to the ratings, not only to the rows
    time        offsets that drift, on splits at random and by time
    attributes  genres and decades of films as further choices
    iterations  of conjugate gradients on Z, in NumPy
    library     steps, tolerance and shrinkage, as the library has them

MovieLens 100K: five splits. MovieLens 1M: one split, two starts. Of the settings listed for a
trial, those with the lowest RMSE on a part of the training ratings are used on the test part. Noise
and ρ are what `tm.CNMF` finds on the training part; ρ a third and three times as large is tried,
too. Results land in docs/beyond/choices.json and choices.md.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import tastemix as tm
from beyond import DOCS, data, rmse
from choice_fit import Variant, fitted
from choice_trials import PARTS, Default, Fit, Shipped
from peers import pages
from readable import items_of

RANK, STEPS, TRIAL_STEPS = 12, 20, 10
STARTS = range(2)
TITLES = {"ml-100k": "MovieLens 100K", "ml-1m": "MovieLens 1M"}
SPLITS = {
    "random": "",
    "newest": ", each user's newest fifth",
    "date": ", after a date",
    "items": ", items without ratings",
}
TWO = [("ml-100k", 1.0, "random"), ("ml-1m", 1.0, "random")]
COLUMNS = {
    "time": [(name, 1.0, way) for way in ("random", "newest", "date") for name in TITLES],
    "attributes": [
        *TWO,
        *(("ml-1m", share, "random") for share in (0.3, 0.1, 0.03)),
        ("ml-1m", 1.0, "items"),
    ],
}
"""Data set, share of its ratings and way to split it; of the other parts, TWO."""


class Place(NamedTuple):
    """A split of a share of a data set."""

    name: str
    share: float
    way: str
    seed: int = 0


# Data


@lru_cache(maxsize=2)
def split(place: Place, trial: bool) -> tuple[tm.Ratings, tm.Ratings]:
    """What to learn from and what to be judged on; with trial, both out of the training part."""
    ratings = data(place.name)
    if place.share < 1:
        ratings = ratings.subset(np.random.default_rng(0).random(len(ratings)) < place.share)
    train, test = parted(ratings, place.way, place.seed)
    return parted(train, place.way, 7) if trial else (train, test)


def parted(ratings: tm.Ratings, way: str, seed: int) -> tuple[tm.Ratings, tm.Ratings]:
    if way == "random":
        return tm.holdout(ratings, seed=seed)
    if way == "newest":
        return tm.temporal(ratings)
    if way == "items":
        drawn = np.random.default_rng(seed).random(len(ratings.items)) < 0.1
        taken = drawn[ratings.by_user.indices]
        return ratings.subset(~taken), ratings.subset(taken)
    train, test = tm.temporal(ratings, cut=float(np.quantile(ratings.timestamp, 0.8)))
    half = test.by_user
    known = (train.by_user.counts[half.rows] > 0) & (train.by_item.counts[half.indices] > 0)
    return train, test.subset(known)


@lru_cache(maxsize=2)
def attributes_of(name: str) -> sp.csr_array:
    """A row per item: its genres and the decade of its year."""
    films = {film["id"]: film for film in items_of(name).to_pylist()}
    rated = [films[item] for item in data(name).items.values.to_pylist()]
    words = [{*film["genres"].split("|"), film["title"][-5:-2]} for film in rated]
    every = sorted(set().union(*words))
    return sp.csr_array([[float(word in has) for word in every] for has in words])


# Fits


def error(place: Place, fit: Fit, trial: bool) -> float:
    """RMSE of a fit, clipped."""
    train, test = split(place, trial)
    if isinstance(fit, Default):
        method = tm.Baseline() if fit.baseline else tm.CNMF(ranking=False, seed=fit.seed)
        predicted = predictions(method.fit(train), test)
    elif isinstance(fit, Shipped):
        predicted = predictions(shipped(train, fit), test)
    else:
        tried = replace(fit, steps=TRIAL_STEPS) if trial else fit
        predicted = fitted(train, test, tried, attributes_of(place.name))
    return rmse(predicted - test.by_user.values)


def shipped(train: tm.Ratings, of: Shipped) -> tm.Model:
    objective = tm.Objective(
        l2=of.ridge,
        l2_per_rating=of.per_rating,
        centre="choices",
        choice_penalty=of.penalty,
        choice_shrinkage=of.shrinkage,
        noise=of.noise,
    )
    recipe = tm.CNMF(rank=RANK, ranking=False, seed=of.seed).recipe_for(train)
    return replace(recipe, phases=[tm.Phase(objective, of.steps, of.tolerance)]).fit(train)


def predictions(model: tm.Model, test: tm.Ratings) -> np.ndarray:
    half = test.by_user
    return model.predict_numbers(half.rows, half.indices).clip(*test.scale)


@lru_cache
def settings(place: Place) -> tuple[float, float, float]:
    """The noise, ρ and least ridge that CNMF finds on the training part."""
    train, _ = split(place, False)
    method = tm.CNMF(rank=RANK, steps=STEPS, ranking=False)
    objective = method.fit(train).phases[0].objective
    return objective.noise, objective.choice_penalty, objective.l2


# Judging


def judged(place: Place, part: str, starts: range, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Of each trial the settings chosen, and the RMSE of each start on the test part."""
    found = settings(place)
    base = Variant(*found, rank=RANK, steps=STEPS)
    trials = PARTS[part](base)
    tried = {
        label: [(fit, pool.submit(error, place, fit, True)) for fit in fits if len(fits) > 1]
        for label, fits in trials.items()
    }
    best = {
        label: min(fits, key=lambda one: one[1].result())[0] if fits else trials[label][0]
        for label, fits in tried.items()
    }
    tests = {
        label: [pool.submit(error, place, replace(fit, seed=seed), False) for seed in starts]
        for label, fit in best.items()
    }
    return {
        label: {
            "settings": told(best[label], base) if tried[label] else "",
            "tried": {told(fit, base): round(each.result(), 5) for fit, each in tried[label]},
            "rmse": [round(each.result(), 5) for each in tests[label]],
        }
        for label in best
    }


def told(fit: Variant, base: Variant) -> str:
    """What of a fit that was chosen is not as in the base."""
    said = [f"ρ × {fit.penalty / base.penalty:.3g}"] if fit.penalty != base.penalty else []
    said += [f"weight {fit.attributes:g}"] if fit.attributes else []
    said += [f"{d.side} {d.variance:g} σ², {d.days:g} days" for d in fit.drift]
    return "; ".join(said)


def table(part: str, columns: dict[str, list[dict[str, Any]]]) -> str:
    """A line per trial; for each column its RMSE, and by how much it differs from the first's."""
    rows: dict[str, list[str]] = {}
    for places in columns.values():
        first = np.concatenate([next(iter(place.values()))["rmse"] for place in places])
        for label in places[0]:
            errors = np.concatenate([place[label]["rmse"] for place in places])
            apart = 1e4 * (errors - first)
            shown = f"{errors.mean():.4f}"
            if np.any(apart):
                shown += f" ({apart.mean():+.0f}: {apart.min():+.0f} to {apart.max():+.0f})"
            rows.setdefault(label, [label]).append(shown)
    return pages.table([part, *columns], list(rows.values()))


def measured(part: str, pool: ProcessPoolExecutor) -> dict[str, list[dict[str, Any]]]:
    """A part on all its data sets: columns of the table, in each a dictionary per split."""
    columns = {}
    for name, share, way in COLUMNS.get(part, TWO):
        title = TITLES[name] + (f", {share:.0%}" if share < 1 else "") + SPLITS[way]
        starts = range(5) if name == "ml-100k" else STARTS
        splits = range(1)
        if name == "ml-100k" and way == "random":
            starts, splits = range(1), range(5)
        places = [Place(name, share, way, seed) for seed in splits]
        columns[title] = [judged(place, part, starts, pool) for place in places]
        print(table(part, {title: columns[title]}), flush=True)
    return columns


def main() -> None:
    asked = sys.argv[1:] or list(PARTS)
    if wrong := sorted(set(asked) - set(PARTS)):
        raise SystemExit(f"there is no part {wrong[0]}: choose from {', '.join(PARTS)}")
    kept = DOCS / "choices.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    with ProcessPoolExecutor(2) as pool:
        for part in asked:
            found[part] = measured(part, pool)
    found = {part: found[part] for part in PARTS if part in found}
    text = "\n".join(table(part, columns) for part, columns in found.items())
    pages.write(DOCS, "choices", found, text)


if __name__ == "__main__":
    main()
