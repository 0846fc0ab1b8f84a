"""`tastemix train`: from a file of ratings to a saved model."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import out, progress, say
from tastemix.data.ratings import Ratings
from tastemix.errors import ParameterError
from tastemix.evaluation import search as searching
from tastemix.methods import anmf
from tastemix.model.model import Model


def train(
    ratings: choices.File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the model in.")],
    method: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(choices.METHODS)} (default: anmf).")
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="Number of tastes (default: 10; anmf: 4 to 22, by the ratings)."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps (default: 100; anmf: 20).")] = None,
    prior_steps: Annotated[
        int | None, typer.Option(help="First steps, with a prior: mixr, mixd (default: 20).")
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="Value of unknown ratings: pr (default: mid-scale).")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="L1 penalty: rnmf, mixr (default: 0.2).")] = None,
    members: Annotated[
        int | None, typer.Option(help="Fits whose mean it is: anmf (default: 8).")
    ] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="Save one small model in place of a mean: anmf.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the random start (default: 0).")] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Choose method and rank by what predicts best.")
    ] = False,
    budget: Annotated[float, typer.Option(help="Seconds the search may take.")] = 60.0,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
) -> None:
    """Learn a model from a table of ratings and save it.

    Without a method it is anmf, the mean of several fits, with a rank that suits the number of
    ratings; --compress makes one small model of it, whose tastes can be read.

    Examples: tastemix train ratings.csv -o movies.tastemix --method mixd --rank 10

    tastemix train ratings.csv -o movies.tastemix --search --budget 30
    """
    options = {"rank": rank, "steps": steps, "prior_steps": prior_steps, "prior": prior, "l1": l1}
    options["members"] = members
    given = {name for name, value in {"method": method, **options}.items() if value is not None}
    if search and given:
        raise ParameterError(f"--search chooses --{min(given)} itself: leave one of them out")
    named = choices.method(method or "anmf", **options, seed=seed)
    if compress and (search or not isinstance(named, anmf.ANMF)):
        raise ParameterError("--compress makes one model of several: it goes with --method anmf")
    table = choices.table(ratings, user, item, rating, scale, duplicates)
    say(str(table))
    chosen = _searched(table, budget, seed or 0) if search else named
    if not search and rank is None and isinstance(chosen, anmf.ANMF):
        own = anmf.default(table)
        chosen = replace(chosen, rank=own.rank, l2=own.l2)
    model, seconds = _fitted(chosen, table)
    if compress:
        model = model.compress()
    model.save(output)
    say(f"{chosen}: {seconds:.1f} s")
    say(f"saved to [bold]{escape(str(output))}[/]")


def _searched(ratings: Ratings, budget: float, seed: int) -> Any:
    """The chosen method, after showing what was tried."""
    most, done, began = len(searching.candidates(ratings)), 0, time.perf_counter()
    with progress("trials", most) as show:

        def on_trial(trial: searching.Trial) -> bool:
            nonlocal done
            done += 1
            show(min(done, most), str(trial.method))
            return time.perf_counter() - began > budget

        found = searching.search(ratings, seed=seed, on_trial=on_trial)
    tried = Table("method", "rank", "RMSE", "seconds", title="Tried, the best first")
    for trial in sorted(found.trials, key=lambda trial: trial.rmse):
        rank = str(getattr(trial.method, "rank", ""))
        cells = rank, f"{trial.rmse:.4f}", f"{trial.seconds:.1f}"
        tried.add_row(type(trial.method).__name__, *cells)
    out.print(tried)
    rank = f" of rank {found.method.rank}" if hasattr(found.method, "rank") else ""
    say(f"chosen: {type(found.method).__name__}{rank}, lowest RMSE on a validation part")
    say(
        f"on a tenth of the ratings that played no part in the choice its RMSE is "
        f"{found.rmse:.4f}; means and offsets alone have {found.baseline_rmse:.4f}"
    )
    return found.method


def _fitted(method: Any, ratings: Ratings) -> tuple[Model, float]:
    began = time.perf_counter()
    if not hasattr(method, "recipe"):
        return method.fit(ratings), time.perf_counter() - began
    if isinstance(method, anmf.ANMF):
        steps = method.all_steps
    else:
        steps = sum(phase.steps for phase in method.recipe(ratings.scale).phases)
    with progress("steps", steps) as show:
        model = method.fit(ratings, on_step=lambda step, session: show(step.number))
    return model, time.perf_counter() - began
