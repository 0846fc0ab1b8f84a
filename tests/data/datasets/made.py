"""Small files in the published formats, and the catalogue's entries cut down to them."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

from tastemix.data.datasets import Counts, Dataset, File

ML_1M_RATINGS = b"1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n"
ML_1M_MOVIES = (
    "661::James and the Giant Peach (1996)::Animation|Children's\n"
    "1193::One Flew: Over the Cuckoo's Nest (1975)::Drama\n"
    "73::Misérables, Les (1995)::Drama|Musical\n"
).encode("latin-1")


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


ML_1M_ZIP = zipped({"ml-1m/ratings.dat": ML_1M_RATINGS, "ml-1m/movies.dat": ML_1M_MOVIES})
ML_1M_COUNTS = Counts(3, 2, 2)


def published(
    dataset: Dataset,
    contents: dict[str, bytes],
    counts: Counts,
    site: str = "",
    *,
    checksum: bool = True,
) -> Dataset:
    """The data set with these contents as its published files, at `site` if one is given."""

    def file(known: File) -> File:
        data = contents.get(known.name)
        if data is None:
            return known
        sha256 = hashlib.sha256(data).hexdigest() if checksum else None
        addresses = (f"{site}/{known.name}",) if site else ()
        return File(known.name, addresses, sha256, len(data) if checksum else None)

    def files(source):
        return tuple(file(known) for known in source.files)

    return replace(
        dataset,
        sources=tuple(replace(s, files=files(s), counts=counts) for s in dataset.sources),
        titles=tuple(replace(s, files=files(s)) for s in dataset.titles),
    )


def write(folder: Path, contents: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return folder


def review(product: str, user: str, score: str, time: int, text: str = "Good.") -> str:
    return (
        f"product/productId: {product}\nreview/userId: {user}\nreview/profileName: Some One\n"
        f"review/helpfulness: 1/1\nreview/score: {score}\nreview/time: {time}\n"
        f"review/summary: Tasty\nreview/text: {text}\n\n"
    )


def finefoods_text(*reviews: str) -> bytes:
    return gzip.compress("".join(reviews).encode("latin-1"), 1)


def xls(rows: list[list[float]]) -> bytes:
    """A sheet of numbers in the oldest .xls format (BIFF2), which needs no container."""

    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    cells = b"".join(
        record(0x0003, struct.pack("<HH3xd", row, column, value))
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
    )
    return record(0x0009, struct.pack("<HH", 2, 0x10)) + cells + record(0x000A, b"")


def jokes(rated: dict[int, float]) -> list[float]:
    """A row of Jester's sheets: how many ratings, then 100 of them, 99 for none."""
    return [float(len(rated))] + [rated.get(joke, 99.0) for joke in range(1, 101)]
