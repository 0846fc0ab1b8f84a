"""Ascending ids of the common types, bisected where Arrow holds them: a few cost no Arrow call."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Lookup(Protocol):
    """Where an id of one very type is among the others."""

    kind: type

    def find(self, value: Any) -> int:
        """The position of the id, −1 if it is not there."""
        ...

    def take(self, numbers: NDArray[np.int32]) -> pa.Array:
        """The ids at these positions."""
        ...


def of(values: pa.Array) -> Lookup | None:
    """A lookup among ascending ids, if they are integers or texts."""
    if pa.types.is_int64(values.type):
        return Integers(values)
    if values.type in (pa.string(), pa.large_string()):
        return Texts(values)
    return None


class Integers:
    """Ascending integers, looked up without Arrow."""

    kind: type = int

    def __init__(self, values: pa.Array) -> None:
        self._values = values.to_numpy()
        self._view = memoryview(self._values)

    def find(self, value: int) -> int:
        """See Lookup.find."""
        at = bisect_left(self._view, value)
        return at if at < len(self._view) and self._view[at] == value else -1

    def take(self, numbers: NDArray[np.int32]) -> pa.Array:
        """See Lookup.take."""
        return pa.array(self._values[numbers])


class Texts:
    """Ascending texts, looked up without Arrow: Arrow orders them by their bytes."""

    kind: type = str

    def __init__(self, values: pa.Array) -> None:
        self._type = values.type
        _, offsets, data = values.buffers()
        width = np.int64 if pa.types.is_large_string(values.type) else np.int32
        bounds: Any = np.frombuffer(offsets or bytes(8), width)
        self._bounds = memoryview(bounds[values.offset : values.offset + len(values) + 1])
        self._data = memoryview(data or b"")

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> bytes:
        return bytes(self._data[self._bounds[number] : self._bounds[number + 1]])

    def find(self, value: str) -> int:
        """See Lookup.find."""
        text = value.encode(errors="surrogatepass")
        at = bisect_left(self, text)
        return at if at < len(self) and self[at] == text else -1

    def take(self, numbers: NDArray[np.int32]) -> pa.Array:
        """See Lookup.take."""
        return pa.array([str(self[number], "utf-8") for number in numbers.tolist()], self._type)
