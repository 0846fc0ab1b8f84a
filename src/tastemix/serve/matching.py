"""Which route a request is for, and what stands in its path and its query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from tastemix.serve.asked import Route
from tastemix.serve.problems import Refused, refused_method
from tastemix.serve.routes import PREFIX


class Matched(NamedTuple):
    """A route and what stands in the places of its path."""

    route: Route
    number: int
    path: tuple[str, ...]


class Matching:
    """The routes by the number of parts of their paths and by the first one."""

    def __init__(self, routes: Sequence[Route], names: Sequence[str]) -> None:
        """names: of all that is counted."""
        self._by_shape: dict[tuple[int, str], list[tuple[Route, int, list[str]]]] = {}
        for route in routes:
            parts = route.path.split("/")[1:]
            number = names.index(PREFIX + route.path)
            shape = len(parts), parts[0]
            self._by_shape.setdefault(shape, []).append((route, number, parts))

    def match(self, path: bytes, method: str) -> Matched:
        """The route that answers; ids are decoded part by part, so they may contain slashes."""
        try:
            parts = [_decoded(part) for part in path.split(b"/")]
        except UnicodeDecodeError:
            raise Refused(400, "the path is not UTF-8: percent-encode it so") from None
        allowed = []
        for route, number, wanted in self._by_shape.get((len(parts), parts[0]), ()):
            if all(w == p or w[0] == "{" for w, p in zip(wanted, parts, strict=True)):
                if route.method == ("GET" if method == "HEAD" else method):
                    places = (p for w, p in zip(wanted, parts, strict=True) if w[0] == "{")
                    return Matched(route, number, tuple(places))
                allowed.append(route.method)
        if allowed:
            raise refused_method(allowed)
        raise Refused(404, "there is nothing at this path: see /docs")


def _decoded(part: bytes) -> str:
    return (unquote_to_bytes(part) if b"%" in part else part).decode()


def query_of(route: Route, text: bytes) -> Mapping[str, Any]:
    """The parameters of a route, read or as they are by default."""
    found = {parameter.name: parameter.default for parameter in route.parameters}
    if not text:
        return found
    known = {parameter.name: parameter for parameter in route.parameters}
    given = set()
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"
        )
    except ValueError:
        raise Refused(400, "the query is not UTF-8, or has too many parts") from None
    for name, value in pairs:
        if name not in known or name in given:
            listed = ", ".join(known) or "none"
            raise Refused(422, f"{name[:40]!r} is not known or given twice: known are {listed}")
        given.add(name)
        found[name] = known[name].read(value)
    return found
