"""Accuracy and readability side by side: can a person read the model that predicts best?

python benchmarks/readable.py                     four data sets, one split, five seeds
python benchmarks/readable.py 'tm.CNMF(rank=16)'  methods of your own on MovieLens 1M, printed only
python benchmarks/readable.py typical             which items to list: ways to choose them
python benchmarks/readable.py sparsity            CNMF with an L1 penalty besides
python benchmarks/readable.py groups              CNMF of rank 30, read in fewer tastes
python benchmarks/readable.py tastes > docs/tastes.md      of tm.fit, or of a method that follows

Of the 15 most typical items of every taste (`model.tastes`):
    genres       mean cosine of their idf-weighted genres, over pairs of items (MovieLens)
    co-liking    NPMI: how much more often than by chance someone likes both of two, in held-out
                 ratings, over all pairs of a taste together
Of predictions of liked held-out items (from ¾ of the scale):
    parts        tastes needed for 80 % of what tastes add, the median
    baseline     share of the prediction that no taste adds
    agreement    cosine of tastes matched between two seeds, the mean

Results land in docs/beyond/readable.json and readable.md; typical, sparsity and groups alike.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import tastemix as tm
from beyond import DOCS, SETS, TITLES, data, rmse
from peers import pages
from tastemix.methods import default_method
from tastemix.model.groups import grouped

TOP = 15
POPULAR = 1000
SAMPLE = 3000
SEEDS = range(5)
GENRES = ("ml-100k", "ml-1m")
DIGITS = {"rmse": 4, "parts": 1}
RANKS = (16, 22, 30)
PENALTIES = ((0.0, 0), (0.2, 0), (0.5, 0), (1.0, 5))
"""λ₁, and in how many of the last steps only; 0: in all."""
GROUPS = (30, 22, 16, 14, 12, 10)
FIGURES = ("rmse", "genres", "co-liking", "parts", "baseline", "agreement")
ONES: dict[str, Any] = {
    "CNMF, rank 12": tm.CNMF(rank=12, ranking=False),
    "CNMF, each coordinate a taste": tm.CNMF(tastes=64, ranking=False),
    "ANMF, the mean of 8": tm.ANMF(ranking=0),
    "RNMF(6)": tm.RNMF(6),
    "MIXD(10)": tm.MIXD(10),
}
Figures = dict[str, float]


class Readability:
    """What the tastes of models of one data set are judged by."""

    def __init__(self, name: str) -> None:
        ratings = data(name)
        self.train, self.test = tm.holdout(ratings)
        self.genres = unit_genres(name, ratings) if name in GENRES else None
        low, high = ratings.scale
        liked = self.test.by_user.values >= low + 0.75 * (high - low)
        self.user, self.item = self.test.by_user.rows[liked], self.test.by_user.indices[liked]
        shape = len(ratings.users), len(ratings.items)
        self.liked = sp.csc_array((np.ones(len(self.user)), (self.user, self.item)), shape=shape)

    def methods(self) -> dict[str, Any]:
        """The default of `tm.fit` for these ratings, and others."""
        default = default_method()
        return {f"`tm.fit`: {type(default).__name__}": replace(default, ranking=False), **ONES}

    def measured(self, method: Any) -> dict[str, list[float]]:
        """The figures of a method for every seed, or pair of seeds."""
        models = [replace(method, seed=seed).fit(self.train) for seed in SEEDS]
        each = [self.of(model) for model in models]
        found = {name: [one[name] for one in each] for name in each[0]}
        pairs = itertools.combinations([directions(model) for model in models], 2)
        found["agreement"] = [agreement(one, other) for one, other in pairs]
        return found

    def of(self, model: tm.Model) -> Figures:
        """The figures of one model."""
        half = self.test.by_user
        predicted = model.predict_numbers(half.rows, half.indices)
        some = np.random.default_rng(0).choice(len(self.user), min(SAMPLE, len(self.user)), False)
        parts, baseline = self.parts(model, self.user[some], self.item[some])
        return {
            "rmse": rmse(predicted - half.values),
            **self.coherence(model.tastes_of("rating").top(TOP)),
            "parts": parts,
            "baseline": baseline,
        }

    def coherence(self, tops: np.ndarray) -> Figures:
        """How well the top items of tastes go together."""
        found = (
            {} if self.genres is None else {"genres": mean(cosines(self.genres[t]) for t in tops)}
        )
        return {**found, "co-liking": mean(self.npmi(top) for top in tops)}

    def parts(self, model: tm.Model, user: np.ndarray, item: np.ndarray) -> tuple[float, float]:
        """Tastes for 80 % of what tastes add, and the share that they do not."""
        values = added(model, user, item)
        raw = model.factors.pairs(user.astype(np.int32), item.astype(np.int32))
        return needed(values), float(np.mean(1 - values.sum(axis=1) / np.maximum(raw, 1e-9)))

    def npmi(self, top: np.ndarray) -> float:
        """Normalised pointwise mutual information of liking two of these items."""
        both = (self.liked[:, top].T @ self.liked[:, top]).toarray() / self.liked.shape[0]
        alone, (one, other) = np.diag(both), np.triu_indices(len(top), 1)
        joint, chance = both[one, other].mean(), (alone[one] * alone[other]).mean()
        return float(np.log(joint / chance) / -np.log(joint)) if joint > 0 else -1.0

    def by_chance(self) -> Figures:
        """The coherence of popular items drawn at random."""
        popular = np.argsort(-self.train.by_item.counts)[:POPULAR]
        rng = np.random.default_rng(0)
        size = min(TOP, len(popular))
        return self.coherence(np.array([rng.choice(popular, size, False) for _ in range(200)]))


def items_of(name: str) -> pa.Table:
    """Ids, titles and genres of films."""
    return pq.read_table(pages.movielens().with_name(f"{name}-items.parquet"))


def unit_genres(name: str, ratings: tm.Ratings) -> np.ndarray:
    """A row per item: its genres, weighted by idf, of length one."""
    table = items_of(name)
    names = dict(zip(table["id"].to_pylist(), table["genres"].to_pylist(), strict=True))
    listed = [names[item].split("|") for item in ratings.items.values.to_pylist()]
    every = sorted(set(itertools.chain.from_iterable(listed)))
    has = np.array([[genre in genres for genre in every] for genres in listed], float)
    weighted = has * np.log(len(has) / has.sum(axis=0))
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    return weighted / np.maximum(length, 1e-12)


def mean(values: Any) -> float:
    return float(np.mean(list(values)))


def cosines(rows: np.ndarray) -> float:
    """The mean cosine over pairs of rows of length one."""
    return float((rows @ rows.T)[np.triu_indices(len(rows), 1)].mean())


def directions(model: tm.Model) -> np.ndarray:
    """A column of length one per taste: the weights of the items."""
    rows = model.tastes_of("rating").item_weights(model.factors.items)
    return rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-12)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """The mean cosine of tastes, each matched with one of the other fit."""
    cosine = one.T @ other
    return float(cosine[linear_sum_assignment(cosine, maximize=True)].mean())


def shown(name: str, values: list[float]) -> str:
    """The mean of a figure, and its range."""
    digits = DIGITS.get(name, 2)
    three = min(values), float(np.mean(values)), max(values)
    low, middle, high = (f"{round(value, digits) + 0.0:.{digits}f}" for value in three)
    return middle if low == high else f"{middle} ({low} to {high})"


def compared(name: str, title: str, methods: dict[str, Any] | None = None) -> tuple[Any, str]:
    """The figures of methods on one data set, as data and as a table."""
    judge, measured, rows = Readability(name), {}, []
    for label, method in (methods or judge.methods()).items():
        measured[label] = judge.measured(method)
        known = [figure for figure in FIGURES if figure in measured[label]]
        rows.append([label, *(shown(figure, measured[label][figure]) for figure in known)])
        print(title, *rows[-1], sep=" | ", file=sys.stderr, flush=True)
    chance = judge.by_chance()
    said = ", ".join(f"{figure} {value:.2f}" for figure, value in chance.items())
    header = [title, *("RMSE" if figure == "rmse" else figure for figure in known)]
    text = f"{pages.table(header, rows)}\nPopular items drawn at random: {said}.\n\n"
    return {"by chance": chance, **measured}, text


def benchmark() -> None:
    """All data sets."""
    measured, text = {}, ""
    for name, title in zip(SETS, TITLES, strict=True):
        measured[title], table = compared(name, title)
        text += table
    pages.write(DOCS, "readable", measured, text.rstrip() + "\n")


def typical() -> None:
    """Ways to choose the items that are listed for a taste."""
    measured: dict[str, Any] = {}
    rows = []
    for name, title in zip(SETS[:2], TITLES[:2], strict=True):
        judge = Readability(name)
        for label, method in ONES.items():
            models = [replace(method, seed=seed).fit(judge.train) for seed in SEEDS]
            row = [f"{title}, {label}"]
            for way, values in WAYS.items():
                each = [judge.coherence(top_by(values, model)) for model in models]
                found = {figure: mean(one[figure] for one in each) for figure in each[0]}
                measured.setdefault(row[0], {})[way] = found
                row.append(f"{found['genres']:.2f}, {found['co-liking']:.2f}")
            rows.append(row)
    pages.write(DOCS, "typical", measured, pages.table(["genres, co-liking", *WAYS], rows))


def sparsity() -> None:
    """CNMF of several ranks with an L1 penalty besides, throughout or in the last steps."""
    measured: dict[str, Any] = {}
    judge, rows = Readability("ml-1m"), []
    for rank, (l1, last) in itertools.product(RANKS, PENALTIES):
        recipe = tm.CNMF(rank=rank, ranking=False).recipe_for(judge.train)
        *before, phase = recipe.phases
        sparse = replace(
            phase, objective=replace(phase.objective, l1=l1), steps=last or phase.steps
        )
        if last:
            before.append(replace(phase, steps=phase.steps - last))
        label = f"rank {rank}, λ₁ = {l1}" + (f" in the last {last} steps" if last else "")
        measured[label] = judge.measured(replace(recipe, phases=[*before, sparse]))
        rows.append(
            [label, *(f"{np.mean(measured[label][f]):.{DIGITS.get(f, 2)}f}" for f in FIGURES)]
        )
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ["MovieLens 1M", "RMSE", *FIGURES[1:]]
    pages.write(DOCS, "sparsity", measured, pages.table(header, rows))


def groups() -> None:
    """CNMF of rank 30 read in as many tastes or fewer: the same predictions."""
    judge = Readability("ml-1m")
    models = [tm.CNMF(rank=30, ranking=False, seed=seed).fit(judge.train) for seed in SEEDS]
    counts = judge.train.by_item.counts
    measured: dict[str, Any] = {}
    for count in GROUPS:
        read = [replace(m, scores=grouped(m.factors, counts, count)) for m in models]
        each = [judge.of(model) for model in read]
        measured[str(count)] = {name: [one[name] for one in each] for name in each[0]}
    header = ["tastes", *measured[str(GROUPS[0])]]
    rows = [
        [count, *(shown(figure, values) for figure, values in found.items())]
        for count, found in measured.items()
    ]
    pages.write(DOCS, "groups", measured, pages.table(header, rows))


def added(model: tm.Model, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    """(pairs, tastes): what each taste adds."""
    factors = model.factors
    return factors.by_taste(factors.users[user] * factors.items[item])


def needed(values: np.ndarray) -> float:
    """Parts that make up 80 % of what they add, the median over pairs."""
    ordered = -np.sort(-values, axis=1)
    total = ordered.sum(axis=1, keepdims=True)
    return float(np.median((np.cumsum(ordered, axis=1) < 0.8 * total).sum(axis=1) + 1))


def top_by(way: Any, model: tm.Model) -> np.ndarray:
    """(tastes, 15): the items that a way of choosing puts first."""
    tastes = model.tastes_of("rating")
    weight = tastes.item_weights(model.factors.items)
    count = model.items.count[:, None]
    order = np.argsort(-way(weight, tastes.typical, count / (count + 10)), axis=0, kind="stable")
    return order[:TOP].T


WAYS = {
    "what the taste adds to their ratings": lambda weight, typical, trust: typical,
    "weight": lambda weight, typical, trust: weight * trust,
    "weight minus its mean over tastes": lambda weight, typical, trust: (
        (weight - weight.mean(axis=1, keepdims=True)) * trust
    ),
    "share of the item's total": lambda weight, typical, trust: weight / total(weight) * trust,
    "weight times share": lambda weight, typical, trust: weight**2 / total(weight) * trust,
}


def total(weight: np.ndarray) -> np.ndarray:
    return np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)


HEAD = """# The tastes of MovieLens 1M

