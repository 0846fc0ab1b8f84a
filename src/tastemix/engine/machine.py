"""What this machine can do."""

from __future__ import annotations

from typing import NamedTuple

from tastemix.engine import _native
from tastemix.engine.cuda import card


class Machine(NamedTuple):
    """Instruction sets, threads and cards."""

    instruction_sets: tuple[str, ...]
    instruction_set: str
    """The one in use."""
    threads: int
    cards: tuple[str, ...]
    no_card: str | None
    """What is missing to use one."""


def look() -> Machine:
    """The machine as it is now."""
    missing = card.missing()
    cards = () if missing else tuple(f"{each}, driver {card.driver()}" for each in card.described())
    sets = tuple(_native.available_isas())
    return Machine(sets, _native.current_isa(), _native.threads(), cards, missing)
