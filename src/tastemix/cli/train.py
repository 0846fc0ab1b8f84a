"""`tastemix train`: from a file of ratings to a saved model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import out, progress, say
from tastemix.cli.written import Written, as_written
from tastemix.data.plays import refuse_plays
from tastemix.data.ratings import Ratings
from tastemix.engine import engine_of
from tastemix.errors import ParameterError
from tastemix.evaluation import search as searching
from tastemix.methods.recipe import Stepwise
from tastemix.model.model import Model
from tastemix.persistence import check_folder

DEFAULT = "cnmf"
FOR_PLAYS = ("implicit", "neighbours", "popular", "random")
"""Methods that do not predict ratings from their values."""


@as_written
def train(
    ratings: choices.File,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder to save the model in; an existing model is replaced."
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(choices.METHODS)} (default: cnmf).",
            autocompletion=choices.method_names,
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(
            help="Coordinates of a fit (default: 10; cnmf: 4 to 30, read as at most 16 tastes, "
            "or more where rows are short; anmf: 4 to 22; by number of ratings)."
        ),
    ] = None,
    prior_steps: Annotated[
        int | None,
        typer.Option(help="Initial steps with a prior, for mixr and mixd (default: 20)."),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Value of unknown ratings, for pr (default: middle of the scale)."),
    ] = None,
    l1: Annotated[
        float | None, typer.Option(help="L1 penalty, for rnmf and mixr (default: 0.2).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Training steps (default: 100; cnmf: 20, anmf: 20).")
    ] = None,
    members: Annotated[
        int | None, typer.Option(help="Fits to average, for cnmf and anmf (default: 1 and 8).")
    ] = None,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress", help="Save one small model instead of the mean of several fits."
        ),
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Random seed (default: 0).")] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Try several methods and ranks and keep the best.")
    ] = False,
    budget: Annotated[float, typer.Option(help="Time limit of --search, in seconds.")] = 60.0,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
    missing: choices.MissingOption = None,
    items: choices.ItemsFile = None,
    items_id: choices.ItemsId = None,
    items_title: choices.ItemsTitle = None,
    feedback: Annotated[
        str | None,
        typer.Option(
            help="implicit: the file holds plays or clicks, and needs no column of ratings; "
            "explicit: it holds ratings, even if they look like plays.",
        ),
    ] = None,
    engine: choices.EngineOption = None,
    *,
    written: Written,
) -> None:
    """Fit a model to a file of ratings and save it.

    The default method, cnmf, finds its settings by itself. The mean of several fits (--members)
    predicts a little better; --compress turns such a mean into one small model.

    Examples: tastemix train ratings.csv -o movies.tastemix --method mixd --rank 10

    tastemix train ratings.csv -o movies.tastemix --search --budget 30

    tastemix train plays.csv -o songs.tastemix --feedback implicit
    """
    options: dict[str, Any] = {
        "rank": rank,
        "steps": steps,
        "prior_steps": prior_steps,
        "prior": prior,
        "l1": l1,
        "members": members,
    }
    given = {name for name, value in {"method": method, **options}.items() if value is not None}
    if search and given:
        raise ParameterError(f"--search chooses --{min(given)} itself: leave one of them out")
    implicit = feedback == "implicit"
    if feedback not in (None, "explicit", "implicit"):
        raise ParameterError(f"--feedback is {feedback!r}: choose explicit or implicit")
    if search and implicit:
        raise ParameterError("--search compares predicted ratings: leave out --feedback implicit")
    default = "implicit" if implicit else DEFAULT
    named = choices.method(method or default, **options, seed=seed)
    if compress and (search or getattr(named, "members", 1) == 1):
        raise ParameterError("--compress merges the fits of a mean: give --members 3, say")
    engine_of(engine)  # a wrong name is told before the file is read
    check_folder(output)  # and what would lose a fitted model before the fit
    labels = choices.items(items, items_id, items_title)
    read = choices.plays if implicit else choices.rated
    table = read(ratings, user, item, rating, scale, duplicates, missing=missing, **written)
    if feedback is None and (method or default).lower() not in FOR_PLAYS:
        with choices.in_options():
            refuse_plays(table)
    if labels is not None:
        with choices.in_item_options():
            labels = labels.over(table.items)
    say(str(table))
    if search:
        chosen = _searched(table, budget, seed or 0, engine)
    else:
        chosen = named if rank is not None else choices.tuned(named, table)
    model, seconds = _fitted(chosen, table, engine)
    say(f"{model.made_by}: {seconds:.1f} s")
    if compress:
        model = model.compress()
    if labels is not None:
        model = model.label(labels)
    model.save(output)
    say(f"saved to [bold]{escape(str(output))}[/]")


def _searched(ratings: Ratings, budget: float, seed: int, engine: str | None) -> Any:
    """The chosen method, after showing what was tried."""
    most, done, began = len(searching.candidates(ratings)), 0, time.perf_counter()
    with progress("trials", most) as show:

        def on_trial(trial: searching.Trial) -> bool:
            nonlocal done
            done += 1
            show(min(done, most), choices.label(trial.method))
            return time.perf_counter() - began > budget

        found = searching.search(ratings, seed=seed, on_trial=on_trial, engine=engine)
    tried = Table("method", "RMSE", "seconds", title="Tried, best first")
    for trial in sorted(found.trials, key=lambda trial: trial.rmse):
        tried.add_row(choices.label(trial.method), f"{trial.rmse:.4f}", f"{trial.seconds:.1f}")
    out.print(tried)
    say(f"chosen: {choices.label(found.method)}, with the lowest RMSE on validation ratings")
    say(
        f"its RMSE on a held-out tenth of the ratings, not used in the choice, is "
        f"{found.rmse:.4f}; that of the baseline (means and offsets) is {found.baseline_rmse:.4f}"
    )
    return found.method


def _fitted(method: Any, ratings: Ratings, engine: str | None) -> tuple[Model, float]:
    began = time.perf_counter()
    if isinstance(method, Stepwise):
        with progress("steps", method.total_steps) as show:
            model = method.fit(
                ratings, on_step=lambda step, session: show(step.number), engine=engine
            )
    else:
        model = method.fit(ratings, engine=engine)
    return model, time.perf_counter() - began
