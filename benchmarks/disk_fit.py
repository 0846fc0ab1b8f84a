"""Fits of ratings that are mapped from disk: peak memory, and time with the page cache dropped.

Used by `disk.py`. The cache is dropped before every survey and every descent: the mappings are let
go with madvise(DONTNEED), the files' pages with posix_fadvise(DONTNEED), and mincore says what
share of them is still there.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)


def arrays(ratings: Any) -> Iterator[tuple[int, int]]:
    """Where the mapped arrays are: page-aligned address, bytes."""
    for half in (ratings.by_user, ratings.by_item):
        for array in (half.indices, half.stored.codes):
            at = array.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
            yield at, array.ctypes.data + array.nbytes - at


def drop(ratings: Any, folder: Path) -> float:
    """Drop the pages of both halves; the share that is still in memory."""
    for at, size in arrays(ratings):
        LIBC.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), mmap.MADV_DONTNEED)
    for file in folder.glob("*.npy"):
        handle = os.open(file, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
    there = total = 0
    for at, size in arrays(ratings):
        pages = -(-size // mmap.PAGESIZE)
        seen = np.empty(pages, np.uint8)
        LIBC.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), ctypes.c_void_p(seen.ctypes.data))
        there += int((seen & 1).sum())
        total += pages
    return there / total


def warm(folder: Path) -> None:
    """Read all files."""
    room = bytearray(2**24)
    for file in folder.glob("*.npy"):
        with file.open("rb", buffering=0) as stream:
            while stream.readinto(room):
                pass


def speed(folder: Path) -> float:
    """GB a second of reading all files from the disk, in order."""
    for file in folder.glob("*.npy"):
        with file.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    began = time.perf_counter()
    warm(folder)
    size = sum(file.stat().st_size for file in folder.glob("*.npy"))
    return round(size / 1e9 / (time.perf_counter() - began), 2)


def opened(ratings: Any, method: str, rank: int) -> tuple[Any, Any]:
    """A session on these ratings, and the last phase of the method."""
    import tastemix as tm
    from tastemix.engine.cpu import CpuEngine

    recipe = getattr(tm, method)(rank).recipe(ratings.scale)
    return CpuEngine().place(ratings).open(recipe.start), recipe.phases[-1]


def times(folder: Path, method: str, rank: int, steps: int) -> dict[str, Any]:
    """Seconds of half-steps with the files in memory, and beside them with the cache dropped.

    Two sessions take the same half-steps by turns.
    """
    import tastemix as tm

    disk = speed(folder)
    ratings = tm.open(folder, verify=False)
    (inside, phase), (outside, _) = (opened(ratings, method, rank) for _ in range(2))
    found: dict[str, Any] = {"warm": 0.0, "cold": 0.0, "warm_processor": 0.0, "cold_processor": 0.0}
    left, dropping = [], [0.0, 0.0]
    plain = outside.team.on

    def cold(side: str, work: str, *arguments: Any, **options: Any) -> Any:
        if work in ("survey", "descend"):
            began = time.perf_counter(), time.process_time()
            left.append(drop(ratings, folder))
            dropping[0] += time.perf_counter() - began[0]
            dropping[1] += time.process_time() - began[1]
        return plain(side, work, *arguments, **options)

    outside.team.on = cold
    for _ in range(steps):
        for side in ("items", "users"):
            for name, session in (("warm", inside), ("cold", outside)):
                warm(folder)
                dropping[:] = 0.0, 0.0
                began = time.perf_counter(), time.process_time()
                session.half_step(side, phase.objective, phase.tolerance)
                found[name] += time.perf_counter() - began[0] - dropping[0]
                found[f"{name}_processor"] += time.process_time() - began[1] - dropping[1]
    one, other = inside.factors(), outside.factors()
    same = all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    found = {name: round(seconds, 2) for name, seconds in found.items()}
    ratio = round(found["cold"] / found["warm"], 2)
    found |= {"ratio": ratio, "disk_gb_a_second": disk}
    return {**found, "same_bits": same, "most_left_in_cache": max(left)}


def in_memory(folder: Path, method: str, rank: int, steps: int) -> dict[str, bool]:
    """Whether mapped ratings and the same in memory as float32 give the same bits."""
    import tastemix as tm
    from tastemix.data.halves import Half
    from tastemix.data.ratings import Ratings

    mapped = tm.open(folder, verify=False)
    half = mapped.by_user
    copy = Half(np.array(half.pointers), np.array(half.indices), np.array(half.values))
    inside = Ratings(mapped.users, mapped.items, copy, mapped.scale)
    one, other = (getattr(tm, method)(rank, steps=steps).fit(each) for each in (mapped, inside))
    same = np.array_equal(one.factors.users, other.factors.users)
    same = same and np.array_equal(one.factors.items, other.factors.items)
    return {"same_bits_as_in_memory": same}


@contextmanager
def watched() -> Iterator[list[int]]:
    """The largest anonymous memory of this process in bytes, looked at every 20 ms."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    most[0] = max(most[0], int(line.split()[1]) * 1024)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def memory(folder: Path, method: str, rank: int, steps: int) -> dict[str, Any]:
    """The peak of anonymous memory of a process that opens, fits and holds the model."""
    with watched() as most:
        import tastemix as tm

        model = getattr(tm, method)(rank, steps=steps).fit(tm.open(folder, verify=False))
        factors = model.factors.users.nbytes + model.factors.items.nbytes
    return {
        "factors_mb": round(factors / 1e6),
        "peak_anonymous_mb": round(most[0] / 1e6),
        "bar_mb": round(2 * factors / 1e6 + 300),
    }


def default(folder: Path, where: str) -> dict[str, Any]:
    """`tm.fit` of ratings that are mapped, or first copied to memory: seconds and peak."""
    import hashlib

    with watched() as most:
        import tastemix as tm
        from tastemix.data.halves import Half
        from tastemix.data.ratings import Ratings

        ratings = tm.open(folder, verify=False)
        if where == "memory":
            half = ratings.by_user
            copy = Half(np.array(half.pointers), np.array(half.indices), np.array(half.values))
            ratings = Ratings(ratings.users, ratings.items, copy, ratings.scale)
        began = time.perf_counter(), time.process_time()
        model = tm.fit(ratings)
        took = time.perf_counter() - began[0], time.process_time() - began[1]
        digest = hashlib.sha256(model.factors.users.tobytes() + model.factors.items.tobytes())
        digest.update(model.ranking.links.by_target.values.tobytes())
    return {
        "seconds": round(took[0], 1),
        "processor": round(took[1], 1),
        "peak_anonymous_mb": round(most[0] / 1e6),
        "made": model.made_by,
        "digest": digest.hexdigest(),
    }


def main() -> None:
    import json

    what, folder, *rest = sys.argv[1:]
    if what == "default":
        print(json.dumps(default(Path(folder), *rest)))
        return
    method, rank, steps = rest
    work = {"times": times, "in_memory": in_memory, "memory": memory}[what]
    print(json.dumps(work(Path(folder), method, int(rank), int(steps))))


if __name__ == "__main__":
    main()
