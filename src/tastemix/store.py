"""A folder of open files that is replaced as a whole: Parquet tables and the JSON that names them.

Tables are written under names that hold their hash, then `model.json`, which names them, is put in
place in one move. A reader sees the older set or the newer one, never a mixture; what is left of
an older set goes afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tastemix.errors import ModelFileError

INDEX = "model.json"
FORMAT = "tastemix-model"
VERSION = 1
_MOST_INDEX_BYTES = 16 * 2**20
_TABLE_FILE = re.compile(r"[a-z]+-[0-9a-f]{16}\.parquet")


def write(
    folder: str | os.PathLike[str], tables: Mapping[str, pa.Table], about: Mapping[str, Any]
) -> None:
    """Write the tables and what is known about them as the folder's new content."""
    import pyarrow.parquet as pq

    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise ModelFileError(
            f"{home} is a file: give the path of a new folder or of an older model"
        )
    if home.is_dir() and any(home.iterdir()) and not _is_ours(home):
        raise ModelFileError(f"{home} holds other files: give the path of a new folder")
    home.mkdir(parents=True, exist_ok=True)
    entries = {}
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        content = sink.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        entries[name] = {"file": f"{name}-{digest[:16]}.parquet", "sha256": digest}
        _put(home / entries[name]["file"], content)
    index = {"format": FORMAT, "version": VERSION, "tables": entries, **about}
    _put(home / INDEX, json.dumps(index, indent=2, allow_nan=False, default=_plain).encode())
    current = {entry["file"] for entry in entries.values()}
    for path in home.iterdir():
        if path.name not in current and (_TABLE_FILE.fullmatch(path.name) or path.suffix == ".tmp"):
            path.unlink(missing_ok=True)


def read(folder: str | os.PathLike[str]) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables and what is known about them, every byte checked against its sum."""
    import pyarrow.parquet as pq

    home = Path(folder)
    index = _read_index(home)
    tables = {}
    for name, entry in index["tables"].items():
        file = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(file, str) or not _TABLE_FILE.fullmatch(file):
            raise ModelFileError(
                f"{home / INDEX} names {file!r} as its {name}: no such file is ours"
            )
        try:
            content = (home / file).read_bytes()
        except OSError as error:
            raise ModelFileError(f"{home / file} cannot be read: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
            raise ModelFileError(f"{home / file} is damaged: its sum is not the one in {INDEX}")
        try:
            tables[name] = pq.read_table(pa.BufferReader(content))
        except (pa.ArrowException, OSError) as error:
            raise ModelFileError(f"{home / file} is no readable Parquet file: {error}") from None
    return tables, index


def _read_index(home: Path) -> dict[str, Any]:
    try:
        with (home / INDEX).open("rb") as file:
            content = file.read(_MOST_INDEX_BYTES + 1)
    except FileNotFoundError:
        raise ModelFileError(f"{home} is no saved model: it has no {INDEX}") from None
    except OSError as error:
        raise ModelFileError(f"{home / INDEX} cannot be read: {error.strerror}") from None
    if len(content) > _MOST_INDEX_BYTES:
        raise ModelFileError(f"{home / INDEX} is larger than any model's: it is not ours")
    try:
        index = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{home / INDEX} is no JSON: {error}") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise ModelFileError(f"{home / INDEX} does not describe a tastemix model")
    if index.get("version") != VERSION:
        raise ModelFileError(
            f"{home} has format version {index.get('version')!r}, this release reads {VERSION}: "
            "use the release that wrote it or save it again"
        )
    if not isinstance(index.get("tables"), dict):
        raise ModelFileError(f"{home / INDEX} names no tables")
    return index


def _plain(value: Any) -> Any:
    """A NumPy number as JSON knows it."""
    return value.item()


def _is_ours(home: Path) -> bool:
    names = {path.name for path in home.iterdir()}
    return INDEX in names or all(_TABLE_FILE.fullmatch(n) or n.endswith(".tmp") for n in names)


def _put(path: Path, content: Any) -> None:
    """Write beside, flush to the disk, then move into place."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
