"""Where data sets are looked for, and how they become ratings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tastemix.data.datasets import catalogue
from tastemix.data.datasets.catalogue import Dataset, Source
from tastemix.data.datasets.download import OnProgress, check, fetched
from tastemix.data.ratings import Ratings
from tastemix.errors import DataError

Folder = str | os.PathLike[str]


@dataclass(frozen=True)
class Status:
    """A data set and the files it would be read from; none: it would be downloaded."""

    dataset: Dataset
    source: Source | None
    paths: tuple[Path, ...]

    @property
    def found(self) -> bool:
        """Whether it can be read without a download."""
        return self.source is not None

    def __str__(self) -> str:
        if self.source is None:
            wanted = [file for file in _published(self.dataset.sources).files if file.addresses]
            return f"not found; load downloads {', '.join(file.addresses[0] for file in wanted)}"
        note = f" ({self.source.note})" if self.source.note else ""
        return ", ".join(map(str, self.paths)) + note


def load(
    name: str | Dataset,
    *,
    prepared: bool = False,
    folder: Folder | None = None,
    download: bool = True,
    progress: OnProgress | None = None,
) -> Ratings:
    """The ratings of a known data set: ml-100k, ml-1m, ml-10m, jester or finefoods.

    Looked for in `folder` (or TASTEMIX_DATA) and in the cache, else downloaded to the cache.
    Ratings come as they are published, of two for one pair the newer one; `prepared` applies the
    data set's named transforms, which are those of the paper.

    progress: called with the file, its bytes so far and in all; None: a bar on a terminal.
    """
    dataset = catalogue.named(name)
    with _obtained(dataset, dataset.sources, folder, download, progress) as (source, paths):
        ratings = _ratings(dataset, source, paths)
    for transform in dataset.transforms if prepared else ():
        ratings = transform.apply(ratings)
    return ratings


def titles(
    name: str | Dataset,
    *,
    folder: Folder | None = None,
    download: bool = True,
    progress: OnProgress | None = None,
) -> pa.Table | None:
    """A table of id and title for the items of a data set, None if no file of it holds any."""
    dataset = catalogue.named(name)
    found = _locate(dataset.titles, places(folder))
    downloadable = download and any(_has_address(source) for source in dataset.titles)
    if found is None and not downloadable:
        return None
    with _obtained(dataset, dataset.titles, folder, download, progress) as (source, paths):
        return source.read(paths)


def known(folder: Folder | None = None) -> list[Status]:
    """Every known data set and where it was found."""
    looked = places(folder)
    return [
        Status(dataset, *(_locate(dataset.sources, looked) or (None, ())))
        for dataset in catalogue.ALL
    ]


def places(folder: Folder | None = None) -> list[Path]:
    """The folders looked into, and their `raw`: `folder` (or TASTEMIX_DATA), then the cache."""
    given = folder if folder is not None else os.environ.get("TASTEMIX_DATA")
    return ([Path(given).expanduser()] if given else []) + [cache()]


def cache() -> Path:
    """Where downloads go: TASTEMIX_CACHE, or tastemix in the system's folder for caches."""
    given = os.environ.get("TASTEMIX_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tastemix"


def _locate(
    sources: Sequence[Source], looked: Sequence[Path]
) -> tuple[Source, tuple[Path, ...]] | None:
    """The first source all of whose files are there."""
    for source in sources:
        paths = tuple(_find(file.name, looked) for file in source.files)
        present = tuple(path for path in paths if path is not None)
        if len(present) == len(paths):
            return source, present
    return None


def _find(name: str, looked: Sequence[Path]) -> Path | None:
    at = (path for place in looked for path in (place / name, place / "raw" / name))
    return next((path for path in at if path.is_file()), None)


@contextmanager
def _obtained(
    dataset: Dataset,
    sources: Sequence[Source],
    folder: Folder | None,
    download: bool,
    progress: OnProgress | None,
) -> Iterator[tuple[Source, tuple[Path, ...]]]:
    """A source and its checked files, from where they lie or from the net."""
    looked = places(folder)
    source, _ = _locate(sources, looked) or (_published(sources), ())
    with ExitStack() as stack:
        paths = []
        for file in source.files:
            path = _find(file.name, looked)
            if path is not None:
                check(file, path)
            elif download and file.addresses:
                path = stack.enter_context(fetched(file, cache(), progress))
            else:
                raise DataError(_missing(dataset, source, looked))
            paths.append(path)
        yield source, tuple(paths)


def _published(sources: Sequence[Source]) -> Source:
    """The source that can be downloaded, or else the first."""
    return next(filter(_has_address, sources), sources[0])


def _has_address(source: Source) -> bool:
    return all(file.addresses for file in source.files)


def _missing(dataset: Dataset, source: Source, looked: Sequence[Path]) -> str:
    wanted = [file for file in source.files if _find(file.name, looked) is None]
    listed = ", ".join(
        file.name + (f" ({file.addresses[0]})" if file.addresses else "") for file in wanted
    )
    others = ", ".join(other.files[0].name for other in dataset.sources if other is not source)
    return (
        f"{dataset.name} is not in {' or '.join(map(str, looked))}: download {listed} "
        f"and put it in {looked[0]}, or set TASTEMIX_DATA to the folder that holds it"
        + (f" (also read: {others})" if others else "")
    )


def _ratings(dataset: Dataset, source: Source, paths: Sequence[Path]) -> Ratings:
    """The source's table as ratings, if it holds what it should."""
    table = source.read(paths)
    where = ", ".join(map(str, paths))
    try:
        ratings = Ratings.from_table(
            table,
            timestamp="timestamp" if "timestamp" in table.column_names else None,
            scale=dataset.scale,
            duplicates=dataset.duplicates,
        )
    except DataError as error:
        raise type(error)(f"{where}: {error}") from None
    found = catalogue.Counts(table.num_rows, len(ratings.users), len(ratings.items))
    if source.counts is not None and found != source.counts:
        raise DataError(
            f"{where} is not {dataset.name}: it holds {_say(found)}, not {_say(source.counts)}. "
            "Delete it and download it again"
        )
    return ratings


def _say(counts: catalogue.Counts) -> str:
    return f"{counts.rows:,} ratings of {counts.users:,} users and {counts.items:,} items"
