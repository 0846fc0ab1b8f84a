"""Ratings, in memory or mapped from elsewhere, written as a folder of mapped halves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tastemix.data.disk import manifest
from tastemix.data.disk.arrays import Growing
from tastemix.data.disk.manifest import IDS, SOURCE_ROWS, TIMESTAMPS, array_name
from tastemix.data.disk.store import SIDES
from tastemix.data.halves import MOST_LEVELS, Codes, Half
from tastemix.data.ids import Ids
from tastemix.data.ratings import Ratings
from tastemix.data.reading import Values
from tastemix.errors import DataError

AT_ONCE = 2**22
"""Ratings that are coded at a time."""


def write(ratings: Ratings, path: str | os.PathLike[str]) -> None:
    """Write ratings as the folder that `tm.ingest` would have made of them."""
    folder = Path(path)
    if (folder / manifest.INDEX).exists():
        raise DataError(f"{folder} holds ratings already: remove it, or choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    levels = _levels(ratings.by_user)
    for side in SIDES:
        write_ids(folder, ratings.ids(side))
        half = ratings.half(side)
        save(folder / array_name(side, "pointers"), half.pointers)
        save(folder / array_name(side, "indices"), half.indices)
        _save_values(folder / array_name(side, "values"), half, levels)
    for name, array in ((TIMESTAMPS, ratings.timestamp), (SOURCE_ROWS, ratings.source_row)):
        if array is not None:
            save(folder / name, array)
    manifest.write(
        folder,
        users=len(ratings.users),
        items=len(ratings.items),
        ratings=len(ratings),
        scale=ratings.scale,
        levels=None if levels is None else levels.tolist(),
        timestamps=ratings.timestamp is not None,
        dated=ratings.dated,
        fingerprint=lambda _: ratings.fingerprint,
    )


def _levels(half: Half) -> Values | None:
    """The levels of these ratings, None if a byte cannot code them."""
    found = np.empty(0, np.float32)
    for part in _parts(half):
        found = np.union1d(found, half.stored[part])
        if levels_of(found) is None:
            return None
    return found


def _save_values(file: Path, half: Half, levels: Values | None) -> None:
    with Growing(file, np.float32 if levels is None else np.uint8, 0) as grown:
        for part in _parts(half):
            values = half.stored[part]
            grown.append(values if levels is None else coded(values, levels))
        grown.finish()


def _parts(half: Half) -> Iterator[slice]:
    count = len(half.stored)
    return (slice(first, first + AT_ONCE) for first in range(0, count, AT_ONCE))


def levels_of(distinct: Values) -> Values | None:
    """The levels that a byte can code, None if there are too many."""
    return distinct if len(distinct) <= MOST_LEVELS else None


def coded(values: Values, levels: Values) -> Codes:
    """The position of each value among the levels."""
    return np.searchsorted(levels, values).astype(np.uint8)


def write_ids(folder: Path, ids: Ids) -> None:
    """Write the ids of one side."""
    side = IDS["users" if ids.what == "user" else "items"]
    pq.write_table(pa.table({"id": ids.values}), folder / side)


def save(file: Path, array: NDArray[Any]) -> None:
    """Write an array as NumPy does."""
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
