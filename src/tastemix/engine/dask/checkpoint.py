"""What is needed to go on with a session: arrays on a shelf, and what it was asked until then."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tastemix.data.ratings import Side
from tastemix.engine.dask.shelf import Shelf
from tastemix.engine.session import Small
from tastemix.engine.sides import Held, Pair, Pulls
from tastemix.engine.start import RandomStart, Start

Names = dict[Side, dict[str, str]]


@dataclass
class Asked:
    """A call that moved the factors, or whose answer a fit went by."""

    call: list[Any]
    answer: Any = None


@dataclass
class Saved:
    """A checkpoint: everything a session is after some calls."""

    calls: list[Asked]
    prefix: str
    held: dict[Side, list[str]]
    kept: dict[Side, list[str]]
    small: Small
    kept_small: Small | None

    def names(self, side: Side) -> dict[str, str]:
        """Where on the shelf each thing that was held is."""
        return {name: f"{self.prefix}-{side}-held-{name}" for name in self.held[side]}

    def kept_names(self, side: Side) -> dict[str, str]:
        """Likewise, what was kept."""
        return {name: f"{self.prefix}-{side}-kept-{name}" for name in self.kept[side]}


class Progress:
    """The checkpoints of one session, the last of which counts."""

    def __init__(self, shelf: Shelf, key: str) -> None:
        self.shelf, self.key = shelf, f"fit-{key}"

    def prefix(self, calls: int) -> str:
        """The beginning of the names of what is saved after so many calls."""
        return f"{self.key}-at{calls}"

    def save(self, saved: Saved) -> None:
        """Let this checkpoint count, and remove those before it."""
        about = {
            "calls": [[asked.call, asked.answer] for asked in saved.calls],
            "prefix": saved.prefix,
            "held": saved.held,
            "kept": saved.kept,
            "small": _plain(saved.small),
            "kept_small": None if saved.kept_small is None else _plain(saved.kept_small),
        }
        self.shelf.write_json(self.key, about)
        self.shelf.remove(f"{self.key}-at", but=f"{saved.prefix}-")

    def load(self) -> Saved | None:
        """The last checkpoint, if there is one."""
        about = self.shelf.read_json(self.key)
        if about is None:
            return None
        kept = about["kept_small"]
        return Saved(
            [Asked(call, answer) for call, answer in about["calls"]],
            about["prefix"],
            about["held"],
            about["kept"],
            _small(about["small"]),
            None if kept is None else _small(kept),
        )

    def remove(self) -> None:
        """Remove it: the fit is done."""
        self.shelf.remove(f"{self.key}-")
        self.shelf.remove(f"{self.key}.json")


def key_of(fingerprint: str, start: Start, held: Held, pulls: Pulls | None, shift: float) -> str:
    """What sessions that begin alike have in common."""
    digest = hashlib.sha256(json.dumps([fingerprint, held, float(shift)]).encode())
    if isinstance(start, RandomStart):
        digest.update(json.dumps(asdict(start)).encode())
    arrays: list[Any] = [*start] if isinstance(start, Pair) else []
    arrays += [array for pull in pulls or () for array in pull if array is not None]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def _plain(small: Small) -> dict[str, Any]:
    return {
        "means": {side: mean.tolist() for side, mean in small.means.items()},
        "least": {side: least.tolist() for side, least in small.least.items()},
        "estimated": small.estimated,
    }


def _small(about: dict[str, Any]) -> Small:
    return Small(
        {side: np.array(mean) for side, mean in about["means"].items()},
        {side: np.array(least) for side, least in about["least"].items()},
        about["estimated"],
    )
