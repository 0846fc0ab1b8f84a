"""What a folder of ratings says about itself: `ratings.json`, written last."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tastemix.data.columns import first_line
from tastemix.data.halves import MOST_LEVELS, Side
from tastemix.errors import DataError

INDEX = "ratings.json"
FORMAT = "tastemix-ratings"
VERSION = 1
BLOCK = 16 * 2**20
"""Bytes of a file that have a checksum of their own."""
IDS: dict[Side, str] = {"users": "users.parquet", "items": "items.parquet"}
TIMESTAMPS, SOURCE_ROWS = "timestamps.npy", "source-rows.npy"
MOST_BLOCK = 2**28
"""Bytes that a checksum may be of."""
_MOST_INDEX = 256 * 2**20
_SUM = re.compile(r"[0-9a-f]{64}")


def array_name(side: Side, part: str) -> str:
    """The file of the pointers, the indices or the values of one half."""
    return f"{side}-{part}.npy"


FILES = frozenset((*IDS.values(), TIMESTAMPS, SOURCE_ROWS)) | {
    array_name(side, part) for side in IDS for part in ("pointers", "indices", "values")
}
"""All that a folder may have."""


@dataclass(frozen=True)
class Sealed:
    """The size of a file, and the SHA-256 of each of its blocks."""

    bytes: int
    sha256: list[str]


@dataclass(frozen=True)
class Manifest:
    """What `ratings.json` holds."""

    format: str
    version: int
    users: int
    items: int
    ratings: int
    scale: tuple[float, float]
    levels: list[float] | None
    """The ratings that occur, ascending, if values are codes: positions in this list."""
    timestamps: bool
    dated: bool
    fingerprint: str
    block: int
    files: dict[str, Sealed]
    made_with: dict[str, str]

    @property
    def arrays(self) -> dict[str, tuple[np.dtype[Any], int]]:
        """The type and the length of each array that there is."""
        value = np.dtype(np.uint8 if self.levels is not None else np.float32)
        sizes: tuple[tuple[Side, int], ...] = (("users", self.users), ("items", self.items))
        wanted: dict[str, tuple[np.dtype[Any], int]] = {}
        for side, rows in sizes:
            wanted[array_name(side, "pointers")] = np.dtype(np.int64), rows + 1
            wanted[array_name(side, "indices")] = np.dtype(np.int32), self.ratings
            wanted[array_name(side, "values")] = value, self.ratings
        if self.timestamps:
            wanted[TIMESTAMPS] = wanted[SOURCE_ROWS] = np.dtype(np.int64), self.ratings
        return wanted


def read(folder: Path) -> Manifest:
    """The manifest of a folder of ratings, checked."""
    file = folder / INDEX
    try:
        if not folder.is_dir():
            state = "is a file" if folder.exists() else "does not exist"
            raise DataError(f"{folder} {state}: give a folder that tm.ingest made")
        if not file.is_file():
            raise DataError(
                f"{folder} has no {INDEX}: it is no folder of ratings, or its ingest was not "
                "finished and can be by the same call"
            )
        if file.stat().st_size > _MOST_INDEX:
            raise DataError(f"{file} is too large for what it should be: ingest again")
        about = json.loads(file.read_text("utf-8"))
        return _checked(about, file)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file} cannot be read ({first_line(error)}): ingest again") from None


def write(folder: Path, fingerprint: Callable[[Manifest], str], **about: Any) -> None:
    """Checksum the files of a folder, flush them, and put the manifest that names them in place."""
    made_with = {name: version(name) for name in ("tastemix", "numpy", "pyarrow")}
    said = Manifest(
        format=FORMAT,
        version=VERSION,
        fingerprint="",
        block=BLOCK,
        files={},
        made_with=made_with,
        **about,
    )
    said = replace(said, fingerprint=fingerprint(said))
    for name in (*IDS.values(), *said.arrays):
        said.files[name] = _sealed(folder / name)
    unfinished = folder / f"{INDEX}.tmp"
    with unfinished.open("w", encoding="utf-8") as stream:
        json.dump(asdict(said), stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(folder / INDEX)
    _flush(folder)


def _flush(folder: Path) -> None:
    """Let a loss of power not undo what was renamed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def verify(
    folder: Path, name: str, said: Manifest, first: int = 0, last: int | None = None
) -> None:
    """Refuse a file whose blocks from byte `first` to `last` are not what was written."""
    wanted = said.files[name].sha256
    begin = first // said.block
    end = len(wanted) if last is None else min(len(wanted), -(-last // said.block))
    for number, found in enumerate(_sums(folder / name, said.block, begin, end), begin):
        if found != wanted[number]:
            raise DataError(f"{folder / name} is damaged in block {number}: ingest again")


def _sealed(file: Path) -> Sealed:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
    size = file.stat().st_size
    return Sealed(size, list(_sums(file, BLOCK, 0, -(-size // BLOCK))))


def _sums(file: Path, block: int, begin: int, end: int) -> Iterator[str]:
    with file.open("rb", buffering=0) as stream:
        stream.seek(begin * block)
        for _ in range(begin, end):
            yield hashlib.sha256(stream.read(block)).hexdigest()


def _checked(about: Any, file: Path) -> Manifest:
    """A manifest from JSON that may come from anyone."""
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{file} is not about ratings of tastemix: give a folder of tm.ingest")
    if about.get("version") != VERSION:
        raise DataError(
            f"{file} is of version {about.get('version')!r} and this tastemix reads {VERSION}: "
            "ingest again, or use another version of tastemix"
        )
    about = {**about, "files": {}, **_shape(about)}
    try:
        return Manifest(**about)
    except TypeError:
        raise DataError(f"{file} lacks an entry or has one too many: ingest again") from None


def _shape(about: dict[str, Any]) -> dict[str, Any]:
    """The entries that the rest relies on; ValueError, TypeError or LookupError if one is wrong."""
    try:
        for name in ("users", "items", "ratings", "block"):
            if type(about[name]) is not int or not 0 < about[name] < 2**62:
                raise ValueError(f"its {name} is {about[name]!r}")
        if max(about["users"], about["items"]) >= 2**31:
            raise ValueError("it has more users or items than can be numbered")
        scale, levels = about["scale"], about["levels"]
        if len(scale) != 2 or not all(map(_is_number, scale)):
            raise ValueError(f"its scale is {scale!r}")
        if levels is not None and not (
            0 < len(levels) <= MOST_LEVELS and all(map(_is_number, levels))
        ):
            raise ValueError("its levels are not numbers that a byte can tell apart")
        if not all(isinstance(about[name], bool) for name in ("timestamps", "dated")):
            raise ValueError("its timestamps are told of in another way than by true or false")
        if not _SUM.fullmatch(about["fingerprint"]) or about["block"] > MOST_BLOCK:
            raise ValueError("its fingerprint or its blocks are none")
        if set(about["files"]) - FILES:
            raise ValueError("it names files that are not its own")
        files = {name: Sealed(**said) for name, said in about["files"].items()}
        for name, said in files.items():
            if type(said.bytes) is not int:
                raise ValueError(f"its size of {name!r} is {said.bytes!r}")
            blocks = -(-said.bytes // about["block"])
            if not all(map(_SUM.fullmatch, said.sha256)) or len(said.sha256) != blocks:
                raise ValueError(f"its checksums of {name!r} are none")
    except (TypeError, LookupError, AttributeError):
        raise ValueError("an entry is missing or of another type") from None
    return {"scale": (float(scale[0]), float(scale[1])), "files": files}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 2**127 and math.isfinite(value)
