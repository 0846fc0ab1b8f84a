"""Methods and ratings by what is typed on the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from tastemix import methods
from tastemix.cli.console import warn
from tastemix.data.columns import MissingColumnError
from tastemix.data.items import Items
from tastemix.data.plays import as_plays
from tastemix.data.ratings import Duplicates, Ratings, read
from tastemix.data.reading_items import read_items
from tastemix.engine import ENGINES
from tastemix.errors import DataError, ParameterError
from tastemix.methods.recipe import Tunable
from tastemix.model.model import Model

METHODS = {
    method.__name__.lower(): method
    for method in (
        *(methods.NMF, methods.RNMF, methods.PR, methods.PRD, methods.MIXR, methods.MIXD),
        *(methods.PSVD, methods.SSVD, methods.Random, methods.Popular, methods.Baseline),
        *(methods.ANMF, methods.CNMF, methods.Implicit, methods.Neighbours),
    )
}
DEFAULT_RANK = 10

Saved = Annotated[Path, typer.Argument(help="Folder of a model saved by train.")]
File = Annotated[
    str,
    typer.Argument(
        help="CSV or Parquet file with one rating per row, a folder of Parquet files, or the "
        "address of one, such as s3://bucket/ratings.csv."
    ),
]
User = Annotated[
    str, typer.Option("--user", help="Column of the user ids: its name, or its number from 0.")
]
Item = Annotated[str, typer.Option("--item", help="Column of the item ids, likewise.")]
Rating = Annotated[str, typer.Option("--rating", help="Column of the ratings, likewise.")]
ScaleOption = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--scale", help="Lowest and highest possible rating (default: the range in the file)."
    ),
]
DuplicatesOption = Annotated[
    str,
    typer.Option(
        "--duplicates",
        help="What to do if a user rated an item more than once: refuse, or keep the last, "
        "mean, sum or count.",
        autocompletion=lambda: list(get_args(Duplicates)),
    ),
]
ItemsFile = Annotated[
    Path | None,
    typer.Option(
        "--items",
        help="CSV or Parquet file of titles, and of attributes to name tastes by such as genres "
        "(separated by |). Item ids are in its first column, titles in the one named title or "
        "name.",
    ),
]
ItemsId = Annotated[
    str | None, typer.Option("--items-id", help="Column of the ids in the file of --items.")
]
ItemsTitle = Annotated[
    str | None, typer.Option("--items-title", help="Column of the titles in the file of --items.")
]
MissingOption = Annotated[
    float | None,
    typer.Option("--missing", help="A rating that means that there is none, such as 0."),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help=f"Where to fit: {' or '.join(ENGINES)} (default: TASTEMIX_ENGINE, or cpu).",
        autocompletion=lambda: list(ENGINES),
    ),
]
_KEYWORD = re.compile(
    r"\b(user|item|rating|timestamp|scale|duplicates|missing|feedback"
    r"|delimiter|encoding|quote|decimal|header|ids)"
    r"=(?:['\"]([\w.,]*)['\"]|([0-9]+)|\((-?[0-9.e+-]+), (-?[0-9.e+-]+)\))?"
)


_ITEMS_KEYWORD = re.compile(r"\b(id|title)=")


def method(name: str, default_rank: int = DEFAULT_RANK, **given: Any) -> Any:
    """The method of that name with the options that were given; a rank if it needs one."""
    takes = options_of(name)
    options = {key: value for key, value in given.items() if value is not None}
    for key in options.keys() - takes.keys():
        raise ParameterError(
            f"--{_dashed(key)} does not apply to {name}: it takes "
            f"{', '.join('--' + _dashed(option) for option in sorted(takes)) or 'no options'}"
        )
    if takes.get("rank") is MISSING:
        options.setdefault("rank", default_rank)
    return METHODS[name.lower()](**options)


def options_of(name: str) -> dict[str, Any]:
    """The options of the method of that name and their defaults."""
    if name.lower() not in METHODS:
        raise ParameterError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    return {field.name: field.default for field in fields(METHODS[name.lower()])}


def tuned(method: Any, ratings: Ratings) -> Any:
    """The method with settings that suit these ratings, if it knows any."""
    return method.tuned_for(ratings) if isinstance(method, Tunable) else method


def label(method: Any) -> str:
    """A method and those of its options that are not the default."""
    defaults = {field.name: field.default for field in fields(method)}
    other = [f"{key}={value}" for key, value in vars(method).items() if value != defaults[key]]
    return f"{type(method).__name__}({', '.join(other)})"


def table(
    path: Path | str,
    user: str,
    item: str,
    rating: str,
    scale: Any,
    duplicates: str,
    **options: Any,
) -> Ratings:
    """The ratings of a file; what is wrong with it is told by `read`, in terms of options."""
    keep = cast(Duplicates, duplicates)
    with in_options():
        who, what, stars = map(column, (user, item, rating))
        return read(path, who, what, stars, scale=scale, duplicates=keep, **options)


def rated(path: str, *columns: Any, **options: Any) -> Ratings:
    """The ratings of a file that a model is fitted to, which may turn out to be plays."""
    try:
        return table(path, *columns, **options)
    except MissingColumnError as error:
        if error.column != "rating":
            raise
        way = "if every row is a play or a click, give --feedback implicit"
        raise MissingColumnError(f"{error}; {way}", error.column) from None


def plays(
    path: str,
    user: str,
    item: str,
    rating: str,
    scale: Any,
    duplicates: str,
    **options: Any,
) -> Ratings:
    """The plays or clicks of a file; without a column of ratings every row is one."""
    with in_options():
        return as_plays(
            path,
            user=column(user),
            item=column(item),
            rating=None if rating == "rating" else column(rating),
            scale=scale,
            duplicates=None if duplicates == "refuse" else duplicates,
            **options,
        )


def table_for(
    model: Model, path: str, user: str, item: str, rating: str, duplicates: str, **options: Any
) -> Ratings:
    """The ratings of a file on the scale of a model; or plays, if that is what it was fitted to."""
    if model.implicit:
        return plays(path, user, item, rating, None, duplicates, **options)
    return table(path, user, item, rating, model.scale, duplicates, **options)


@contextmanager
def in_options() -> Iterator[None]:
    """Errors and warnings that name arguments name the options of a command instead."""
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            yield
    except DataError as error:
        told = with_options(str(error))
        if isinstance(error, MissingColumnError):
            raise MissingColumnError(told, error.column) from error
        raise type(error)(told) from error
    for warning in noted:
        warn(with_options(str(warning.message)))


def with_options(text: str) -> str:
    """A text that names arguments, with the options of a command in their place."""
    return _KEYWORD.sub(_as_option, text)


def items(path: Path | None, id: str | None = None, title: str | None = None) -> Items | None:
    """The titles and attributes of a file; what is wrong with it is told in terms of options."""
    if path is None:
        if id or title:
            raise ParameterError("--items-id and --items-title name columns: give --items, too")
        return None
    with in_item_options():
        return read_items(path, id, title)


@contextmanager
def in_item_options() -> Iterator[None]:
    """Errors about a file of items name the options of a command."""
    try:
        yield
    except DataError as error:
        raise type(error)(_ITEMS_KEYWORD.sub(r"--items-\1", str(error))) from error


def column(typed: str) -> str | int:
    """A column by its name, or by its number from 0."""
    return int(typed) if typed.isdecimal() else typed


def _as_option(keyword: re.Match[str]) -> str:
    name, text, number, *ends = keyword.groups()
    value = " ".join(filter(None, ends)) or number if text is None else text or "''"
    return f"--{name} {value}" if value else f"--{name}"


def method_names(typed: str) -> list[str]:
    """The names of methods that start with what was typed, for the shell to complete."""
    return [name for name in (*METHODS,) if name.startswith(typed.lower())]


def several_names(typed: str) -> list[str]:
    """The same for the last of several names with commas between them."""
    *before, last = typed.split(",")
    return [",".join([*before, name]) for name in method_names(last) if name not in before]


def _dashed(name: str) -> str:
    return name.replace("_", "-")
