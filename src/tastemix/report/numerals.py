"""Numbers as the paper prints them: `.871`, without the leading zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MINUS, NONE = "−", "–"


def printed(value: float, digits: int, signed: bool = False) -> str:
    """A number with so many decimals: `.871`, `−.003`, `1,024.5`; a dash where there is none."""
    if math.isnan(value):
        return NONE
    text = "∞" if math.isinf(value) else f"{abs(value):,.{digits}f}"
    if text.startswith("0."):
        text = text[1:]
    if not any(character in "123456789∞" for character in text):
        return text  # neither −.000 nor +.000
    return (MINUS if value < 0 else "+" if signed else "") + text


def decimals(values: Iterable[float], digits: int) -> int:
    """Decimals for a column: `digits` are meant for figures about 1, counts need one or none."""
    finite = [abs(value) for value in values if math.isfinite(value)]
    if not finite or max(finite) < 100 or digits <= 1:
        return digits
    return 0 if all(value == round(value) for value in finite) else 1


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of an axis, all with the fewest decimals that tell them exactly."""
    for digits in range(7):
        if all(math.isclose(tick, round(tick, digits), abs_tol=1e-9) for tick in ticks):
            break
    return [printed(tick, digits) if abs(tick) > 1e-9 else "0" for tick in ticks]
