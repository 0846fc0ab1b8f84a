"""How much memory a file may take, however small it is itself."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from tastemix import checks
from tastemix.errors import DataError, ParameterError

VARIABLE = "TASTEMIX_MAX_MEMORY"
SHARE = 2
"""By default a file may take this part of the machine's memory: one half,"""
MOST_EXPANSION = 100
"""and so many bytes for each of its own,"""
SMALL = 64 * 2**20
"""or so many, however small it is."""
BYTES_A_ROW = 32
"""What numbering and sorting ratings takes besides their columns, at most."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)


def most(max_memory: int | None, size: int) -> int:
    """The bytes that a file of this size may take in memory; None: by its size and the machine."""
    if max_memory is not None:
        return checks.whole("max_memory", max_memory)
    if told := os.environ.get(VARIABLE):
        if not told.isdecimal() or int(told) < 1:
            raise ParameterError(f"{VARIABLE} is {told!r}: it must be a number of bytes")
        return int(told)
    return min(machine() // SHARE, max(SMALL, MOST_EXPANSION * size))


def machine() -> int:
    """The bytes of memory that this machine has, or that the system leaves this process."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        there = min(there, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return there


def amount(memory: int | str, least: int = 1) -> int:
    """Bytes, which may be given as text such as "1GB"."""
    if isinstance(memory, str):
        found = _SIZE.fullmatch(memory.strip())
        if found is None:
            raise ParameterError(f"memory is {memory!r}: give bytes, or text such as '1GB'")
        unit = _UNITS[found[2].upper()]
        if found[3] and unit > 1:
            unit = 1024 ** (list(_UNITS.values()).index(unit))
        memory = int(float(found[1]) * unit)
    return checks.whole("memory", memory, least=least)


def refuse_more(taken: int, allowed: int, what: Any) -> None:
    """Refuse what would take more memory than it may."""
    if taken > allowed:
        raise DataError(
            f"{what} would take {taken:,} bytes of memory or more, and may take {allowed:,}: "
            f"if you trust it, pass a larger max_memory or set {VARIABLE}"
        )
