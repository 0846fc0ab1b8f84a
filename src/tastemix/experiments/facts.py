"""Experiment 1: the data set in figures."""

from __future__ import annotations

from tastemix.experiments import paper
from tastemix.experiments.context import Context, Records
from tastemix.experiments.runs import Run
from tastemix.report.exhibits import Section, Table

NAME = "facts"
TITLE = "The data set"


def plan(context: Context) -> list[Run]:
    """Nothing is fitted."""
    return []


def section(context: Context, records: Records) -> Section:
    """Users, items, ratings, density and scale, beside the paper's."""
    ratings, printed = context.ratings, paper.facts(context.dataset)
    low, high = ratings.scale
    ours = {
        "users": f"{len(ratings.users):,}",
        "items": f"{len(ratings.items):,}",
        "ratings": f"{len(ratings):,}",
        "density": f"{100 * ratings.density:.2f} %",
        "scale": f"{low:g} to {high:g}",
        "mean rating": f"{ratings.by_user.values.mean(dtype=float):.4f}",
    }
    theirs = {
        "users": printed and f"{int(printed['users']):,}",
        "items": printed and f"{int(printed['items']):,}",
        "ratings": printed and f"{int(printed['ratings']):,}",
        "density": printed and f"{printed['density_percent']} %",
        "scale": printed and printed["scale"],
    }
    rows = [(name, value, theirs.get(name) or "–") for name, value in ours.items()]
    note = (
        "The paper counts items by their largest id, not those that were rated." if printed else ""
    )
    table = Table(context.dataset, ("", "here", "paper"), rows, note=note)
    return Section(NAME, TITLE, "Users, items, ratings, density and scale.", [table])
