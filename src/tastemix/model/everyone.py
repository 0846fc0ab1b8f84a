"""Recommendations for everyone, some users at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from tastemix.model.model import Model

ROWS = 1 << 17
"""Recommendations made at a time, which bounds the working memory."""
MOST_USERS = 4096


def users_at_once(n: int) -> int:
    """The users whose lists are made at a time."""
    return max(1, min(ROWS // n, MOST_USERS))


def recommended(
    model: Model, n: int, first: int = 0, last: int | None = None
) -> pa.RecordBatchReader:
    """The recommendations of neighbouring users, or of all; see Model.recommend_all."""
    ids, at_once = model.users.ids, users_at_once(n)
    last = len(ids) if last is None else last
    schema = model.recommend(ids.values[:1], n).schema

    def batches() -> Iterator[pa.RecordBatch]:
        for begin in range(first, last, at_once):
            numbers = np.arange(begin, min(begin + at_once, last), dtype=np.int32)
            yield from model.recommend(ids.take(numbers), n).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
