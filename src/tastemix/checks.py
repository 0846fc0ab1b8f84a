"""What arguments must be: whole numbers, numbers in a range, seeds."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from tastemix.errors import ParameterError

SEEDS = 2**63
_LONGEST = 80


def shown(value: Any) -> str:
    """A value as an error names it: in one line, and not a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """The value as an int, if it is a whole number from `least` to `most`; True is none."""
    bounds = f"of {least:,} or more" if most is None else f"from {least:,} to {most:,}"
    try:
        number = index(value)
    except TypeError:
        number = None
    if (
        number is None
        or isinstance(value, bool)
        or not least <= number <= (number if most is None else most)
    ):
        raise ParameterError(f"{name} is {shown(value)}: it must be a whole number {bounds}")
    return number


def number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """The value as a float, if it is a finite number from `least` to `most`."""
    try:
        found = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (math.isfinite(found) and least <= found <= most):
        bounds = "a finite number"
        if least > -math.inf:
            bounds = f"a number of {least:g} or more"
        if most < math.inf:
            bounds = f"a number from {least:g} to {most:g}"
        raise ParameterError(f"{name} is {shown(value)}: it must be {bounds}")
    return found


def flag(name: str, value: Any) -> bool:
    """The value, if it is True or False; 0 and 1 count, too."""
    if value not in (False, True):
        raise ParameterError(f"{name} is {value!r}: it must be True or False")
    return bool(value)


def seed(value: Any) -> int:
    """The value, if it can seed a random number generator."""
    return whole("seed", value, least=0, most=SEEDS - 1)