All tastes of `{}`,
as `model.tastes(attributes=…)` numbers, names and lists them. It was given the titles and genres of
the films. The tastes themselves come from the ratings alone. *Adds* is what a taste adds to a
prediction for the average user, in stars. `python benchmarks/readable.py tastes` prints this page.
"""


def tastes(method: Any = None) -> None:
    """A page of all tastes of MovieLens 1M, with the names that the program gave them."""
    ratings, films = data("ml-1m"), items_of("ml-1m")
    title = dict(zip(films["id"].to_pylist(), films["title"].to_pylist(), strict=True))
    model = (method or default_method()).fit(ratings)
    print(HEAD.format(model.made_by))
    for of, about in (
        ("rating", "The tastes that predict ratings and order recommendations"),
        ("score", "The tastes that `recommend` orders by"),
    ):
        if of == "score" and (model.ranking is None or model.shares_tastes):
            continue
        print(f"## {about}\n")
        if of == "score":
            print("Their scores have no unit. See [why they differ](tutorial.md#recommend).\n")
        rows: dict[int, list[dict[str, Any]]] = {}
        for row in model.tastes(8, of=of, attributes=films).to_pylist():
            rows.setdefault(row["taste"], []).append(row)
        body = [
            [number, some[0]["name"], f"{some[0]['adds']:.2f}", listed(some, title)]
            for number, some in rows.items()
        ]
        print(left_table(["taste", "name", "adds", "its most typical films"], body))


def listed(rows: list[dict[str, Any]], title: dict[int, str]) -> str:
    return "; ".join(title[row["item"]] for row in rows).replace("|", "/")


def left_table(header: list[str], rows: list[list[Any]]) -> str:
    lines = ("| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * 4, *rows))
    return "\n".join(lines) + "\n"


TRIALS = {"typical": typical, "sparsity": sparsity, "groups": groups}


def main() -> None:
    asked, *given = sys.argv[1:] or [""]
    if asked == "":
        benchmark()
    elif asked in TRIALS:
        TRIALS[asked]()
    elif asked == "tastes":
        tastes(*map(method_of, given))
    else:
        own = {text: method_of(text) for text in (asked, *given)}
        print(compared("ml-1m", "MovieLens 1M", own)[1])


def method_of(text: str) -> Any:
    """A method as Python spells it."""
    return eval(text, {"tm": tm})


if __name__ == "__main__":
    main()
