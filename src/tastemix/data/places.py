"""Where files are: one, a folder of parts, or elsewhere, from where they are copied first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from tastemix.data.columns import first_line
from tastemix.errors import DataError

REMOTE = "://"
HIDDEN = (".", "_")
"""What the names of files begin with that are no parts, such as _SUCCESS."""


def is_store(path: Any) -> bool:
    """Whether this is a folder that `tm.ingest` made."""
    return isinstance(path, str | os.PathLike) and os.path.isfile(Path(path) / "ratings.json")


@contextmanager
def files(path: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """The files of a path on this machine: itself, or the parquet parts of a folder, by name."""
    if not isinstance(path, str | os.PathLike) or isinstance(name := os.fspath(path), bytes):
        raise DataError(f"a {type(path).__name__} is not a path: pass tables to Ratings.from_table")
    if REMOTE not in name:
        yield _parts(Path(name))
        return
    with TemporaryDirectory(prefix="tastemix-") as folder:
        yield _parts(_copied(name, Path(folder)))


def _parts(path: Path) -> list[Path]:
    if not os.path.isdir(path):
        if not os.path.isfile(path):
            state = "is no plain file" if os.path.lexists(path) else "does not exist"
            raise DataError(f"{path} {state}: give the path of a csv or parquet file")
        return [path]
    found = sorted(
        part
        for part in path.rglob("*.parquet")
        if not any(name.startswith(HIDDEN) for name in part.relative_to(path).parts)
    )
    if not found:
        raise DataError(
            f"{path} is a folder without parquet parts: give the path of a csv or parquet file"
        )
    return found


def _copied(uri: str, folder: Path) -> Path:
    """What is at an address, copied into a folder by the file systems of Arrow or fsspec."""
    from pyarrow import fs

    try:
        system, inner = _system(uri)
        if isinstance(system, fs.LocalFileSystem):
            return Path(inner)
        there = folder / (PurePosixPath(inner).name or "copy")
        kind = system.get_file_info(inner).type
        if kind == fs.FileType.NotFound:
            raise DataError(f"{uri} does not exist: give the address of a csv or parquet file")
        if kind == fs.FileType.Directory:
            there.mkdir()
        fs.copy_files(
            inner, str(there), source_filesystem=system, destination_filesystem=fs.LocalFileSystem()
        )
    except DataError:
        raise
    except Exception as error:  # whatever a file system of another's raises
        raise DataError(
            f"{uri} cannot be copied ({first_line(error)}): "
            "check the address and your access, or copy it here yourself"
        ) from None
    return there


def opened(where: str) -> tuple[Any, str]:
    """The file system of a path or an address, and the path in it."""
    from pyarrow import fs

    if REMOTE not in where:
        return fs.LocalFileSystem(), os.path.abspath(where)
    try:
        return _system(where)
    except DataError:
        raise
    except Exception as error:  # whatever a file system of another's raises
        raise DataError(
            f"{where} cannot be opened ({first_line(error)}): check the address and your access"
        ) from None


def _system(uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    try:
        system, inner = fs.FileSystem.from_uri(uri)
    except pa.ArrowInvalid:
        try:
            import fsspec
        except ModuleNotFoundError:
            raise DataError(
                f"{uri} is at a place that pyarrow does not know: pip install fsspec"
            ) from None
        known, inner = fsspec.core.url_to_fs(uri)
        return fs.PyFileSystem(fs.FSSpecHandler(known)), inner
    return system, inner
