"""People and items that training has not seen, with a few ratings given, on MovieLens 1M.

python benchmarks/newcomers.py

Of 600 people (or 300 items) with more than 20 ratings, none is used in training. The first g of
their ratings, in a random order, are given; those from the 21st on are predicted, whatever g is.
Beside it stands the mean of the other side's ratings plus the newcomer's own offset, shrunk by
g / (g + s), with the s that is best at each g in hindsight.

Results land in docs/beyond/newcomers.json, .md and .svg.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import tastemix as tm
from beyond import DOCS, data, rmse, write
from peers import pages
from tastemix.engine.sides import OTHER
from tastemix.report import figures
from tastemix.report.exhibits import Lines, Series

GIVEN = (0, 1, 2, 5, 10, 20)
NEWCOMERS = {"users": 600, "items": 300}
SHRINKAGES = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
NOBODY = -1


class Newcomers:
    """Ratings without some users or items, and theirs in a random order."""

    def __init__(self, side: str, name: str = "ml-1m", seed: int = 0) -> None:
        ratings, rng = data(name), np.random.default_rng(seed)
        half = ratings.half(side)
        enough = np.flatnonzero(half.counts > max(GIVEN) + 1)
        chosen = rng.choice(enough, NEWCOMERS[side], replace=False)
        user, item = ratings.by_user.rows, ratings.by_user.indices
        left_out = np.isin(user if side == "users" else item, chosen)
        users, items = (ids.values.to_numpy() for ids in (ratings.users, ratings.items))
        self.side, self.scale = side, ratings.scale
        self.train = tm.Ratings.from_arrays(
            users[user[~left_out]],
            items[item[~left_out]],
            ratings.by_user.values[~left_out],
            scale=ratings.scale,
        )
        known = items if side == "users" else users
        self.people: list[tuple[np.ndarray, np.ndarray]] = []
        for number in chosen:
            others, values = half.row(number)
            order = rng.permutation(len(others))
            self.people.append((known[others[order]], values[order].astype(float)))

    def predicted(self, model: tm.Model, given: int) -> np.ndarray:
        """What the model predicts for the ratings from the 21st on."""
        found = []
        for others, values in self.people:
            later, some = others[max(GIVEN) :], slice(0, given)
            known = self.known(others[some])
            ratings = dict(zip(others[some][known].tolist(), values[some][known], strict=True))
            if not ratings:
                pair = [NOBODY] * len(later), later
                found.append(model.predict(*(pair if self.side == "users" else pair[::-1])))
            elif self.side == "users":
                found.append(model.fold_in(ratings).predict(later))
            else:
                found.append(model.fold_in_item(ratings).predict(later))
        return np.concatenate(found)

    def by_means(self, given: int, shrinkage: float) -> np.ndarray:
        """The others' means plus a shrunk offset."""
        found = []
        for others, values in self.people:
            means = self.means(others)
            offset = (values - means)[:given].sum() / (given + shrinkage)
            found.append(np.clip(means + offset, *self.scale)[max(GIVEN) :])
        return np.concatenate(found)

    def known(self, others: np.ndarray) -> np.ndarray:
        """Which of these training has seen."""
        return self.train.ids(OTHER[self.side]).find(others) >= 0

    def means(self, others: np.ndarray) -> np.ndarray:
        """The mean of each of these in training, or of all ratings."""
        numbers = self.train.ids(OTHER[self.side]).find(others)
        return np.where(numbers < 0, self.overall, self.each[numbers])

    @cached_property
    def overall(self) -> float:
        return float(self.train.by_user.values.mean(dtype=float))

    @cached_property
    def each(self) -> np.ndarray:
        half = self.train.half(OTHER[self.side])
        return np.add.reduceat(half.values.astype(float), half.pointers[:-1]) / half.counts

    @cached_property
    def truth(self) -> np.ndarray:
        return np.concatenate([values[max(GIVEN) :] for _, values in self.people])


def curves(newcomers: Newcomers, model: tm.Model) -> dict[str, Any]:
    """The errors of both, for each number of given ratings."""
    truth, found = newcomers.truth, {"given": list(GIVEN), "ours": [], "means": []}
    for given in GIVEN:
        means = [rmse(newcomers.by_means(given, s) - truth) for s in SHRINKAGES]
        found["ours"].append(rmse(newcomers.predicted(model, given) - truth))
        found["means"].append(min(means))
        print(
            newcomers.side, given, f"{found['ours'][-1]:.4f} {found['means'][-1]:.4f}", flush=True
        )
    return found


def main() -> None:
    measured, rows = {}, []
    for side, other in (("users", "item"), ("items", "user")):
        newcomers = Newcomers(side)
        found = curves(newcomers, tm.CNMF(ranking=0).fit(newcomers.train))
        measured[side] = found
        for name, label in (("ours", "`tm.fit`"), ("means", f"{other} means, shrunk offset")):
            rows.append([f"new {side}: {label}", *(f"{value:.4f}" for value in found[name])])
    header = ["ratings given", *map(str, GIVEN)]
    write("newcomers", measured, pages.table(header, rows))
    draw(measured)


def draw(measured: dict[str, Any]) -> None:
    """The curves as docs/beyond/newcomers.svg."""
    series = [
        Series(f"new {side}, {label}", list(GIVEN), measured[side][name])
        for side in ("users", "items")
        for name, label in (("ours", "tm.fit"), ("means", "means"))
    ]
    chart = Lines("People and items never seen", "ratings given", "RMSE", series)
    (DOCS / "newcomers.svg").write_text(figures.svg(chart, "newcomers"))


if __name__ == "__main__":
    main()
