"""`tastemix train`: from a file of ratings to a saved model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tastemix.cli import choices
from tastemix.cli.console import progress, say
from tastemix.model import Model
from tastemix.ratings import Ratings


def train(
    ratings: choices.File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(choices.METHODS)}.")] = "mixd",
    rank: Annotated[int | None, typer.Option(help="Number of tastes (default: 10).")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps in all (default: 100).")] = None,
    prior_steps: Annotated[
        int | None, typer.Option(help="First steps, with a prior: mixr, mixd (default: 20).")
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="Value of unknown ratings: pr (default: mid-scale).")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="L1 penalty: rnmf, mixr (default: 0.2).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random start (default: 0).")] = None,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
) -> None:
    """Learn a model from a table of ratings and save it.

    Example: tastemix train ratings.csv -o movies.tastemix --method mixd --rank 10
    """
    options = {"rank": rank, "steps": steps, "prior_steps": prior_steps, "prior": prior, "l1": l1}
    chosen = choices.method(method, **options, seed=seed)
    table = choices.table(ratings, user, item, rating, scale, duplicates)
    say(str(table))
    model, seconds = _fitted(chosen, table)
    model.save(output)
    say(f"{chosen}: {seconds:.1f} s")
    say(f"saved to [bold]{escape(str(output))}[/]")


def _fitted(method: Any, ratings: Ratings) -> tuple[Model, float]:
    began = time.perf_counter()
    if not hasattr(method, "recipe"):
        return method.fit(ratings), time.perf_counter() - began
    steps = sum(phase.steps for phase in method.recipe(ratings.scale).phases)
    with progress("steps", steps) as show:
        model = method.fit(ratings, on_step=lambda step, session: show(step.number))
    return model, time.perf_counter() - began
