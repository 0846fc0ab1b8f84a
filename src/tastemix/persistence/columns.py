"""Columns of a model's tables: of the type they should have, and ids that any tool can read."""

from __future__ import annotations

import reprlib

import pyarrow as pa

from tastemix.errors import ModelFileError


def column(table: pa.Table, name: str, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """The column of this name, of which there must be one, and of this type."""
    if table.column_names.count(name) != 1:
        raise ModelFileError(f"a table has {table.column_names.count(name)} columns {name!r}")
    found = table[name]
    if kind is not None and found.type != kind:
        shown = reprlib.repr(str(found.type))
        raise ModelFileError(f"the column {name!r} is of type {shown}: expected {kind}")
    return found


def ids_column(table: pa.Table, name: str, *, uuid: bool) -> pa.ChunkedArray:
    """A column of ids; UUIDs are stored as their bytes."""
    if not uuid:
        return column(table, name)
    plain = column(table, name, pa.binary(16))
    return pa.chunked_array(map(pa.uuid().wrap_array, plain.chunks), pa.uuid())


def with_plain_ids(table: pa.Table, *names: str) -> pa.Table:
    """UUIDs as their bytes: a type that is more than its values is not read back from a file."""
    for name in names:
        ids = table[name]
        if is_uuid(ids.type):
            plain = pa.chunked_array([c.storage for c in ids.chunks], ids.type.storage_type)
            table = table.set_column(table.column_names.index(name), name, plain)
        elif isinstance(ids.type, pa.BaseExtensionType):
            raise ModelFileError(
                f"ids of type {ids.type} cannot be saved: convert them to integers or text"
            )
    return table


def is_uuid(kind: pa.DataType) -> bool:
    """Whether ids are UUIDs."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"
