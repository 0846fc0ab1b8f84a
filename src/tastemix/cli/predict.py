"""`tastemix predict` and `similar`: ratings and neighbours out of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from tastemix.cli import choices
from tastemix.cli.saved import item_id, opened
from tastemix.cli.tables import Csv, Json, Output, checked, keep_or_show, show
from tastemix.cli.written import Written, as_written
from tastemix.data.dialect import Told
from tastemix.data.reading import load as columns_of_file
from tastemix.errors import ParameterError
from tastemix.model.model import Model
from tastemix.persistence import load

Pairs = Annotated[
    Path | None,
    typer.Argument(help="CSV or Parquet file with a pair of user and item per row."),
]


@as_written
def predict(
    model: choices.Saved,
    pairs: Pairs = None,
    one_user: Annotated[
        str | None,
        typer.Option("--user", help="User id, or with a file the column of user ids."),
    ] = None,
    some_items: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            help="Item id, or title; repeat the option for more. With a file, the column of item "
            "ids.",
        ),
    ] = None,
    std: Annotated[
        bool, typer.Option("--std", help="Add the standard deviation around each prediction.")
    ] = False,
    output: Output = None,
    as_json: Json = False,
    as_csv: Csv = False,
    *,
    written: Written,
) -> None:
    """Predict ratings of one user's items, or of all pairs of a file.

    Examples: tastemix predict movies.tastemix --user ann --item Heat --item Alien

    tastemix predict movies.tastemix pairs.csv -o predicted.parquet
    """
    if output is not None:
        checked(output)
    if pairs is None:
        if one_user is None or not some_items:
            raise ParameterError("there is nothing to predict: give a file, or --user and --item")
        fitted = load(model)
        items: Any = pa.array([item_id(fitted, text) for text in some_items])
        users: Any = pa.array([fitted.users.ids.typed(one_user)] * len(items))
    else:
        if some_items and len(some_items) > 1:
            raise ParameterError("--item is the name of one column of the file: give it once")
        names = [one_user or "user", some_items[0] if some_items else "item"]
        fitted = load(model)
        with choices.in_options():
            users, items = columns_of_file(
                pairs, [choices.column(name) for name in names], None, Told(**written)
            )
    keep_or_show(_predicted(fitted, users, items, std), output, as_json, as_csv)


def _predicted(fitted: Model, users: Any, items: Any, std: bool) -> pa.Table:
    columns = {name: _plain(ids) for name, ids in (("user", users), ("item", items))}
    if std:
        rating, deviation = fitted.predict(users, items, return_std=True)
        return pa.table({**columns, "rating": rating, "std": deviation})
    return pa.table({**columns, "rating": fitted.predict(users, items)})


def similar(
    model: choices.Saved,
    item: Annotated[str | None, typer.Option("--item", help="Item id, or title.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="User id.")] = None,
    n: Annotated[int, typer.Option("-n", help="Number of neighbours.")] = 5,
    items: choices.ItemsFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the items, or the users, with the most similar mix of tastes.

    Example: tastemix similar movies.tastemix --item Heat
    """
    if (item is None) == (user is None):
        raise ParameterError("similar to what? Give --item ID or --user ID, one of the two")
    fitted = opened(model, items)
    if item is not None:
        found = fitted.similar(item_id(fitted, item), n)
    else:
        found = fitted.similar_users(fitted.users.ids.typed(str(user)), n)
    show(found, as_json, as_csv)


def _plain(ids: Any) -> Any:
    """Ids as a file may hold them: not by numbers into a dictionary."""
    coded = pa.types.is_dictionary(ids.type)
    return ids.cast(ids.type.value_type) if coded else ids
