"""Methods and ratings by what is typed on the command line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tastemix import methods
from tastemix.data.ratings import Duplicates, Ratings, read
from tastemix.errors import ParameterError
from tastemix.methods.anmf import ANMF

METHODS = {
    method.__name__.lower(): method
    for method in (
        *(methods.NMF, methods.RNMF, methods.PR, methods.PRD, methods.MIXR, methods.MIXD),
        *(methods.PSVD, methods.SSVD, methods.Random, methods.Popular, methods.Baseline, ANMF),
    )
}
DEFAULT_RANK = 10

File = Annotated[Path, typer.Argument(help="A csv or parquet file of ratings.")]
User = Annotated[str, typer.Option("--user", help="Column of user ids.")]
Item = Annotated[str, typer.Option("--item", help="Column of item ids.")]
Rating = Annotated[str, typer.Option("--rating", help="Column of ratings.")]
ScaleOption = Annotated[
    tuple[float, float] | None,
    typer.Option("--scale", help="Lowest and highest rating (default: found in the data)."),
]
DuplicatesOption = Annotated[
    str, typer.Option("--duplicates", help="The same user and item twice: refuse, last or mean.")
]


def method(name: str, **given: Any) -> Any:
    """The method of that name with the options that were given."""
    if name.lower() not in METHODS:
        raise ParameterError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    chosen = METHODS[name.lower()]
    takes = {field.name for field in fields(chosen)}
    options = {key: value for key, value in given.items() if value is not None}
    for key in options.keys() - takes:
        raise ParameterError(
            f"--{_dashed(key)} does not apply to {name}: it takes "
            f"{', '.join('--' + _dashed(option) for option in sorted(takes)) or 'no options'}"
        )
    if "rank" in takes and chosen is not ANMF:
        options.setdefault("rank", DEFAULT_RANK)
    return chosen(**options)


def table(
    path: Path, user: str, item: str, rating: str, scale: Any, duplicates: str, **options: Any
) -> Ratings:
    """The ratings of a file; what is wrong with it is told by `read`."""
    keep = cast(Duplicates, duplicates)
    return read(path, user, item, rating, scale=scale, duplicates=keep, **options)


def _dashed(name: str) -> str:
    return name.replace("_", "-")
