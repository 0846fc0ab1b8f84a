"""`tastemix plot`: a figure of a model, or of a table of ratings, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tastemix.cli import choices
from tastemix.cli.console import say
from tastemix.cli.saved import item_id
from tastemix.cli.written import Written, as_written
from tastemix.data.places import is_store
from tastemix.errors import ParameterError
from tastemix.model.model import Model
from tastemix.persistence import load

KINDS = ("tastes", "map", "history", "explain")
FILES = (".svg", ".png", ".pdf")


@as_written
def plot(
    what: Annotated[
        Path,
        typer.Argument(help="Folder of a saved model, or ratings: a file, or a folder of ingest."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File: .svg, .png or .pdf.")],
    kind: Annotated[
        str, typer.Option(help=f"Of a model: {', '.join(KINDS)}.", autocompletion=lambda: KINDS)
    ] = "tastes",
    one_user: Annotated[
        str | None,
        typer.Option("--user", help="User id, to explain; of a file, the column of user ids."),
    ] = None,
    one_item: Annotated[
        str | None,
        typer.Option(
            "--item", help="Item id or title, to explain; of a file, the column of item ids."
        ),
    ] = None,
    rating: choices.Rating = "rating",
    missing: choices.MissingOption = None,
    *,
    written: Written,
) -> None:
    """Draw a model's tastes, map, history or an explanation; or the histogram of a table.

    Examples: tastemix plot movies.tastemix -o tastes.svg

    tastemix plot movies.tastemix --kind explain --user ann --item Heat -o why.png

    tastemix plot ratings.csv -o ratings.svg
    """
    if output.suffix not in FILES:
        raise ParameterError(f"{output} ends in none of {', '.join(FILES)}: choose one of them")
    if kind not in KINDS:
        raise ParameterError(f"--kind is {kind!r}: choose one of {', '.join(KINDS)}")
    if what.is_dir() and not is_store(what):
        if {one_user is not None, one_item is not None} != {kind == "explain"}:
            raise ParameterError(
                "--kind explain, --user and --item belong together: give all three"
            )
        figure = _of_model(load(what), kind, one_user, one_item)
    else:
        columns = one_user or "user", one_item or "item", rating
        table = choices.table(str(what), *columns, None, "last", missing=missing, **written)
        figure = table.plot()
    try:
        figure.keep(output)
    except OSError as error:
        raise ParameterError(
            f"{output} cannot be written ({error.strerror}): make room, or give another path"
        ) from None
    say(f"drawn in [bold]{escape(str(output))}[/]")


def _of_model(model: Model, kind: str, user: str | None, item: str | None) -> Any:
    if user is not None and item is not None:
        return model.plot.explain(model.users.ids.typed(user), item_id(model, item))
    return getattr(model.plot, kind)()
