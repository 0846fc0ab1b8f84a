"""Files over http: resumed where they broke off, checked, and only then put in their place."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tastemix.data.datasets.catalogue import File
from tastemix.errors import DataError

OnProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes there are and, where known, the bytes there will be."""

ATTEMPTS = 3
TIMEOUT = 30.0
LARGEST = 1 << 31
_CHUNK = 1 << 18


class _BrokenError(Exception):
    """The other side failed; what came so far is kept."""


@contextmanager
def fetched(file: File, folder: Path, on_progress: OnProgress | None = None) -> Iterator[Path]:
    """The file, downloaded to `folder`.

    With a known sha256 it is in its place before the caller sees it. Without one the caller sees
    `<name>.part`: it is put in its place when the caller's block ends well, and removed when the
    block raises a DataError. A broken transfer leaves the part, and the next one resumes it.
    """
    place, part = folder / file.name, folder / f"{file.name}.part"
    with _alone(part):
        with _writing(part), _shown(on_progress) as report:
            _download(file, part, report)
        try:
            check(file, part)
            if file.sha256 is not None:
                _put(part, place)
            yield place if file.sha256 is not None else part
        except DataError:
            part.unlink(missing_ok=True)
            raise
        if file.sha256 is None:
            _put(part, place)


def _put(part: Path, place: Path) -> None:
    with _writing(place):
        os.replace(part, place)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}): "
            "set TASTEMIX_CACHE to a writable folder"
        ) from None


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Hold the part against other processes, if the file system has locks; leave no empty one."""
    with _writing(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        held = part.open("ab")
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"another process is downloading {part.stem}: try again when it is done"
            ) from None
        except OSError:
            pass  # a file system without locks
        try:
            yield
        finally:
            if part.exists() and part.stat().st_size == 0:
                part.unlink()


def check(file: File, path: Path) -> None:
    """Refuse a file whose sha256 is not the known one."""
    if file.sha256 is None:
        return
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != file.sha256:
        raise DataError(
            f"{path} is not the published {file.name}: its sha256 is {found}, "
            f"expected {file.sha256}. Delete it and download it again"
        )


def _download(file: File, part: Path, report: OnProgress) -> None:
    """All of the file into `part`, from the first address that gives it."""
    failures = []
    for address in file.addresses:
        for attempt in range(ATTEMPTS):
            before = part.stat().st_size
            try:
                _transfer(file, address, part, report)
                return
            except _BrokenError as error:
                reason = f"{address}: {error}"
            if part.stat().st_size <= before or attempt == ATTEMPTS - 1:
                break
        failures.append(reason)
    kept = part.stat().st_size
    resume = f"; {kept:,} bytes are kept: rerun to resume" if kept else ""
    raise DataError(
        f"{file.name} cannot be downloaded ({', '.join(failures)}){resume}. "
        f"Or download it by other means and put it in {part.parent}, "
        "or set TASTEMIX_DATA to the folder that holds it"
    )


def _transfer(file: File, address: str, part: Path, report: OnProgress) -> None:
    """Append to `part` what it lacks."""
    limit = file.size or LARGEST
    have = part.stat().st_size
    if have == file.size:
        return
    response = _opened(address, have if have < limit else 0)
    if response is None:
        return
    with response, part.open("r+b") as stream:
        done, total = _extent(response)
        stream.seek(done)
        stream.truncate()
        report(file.name, done, total or file.size)
        while chunk := _piece(response):
            done += len(chunk)
            if done > limit:
                stream.truncate(0)
                raise DataError(
                    f"{address} sends more than the {limit:,} bytes expected of {file.name}: "
                    "it is not the published file"
                )
            stream.write(chunk)
            report(file.name, done, total or file.size)
    if total is not None and done < total:
        raise _BrokenError(f"the connection broke off after {done:,} of {total:,} bytes")


def _opened(address: str, start: int) -> Any:
    """The response to a request for the bytes from `start` on, None if there are none."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "tastemix", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        return urlopen(Request(address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        with error:
            if error.code != 416 or not start:
                raise _BrokenError(f"HTTP {error.code} {error.reason}") from None
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return None
        return _opened(address, 0)  # the part is longer than the file: it is of another one
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(str(getattr(error, "reason", error)) or type(error).__name__) from None


def _extent(response: Any) -> tuple[int, int | None]:
    """Where the answer begins in the file, and the file's length where the server tells it."""
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers["Content-Range"] or "")
        if found is None:
            raise _BrokenError("the server does not say which part of the file it sends")
        return int(found[1]), None if found[2] == "*" else int(found[2])
    return 0, response.length


def _piece(response: Any) -> bytes:
    try:
        piece: bytes = response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(str(error) or type(error).__name__) from None
    return piece


@contextmanager
def _shown(on_progress: OnProgress | None) -> Iterator[OnProgress]:
    """The caller's own function, or a bar on a terminal's stderr."""
    if on_progress is not None:
        yield on_progress
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        *(BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def update(name: str, done: int, total: int | None) -> None:
            bar.update(task, description=name, completed=done, total=total)

        yield update
