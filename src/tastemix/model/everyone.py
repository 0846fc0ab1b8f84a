"""Recommendations for everyone, some users at a time, here or by many machines."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from tastemix.engine.base import Engine
from tastemix.engine.spreading import Spreading
from tastemix.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from tastemix.model.model import Model

ROWS = 1 << 17
"""Recommendations made at a time, which bounds the working memory."""
MOST_USERS = 4096
PART_ROWS = 1 << 20
"""Recommendations in a part of what is written."""


def users_at_once(n: int) -> int:
    """The users whose lists are made at a time."""
    return max(1, min(ROWS // n, MOST_USERS))


def recommended(model: Model, n: int) -> pa.RecordBatchReader:
    """See Model.recommend_all."""
    return _of(model, n, 0, len(model.users.ids))


def _of(model: Model, n: int, first: int, last: int) -> pa.RecordBatchReader:
    """The recommendations of neighbouring users."""
    ids, at_once = model.users.ids, users_at_once(n)
    schema = model.recommend(ids.values[:1], n).schema

    def batches() -> Iterator[pa.RecordBatch]:
        for begin in range(first, last, at_once):
            numbers = np.arange(begin, min(begin + at_once, last), dtype=np.int32)
            yield from model.recommend(ids.take(numbers), n).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


class Part(NamedTuple):
    """A file of recommendations, of neighbouring users."""

    file: Path
    n: int
    first: int
    last: int


def write(model: Model, folder: Path, n: int, where: Engine) -> None:
    """Write everyone's recommendations as a folder of Parquet files, each of neighbouring users."""
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be made ({error.strerror}): give a folder that is not there yet"
        ) from None
    users, size = len(model.users.ids), max(1, PART_ROWS // n)
    parts = [
        Part(folder / f"part-{number:05}.parquet", n, first, min(first + size, users))
        for number, first in enumerate(range(0, users, size))
    ]
    saved = folder / "_model"
    try:
        if isinstance(where, Spreading):
            model.save(saved)
            where.spread(_load, saved, write_part, parts)
        else:
            for part in parts:
                write_part(model, part)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(saved, ignore_errors=True)
    for begun in folder.glob(".part-*"):  # by workers that were lost
        begun.unlink(missing_ok=True)


def _load(saved: Path) -> Model:
    """The model, on another machine."""
    import tastemix

    try:
        return tastemix.load(saved)
    except ModelFileError as error:
        raise DataError(
            f"a worker cannot read what was written to {saved.parent} ({error}): give a folder "
            "that all machines see"
        ) from None


def write_part(model: Model, part: Part) -> None:
    """One of them, complete or not there at all."""
    from pyarrow import parquet

    reader = _of(model, part.n, part.first, part.last)
    beside = part.file.with_name(f".{part.file.name}-{secrets.token_hex(8)}")
    with parquet.ParquetWriter(beside, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    beside.replace(part.file)
