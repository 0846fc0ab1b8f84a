"""Jester dataset 1 as Berkeley publishes it: three zips, each with one .xls of users by jokes."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tastemix.data.datasets.archive import read_member
from tastemix.errors import DataError

JOKES = 100
UNRATED = 99.0
_DAMAGED = (struct.error, AssertionError, IndexError, ValueError)
"""What xlrd lets through of a sheet that is cut or garbled, beside its own errors."""


def ratings(paths: Sequence[Path], *, members: Sequence[str], limit: int = 1 << 26) -> pa.Table:
    """user (the row number over all sheets, from 0), item (the joke, from 1), rating."""
    xlrd = _xlrd()
    sheets = [
        _sheet(xlrd, path, member, read_member(path, member, limit))
        for path, member in zip(paths, members, strict=True)
    ]
    values = np.concatenate(sheets)
    user, joke = np.nonzero(values != UNRATED)
    return pa.table(
        {
            "user": user.astype(np.int32),
            "item": (joke + 1).astype(np.int32),
            "rating": values[user, joke].astype(np.float32),
        }
    )


def _sheet(xlrd: Any, path: Path, member: str, data: bytearray) -> NDArray[np.float64]:
    """The ratings of one sheet, 99 for none; its first column, their number, must agree."""
    try:
        # xlrd prints its warnings unless it is given another place for them.
        with xlrd.open_workbook(file_contents=bytes(data), logfile=io.StringIO()) as book:
            sheet = book.sheet_by_index(0)
            rows = [sheet.row_values(number) for number in range(sheet.nrows)]
            values = np.array(rows, np.float64).reshape(len(rows), -1)
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_DAMAGED) as error:
        raise DataError(f"{member} in {path} cannot be read as .xls: {error}") from None
    if values.shape[1] != JOKES + 1:
        raise DataError(
            f"{member} in {path} has {values.shape[1]} columns, not a count and {JOKES} jokes"
        )
    count, values = values[:, 0], values[:, 1:]
    wrong = np.flatnonzero((values != UNRATED).sum(axis=1) != count)
    if len(wrong):
        raise DataError(
            f"row {wrong[0]} of {member} in {path} states {count[wrong[0]]:g} ratings "
            "but holds another number of them"
        )
    return values


def _xlrd() -> Any:
    try:
        import xlrd
    except ImportError:
        raise DataError(
            "Jester's archives hold .xls files, which xlrd reads: pip install xlrd"
        ) from None
    return xlrd
