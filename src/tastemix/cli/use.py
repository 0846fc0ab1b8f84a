"""`tastemix recommend`, `explain`, `tastes` and `evaluate`: a saved model at work."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, cast

import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli import choices
from tastemix.cli.console import out, say
from tastemix.data.ids import Ids
from tastemix.errors import ParameterError
from tastemix.evaluation import metrics
from tastemix.model.model import Of
from tastemix.persistence import load

Saved = Annotated[Path, typer.Argument(help="Folder of a model saved by train.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
UserId = Annotated[str, typer.Option("--user", help="User id.")]
UserIds = Annotated[
    list[str], typer.Option("--user", help="User id; repeat the option for more users.")
]
ItemId = Annotated[str, typer.Option("--item", help="Item id.")]
Explained = Annotated[str, typer.Option("--of", help="rating, or score: what recommend orders by.")]
AttributesFile = Annotated[
    Path | None,
    typer.Option(
        "--attributes",
        help="CSV or Parquet file to name tastes by: item ids in its first column, then attributes "
        "such as genres (separated by |), and perhaps a column title.",
    ),
]


def recommend(
    model: Saved,
    user: UserIds,
    n: Annotated[int, typer.Option("-n", help="Number of items per user.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Include items the user has already rated.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Recommend the best items a user has not rated yet.

    Examples: tastemix recommend movies.tastemix --user ann -n 5

    tastemix recommend movies.tastemix --user ann --user bob
    """
    fitted = load(model)
    ids = [_id(fitted.users.ids, typed) for typed in user]
    asked = ids[0] if len(ids) == 1 else ids
    _show(fitted.recommend(asked, n, seen=[] if include_seen else None), as_json)


def explain(
    model: Saved,
    user: UserId,
    item: ItemId,
    of: Explained = "rating",
    attributes: AttributesFile = None,
    as_json: Json = False,
) -> None:
    """Explain a predicted rating, taste by taste.

    Example: tastemix explain movies.tastemix --user ann --item Heat
    """
    fitted = load(model)
    ids = _id(fitted.users.ids, user), _id(fitted.items.ids, item)
    parts = fitted.explain(*ids, of=cast(Of, of), attributes=attributes)
    if as_json:
        _show(parts, as_json)
        return
    table = Table("part", "named", "user", "item", "adds", "because of")
    for row in parts.to_pylist():
        weights = (row["user_weight"], row["item_weight"])
        cells = ["" if weight is None else f"{weight:.3f}" for weight in weights]
        because = escape(", ".join(map(str, row["because"])))
        name = "" if row["name"] == row["part"] else escape(row["name"])
        table.add_row(row["part"], name, *cells, f"{row['value']:+.3f}", because)
    out.print(table)
    raw = sum(parts["value"].to_pylist())
    predicted = fitted.predict(*ids)
    whole = "score" if of == "score" else "prediction"
    say(f"the parts add up to the {whole} {raw:.3f}; the rating on the scale is {predicted:.3f}")


def tastes(
    model: Saved,
    n: Annotated[int, typer.Option("-n", help="Number of items per taste.")] = 8,
    of: Explained = "rating",
    attributes: AttributesFile = None,
    as_json: Json = False,
) -> None:
    """List the most typical items of each taste, the taste that adds most first.

    Example: tastemix tastes movies.tastemix -n 5
    """
    found = load(model).tastes(n, of=cast(Of, of), attributes=attributes)
    if as_json:
        _show(found, as_json)
        return
    table = Table("taste", "adds", *(["named"] if attributes else []), "its items")
    rows = found.to_pylist()
    for taste in dict.fromkeys(row["taste"] for row in rows):
        here = [row for row in rows if row["taste"] == taste]
        items = escape(", ".join(str(row["item"]) for row in here))
        name = [escape(here[0]["name"])] if attributes else []
        table.add_row(str(taste), f"{here[0]['adds']:.2f}", *name, items)
    out.print(table)


def evaluate(
    model: Saved,
    ratings: choices.File,
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    duplicates: choices.DuplicatesOption = "refuse",
    as_json: Json = False,
) -> None:
    """Evaluate a saved model on ratings it was not trained on, with every metric.

    Example: tastemix evaluate movies.tastemix new-ratings.csv
    """
    fitted = load(model)
    table = choices.table(ratings, user, item, rating, fitted.scale, duplicates)
    half = table.by_user
    pairs = (
        fitted.users.ids.find(table.users.values)[half.rows],
        fitted.items.ids.find(table.items.values)[half.indices],
    )
    score = fitted.predict_numbers(*pairs, clip=False)
    predicted = score.clip(*fitted.scale)
    found = metrics.evaluate(half.rows, half.values, predicted, score=score, scale=fitted.scale)
    if as_json:
        known = {name: None if math.isnan(value) else value for name, value in found.items()}
        out.print_json(data=known)
        return
    shown = Table("metric", "value")
    for name, value in found.items():
        shown.add_row(name, f"{value:.4f}")
    out.print(shown)


def _id(ids: Ids, typed: str) -> Any:
    """An id as the model holds it, from what was typed."""
    try:
        found = pa.array([typed]).cast(ids.values.type)[0].as_py()
    except pa.ArrowException:
        raise ParameterError(
            f"{typed!r} cannot be a {ids.what} id of this model: they look like {ids[0]!r}"
        ) from None
    ids.number(found)
    return found


def _show(found: pa.Table, as_json: bool) -> None:
    if as_json:
        out.print_json(data=found.to_pylist(), default=str)
        return
    table = Table(*found.column_names)
    for row in found.to_pylist():
        cells = (f"{v:.3f}" if isinstance(v, float) else escape(str(v)) for v in row.values())
        table.add_row(*cells)
    out.print(table)
