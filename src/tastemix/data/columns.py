"""What every way of reading columns shares: finding them by name, and how their errors are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from tastemix.errors import ColumnError, DataError, IdError, ParameterError, RatingError

ERRORS = {"user": IdError, "item": IdError, "rating": RatingError, "timestamp": DataError}
"""What is raised for a wrong entry of each column."""
_LISTED = 20
T = TypeVar("T")


class MissingColumnError(ColumnError):
    """There is no column of this name."""

    def __init__(self, message: str, column: str | int = "") -> None:
        super().__init__(message)
        self.column = column


def named(columns: Sequence[T | None]) -> list[T]:
    """The columns that have a name."""
    return [name for name in columns if name is not None]


def positions(
    wanted: Sequence[str | int], present: Sequence[str], options: str = "user=, item= and rating="
) -> list[int]:
    """Where the wanted columns are among those that are there."""
    for at in wanted:
        if isinstance(at, int) and not 0 <= at < len(present):
            raise ColumnError(f"there is no column {at}: the table has {len(present)}, from 0")
    for name in wanted:
        if isinstance(name, int):
            continue
        if list(wanted).count(name) > 1:
            raise ParameterError(f"column {name!r} is named twice: name a different one for each")
        if list(present).count(name) > 1:
            raise ColumnError(
                f"there are {list(present).count(name)} columns named {name!r}: rename all but one"
            )
        if name not in present:
            more = ", …" if len(present) > _LISTED else ""
            raise MissingColumnError(
                f"there is no column {name!r}; the columns are "
                f"{', '.join(map(repr, present[:_LISTED]))}{more}. Name yours with "
                f"{options} (looked for: {', '.join(map(repr, wanted[:3]))})",
                name,
            )
    return [n if isinstance(n, int) else list(present).index(n) for n in wanted]


def validated(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """A column that holds what it says: others' text may be none, their codes may lie outside."""
    for chunk in column.chunks:
        try:
            chunk.validate(full=True)
        except pa.ArrowException as error:
            name = f"{what} ids" if ERRORS[what] is IdError else f"{what}s"
            raise ERRORS[what](
                f"the {name} are damaged or not in UTF-8 ({first_line(error)}): write them again"
            ) from None
    return column


def is_text(kind: pa.DataType) -> bool:
    """Whether Arrow holds text, or bytes that may be text, in this type."""
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    said = str(getattr(error, "strerror", None) or error).strip()
    return (said or type(error).__name__).splitlines()[0]


def is_list(kind: pa.DataType) -> bool:
    """Whether an entry is a list of values."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
