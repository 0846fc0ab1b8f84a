"""A folder that is replaced as a whole: Parquet tables and the JSON file that names them.

Tables get names that hold their hash, then `model.json`, which names them, is put in place in one
move. A reader sees the older set or the newer one, never a mixture; what is left of
an older set goes afterwards.

Only what is ours may go: a save writes its tables as `tastemix-<hex>.tmp`, and before it names them
lists those that the older index names and its own in another such file. A save removes the files
of such names and the tables they list, less those that the index names by then; a save that is
killed leaves its list to the next one. After a loss of power tables may stay behind for good.

What is read may come from anyone. The sums tell damage, not intent: whoever changes a table can
change its sum too. So only plain files of ours are opened, no column type that runs code to be
read is accepted, and no table may take far more memory than its file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import reprlib
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa

from tastemix.data import memory
from tastemix.errors import ModelFileError
from tastemix.persistence.parquet import from_parquet, reason, to_parquet

INDEX = "model.json"
FORMAT = "tastemix-model"
VERSION = 3
READABLE = (2, 3)
MOST_MISSES = 4
"""Looks at an index whose table is missing: a save may bring the same set back meanwhile."""
MOST_INDEX = 16 * 2**20
"""Bytes of the index."""

_TABLE_FILE = re.compile(r"[a-z]+-[0-9a-f]{16}\.parquet")
_BESIDE_FILE = re.compile(r"tastemix-[0-9a-f]{16}\.tmp")
_SUM = re.compile(r"[0-9a-f]{64}")
# All that Arrow, Python and we ourselves say of a table that is none.
_TABLE_ERRORS = (pa.ArrowException, OSError, ValueError, MemoryError)
About = TypeVar("About")


def write(
    folder: str | os.PathLike[str], tables: Mapping[str, pa.Table], about: Mapping[str, Any]
) -> None:
    """Write the tables and what is known about them as the folder's new content."""
    home = _path(folder)
    entries: dict[str, Any] = {}
    index = {"format": FORMAT, "version": VERSION, "tables": entries, **about}
    _to_json(index)  # What cannot be described is refused before a folder is made.
    with _made(home), _alone_in(home) as handle:
        ours, made = _ours_in(home), {}
        try:
            for name, table in tables.items():
                beside, digest = _table_beside(home, table, name)
                entries[name] = {"file": _file_name(name, digest), "sha256": digest}
                made[entries[name]["file"]] = beside
            _beside(home, _to_json({"format": FORMAT, "files": [*ours, *made]}))
            for file, beside in made.items():
                os.replace(beside, home / file)
            beside = _beside(home, _to_json(index))
            os.fsync(handle)
            os.replace(beside, home / INDEX)
            os.fsync(handle)
        finally:
            with suppress(OSError, ModelFileError):  # What is left is the next save's.
                _sweep(home)


def check(folder: str | os.PathLike[str]) -> None:
    """Raise the error that `write` would for this folder; what is there stays as it is."""
    home = _path(folder)
    with _made(home, keep=False), _alone_in(home):
        _ours_in(home)
        _beside(home, b"").unlink()


def read(
    folder: str | os.PathLike[str],
    names: Collection[str],
    understand: Callable[[dict[str, Any]], About],
    max_memory: int | None = None,
) -> tuple[dict[str, pa.Table], About, int]:
    """Those of the named tables that are there, what is known about them, and their size on disk.

    What is known is what `understand` makes of the index, which it refuses before a table is read.
    max_memory: bytes that the tables may take together; None: each of them by its size.
    """
    home = _path(folder)
    index, misses = _read_index(home), 0
    while True:
        about = understand(index)
        try:
            tables, size, left = {}, 0, max_memory
            for name in [name for name in index["tables"] if name in names]:
                tables[name], stored = _read_table(home, name, index["tables"][name], left)
                size += stored
                left = left and max(left - tables[name].get_total_buffer_size(), 1)
        except FileNotFoundError as error:
            newer = _read_index(home)
            misses = misses + 1 if newer == index else 0
            if misses == MOST_MISSES:
                raise ModelFileError(
                    f"{error.filename} is missing: copy the whole folder of the model"
                ) from None
            index = newer  # A save came between, and took the older tables away.
        else:
            return tables, about, size


def _path(folder: Any) -> Path:
    try:
        return Path(folder)
    except TypeError:
        raise ModelFileError(
            f"a {type(folder).__name__} is not a path: give the path of a model's folder as text"
        ) from None


def _read_index(home: Path) -> dict[str, Any]:
    """The index of a model of this version."""
    path = home / INDEX
    try:
        index = _parsed(path)
    except FileNotFoundError:
        raise ModelFileError(f"{home} is not a saved model: it has no {INDEX}") from None
    except NotADirectoryError:
        raise ModelFileError(f"{home} is a file: a saved model is a folder") from None
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {reason(error)}") from None
    version = index.get("version")
    if type(version) is not int or version not in READABLE:
        raise ModelFileError(
            f"{home} has format version {reprlib.repr(version)}, but this release reads "
            f"{READABLE[0]} to {VERSION}: use the release that wrote it, or fit a new model"
        )
    if not isinstance(index.get("tables"), dict):
        raise ModelFileError(f"{path} names no tables")
    return index


