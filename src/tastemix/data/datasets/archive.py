"""Bytes out of archives that may be damaged or lie, always with a bound on what is unpacked."""

from __future__ import annotations

import copy
import gzip
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tastemix.errors import DataError

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)
_CHUNK = 1 << 20


def read_member(path: Path, member: str, limit: int) -> bytearray:
    """One member of a zip, unpacked in memory and at most `limit` bytes long.

    Its length and its checksum must be those the archive states. Nothing is written anywhere, so
    what the archive's names look like does not matter.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            try:
                info = copy.copy(archive.getinfo(member))
            except KeyError:
                held = ", ".join(archive.namelist()[:10]) or "nothing"
                raise DataError(f"{path} does not hold {member}, it holds {held}") from None
            stated = info.file_size
            if stated > limit:
                raise DataError(
                    f"{path} states {stated:,} bytes for {member}, more than the {limit:,} "
                    "allowed: it is not the published archive"
                )
            # One byte beyond what is stated: zipfile would quietly stop at the stated length.
            info.file_size = stated + 1
            data = bytearray()
            with archive.open(info) as stream:
                while chunk := stream.read(_CHUNK):
                    data += chunk
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(f"{path} is damaged ({_reason(error)}): download it again") from None
    if len(data) != stated:
        holds = "more" if len(data) > stated else f"{len(data):,}"
        raise DataError(
            f"{path} is damaged: it states {stated:,} bytes for {member} and holds {holds}. "
            "Download it again"
        )
    return data


def gzip_chunks(path: Path, limit: int) -> Iterator[bytes]:
    """A gzip file's content piece by piece, at most `limit` bytes in all."""
    total = 0
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(8 * _CHUNK):
                total += len(chunk)
                if total > limit:
                    raise DataError(
                        f"{path} unpacks to more than the {limit:,} bytes allowed: "
                        "it is not the published file"
                    )
                yield chunk
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is damaged ({_reason(error)}): download it again") from None


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
