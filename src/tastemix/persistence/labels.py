"""Titles and words of a model's items as tables of their own, which a model may lack.

Texts are codes into distinct ones in the file and in memory, so that no text is written out once
for every item that has it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tastemix.data.columns import is_text
from tastemix.data.halves import rows_of
from tastemix.data.ids import Ids, Indices
from tastemix.data.items import Items, Words
from tastemix.errors import ModelFileError
from tastemix.persistence.columns import column, ids_column, with_plain_ids

TABLES = ("titles", "words")


def tables(labels: Items) -> dict[str, pa.Table]:
    """Titles by item, and words by item, each pair a row; only those that there are."""
    titled = np.flatnonzero(labels.titles >= 0).astype(np.int32)
    words = labels.words
    return {
        "titles": _table(labels, titled, "title", labels.titles[titled], labels.texts),
        "words": _table(labels, rows_of(words.pointers), "word", words.codes, words.vocabulary),
    }


def read(tables: Mapping[str, pa.Table], ids: Ids, *, uuid: bool) -> Items | None:
    """The labels, if the model has any."""
    if not any(name in tables for name in TABLES):
        return None
    titles = np.full(len(ids), -1, np.int32)
    item, code, texts = _pairs(tables, "titles", "title", ids, uuid=uuid)
    if len(np.unique(item)) < len(item):
        raise ModelFileError("one item has two titles")
    titles[item] = code
    item, code, vocabulary = _pairs(tables, "words", "word", ids, uuid=uuid)
    return Items(ids, titles, texts, Words.of(item, code, vocabulary, len(ids)))


def _table(labels: Items, item: Indices, name: str, code: Indices, texts: pa.Array) -> pa.Table:
    used, place = np.unique(code, return_inverse=True)
    text = pa.DictionaryArray.from_arrays(
        pa.array(place.astype(np.int32)), texts.take(pa.array(used))
    )
    return with_plain_ids(pa.table({"item": labels.ids.take(item), name: text}), "item")


def _pairs(
    tables: Mapping[str, pa.Table], table: str, name: str, ids: Ids, *, uuid: bool
) -> tuple[Indices, Indices, pa.Array]:
    """By row of a table: the number of its item, and the place of its text among distinct ones."""
    none = np.empty(0, np.int32)
    if table not in tables or tables[table].num_rows == 0:
        return none, none, pa.array([], pa.string())
    item = ids.find(ids_column(tables[table], "item", uuid=uuid))
    text = column(tables[table], name)
    if not pa.types.is_dictionary(text.type) or not is_text(text.type.value_type):
        raise ModelFileError(f"the column {name!r} is not of text")
    text = text.unify_dictionaries().combine_chunks()
    if text.null_count or text.dictionary.null_count or (item < 0).any():
        raise ModelFileError(f"one {name} is missing, or its item is not known")
    try:
        distinct = text.dictionary.cast(pa.large_string()).dictionary_encode()
    except pa.ArrowException:
        raise ModelFileError(f"one {name} is not in UTF-8") from None
    code = pc.take(distinct.indices, text.indices)
    return item, np.asarray(code, np.int32), distinct.dictionary
