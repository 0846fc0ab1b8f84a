"""Everyone's recommendations as a folder of Parquet files, written here or by many machines."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from pyarrow import fs, parquet

from tastemix.data.columns import first_line
from tastemix.data.places import REMOTE, opened
from tastemix.engine.base import Engine
from tastemix.engine.spreading import Spreading
from tastemix.errors import DataError, ModelFileError, TastemixError
from tastemix.model.everyone import recommended

if TYPE_CHECKING:
    from tastemix.model.model import Model

PART_ROWS = 1 << 20
"""Recommendations in a part of what is written."""
MODEL = "_model"
"""What the model is called in the folder, while machines need it."""


class Part(NamedTuple):
    """A file of recommendations, of neighbouring users."""

    folder: str
    """A path or an address."""
    name: str
    n: int
    first: int
    last: int


def write(model: Model, folder: str, n: int, where: Engine) -> None:
    """Write everyone's recommendations as a folder of Parquet files, each of neighbouring users."""
    system, path = _made(folder)
    there = path if isinstance(system, fs.LocalFileSystem) else folder
    users, size = len(model.users.ids), max(1, PART_ROWS // n)
    parts = [
        Part(there, f"part-{number:05}.parquet", n, first, min(first + size, users))
        for number, first in enumerate(range(0, users, size))
    ]
    try:
        if isinstance(where, Spreading):
            _send(model, system, path)
            where.spread(_load, there, write_part, parts)
        else:
            for part in parts:
                write_part(model, part)
    except BaseException as error:
        with suppress(Exception):
            system.delete_dir(path)
        own = isinstance(error, OSError) or (REMOTE in there and isinstance(error, Exception))
        if not own or isinstance(error, TastemixError):
            raise
        raise DataError(
            f"{folder} cannot be written ({first_line(error)}): make room there, or give another "
            "folder"
        ) from None
    with suppress(Exception):  # all is written: what machines needed may stay
        _clear(system, path)


def _made(folder: str) -> tuple[Any, str]:
    """The file system and the path of a new folder."""
    try:
        system, path = opened(folder)
        if isinstance(system, fs.LocalFileSystem):
            os.makedirs(path)
        elif system.get_file_info(path).type != fs.FileType.NotFound:
            raise FileExistsError("it is there already")
        else:
            system.create_dir(path, recursive=True)
    except (OSError, ValueError, NotImplementedError) as error:
        said = getattr(error, "strerror", None) or first_line(error)
        raise DataError(
            f"{folder} cannot be made ({said}): give a folder that is not there yet, or an address "
            "such as s3://bucket/lists"
        ) from None
    return system, path


def _send(model: Model, system: Any, path: str) -> None:
    """Put the model where all machines find it."""
    if isinstance(system, fs.LocalFileSystem):
        model.save(f"{path}/{MODEL}")
        return
    with TemporaryDirectory(prefix="tastemix-") as here:
        try:
            model.save(f"{here}/{MODEL}")
        except OSError as error:
            raise DataError(
                f"{here} cannot be written ({first_line(error)}): make room there, or set TMPDIR"
            ) from None
        system.create_dir(f"{path}/{MODEL}")
        fs.copy_files(
            f"{here}/{MODEL}",
            f"{path}/{MODEL}",
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=system,
        )


def _load(folder: str) -> Model:
    """The model, on another machine."""
    import tastemix

    try:
        system, path = opened(folder)
        if isinstance(system, fs.LocalFileSystem):
            return tastemix.load(f"{path}/{MODEL}")
        with TemporaryDirectory(prefix="tastemix-") as here:
            fs.copy_files(
                f"{path}/{MODEL}",
                here,
                source_filesystem=system,
                destination_filesystem=fs.LocalFileSystem(),
            )
            return tastemix.load(here)
    except (ModelFileError, OSError) as error:
        raise DataError(
            f"a worker cannot read what was written to {folder} ({first_line(error)}): give a "
            "folder that all machines see, or an address"
        ) from None


def write_part(model: Model, part: Part) -> None:
    """One of them, complete or not there at all."""
    reader = recommended(model, part.n, part.first, part.last)
    system, path = opened(part.folder)
    beside = f"{path}/.{part.name}-{secrets.token_hex(8)}"
    with parquet.ParquetWriter(beside, reader.schema, filesystem=system) as writer:
        for batch in reader:
            writer.write_batch(batch)
    system.move(beside, f"{path}/{part.name}")


def _clear(system: Any, path: str) -> None:
    """Remove the model, and what workers had begun that were lost."""
    if system.get_file_info(f"{path}/{MODEL}").type != fs.FileType.NotFound:
        system.delete_dir(f"{path}/{MODEL}")
    for file in system.get_file_info(fs.FileSelector(path)):
        if file.base_name.startswith(".part-"):
            system.delete_file(file.path)
