"""`tastemix ingest`: from files of ratings to a folder that is mapped rather than read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.markup import escape

from tastemix.cli import choices
from tastemix.cli.console import progress, say
from tastemix.cli.written import Written, as_written
from tastemix.data.disk import ingest as ingesting
from tastemix.data.ratings import Duplicates


@as_written
def ingest(
    files: Annotated[
        list[Path],
        typer.Argument(help="CSV or Parquet files, or folders of them, with one rating per row."),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder to make; an unfinished one is finished."),
    ],
    memory: Annotated[
        str, typer.Option(help="Memory that rows may take at a time, such as 500MB.")
    ] = "1GB",
    user: choices.User = "user",
    item: choices.Item = "item",
    rating: choices.Rating = "rating",
    timestamp: Annotated[
        str | None, typer.Option(help="Column of times, likewise (default: none is kept).")
    ] = None,
    scale: choices.ScaleOption = None,
    duplicates: choices.DuplicatesOption = "refuse",
    *,
    written: Written,
) -> None:
    """Sort ratings into a folder on disk, in little memory, for fits of more than fits in memory.

    The folder stands for a file of ratings in every other command. If the command was interrupted,
    the same command goes on where it was.

    Example: tastemix ingest ratings/*.parquet -o ratings.tmr --memory 1GB
    """
    with progress("reading ids", 1) as show, choices.in_options():
        ratings = ingesting.ingest(
            [str(file) for file in files],
            output,
            memory,
            choices.column(user),
            choices.column(item),
            choices.column(rating),
            None if timestamp is None else choices.column(timestamp),
            scale,
            duplicates=cast(Duplicates, duplicates),
            on_progress=lambda what, done, total: show(done, what, total),
            **written,
        )
    say(str(ratings))
    say(f"saved to [bold]{escape(str(output))}[/]")
