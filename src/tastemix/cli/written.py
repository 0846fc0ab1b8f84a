"""How a csv file is written, as options that all commands with a file of ratings share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

OPTIONS: dict[str, Any] = {
    "delimiter": Annotated[
        str | None,
        typer.Option(
            "--delimiter", help=r"What is between fields of a CSV file, such as ';' or \t."
        ),
    ],
    "encoding": Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a CSV file, such as latin-1.")
    ],
    "quote": Annotated[
        str | None, typer.Option("--quote", help="Quotes of a CSV file; '' for none.")
    ],
    "decimal": Annotated[
        str | None, typer.Option("--decimal", help="What is before fractions: . or ,")
    ],
    "header": Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row names the columns."),
    ],
    "ids": Annotated[str | None, typer.Option("--ids", help="text: keep ids as they are written.")],
}
"""By argument of `tm.read`; each is found out where it is not given."""
Written = dict[str, Any]
"""The options that were given, by argument of `tm.read`."""


def as_written(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options, which it gets as one dict, `written`."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name != "written"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in OPTIONS.items()
    ]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        written = {name: given.pop(name) for name in OPTIONS}
        if written["delimiter"] == r"\t":  # as it is typed in a shell
            written["delimiter"] = "\t"
        command(**given, written=written)

    everything = [*own, *shared]
    with_options.__signature__ = signature.replace(parameters=everything)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in everything}
    return with_options
