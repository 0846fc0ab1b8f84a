"""What a split leaves of ratings and what it takes away, wherever they are.

What is left of ratings that are mapped from disk is mapped too: it is written, some ratings at a
time, to files without a name beside them, which are gone with the last array that is mapped from
them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tastemix import draws
from tastemix.data.columns import first_line
from tastemix.data.halves import Coded, Half
from tastemix.data.ratings import Known, Ratings
from tastemix.engine import _native
from tastemix.engine.block import DAMAGED
from tastemix.engine.start import below, drawn
from tastemix.errors import EngineError

AT_ONCE = 2**22
"""Ratings that are in memory at a time: a multiple of eight."""
Positions = NDArray[np.int64]
Taken = NDArray[np.bool_]


def split(ratings: Ratings, seed: int, share: float) -> tuple[Ratings, Ratings]:
    """What a split leaves, and what it takes away; it decides by the places of ratings."""
    if ratings.by_user.mapped and ratings.by_item.mapped and len(ratings) > AT_ONCE:

        def taken(first: int, last: int) -> Taken:
            found: Taken = draws.words(seed, last - first, skip=first) < below(share)
            return found

        return _split_on_disk(ratings, taken)
    gone = drawn(len(ratings), seed, share)
    return ratings.subset(~gone), ratings.subset(gone)


def _split_on_disk(ratings: Ratings, taken: Callable[[int, int], Taken]) -> tuple[Ratings, Ratings]:
    by_user, by_item, count = ratings.by_user, ratings.by_item, len(ratings)
    folder = by_user.folder
    if folder is None or not os.access(folder, os.W_OK):
        folder = tempfile.gettempdir()
    held: list[Positions] = []
    gone_by_item = np.zeros(-(-count // 8), np.uint8)
    places = np.array(by_item.pointers[:-1])
    try:
        with ExitStack() as files:
            users, items = (_Left(half, folder, files) for half in (by_user, by_item))
            for first in range(0, count, AT_ONCE):
                last = min(first + AT_ONCE, count)
                gone = taken(first, last)
                held.append(first + np.flatnonzero(gone))
                _native.mark(places, by_user.indices[first:last], gone, gone_by_item)
                users.append(first, ~gone)
            for first in range(0, count, AT_ONCE):
                bits = gone_by_item[first // 8 : (first + AT_ONCE) // 8]
                some = min(AT_ONCE, count - first)
                items.append(first, np.unpackbits(bits, bitorder="little", count=some) == 0)
            left = users.half(), items.half()
    except IndexError:  # the halves are not of the same ratings
        raise EngineError(DAMAGED) from None
    except OSError as error:
        size = 2 * (5 if isinstance(by_user.stored, Coded) else 8) * count
        raise EngineError(
            f"most of the ratings are written to {folder} once more, some {size / 2**20:,.0f} MiB, "
            f"which cannot be done ({first_line(error)}): make room, or fit a method that tries "
            "nothing out, such as tm.RNMF"
        ) from None
    part = replace(ratings, timestamp=None, source_row=None, by_user=left[0], known=Known(left[1]))
    return part, ratings.subset(np.concatenate(held))


class _Left:
    """What is left of a half, in files without a name."""

    def __init__(self, half: Half, folder: str, files: ExitStack) -> None:
        self._source, self._count = half, 0
        self._pointers = np.zeros(len(half.pointers), np.int64)
        opened = (tempfile.TemporaryFile(dir=folder) for _ in range(2))  # noqa: SIM115 - by `files`
        self._files = [files.enter_context(file) for file in opened]

    def append(self, first: int, keep: Taken) -> None:
        """Write those of the entries from `first` on that are kept."""
        source, last = self._source, first + len(keep)
        stored = source.stored.codes if isinstance(source.stored, Coded) else source.stored
        for file, array in zip(self._files, (source.indices, stored), strict=True):
            file.write(np.ascontiguousarray(array[first:last][keep]).data)
        ends = np.searchsorted(source.pointers, (first, last), side="right")
        before = np.cumsum(keep, dtype=np.int64)
        here = slice(*ends)
        self._pointers[here] = self._count + before[source.pointers[here] - first - 1]
        self._count += int(before[-1])

    def half(self) -> Half:
        """All of it, mapped."""
        source = self._source
        coded = isinstance(source.stored, Coded)
        indices = self._mapped(0, np.int32)
        stored = self._mapped(1, np.uint8 if coded else np.float32)
        if isinstance(source.stored, Coded):
            stored = Coded(stored, source.stored.levels)
        return Half(self._pointers, indices, stored)

    def _mapped(self, number: int, kind: Any) -> Any:
        file = self._files[number]
        file.flush()
        return np.asarray(np.memmap(file, kind, "r", shape=(self._count,)))
