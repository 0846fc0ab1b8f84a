"""How a request is read: what stands in its path, its query and its body, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tastemix.serve.limits import Limits
from tastemix.serve.names import Named
from tastemix.serve.prepared import Prepared
from tastemix.serve.problems import Refused


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query of a URL."""

    name: str
    about: str
    default: Any
    least: int = 0
    most: int = 0
    among: tuple[str, ...] = ()

    def read(self, text: str) -> Any:
        """The value that a text spells."""
        if self.among:
            if text not in self.among:
                raise Refused(422, f"{self.name} is {text!r}: choose {' or '.join(self.among)}")
            return text
        if isinstance(self.default, bool):
            if text not in ("true", "false"):
                raise Refused(422, f"{self.name} is {text!r}: it must be true or false")
            return text == "true"
        if isinstance(self.default, int):
            value = _digits(text)
            if value is None or not self.least <= value <= self.most:
                bounds = f"from {self.least:,} to {self.most:,}"
                raise Refused(422, f"{self.name} is {text[:40]!r}: it must be {bounds}")
            return value
        if len(text) > self.most:
            raise Refused(422, f"{self.name} has {len(text):,} letters: {self.most:,} are read")
        return text


@dataclass(frozen=True)
class Call:
    """A request, read: what a route is answered from."""

    known: Prepared
    limits: Limits
    path: tuple[str, ...]
    """The texts in the places of {…} in the path."""
    query: Mapping[str, Any]
    body: Any

    @property
    def n(self) -> int:
        """How many entries the query asks for."""
        return int(self.query["n"])

    def user(self) -> int:
        """The number of the user in the path."""
        return _known(self.known.users, self.path[0])

    def item(self, place: int = 0) -> int:
        """The number of the item in the path."""
        return _known(self.known.items, self.path[place])

    def taste(self) -> int:
        """The number of the taste in the path."""
        number = _digits(self.path[0])
        if number is None:
            raise Refused(404, f"there is no taste {self.path[0][:40]!r}: they go from 1")
        return number

    def search(self) -> tuple[str, int, int]:
        """What is searched for, where to begin, and how many."""
        return self.query["q"], self.query["after"], self.n

    def bounded(self, what: str, count: int, most: int) -> None:
        """Refuse a body with more than so many."""
        if count > most:
            raise Refused(413, f"there are {count:,} {what}: at most {most:,} are taken at once")

    def check_n(self) -> None:
        """Refuse a body that asks for too many entries, or for none."""
        if not 1 <= self.body.n <= self.limits.n:
            raise Refused(422, f"n is {self.body.n}: it must be from 1 to {self.limits.n:,}")


@dataclass(frozen=True)
class Route:
    """A method and a path, how it is answered, and what is said about it."""

    method: Literal["GET", "POST", "PUT"]
    path: str
    about: str
    gives: Any
    answer: Callable[[Call], Any]
    parameters: tuple[Parameter, ...] = ()
    takes: Any = None
    kept: bool = False
    """Whether the answer depends on the model and the URL alone and may be kept."""


def _known(named: Named, text: str) -> int:
    number = named.spelled(text)
    if number < 0:
        what, other = named.ids.what, named.one(0) if len(named.ids) else "none"
        raise Refused(404, f"{what} {text[:60]!r} is not known: ids look like {other!r}")
    return number


def _digits(text: str) -> int | None:
    """The whole number that a text spells, if it is one of at most twelve digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
