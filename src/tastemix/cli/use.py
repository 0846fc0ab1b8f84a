"""`tastemix recommend`, `explain`, `tastes` and `evaluate`: a saved model at work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import out, progress, say
from tastemix.cli.saved import item_id, opened
from tastemix.cli.tables import Csv, Json, Output, checked, keep_or_show, print_json, printed
from tastemix.cli.written import Written, as_written
from tastemix.errors import ParameterError
from tastemix.model.everyone import users_at_once
from tastemix.model.model import Model, Of
from tastemix.persistence import load
from tastemix.persistence.tables import write

UserId = Annotated[str, typer.Option("--user", help="User id.")]
ItemId = Annotated[str, typer.Option("--item", help="Item id, or title.")]
Explained = Annotated[str, typer.Option("--of", help="rating, or score: what recommend orders by.")]


def recommend(
    model: choices.Saved,
    user: Annotated[
        list[str] | None,
        typer.Option("--user", help="User id; repeat the option for more users."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Recommend to every user; needs -o.")
    ] = False,
    output: Output = None,
    n: Annotated[int, typer.Option("-n", help="Number of items per user.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Include items the user has already rated.")
    ] = False,
    items: choices.ItemsFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Recommend the best items a user has not rated yet.

    Examples: tastemix recommend movies.tastemix --user ann -n 5

    tastemix recommend movies.tastemix --all -o top.parquet
    """
    if everyone == bool(user):
        raise ParameterError("recommend is for somebody: give --user ID or --all, one of the two")
    if everyone and (output is None or include_seen):
        wrong = "needs a file: add -o top.parquet" if output is None else "leaves out what is seen"
        raise ParameterError(f"--all {wrong}")
    if output is not None:
        checked(output)
    fitted = opened(model, items)
    if everyone and output is not None:
        _for_everyone(fitted, n, output)
        return
    ids = [fitted.users.ids.typed(typed) for typed in user or ()]
    asked = ids[0] if len(ids) == 1 else ids
    if fitted.ratings is None and not include_seen:
        raise ParameterError(
            f"{model} was saved without its ratings, so what users have seen is not known: add "
            "--include-seen"
        )
    found = fitted.recommend(asked, n, seen=[] if include_seen else None)
    keep_or_show(found, output, as_json, as_csv)


def _for_everyone(fitted: Model, n: int, output: Path) -> None:
    """Write everyone's recommendations, some users at a time."""
    reader, users = fitted.recommend_all(n), len(fitted.users.ids)
    at_once = users_at_once(n)

    def shown() -> Iterator[pa.RecordBatch]:
        with progress("users", users) as show:
            for number, batch in enumerate(reader, 1):
                yield batch
                show(min(number * at_once, users))

    rows = write(shown(), reader.schema, output)
    say(f"{rows:,} recommendations for {users:,} users in [bold]{escape(str(output))}[/]")


def explain(
    model: choices.Saved,
    user: UserId,
    item: ItemId,
    of: Explained = "rating",
    items: choices.ItemsFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Explain a predicted rating, taste by taste.

    Example: tastemix explain movies.tastemix --user ann --item Heat
    """
    fitted = opened(model, items)
    ids = fitted.users.ids.typed(user), item_id(fitted, item)
    parts = fitted.explain(*ids, of=cast(Of, of))
    if printed(parts.to_pylist(), as_json, as_csv):
        return
    table = Table("part", "named", "user", "item", "adds", "because of")
    for row in parts.to_pylist():
        weights = (row["user_weight"], row["item_weight"])
        cells = ["" if weight is None else f"{weight:.3f}" for weight in weights]
        because = escape(", ".join(map(str, row.get("titles", row["because"]))))
        name = "" if row["name"] == row["part"] else escape(row["name"])
        table.add_row(row["part"], name, *cells, f"{row['value']:+.3f}", because)
    out.print(table)
    raw = sum(parts["value"].to_pylist())
    predicted = fitted.predict(*ids)
    whole = "score" if of == "score" else "prediction"
    say(f"the parts add up to the {whole} {raw:.3f}; the rating on the scale is {predicted:.3f}")


def tastes(
    model: choices.Saved,
    n: Annotated[int, typer.Option("-n", help="Number of items per taste.")] = 8,
    of: Explained = "rating",
    items: choices.ItemsFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the most typical items of each taste, the taste that adds most first.

    Example: tastemix tastes movies.tastemix -n 5
    """
    fitted = opened(model, items)
    found, labels = fitted.tastes(n, of=cast(Of, of)), fitted.labels
    if printed(found.to_pylist(), as_json, as_csv):
        return
    table = Table("taste", "adds", *(["named"] if labels else []), "its items")
    rows = found.to_pylist()
    for taste in dict.fromkeys(row["taste"] for row in rows):
        here = [row for row in rows if row["taste"] == taste]
        shown = escape(", ".join(str(row.get("title", row["item"])) for row in here))
        name = [escape(here[0]["name"])] if labels else []
        table.add_row(str(taste), f"{here[0]['adds']:.2f}", *name, shown)
    out.print(table)


@as_written
def evaluate(
    model: choices.Saved,
    ratings: choices.File,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    duplicates: choices.DuplicatesOption = "refuse",
    missing: choices.MissingOption = None,
    as_json: Json = False,
    as_csv: Csv = False,
    *,
    written: Written,
) -> None:
    """Evaluate a saved model on ratings it was not trained on, with every metric.

    Example: tastemix evaluate movies.tastemix new-ratings.csv
    """
    fitted = load(model)
    table = choices.table_for(
        fitted, ratings, user, item, rating, duplicates, missing=missing, **written
    )
    found = fitted.evaluate(table)
    if as_json and not as_csv:
        print_json(found)
        return
    if printed(
        [{"metric": name, "value": value} for name, value in found.items()], as_json, as_csv
    ):
        return
    shown = Table("metric", "value")
    for name, value in found.items():
        shown.add_row(name, f"{value:.4f}")
    out.print(shown)
