"""Names that people gave to tastes, in labels.json in the model's folder."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import msgspec

from tastemix.errors import ParameterError
from tastemix.persistence.folder import INDEX

FILE = "labels.json"
LONGEST = 60


class Kept(msgspec.Struct):
    """The file: names by the number of the taste, and the fit whose tastes have these numbers."""

    model: str
    labels: dict[int, str]


class Labels:
    """The names given by hand; None for a path where nothing can be renamed.

    The file is read again when it has changed, so that all workers see what one of them wrote.
    """

    def __init__(self, path: Path | None, model: str = "") -> None:
        self.path, self._model = path, model
        self._read: dict[int, str] = {}
        self._changed = 0

    @staticmethod
    def of(folder: Path) -> Labels:
        """The names for the tastes of the model that is in a folder now."""
        return Labels(folder / FILE, sha256((folder / INDEX).read_bytes()).hexdigest())

    def read(self) -> dict[int, str]:
        """The names by the number of the taste."""
        if self.path is None:
            return {}
        try:
            changed = os.stat(self.path).st_mtime_ns
            if changed != self._changed:
                kept = msgspec.json.decode(self.path.read_bytes(), type=Kept)
                self._read = kept.labels if kept.model == self._model else {}
                self._changed = changed
        except (OSError, msgspec.MsgspecError):
            return {}
        return self._read

    def write(self, taste: int, label: str | None) -> None:
        """Give a taste a name, or take it away."""
        if self.path is None:
            raise ParameterError(
                "tastes can be renamed only in a service without a token on this machine"
            )
        label = (label or "").strip()
        if len(label) > LONGEST or not label.isprintable():
            raise ParameterError(f"a name has at most {LONGEST} letters and is on one line")
        names = {**self.read(), taste: label}
        names = {number: name for number, name in sorted(names.items()) if name}
        beside = self.path.with_name(f"{FILE}.{os.getpid()}")
        beside.write_bytes(msgspec.json.encode(Kept(self._model, names)))
        beside.replace(self.path)
