"""Arrays in a folder that all of a cluster can reach: on a shared disk, or on S3 and its like."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from pyarrow import fs

from tastemix.data.columns import first_line
from tastemix.data.places import REMOTE, opened
from tastemix.engine.sides import Matrix
from tastemix.errors import EngineError


@contextmanager
def written(where: str) -> Iterator[None]:
    """What this process cannot write there ends in one sentence."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"{where} cannot be written to ({first_line(error)}): make room there, or give the "
            "engine a checkpoint elsewhere"
        ) from None


class Shelf(NamedTuple):
    """A folder, by its path or its address."""

    where: str

    @staticmethod
    def at(where: str) -> Shelf:
        """The folder, made if it is not there."""
        if REMOTE not in where:
            where = os.path.abspath(where)
        shelf = Shelf(where)
        try:
            files, path = shelf._opened()
            files.create_dir(path, recursive=True)
        except (OSError, ValueError, NotImplementedError) as error:
            raise EngineError(
                f"the checkpoint {where!r} cannot be made ({first_line(error)}): give a folder, or "
                "an address such as s3://bucket/folder, that can be written to"
            ) from None
        return shelf

    @property
    def local(self) -> bool:
        """Whether it is a path."""
        return REMOTE not in self.where

    def save(self, name: str, values: Any) -> None:
        """Write an array."""
        stream = io.BytesIO()
        np.save(stream, np.ascontiguousarray(values), allow_pickle=False)
        self._write(f"{name}.npy", stream.getbuffer())

    def rows(self, name: str, first: int, last: int) -> Matrix:
        """Some rows of an array that was saved whole, or in pieces named by their first row."""
        pieces = self.names(f"{name}-", ".npy")
        if not pieces:
            whole: Matrix = self._load(name)[first:last]
            return whole
        starts = sorted(int(piece) for piece in pieces)
        found = []
        for start, end in zip(starts, [*starts[1:], last], strict=True):
            if start < last and (end > first or start == starts[-1]):
                piece = self._load(f"{name}-{start}")
                found.append(piece[max(first - start, 0) : last - start])
        return np.concatenate(found)

    def names(self, prefix: str, suffix: str) -> list[str]:
        """What stands between the prefix and the suffix, of all files that have both."""
        files, path = self._opened()
        found = (info.base_name for info in files.get_file_info(fs.FileSelector(path)))
        return [
            name[len(prefix) : len(name) - len(suffix)]
            for name in found
            if name.startswith(prefix) and name.endswith(suffix)
        ]

    def write_json(self, name: str, about: Any) -> None:
        """Write something small, all of it or nothing."""
        files, path = self._opened()
        self._write(f"{name}.json.tmp", json.dumps(about).encode())
        files.move(f"{path}/{name}.json.tmp", f"{path}/{name}.json")

    def read_json(self, name: str) -> Any:
        """What was written; None if nothing was, or if it cannot be read."""
        files, path = self._opened()
        try:
            with files.open_input_stream(f"{path}/{name}.json") as stream:
                return json.loads(stream.read())
        except (OSError, ValueError):
            return None

    def remove(self, prefix: str, but: str | None = None) -> None:
        """Remove all files whose names begin so, but not those that begin otherwise."""
        files, path = self._opened()
        for name in self.names(prefix, ""):
            whole = prefix + name
            if but is None or not whole.startswith(but):
                try:
                    files.delete_file(f"{path}/{whole}")
                except OSError:  # another worker was sooner
                    continue

    def _load(self, name: str) -> Any:
        files, path = self._opened()
        with files.open_input_stream(f"{path}/{name}.npy") as stream:
            return np.load(io.BytesIO(stream.read()), allow_pickle=False)

    def _write(self, name: str, data: Any) -> None:
        files, path = self._opened()
        with files.open_output_stream(f"{path}/{name}") as stream:
            stream.write(data)

    def _opened(self) -> tuple[fs.FileSystem, str]:
        return opened(self.where)
