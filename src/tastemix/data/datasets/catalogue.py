"""The known data sets, as data: their files, checksums, counts, scales and transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from tastemix.data.datasets import finefoods, jester, movielens, parquet
from tastemix.data.datasets.transforms import at_least, to_stars
from tastemix.data.ratings import Duplicates, Ratings, Scale
from tastemix.errors import ParameterError

Reader = Callable[[Sequence[Path]], pa.Table]
"""A table out of the files of a source."""


@dataclass(frozen=True)
class File:
    """A file as it is published: its addresses are tried in turn."""

    name: str
    addresses: tuple[str, ...] = ()
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Counts:
    """What a table of ratings must hold: rows as published, distinct users and items."""

    rows: int
    users: int
    items: int


@dataclass(frozen=True)
class Source:
    """One form of a table: the files that hold it and the function that reads them.

    Files are checked by their sha256 where it is known; the table by its counts where given.
    """

    files: tuple[File, ...]
    read: Reader
    counts: Counts | None = None
    note: str = ""


@dataclass(frozen=True)
class Transform:
    """A named step from published ratings to the ratings the paper used."""

    name: str
    apply: Callable[[Ratings], Ratings]
    says: str


@dataclass(frozen=True)
class Dataset:
    """A known data set; of its sources the first that is found is read."""

    name: str
    about: str
    scale: Scale
    sources: tuple[Source, ...]
    titles: tuple[Source, ...] = ()
    transforms: tuple[Transform, ...] = ()
    duplicates: Duplicates = "refuse"


_MOVIELENS = "https://files.grouplens.org/datasets/movielens"


def _grouplens(
    name: str,
    about: str,
    scale: Scale,
    archive: tuple[str, int],
    counts: Counts,
    ratings: Reader,
    titles: Reader,
) -> Dataset:
    file = File(f"{name}.zip", (f"{_MOVIELENS}/{name}.zip",), *archive)
    return Dataset(
        name,
        about,
        scale,
        sources=(
            Source((File(f"{name}.parquet"),), parquet.ratings, counts),
            Source((file,), ratings, counts),
        ),
        titles=(
            Source((File(f"{name}-items.parquet"),), parquet.titles),
            Source((file,), titles),
        ),
    )


def _dat(folder: str, limit: int, encoding: str) -> tuple[Reader, Reader]:
    """Readers of ratings.dat and movies.dat."""
    ratings = partial(
        movielens.ratings, member=f"{folder}/ratings.dat", separator="::", limit=limit
    )
    titles = partial(
        movielens.titles, member=f"{folder}/movies.dat", separator="::", encoding=encoding
    )
    return ratings, titles


ML_100K = _grouplens(
    "ml-100k",
    "MovieLens 100K: stars for films, 1997 and 1998",
    (1.0, 5.0),
    ("50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229", 4_924_029),
    Counts(100_000, 943, 1_682),
    partial(movielens.ratings, member="ml-100k/u.data", separator="\t", limit=1 << 24),
    partial(movielens.titles, member="ml-100k/u.item", separator="|", encoding="latin-1", more=22),
)

ML_1M = _grouplens(
    "ml-1m",
    "MovieLens 1M: stars for films, 2000",
    (1.0, 5.0),
    ("a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20", 5_917_549),
    Counts(1_000_209, 6_040, 3_706),
    *_dat("ml-1m", 1 << 26, "latin-1"),
)

ML_10M = _grouplens(
    "ml-10m",
    "MovieLens 10M: stars and half stars for films, 1995 to 2009",
    (0.5, 5.0),
    ("813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862", 65_566_137),
    Counts(10_000_054, 69_878, 10_677),
    *_dat("ml-10M100K", 1 << 29, "utf-8"),
)

_EIGENTASTE = "https://eigentaste.berkeley.edu/dataset"


def _jester_file(number: int, sha256: str, size: int) -> File:
    name = f"jester_dataset_1_{number}.zip"
    return File(name, (f"{_EIGENTASTE}/{name}", f"{_EIGENTASTE}/archive/{name}"), sha256, size)


_JESTER_COUNTS = Counts(4_136_360, 73_421, 100)

JESTER = Dataset(
    "jester",
    "Jester dataset 1: continuous ratings of 100 jokes, 1999 to 2003",
    (-10.0, 10.0),
    sources=(
        Source((File("jester.parquet"),), parquet.ratings, _JESTER_COUNTS),
        Source(
            (
                _jester_file(
                    1, "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615", 4_171_628
                ),
                _jester_file(
                    2, "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b", 3_924_205
                ),
                _jester_file(
                    3, "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d", 2_151_299
                ),
            ),
            partial(jester.ratings, members=[f"jester-data-{number}.xls" for number in (1, 2, 3)]),
            _JESTER_COUNTS,
        ),
    ),
    titles=(Source((File("jester-items.parquet"),), parquet.titles),),
    transforms=(
        Transform("to_stars", to_stars, "ratings become stars 1 to 5: rint((r + 10)/5 + 1)"),
    ),
)

_FINEFOODS_COUNTS = Counts(568_454, 256_059, 74_258)

FINEFOODS = Dataset(
    "finefoods",
    "Amazon Fine Foods: stars of reviews of groceries, 1999 to 2012; the newest review counts",
    (1.0, 5.0),
    sources=(
        Source((File("finefoods.parquet"),), parquet.ratings, _FINEFOODS_COUNTS),
        Source(
            (File("finefoods.txt.gz", ("https://snap.stanford.edu/data/finefoods.txt.gz",)),),
            finefoods.text,
            _FINEFOODS_COUNTS,
        ),
        Source((File("Reviews.csv"),), finefoods.table, _FINEFOODS_COUNTS, note="from Kaggle"),
        Source(
            (File("finefoods-users6plus.parquet"),),
            parquet.ratings,
            Counts(216_822, 18_176, 34_383),
            note="a part: users with six reviews or more, numbered",
        ),
    ),
    transforms=(
        Transform(
            "at_least",
            partial(at_least, users=5, items=2),
            "only users with 5 ratings or more and items with 2 or more",
        ),
    ),
    duplicates="last",
)

ALL = (ML_100K, ML_1M, ML_10M, JESTER, FINEFOODS)


def named(name: str | Dataset) -> Dataset:
    """The data set of this name."""
    if isinstance(name, Dataset):
        return name
    for dataset in ALL:
        if dataset.name == name:
            return dataset
    listed = ", ".join(dataset.name for dataset in ALL)
    raise ParameterError(f"there is no data set {name!r}: the known ones are {listed}")
