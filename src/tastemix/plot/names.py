"""How items are called in figures and tables."""

from __future__ import annotations

from typing import Any


def called(row: dict[str, Any]) -> str:
    """The title of a row's item, if it has one, or else its id."""
    return str(row.get("title") or row["item"])
