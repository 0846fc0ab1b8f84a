"""Dask dataframes, whose parts are on workers: these write them, and the files are ingested."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tastemix.data.columns import first_line, positions
from tastemix.data.ratings import Ratings
from tastemix.errors import DataError, ParameterError

OPTIONS = ("user", "item", "rating", "timestamp", "scale", "duplicates")


def is_frame(table: Any) -> bool:
    """Whether it is a dataframe of Dask, or what behaves like one."""
    return all(hasattr(table, name) for name in ("npartitions", "to_parquet", "columns"))


def written(table: Any, columns: Sequence[str], folder: Path) -> list[Path]:
    """Have these columns written as Parquet, by whoever holds them; the files in their order."""
    at = positions(columns, [str(name) for name in table.columns])
    wanted = table[[table.columns[place] for place in at]]
    try:
        wanted.to_parquet(
            str(folder), write_index=False, name_function=lambda part: f"part-{part:08}.parquet"
        )
    except Exception as error:
        raise DataError(
            f"the dataframe cannot be written as Parquet ({first_line(error)}): give tm.ingest "
            "Parquet or csv files instead"
        ) from None
    files = sorted(folder.glob("part-*.parquet"))
    if len(files) != wanted.npartitions:
        raise DataError(
            f"the workers wrote the dataframe to a folder {folder} that is not seen here: use "
            "tm.ingest(dataframe, to=…) with a folder that all machines see"
        )
    return files


def ingested(table: Any, **options: Any) -> Ratings:
    """Ratings in a temporary folder, which goes when they do."""
    from tastemix.data.disk.ingest import ingest

    for name, value in options.items():
        if name not in OPTIONS or (name == "rating" and value is None):
            raise ParameterError(
                f"{name}={value!r} is not for Dask dataframes: leave it out, or call .compute() on "
                "the dataframe"
            )
    folder = Path(tempfile.mkdtemp(prefix="tastemix-"))
    try:
        ratings = ingest(table, folder / "ratings.tmr", **options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(ratings, shutil.rmtree, folder, ignore_errors=True)
    return ratings
