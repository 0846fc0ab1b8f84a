"""A saved model as commands open it, with titles, and items as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tastemix.cli import choices
from tastemix.errors import ParameterError, TastemixError
from tastemix.model.model import Model
from tastemix.persistence import load


def opened(model: Path, items: Path | None) -> Model:
    """A saved model, with the titles and attributes of a file if one is given."""
    labels = choices.items(items)
    with choices.in_item_options():
        return load(model, items=labels)


def item_id(model: Model, typed: str) -> Any:
    """The id of an item, from what was typed: the id itself, or the title of a single item."""
    found = () if model.labels is None else model.labels.named(typed).tolist()
    try:
        return model.items.ids.typed(typed)
    except TastemixError as error:
        if model.labels is not None and not found:
            raise type(error)(f"{error}; no item has this title, either") from None
        if not found:
            raise
    if len(found) > 1:
        ids = ", ".join(str(model.items.ids[item]) for item in found[:5])
        raise ParameterError(f"{len(found)} items have the title {typed!r}: give one id of {ids}")
    return model.items.ids[found[0]]