def _parsed(path: Path) -> dict[str, Any]:
    """The index of a model of any version."""
    with _open(path) as file:
        content = file.read(MOST_INDEX + 1)
    if len(content) > MOST_INDEX:
        raise ModelFileError(f"{path} is too large to describe a tastemix model")
    try:
        index = json.loads(
            content.decode(),
            object_pairs_hook=_without_repeats,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not valid JSON: {reason(error)}") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise ModelFileError(f"{path} does not describe a tastemix model")
    return index


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name is given twice")
    return record


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{reprlib.repr(text)} is not a finite number")
    return value


def _to_json(index: Mapping[str, Any]) -> bytes:
    try:
        content = json.dumps(index, indent=2, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the model cannot be described in JSON: {reason(error)}") from None
    if len(content) > MOST_INDEX:
        raise ModelFileError(
            f"the description of the model has {len(content):,} bytes, more than the "
            f"{MOST_INDEX:,} that can be read: shorten its parameters or its history"
        )
    return content


def _plain(value: Any) -> Any:
    """What NumPy has as Python has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"it contains a {type(value).__name__}")


def _read_table(home: Path, name: str, entry: Any, max_memory: int | None) -> tuple[pa.Table, int]:
    """A table that the index names, every byte checked against its sum, and its size on disk."""
    entry = entry if isinstance(entry, dict) else {}
    file, digest = entry.get("file"), str(entry.get("sha256"))
    if not _SUM.fullmatch(digest) or file != _file_name(name, digest):
        raise ModelFileError(
            f"{home / INDEX} names {reprlib.repr(file)} as its {name}: the name is not valid"
        )
    path = home / file
    try:
        with _open(path) as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != digest:
                raise ModelFileError(f"{path} is damaged: its SHA-256 is not the one in {INDEX}")
            size = content.seek(0, os.SEEK_END)
            return from_parquet(content, memory.most(max_memory, size)), size
    except (FileNotFoundError, ModelFileError):
        raise
    except _TABLE_ERRORS as error:
        raise ModelFileError(f"{path} cannot be read as a table: {reason(error)}") from None


def _file_name(table: str, digest: str) -> str:
    return f"{table}-{digest[:16]}.parquet"


def _open(path: Path) -> BufferedReader:
    """A plain file to read: no link to elsewhere, and no pipe to wait at."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ModelFileError(
            f"{path} is not a regular file: copy the files of the model themselves"
        )
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


@contextmanager
def _made(home: Path, keep: bool = True) -> Iterator[None]:
    """The folder, made if it is not there; what was made goes if this fails, or is not kept."""
    new: list[Path] = []
    try:
        new += [path for path in (home, *home.parents) if not path.exists()]
        home.mkdir(parents=True, exist_ok=True)
        yield
        if keep:
            new.clear()
    except ModelFileError:
        raise
    except FileExistsError:
        raise ModelFileError(
            f"{home} is a file: give the path of a new folder or of a saved model"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"{home} cannot be written ({reason(error)}): fix that or save to another folder"
        ) from None
    finally:
        for path in new:
            with suppress(OSError, ValueError):  # Something is in it, or it was not made.
                path.rmdir()


@contextmanager
def _alone_in(folder: Path) -> Iterator[int]:
    """One save at a time; a lock goes with the process that holds it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # Some file systems know no locks.
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        with suppress(OSError):  # Closing it is not enough if there was a fork meanwhile.
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _ours_in(home: Path) -> set[str]:
    """The tables of the model in a folder, which must be one of ours, or else nothing of others."""
    names = {path.name for path in home.iterdir()}
    if INDEX in names:
        with suppress(ModelFileError):
            return _files(_parsed(home / INDEX))
    elif not names - _listed(home):
        return set()
    raise ModelFileError(f"{home} contains other files: give the path of a new folder")


def _listed(home: Path) -> set[str]:
    """The lists and other files that saves have left under names of ours, and what they list."""
    lists = [path for path in home.iterdir() if _BESIDE_FILE.fullmatch(path.name)]
    files = {path.name for path in lists}
    for path in lists:
        with suppress(ModelFileError):  # It is a table, or was never finished.
            files |= _files(_parsed(path))
    return files


def _files(index: Mapping[str, Any]) -> set[str]:
    """The tables that an index, or a save's list, names."""
    tables, listed = index.get("tables"), index.get("files")
    entries = tables.values() if isinstance(tables, dict) else ()
    files = [entry.get("file") for entry in entries if isinstance(entry, dict)]
    files += listed if isinstance(listed, list) else []
    return {file for file in files if isinstance(file, str) and _TABLE_FILE.fullmatch(file)}


@contextmanager
def _new(home: Path) -> Iterator[IO[bytes]]:
    """A new file in the folder that no one looks for, on the disk when this ends."""
    with (home / f"tastemix-{secrets.token_hex(8)}.tmp").open("x+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _beside(home: Path, content: bytes) -> Path:
    """Such a file of this content."""
    with _new(home) as file:
        file.write(content)
    return Path(file.name)


def _table_beside(home: Path, table: pa.Table, name: str) -> tuple[Path, str]:
    """Such a file of a table, and its SHA-256."""
    with _new(home) as file:
        to_parquet(table, name, file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return Path(file.name), digest


def _sweep(home: Path) -> None:
    """Remove what saves have left, the lists last."""
    left = _listed(home)
    with suppress(FileNotFoundError):
        left -= _files(_parsed(home / INDEX))
    for file in sorted(left, key=lambda name: bool(_BESIDE_FILE.fullmatch(name))):
        (home / file).unlink(missing_ok=True)
