"""`tastemix update` and `fold-in`: new ratings for a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tastemix.cli import choices
from tastemix.cli.console import say
from tastemix.cli.saved import item_id, opened
from tastemix.cli.tables import Csv, Json, show
from tastemix.cli.written import Written, as_written
from tastemix.errors import ParameterError
from tastemix.model.model import Model
from tastemix.persistence import check_folder, load


@as_written
def update(
    model: choices.Saved,
    ratings: choices.File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the updated model (default: replace it)."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Training steps to take.")] = 5,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    duplicates: choices.DuplicatesOption = "refuse",
    missing: choices.MissingOption = None,
    engine: choices.EngineOption = None,
    *,
    written: Written,
) -> None:
    """Take new ratings into a saved model with a few more training steps.

    A new rating of a pair replaces the old one. New users and items start as average ones.

    Example: tastemix update movies.tastemix new-ratings.csv
    """
    check_folder(output or model)
    fitted = load(model)
    table = choices.table_for(
        fitted, ratings, user, item, rating, duplicates, missing=missing, **written
    )
    before = len(fitted.users.ids), len(fitted.items.ids)
    changed = fitted.update(table, steps=steps, engine=engine)
    users, items = len(changed.users.ids) - before[0], len(changed.items.ids) - before[1]
    changed.save(output or model)
    say(
        f"{len(table):,} ratings taken in, of {users:,} new users and {items:,} new items; "
        f"saved to [bold]{escape(str(output or model))}[/]"
    )


def fold_in(
    model: choices.Saved,
    rated: Annotated[
        list[str], typer.Argument(help="What someone new rated: ITEM=RATING, one after the other.")
    ],
    n: Annotated[int, typer.Option("-n", help="Number of items.")] = 10,
    explain: Annotated[
        str | None, typer.Option(help="Explain the prediction for this item instead.")
    ] = None,
    items: choices.ItemsFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Recommend to someone new, from a few ratings, without retraining.

    Example: tastemix fold-in movies.tastemix Heat=5 Alien=2 -n 5
    """
    fitted = opened(model, items)
    person = fitted.fold_in(dict(_rating(fitted, text) for text in rated))
    found = person.recommend(n) if explain is None else person.explain(item_id(fitted, explain))
    show(found, as_json, as_csv)


def _rating(fitted: Model, text: str) -> tuple[object, float]:
    """An item and its rating from ITEM=RATING; the item's id may hold = too."""
    item, equals, number = text.rpartition("=")
    try:
        rating = float(number)
    except ValueError:
        equals = ""
    if not equals:
        raise ParameterError(f"{text!r} is not ITEM=RATING, such as Heat=5: write it so")
    return item_id(fitted, item), rating
