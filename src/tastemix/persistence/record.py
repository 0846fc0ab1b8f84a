"""Objects of JSON as dataclasses of ours, every field held to its type hint."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tastemix.errors import ModelFileError

LATER = frozenset(
    {"About.unknown", "About.pulls", "About.ridges", "About.scores", "About.order"}
    | {"Objective.choice_penalty", "Objective.choice_shrinkage", "Objective.noise"}
    | {"AboutRanking.weights", "About.numbering", "AboutRanking.numbering"}
    | {"About.groups", "AboutRanking.groups"}
)
"""Fields that version 2 of the format did not have; without them, they have their defaults."""


_hints = cache(get_type_hints)


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a type hint is made of."""
    return get_origin(kind), get_args(kind)


def record(kind: Any, value: Mapping[str, Any], inside: str = "") -> Any:
    """An object of JSON as a type of ours, whose fields it must have, each as its hint says."""
    hints = _hints(kind)
    for name in hints:
        if name not in value and f"{kind.__name__}.{name}" not in LATER:
            raise ModelFileError(f"it lacks {inside + name!r}")
    unknown = [name for name in value if name not in hints]
    if unknown:
        raise ModelFileError(
            f"it has {reprlib.repr(unknown[0])} in {inside!r}: that name is unknown"
        )
    known = [name for name in hints if name in value]
    return kind(**{name: _decoded(hints[name], value[name], inside + name) for name in known})


def _decoded(kind: Any, value: Any, what: str) -> Any:
    """A value of JSON as a type hint asks for it."""
    form, inner = _parts(kind)
    if not _fits(kind, value):
        raise ModelFileError(f"its {what} is {reprlib.repr(value)}: expected {_words(kind)}")
    if form in (Union, UnionType):
        kind = next(choice for choice in inner if _fits(choice, value))
        return _decoded(kind, value, what)
    if form is tuple:
        kinds = inner[:1] * len(value) if ... in inner else inner
        return tuple(map(_decoded, kinds, value, (f"{what}[{at}]" for at in range(len(value)))))
    if form is dict:
        return {name: _decoded(inner[1], entry, what) for name, entry in value.items()}
    if kind is not Any and isinstance(value, dict):
        return record(kind, value, f"{what}.")
    return float(value) if kind is float else value


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value of JSON is of the sort a type hint asks for, seen from outside."""
    form, inner = _parts(kind)
    if form in (Union, UnionType):
        return any(_fits(choice, value) for choice in inner)
    if form is Literal:
        return value in inner
    if form is tuple:
        return isinstance(value, list) and (... in inner or len(value) == len(inner))
    if kind in (int, float):
        low, high = (0, 2**63 - 1) if kind is int else (-sys.float_info.max, sys.float_info.max)
        number = isinstance(value, int | kind) and not isinstance(value, bool)
        return number and low <= value <= high
    if kind in (str, NoneType):
        return isinstance(value, kind)
    return kind is Any or isinstance(value, dict)


def _words(kind: Any) -> str:
    form, inner = _parts(kind)
    if form in (Union, UnionType):
        return " or ".join(map(_words, inner))
    if form is Literal:
        return " or ".join(map(repr, inner))
    if form is tuple:
        return "a list" if ... in inner else f"a list of {len(inner)}"
    plain = {int: "a whole number of 0 or more", float: "a finite number", str: "text"}
    return {**plain, NoneType: "null"}.get(kind, "an object")
