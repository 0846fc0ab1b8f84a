"""Figures of a model: its tastes, an explanation, a map of its items, the history of its fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tastemix import checks
from tastemix.errors import ParameterError
from tastemix.model.model import Model, Of
from tastemix.plot.names import called
from tastemix.report.exhibits import Bar, Bars, Block, Lines, Places, Series
from tastemix.report.figures import drawn

COLOURS = (
    *("#1b72c4", "#d55400", "#00806a", "#8a3fb0", "#b8860b", "#c2185b", "#3f7f3a", "#5b6ad0"),
    *("#8c6d1f", "#2f7f8f", "#a34100", "#6b6f76", "#0f4c8f", "#e0559f", "#5f7a1f", "#7a4b2a"),
)
"""One a taste, the same in every figure."""
MOST_PARTS = 12


def colour(taste: int) -> str:
    """The colour of a taste by its number, from 1; grey for what is none."""
    return COLOURS[(taste - 1) % len(COLOURS)] if taste > 0 else "#8b949e"


@dataclass(frozen=True, eq=False)
class ModelPlots:
    """Figures of a model; each is a matplotlib figure that a notebook shows."""

    model: Model

    def tastes(self, n: int = 5, *, most: int = 8, of: Of = "rating") -> Figure:
        """The n most typical items of the tastes that add most, `most` of them."""
        return drawn(tastes(self.model, n, most, of))

    def explain(self, user: Any, item: Any, *, of: Of = "rating") -> Figure:
        """The parts of a prediction as bars, the largest first, and their sum."""
        return drawn(explanation(self.model, user, item, of))

    def map(self, n: int = 40, *, named: int = 25) -> Figure:
        """The n most rated items on a plane: those with a similar mix of tastes are close."""
        return drawn(item_map(self.model, n, named))

    def history(self) -> Figure:
        """The objective after every step of the fit, phase by phase.

        The first third of a fit of CNMF or ANMF sees nine tenths of the ratings: the objective
        rises where the others come in.
        """
        steps = self.model.history
        if not steps:
            raise ParameterError(
                f"this {self.model.method} model has no history: it was loaded, or not fitted in "
                "steps"
            )
        phases = dict.fromkeys(step.phase for step in steps)
        series = [
            Series(
                f"phase {phase + 1}",
                [float(step.number) for step in steps if step.phase == phase],
                [step.objective for step in steps if step.phase == phase],
            )
            for phase in phases
        ]
        return drawn(Lines("The objective of the fit", "step", "objective", series, log_y=True))


def tastes(model: Model, n: int = 5, most: int = 8, of: Of = "rating") -> Bars:
    """What `ModelPlots.tastes` draws."""
    names = model.tastes_of(of).names()
    blocks: dict[int, list[Bar]] = {}
    for row in model.tastes(n, of=of).to_pylist():
        bar = Bar(called(row), row["typical"], f"{row['typical']:.2f}")
        blocks.setdefault(row["taste"], []).append(bar)
    shown = [
        Block(rows, f"{taste}  {names[taste - 1]}", colour(taste))
        for taste, rows in list(blocks.items())[: checks.whole("most", most)]
    ]
    left = len(blocks) - len(shown)
    note = "What a taste adds for those who rated the item."
    if left:
        note += f" {left} more tastes add less."
    return Bars("Tastes and their items", shown, note)


def explanation(model: Model, user: Any, item: Any, of: Of = "rating") -> Bars:
    """What `ModelPlots.explain` draws."""
    parts = model.explain(user, item, of=of).to_pylist()
    largest, rest = parts[:MOST_PARTS], parts[MOST_PARTS:]
    rows = [
        Bar(_part(part), part["value"], f"{part['value']:.2f}", colour=_colour(part))
        for part in largest
    ]
    if rest:
        left = sum(part["value"] for part in rest)
        rows.append(Bar(f"{len(rest)} more parts", left, f"{left:.2f}", colour=colour(0)))
    total = sum(part["value"] for part in parts)
    rows.append(Bar("sum", total, f"{total:.2f}", colour="#1c2126"))
    title = model.shown(model.items.ids.number(item))
    what = "score" if of == "score" else "predicted rating"
    return Bars(f"{title} for {user}", [Block(rows)], f"The parts of the {what}.")


def item_map(model: Model, n: int = 40, named: int = 25) -> Places:
    """What `ModelPlots.map` draws."""
    weights = model.tastes_of("rating").item_weights(model.factors.items)
    most = np.argsort(-model.items.count, kind="stable")[: checks.whole("n", n, least=3)]
    mixes = weights[most]
    main = mixes.argmax(axis=1) + 1
    names = model.tastes_of("rating").names()
    return Places(
        "A map of the items",
        _on_plane(mixes / np.maximum(np.linalg.norm(mixes, axis=1, keepdims=True), 1e-30)),
        [model.shown(int(item)) for item in most],
        [colour(int(taste)) for taste in main],
        {names[taste - 1]: colour(int(taste)) for taste in dict.fromkeys(main.tolist())},
        named,
        "Close items have similar tastes.",
    )


def _part(part: dict[str, Any]) -> str:
    """A part as a person would call it."""
    if part["part"] == part["name"] or not part["part"].startswith("taste"):
        return str(part["part"])
    return f"{part['part'].removeprefix('taste ')}  {part['name']}"


def _colour(part: dict[str, Any]) -> str:
    number = part["part"].removeprefix("taste ")
    return colour(int(number) if number.isdecimal() else 0)


def _on_plane(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows on the two directions in which they differ most."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    plane = (left * sizes)[:, :2]
    if plane.shape[1] < 2:
        plane = np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
    return np.asarray(plane)
