"""Whatever a file holds, it is read, or refused with a sentence that says what is wrong.

Whoever sends a model can compute sums, so what is spoiled here is signed anew, as they would.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tastemix as tm
from tastemix.data import pages
from tastemix.data.columns import MissingColumnError
from tastemix.errors import (
    ColumnError,
    DataError,
    DuplicateError,
    IdError,
    ModelFileError,
    RatingError,
    TastemixError,
)
from tastemix.persistence.format import About
from tastemix.persistence.record import LATER

Spoil = Callable[[Path], object]

USERS = ["ann", "ann", "ann", "bob", "bob", "cy", "cy", "dee"]
ITEMS = ["Heat", "Alien", "Up", "Heat", "Jaws", "Alien", "Up", "Jaws"]
STARS = [5, 4, 1, 4, 5, 2, 5, 1]
RATINGS = tm.Ratings.from_arrays(USERS, ITEMS, STARS, timestamp=range(8), scale=(1, 5))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as it should be."""
    folder = tmp_path_factory.mktemp("whole") / "m.tastemix"
    tm.MIXD(3, prior_steps=1, steps=3).fit(RATINGS).save(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return shutil.copytree(whole, tmp_path / "m.tastemix")


@pytest.fixture(scope="module")
def whole_average(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with all a model can have: vectors of two members of rank 3, a ranking, noise."""
    folder = tmp_path_factory.mktemp("average") / "m.tastemix"
    tm.ANMF(1, members=2, steps=2).fit(RATINGS).save(folder)
    return folder


@pytest.fixture
def average(whole_average: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return shutil.copytree(whole_average, tmp_path / "m.tastemix")


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """Whoever waits at a pipe, or reads gigabytes, is woken up."""

    def wake(*_: object) -> None:
        raise TimeoutError("a hostile file kept us waiting")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def change_index(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    index = json.loads((folder / "model.json").read_text())
    change(index)
    (folder / "model.json").write_text(json.dumps(index))


def put(folder: Path, name: str, content: bytes) -> Path:
    """Put a table in the place of another, with the right name and sum."""
    digest = hashlib.sha256(content).hexdigest()
    file = folder / f"{name}-{digest[:16]}.parquet"

    def sign(index: dict[str, Any]) -> None:
        if name in index["tables"]:
            (folder / index["tables"][name]["file"]).unlink(missing_ok=True)
        index["tables"][name] = {"file": file.name, "sha256": digest}

    change_index(folder, sign)
    file.write_bytes(content)
    return file


def table_of(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}-*.parquet")
    return found


def parquet(table: pa.Table, **options: Any) -> bytes:
    options = {"compression": "none", "write_statistics": False, **options}
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


# Ways to spoil a model


def index(**changes: Any) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index.update(changes))


def without(key: str) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index.pop(key))


def entry(name: str, **changes: Any) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index["tables"][name].update(changes))


def phase(**changes: Any) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index["phases"][0].update(changes))


def objective(**changes: Any) -> Spoil:
    return lambda folder: change_index(
        folder, lambda index: index["phases"][0]["objective"].update(changes)
    )


def ranking(**changes: Any) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index["ranking"].update(changes))


def ranking_phase(**changes: Any) -> Spoil:
    return lambda folder: change_index(
        folder, lambda index: index["ranking"]["phases"][0].update(changes)
    )


def step(**changes: Any) -> Spoil:
    return lambda folder: change_index(folder, lambda index: index["history"][0].update(changes))


def raw(change: Callable[[bytes], bytes]) -> Spoil:
    """The bytes of model.json changed."""

    def spoil(folder: Path) -> None:
        path = folder / "model.json"
        path.write_bytes(change(path.read_bytes()))

    return spoil


def text(old: str, new: str) -> Spoil:
    def change(content: bytes) -> bytes:
        assert content.count(old.encode()) == 1
        return content.replace(old.encode(), new.encode())

    return raw(change)


def content(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    """The bytes of a table changed."""
    return lambda folder: put(folder, name, change(table_of(folder, name).read_bytes()))


def columns(name: str, **changes: Any) -> Spoil:
    """Columns of a table changed; None: taken out."""

    def spoil(folder: Path) -> None:
        table = pq.read_table(table_of(folder, name))
        parts = {**{n: table[n] for n in table.column_names}, **changes}
        put(folder, name, parquet(pa.table({n: c for n, c in parts.items() if c is not None})))

    return spoil


def rows(name: str, change: Callable[[pa.Table], pa.Table]) -> Spoil:
    return lambda folder: put(folder, name, parquet(change(pq.read_table(table_of(folder, name)))))


def table(name: str, table: pa.Table, **options: Any) -> Spoil:
    return lambda folder: put(folder, name, parquet(table, **options))


def instead(name: str, make: Callable[[Path], object]) -> Spoil:
    """Something that is not a regular file in the place of one."""

    def spoil(folder: Path) -> None:
        path = folder / name if name == "model.json" else table_of(folder, name)
        path.rename(folder.parent / "elsewhere")
        make(path)

    return spoil


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "elsewhere")


def socket_at(path: Path) -> None:
    """A path that is too long for a socket is made shorter by going there."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.chdir(before)


def sparse(name: str, size: int) -> Spoil:
    """A file of zeros that takes no room on the disk."""

    def spoil(folder: Path) -> None:
        path = folder / name if name == "model.json" else table_of(folder, name)
        with path.open("r+b") as file:
            file.truncate(size)

    return spoil


def swapped(folder: Path) -> None:
    """Users for items, under each other's name and with the right sums."""
    users, items = (table_of(folder, name).read_bytes() for name in ("users", "items"))
    put(folder, "users", items)
    put(folder, "items", users)


def exchanged(folder: Path) -> None:
    """Users for items, as the index names them."""

    def change(index: dict[str, Any]) -> None:
        tables = index["tables"]
        tables["users"], tables["items"] = tables["items"], tables["users"]

    change_index(folder, change)


def from_another_model(folder: Path) -> None:
    other = tm.Ratings.from_arrays(["eve", "eve", "flo"], ["Heat", "Up", "Up"], [1, 2, 3])
    tm.RNMF(3, steps=1).fit(other).save(folder.parent / "other")
    put(folder, "items", table_of(folder.parent / "other", "items").read_bytes())


def footer(description: bytes) -> Callable[[bytes], bytes]:
    """A table with another description of itself."""
    return lambda whole: whole[:-8] + description + len(description).to_bytes(4, "little") + b"PAR1"


def vectors(values: Any, kind: pa.DataType | None = None, size: int = 3) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(values, kind), size)


def ids(*values: Any) -> Spoil:
    return columns("users", id=pa.array(values))


def invalid_text(*values: bytes) -> pa.Array:
    """Bytes that claim to be UTF-8."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    )


# Numbers in Parquet's own descriptions are zigzag varints.


def varint(number: int) -> bytes:
    zigzag = number << 1 if number >= 0 else -2 * number - 1
    result = bytearray()
    while zigzag > 127:
        result.append(zigzag & 127 | 128)
        zigzag >>= 7
    return bytes([*result, zigzag])


def lying(content: bytes, old: int, new: int, *which: int) -> bytes:
    """A number in the footer replaced by another: everywhere, or only some of its occurrences."""
    length = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - length], content[-8 - length : -8]
    *parts, last = footer.split(varint(old))
    changed = [parts[at] for at in which] if which else parts
    footer = b"".join(part + varint(new if part in changed else old) for part in parts) + last
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


NINES = 9_999_999


def constant(count: int, **options: Any) -> bytes:
    """Many equal numbers in a few bytes."""
    return parquet(pa.table({"id": pa.repeat(pa.scalar(7), count)}), **options)


def zeros(count: int, **options: Any) -> bytes:
    """Many zeros that a codec makes few bytes of."""
    return parquet(pa.table({"id": np.zeros(count)}), use_dictionary=False, **options)


def tiny_pages(count: int) -> bytes:
    """A page for every row."""
    options = {"data_page_size": 1, "write_batch_size": 1, "use_dictionary": False}
    return parquet(pa.table({"id": np.zeros(count, np.int8)}), **options)


def hidden(content: bytes) -> bytes:
    """A footer without rows, fields that no one knows, and the true footer.

    Arrow counts fields in 16 bits, so that the true ones have their numbers again.
    """
    empty = parquet(pq.read_table(io.BytesIO(content))[:0])
    decoy, true = (
        whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8] for whole in (empty, content)
    )
    last = 7  # column orders
    steps, rest = divmod(2**16 - last, 15)
    unknown = b"\xf1" * steps + bytes([rest << 4 | 1])  # booleans, each 15 fields on
    return footer(decoy[:-1] + unknown + true)(content[: -len(true) - 8] + bytes(8))


def too_long(size: int) -> bytes:
    """A column of so many bytes in a small file."""
    content = parquet(pa.table({"id": range(12345)}), use_dictionary=False)
    chunk = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0)
    return lying(content, chunk.total_compressed_size, size)


def one_long_list() -> bytes:
    """A row of ten million entries that says it has three: 500 bytes, 150 MB when read."""
    entries = pa.repeat(pa.scalar(1, pa.float32()), NINES)
    table = pa.table(
        {"vector": pa.ListArray.from_arrays(pa.array([0, NINES], pa.int32()), entries)}
    )
    options = {"data_page_size": 2**31 - 1, "write_batch_size": NINES}
    return lying(parquet(table, **options), NINES, 3)


def overlapping() -> bytes:
    """Row groups that all are the first one, whose text is read once for each."""
    words = pa.table({"id": [f"{word:09}" * 999 for word in range(20)] * 3})
    content = parquet(words, row_group_size=20)
    metadata = pq.read_metadata(io.BytesIO(content))
    first, *others = (metadata.row_group(at).column(0) for at in range(metadata.num_row_groups))
    for chunk in others:
        for name in ("dictionary_page_offset", "data_page_offset"):
            content = lying(content, getattr(chunk, name), getattr(first, name))
    length = int.from_bytes(content[-8:-4], "little")
    return content[: 4 + first.total_compressed_size] + content[-8 - length :]


def json_text() -> bytes:
    """Text that Arrow does not read as a dictionary, so that it takes memory for every row."""
    column = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"] * 4))
    return parquet(pa.table({"id": column}), store_schema=False)


class Unpickled(pa.ExtensionType):
    """A type as Arrow had it once: whatever a file says of it is unpickled."""

    ran: ClassVar[list[object]] = []

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.unpickled")

    def __arrow_ext_serialize__(self) -> bytes:
        return pickle.dumps("anything")

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: object, serialized: bytes) -> Unpickled:
        cls.ran.append(pickle.loads(serialized))
        return cls()


def extension(shift: int) -> pa.Table:
    """A column of that type; the shift moves its name within base64, by four bytes at a time."""
    kind = Unpickled()
    column = pa.ExtensionArray.from_storage(kind, pa.array([1, 2, 3, 4]))
    return pa.table({"x" * (4 * shift + 1): [1, 2, 3, 4], "id": column})


def py_extension() -> pa.Table:
    """What a file held that was written by a pickling type of Arrow before 21."""
    metadata = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(print),
    }
    return pa.table([[1, 2, 3, 4]], pa.schema([pa.field("id", pa.int64(), metadata=metadata)]))


FLAT = pa.array([1.0] * 12, pa.float32())
HOSTILE: dict[str, tuple[Spoil, str]] = {
    # the folder
    "no folder": (shutil.rmtree, "not a saved model: .*no model.json"),
    "a file": (
        lambda folder: (shutil.rmtree(folder), folder.write_bytes(b"PK")),
        "m.tastemix is a file: a saved model is a folder",
    ),
    "no index": (lambda folder: (folder / "model.json").unlink(), "it has no model.json"),
    "no table": (
        lambda folder: table_of(folder, "items").unlink(),
        r"items-[0-9a-f]{16}\.parquet is missing: copy the whole folder",
    ),
    # no plain files
    "linked index": (instead("model.json", link), "model.json is not a regular file: copy"),
    "linked table": (instead("users", link), r"users-.*\.parquet is not a regular file"),
    "link to itself": (
        instead("users", lambda path: path.symlink_to(path)),
        "is not a regular file",
    ),
    "pipe for an index": (instead("model.json", os.mkfifo), "model.json is not a regular file"),
    "pipe for a table": (
        instead("ratings", os.mkfifo),
        r"ratings-.*\.parquet is not a regular file",
    ),
    "folder for an index": (instead("model.json", Path.mkdir), "model.json is not a regular file"),
    "folder for a table": (
        instead("items", Path.mkdir),
        r"items-.*\.parquet is not a regular file",
    ),
    "socket for a table": (instead("items", socket_at), r"items-.*\.parquet is not a regular file"),
    "endless device": (
        instead("users", lambda path: path.symlink_to("/dev/zero")),
        "is not a regular file",
    ),
    # the index as bytes
    "empty index": (raw(lambda _: b""), "model.json is not valid JSON: Expecting value"),
    "cut index": (raw(lambda content: content[:-30]), "model.json is not valid JSON"),
    "more after the index": (raw(lambda content: content + b"{}"), "not valid JSON: Extra data"),
    "zeros": (raw(lambda content: bytes(len(content))), "model.json is not valid JSON"),
    "latin-1": (
        raw(lambda content: content.replace(b"MIXD", b"M\xe9")),
        "not valid JSON: 'utf-8' codec",
    ),
    "utf-16": (
        raw(lambda content: content.decode().encode("utf-16")),
        "not valid JSON: 'utf-8' codec",
    ),
    "byte order mark": (raw(lambda c: b"\xef\xbb\xbf" + c), "not valid JSON: Unexpected UTF-8 BOM"),
    "deep JSON": (raw(lambda _: b"[" * 10**6), "not valid JSON: maximum recursion"),
    "deep objects": (raw(lambda _: b'{"a":' * 10**6), "not valid JSON: maximum recursion"),
    "gigabytes of index": (sparse("model.json", 2**36), "model.json is too large"),
    "a list": (raw(lambda _: b"[1, 2]"), "does not describe a tastemix model"),
    "a number": (raw(lambda _: b"7"), "does not describe a tastemix model"),
    "a name twice": (
        raw(lambda content: content.replace(b"{", b'{"version": 2,', 1)),
        "not valid JSON: a name is given twice",
    ),
    "NaN": (text('"mean": 3.375', '"mean": NaN'), "not valid JSON: 'NaN' is not a finite"),
    "infinity": (text('"mean": 3.375', '"mean": -Infinity'), "not valid JSON: '-Infinity' is not"),
    "1e400": (text('"mean": 3.375', '"mean": 1e400'), "not valid JSON: '1e400' is not a finite"),
    "NaN in a parameter": (
        text('"rank": 3', '"rank": NaN'),
        "not valid JSON: 'NaN' is not a finite",
    ),
    "5000 digits": (
        text('"mean": 3.375', '"mean": ' + "9" * 5000),
        "not valid JSON: Exceeds the limit",
    ),
    "400 digits": (
        text('"mean": 3.375', '"mean": ' + "9" * 400),
        r"its mean is 99999.*\.\.\..*9999: expected a finite number",
    ),
    # what the index says
    "another format": (index(format="zip"), "does not describe a tastemix model"),
    "a later version": (index(version=4), "has format version 4.*reads 2 to 3: .*release"),
    "an earlier version": (index(version=1), "has format version 1.*reads 2 to 3: .*release"),
    "version as text": (index(version="2"), "has format version '2', .*reads 2"),
    "version as a float": (index(version=2.0), r"has format version 2\.0, .*reads 2"),
    "version as a boolean": (index(version=True), "has format version True, .*reads 2"),
    "no version": (without("version"), "has format version None, .*reads 2"),
    "long version": (index(version="v" * 10**6), r"has format version 'vvvv.*\.\.\.v+', .*reads 2"),
    "no tables": (without("tables"), "model.json names no tables"),
    "list of tables": (index(tables=["users"]), "model.json names no tables"),
    "empty tables": (index(tables={}), "is incomplete or damaged: it has no table of users"),
    "no table of items": (
        lambda folder: change_index(folder, lambda index: index["tables"].pop("items")),
        "is incomplete or damaged: it has no table of items",
    ),
    "scale upside down": (index(scale=[5, 1]), r"scale is \(5\.0, 1\.0\): give two finite"),
    "scale of three": (index(scale=[1, 2, 3]), r"its scale is \[1, 2, 3\]: expected a list of 2"),
    "scale of text": (index(scale=["1", "5"]), r"its scale\[0\] is '1': expected a finite number"),
    "huge scale": (index(scale=[0, 1e300]), "its shift exceeds .*32-"),
    "huge mean": (index(mean=-1e39), "its shift exceeds .*32-bit"),
    "huge shift": (
        index(shift=1e39),
        "its shift exceeds .*32-bit",
    ),
    "method with markup": (
        index(method="[red]\x1b[0m"),
        r"its method is '\[red\]\\x1b.*expected a name",
    ),
    "no method": (index(method=""), "its method is '': expected a name"),
    "held beyond": (index(held={"users": [3], "items": []}), r"holds coordinates \(3,\) of 3"),
    "held below": (
        index(held={"users": [], "items": [-1]}),
        r"held\.items\[0\] is -1: expected .* 0 or more",
    ),
    "held twice": (index(held={"users": [1, 1], "items": []}), r"holds coordinates \(1, 1\) of 3"),
    "held as booleans": (index(held={"users": [True], "items": []}), r"its held\.users\[0\] is Tr"),
    "held by others": (index(held={"users": [], "items": [], "x": []}), "it has 'x' in 'held.'"),
    "nothing held": (index(held={}), "it lacks 'held.users'"),
    "uuids of others": (
        index(uuids=["movie"]),
        r"uuids\[0\] is 'movie': expected 'user' or 'item'",
    ),
    "uuids that are none": (
        index(uuids=["user"]),
        "the column 'id' is of type 'dictionary.*expected",
    ),
    # phases and history
    "eternal phase": (
        phase(steps=10**12),
        "has 1,000,000,000,000 steps, more than",
    ),
    "phase before it began": (
        phase(steps=-1),
        r"phases\[0\]\.steps is -1: expected a whole number",
    ),
    "half a step": (phase(steps=1.5), r"its phases\[0\]\.steps is 1\.5: expected a whole number"),
    "steps beyond 64 bits": (phase(steps=2**63), r"its phases\[0\]\.steps is 9223372036854775808"),
    "unknown in a phase": (
        phase(code="import os"),
        r"it has 'code' in 'phases\[0\]\.': that name is unk",
    ),
    "absurd tolerance": (phase(tolerance=2), r"tolerance is 2\.0: it must be at least 0 and below"),
    "no phase": (index(phases=[{}]), r"it lacks 'phases\[0\]\.objective'"),
    "unknown in an objective": (objective(l3=1), r"it has 'l3' in 'phases\[0\]\.objective\.'"),
    "negative penalty": (objective(l1=-1), r"l1 is -1\.0: .* from 0"),
    "penalty as text": (
        objective(l1="1"),
        r"its phases\[0\]\.objective\.l1 is '1': expected a fin",
    ),
    "penalty as a boolean": (objective(l2=True), r"its phases\[0\]\.objective\.l2 is True"),
    "unknown prior": (
        objective(prior="os.system"),
        r"objective\.prior is 'os\.system': expected",
    ),
    "heavy prior": (objective(weight=9), r"weight is 9\.0: it must be a number from 0 to 1"),
    "history of numbers": (index(history=[1, 2]), r"its history\[0\] is 1: expected an object"),
    "history of nothing": (index(history=[{}]), r"it lacks 'history\[0\]\.number'"),
    "history without a clock": (
        step(seconds=None),
        r"its history\[0\]\.seconds is None: expected a",
    ),
    "history of a huge number": (
        step(updates=10**400),
        r"its history\[0\]\.updates is 10000.*whole",
    ),
    "history of more": (step(x=1), r"it has 'x' in 'history\[0\]\.'"),
    "deep history": (
        index(history=[[[[[[[[[]]]]]]]]]),
        r"its history\[0\] is \[\[.*\]\]: expected an",
    ),
    # names of files
    **{
        f"name {name!r}": (entry("users", file=name), "as its users: the name")
        for name in [
            "../../../etc/passwd",
            "/etc/passwd",
            "users-0123456789abcdef.parquet/../../x",
            "..\\..\\users.parquet",
            "users-0123456789abcdef.parquet\0.json",
            "users-0123456789abcdef.parquet",
            "USERS-0123456789ABCDEF.parquet",
            "http://example.org/users-0123456789abcdef.parquet",
            "",
            None,
            7,
            ["users"],
        ]
    },
    "path in a sum": (entry("users", sha256="../" * 22), "the name is not valid"),
    "path in a sum and in a name": (
        entry("users", sha256="/../../../etc/x/" * 4, file="users-/../../../etc/x/.parquet"),
        r"names 'users-/\.\..*' as its users: the name",
    ),
    "sum in capitals": (entry("users", sha256="A" * 64), "the name is not valid"),
    "short sum": (entry("users", sha256="abc"), "the name is not valid"),
    "no sum": (entry("users", sha256=None), "the name is not valid"),
    "table that is none": (index(tables={"users": "x"}), "names None as its users: the name"),
    "exchanged": (exchanged, r"names 'items-.*' as its users: the name"),
    # tables as bytes
    "changed table": (
        lambda folder: table_of(folder, "users").write_bytes(b"PAR1" * 99),
        "is damaged: .*not the one in model.json",
    ),
    "zeros at the end": (sparse("users", 2**20), "is damaged: .*SHA-256"),
    "empty table": (
        content("users", lambda _: b""),
        "as a table: it does not end like",
    ),
    "eight bytes": (content("users", lambda _: b"\0\0\0\0PAR1"), "does not end like a Parquet"),
    "only a footer": (content("users", lambda _: b"PAR1\0\0\0\0PAR1"), "invalid or unusual"),
    "cut table": (content("users", lambda whole: whole[:-9]), "does not end like a Parquet"),
    "cut in the middle": (
        content("ratings", lambda w: w[:200] + w[400:]),
        "cannot be read as a tab",
    ),
    "no beginning": (content("items", lambda w: w[200:]), "cannot be read as a table"),
    "encrypted": (content("items", lambda w: w[:-4] + b"PARE"), "does not end like a Parquet"),
    "huge footer": (
        content("items", lambda w: w[:-8] + b"\xff\xff\xff\x7fPAR1"),
        "does not end like a Parquet",
    ),
    "long footer": (
        content("items", lambda w: bytes(2**21) + (2**21 - 99).to_bytes(4, "little") + b"PAR1"),
        "does not end like a Parquet",
    ),
    "csv": (content("users", lambda _: b"id,mean,count,vector\n"), "does not end like a Parquet"),
    "pickle": (content("users", lambda _: pickle.dumps(print)), "does not end like a Parquet"),
    "structs in structs": (
        content("users", footer(b"\x1c" * 9999)),
        "metadata is invalid or unusual",
    ),
    "lists in lists": (
        content("users", footer(b"\x19" * 9999)),
        "metadata is invalid or unusual",
    ),
    "endless list": (
        content("users", footer(b"\x19\xf3\xff\xff\xff\xff\xff\xff\x7f\0")),
        "metadata is invalid or unusual",
    ),
    "schema of numbers": (content("users", footer(b"\x29\x15\x02\0")), "invalid or unusual"),
    "endless number": (content("users", footer(b"\x15" + b"\xff" * 10**6)), "invalid or unusual"),
    # tables that run code or take gigabytes
    "pickling type": (
        table("users", py_extension()),
        "is of an extension type, which may run code",
    ),
    **{
        f"registered type, shift {shift}": (table("users", extension(shift)), "may run code")
        for shift in range(6)
    },
    **{
        f"{codec} bomb": (
            content("users", lambda _, codec=codec: zeros(10**7, compression=codec)),
            r"it would take \d{2},\d{3},\d{3} bytes of memory or more",
        )
        for codec in ("gzip", "zstd")
    },
    "many equal rows": (
        content("users", lambda _: constant(10**7)),
        r"it would take 6\d,\d{3},\d{3} bytes of memory or more",
    ),
    "rows that are not there": (
        content("users", lambda _: lying(constant(12345), 12345, 10**12, 0, -1)),
        r"it would take 8,000,000,\d{3},\d{3} bytes of memory or more",
    ),
    "list that is longer": (
        content("users", lambda _: one_long_list()),
        "pages hold more or less than",
    ),
    "text that is read often": (
        content("users", lambda _: overlapping()),
        "its columns overlap",
    ),
    "prefixes that multiply": (
        table(
            "users",
            pa.table({"id": ["a" * 10**5 + str(n) for n in range(700)]}),
            use_dictionary=False,
            column_encoding={"id": "DELTA_BYTE_ARRAY"},
        ),
        r"it would take \d{2,3},\d{3},\d{3} bytes of memory or more",
    ),
    "row groups behind a count that begins again": (
        content("users", lambda _: hidden(constant(10**7))),
        "metadata is invalid or unusual",
    ),
    "numbers of more bits than their type": (
        content("users", lambda _: lying(constant(12345), 12345, 2**64 + 12345)),
        "metadata is invalid or unusual",
    ),
    "a page for every row": (
        content("users", lambda _: tiny_pages(100_001)),
        "too many pages",
    ),
    "text of a type of its own": (
        content("users", lambda _: json_text()),
        "unexpected type 'extension<arrow.json>'",
    ),
    "many columns": (
        table("users", pa.table({f"c{n}": [1] for n in range(99)})),
        "too many columns",
    ),
    "column before the beginning": (
        content("users", lambda _: too_long(-1)),
        "a column lies outside the file",
    ),
    "column beyond the end": (
        content("users", lambda _: too_long(10**9)),
        "a column lies outside the file",
    ),
    # ids
    "null id": (ids("ann", None, "cy", "dee"), "the user id in row 1 is missing"),
    "id twice": (ids("ann", "bob", "bob", "dee"), "the user id in row 2, 'bob', is out of order"),
    "ids in disorder": (
        ids("bob", "ann", "cy", "dee"),
        "the user id in row 0, 'bob', is out of ord",
    ),
    "nested ids": (
        ids(*[{"x": n} for n in range(4)]),
        "unexpected type 'struct<x: int64>'",
    ),
    "list ids": (ids([1], [2], [3], [4]), "the user ids are of type list<element: int64>: convert"),
    "text in lists": (
        ids(["a"], ["b"], ["c"], ["d"]),
        "unexpected type 'list<element",
    ),
    "endless id": (ids("a", "b", "c" * 10**6, "c" * 10**6), "in row 3, 'ccc.*ccc$"),
    "nan id": (ids(1.0, 2.0, 3.0, float("nan")), "the user id in row 3 is nan"),
    "ids of nothing": (ids(None, None, None, None), "the user id in row 0 is missing"),
    "ids not in UTF-8": (
        columns("users", id=invalid_text(b"a", b"b", b"c", b"\xff\xfe")),
        "Invalid UTF8 sequence",
    ),
    "no ids": (columns("users", id=None), "a table has 0 columns 'id'"),
    "ids as capitals": (
        rows("users", lambda t: t.rename_columns(["ID", "mean", "count", "vector"])),
        "a table has 0 columns 'id'",
    ),
    "two columns of ids": (
        rows("users", lambda t: t.append_column("id", t["id"])),
        "a table has 2 columns 'id'",
    ),
    "no rows": (rows("items", lambda t: t[:0]), "it has no items"),
    "no columns": (table("items", pa.table({})), "a table has 0 columns 'id'"),
    # vectors
    "float64": (
        columns("users", vector=vectors([1.0] * 12)),
        "its user vectors are of type 'fixed_s",
    ),
    "integers": (
        columns("users", vector=vectors([1] * 12)),
        r"vectors are of type 'fixed_size_l.*",
    ),
    "lists of any length": (
        columns("users", vector=pa.array([[1.0]] * 4, pa.list_(pa.float32()))),
        "user vectors are of type 'list<element: float>'",
    ),
    "no list": (
        columns("users", vector=FLAT[:4]),
        "its user vectors are of type 'float': expected",
    ),
    "vectors of text": (
        columns("users", vector=["1"] * 4),
        "its user vectors are of type 'dictionary",
    ),
    "no vectors": (columns("users", vector=None), "a table has 0 columns 'vector'"),
    "missing vector": (
        columns("users", vector=pa.array([[1, 2, 3]] * 3 + [None], pa.list_(pa.float32(), 3))),
        "one user vector is missing or has missing entries",
    ),
    "missing entry": (
        columns("items", vector=vectors([1, None, *[1] * 10], pa.float32())),
        "one item vector is missing or has missing entries",
    ),
    "nan entry": (
        columns("users", vector=vectors([np.nan] + [1] * 11, pa.float32())),
        "not finite",
    ),
    "infinite entry": (
        columns("items", vector=vectors([1] * 11 + [-np.inf], pa.float32())),
        "one vector has entries that are not finite",
    ),
    "another rank": (
        columns("users", vector=vectors([1] * 8, pa.float32(), 2)),
        "its user vectors have length 2 and its item vectors 3",
    ),
    "vectors of nothing": (
        lambda folder: [
            columns(name, vector=pa.array([[]] * 4, pa.list_(pa.float32(), 0)))(folder)
            for name in ("users", "items")
        ],
        "cannot be read as a table: Expected all lists to be of size=0|its rank is 0",
    ),
    "absurd rank": (
        lambda folder: [
            columns(name, vector=vectors(np.ones(4 * 70_000, np.float32), None, 70_000))(folder)
            for name in ("users", "items")
        ],
        "its rank is 70,000: expected 1 to 65,536",
    ),
    # means and counts
    "means as text": (
        columns("users", mean=["1"] * 4),
        "the column 'mean' is of type 'dictionary.*",
    ),
    "means in 32 bits": (
        columns("users", mean=FLAT[:4]),
        "'mean' is of type 'float': expected double",
    ),
    "no mean": (
        columns("users", mean=pa.array([1.0, 2.0, 3.0, None])),
        "one user has ratings but no finite mean",
    ),
    "infinite mean": (
        columns("items", mean=[1.0, np.inf, 3.0, 4.0]),
        "one item has ratings but no fin",
    ),
    "mean of nothing": (columns("items", count=[0, 1, 2, 3]), "one item has a mean but no ratings"),
    "negative count": (
        columns("users", count=[-1, 1, 1, 1]),
        "one user has a negative number of rati",
    ),
    "no count": (columns("users", count=[None, 1, 1, 1]), "one user has no number of ratings"),
    "counts as floats": (
        columns("users", count=[1.0] * 4),
        "'count' is of type 'double': expected int",
    ),
    # ratings
    "swapped": (swapped, "user in row 0 .*not"),
    "another model's items": (from_another_model, "item in row 0 .*not"),
    "unknown user": (
        columns("ratings", user=["zoe"] * 8),
        "user in row 0 .*not",
    ),
    "users of another type": (columns("ratings", user=range(8)), "the user ids are strings, but 0"),
    "null user": (columns("ratings", user=["ann"] * 7 + [None]), "the user id in row 7 is missing"),
    "pair twice": (
        rows("ratings", lambda t: pa.concat_tables([t, t[:1]])),
        "user 'ann' rated item 'Alien' twice, in rows 0 and 8",
    ),
    "outside the scale": (
        index(scale=[1, 4]),
        "the rating in row 1 is 5, outside the scale 1 to 4",
    ),
    "nan rating": (
        columns("ratings", rating=pa.array([np.nan] * 8, pa.float32())),
        "the rating in row 0 is nan",
    ),
    "null rating": (
        columns("ratings", rating=pa.array([None] + [1] * 7, pa.float32())),
        "the rating in row 0 is missing",
    ),
    "ratings in 64 bits": (
        columns("ratings", rating=[1.0] * 8),
        "'rating' is of type 'double': exp",
    ),
    "times as text": (
        columns("ratings", timestamp=["x"] * 8),
        "'timestamp' is of type 'dictionary",
    ),
    "no time": (
        columns("ratings", timestamp=[None, *range(7)]),
        "the timestamp in row 0 is missing",
    ),
    "ratings without items": (columns("ratings", item=None), "a table has 0 columns 'item'"),
}


NO_MULTIPLE = "its rank 6 is not a multiple of {} members"
HOSTILE_AVERAGE: dict[str, tuple[Spoil, str]] = {
    # members: each has the coordinates taste, the user's offset, the item's offset
    "members that do not divide": (index(members=4), NO_MULTIPLE.format(4)),
    "no members": (index(members=0), NO_MULTIPLE.format(0)),
    "more members than coordinates": (index(members=12), NO_MULTIPLE.format(12)),
    "members beyond 64 bits": (
        index(members=2**63),
        "its members is 9223372036854775808: expected",
    ),
    "half a member": (index(members=1.5), r"its members is 1\.5: expected a whole number of 0 or"),
    "members that hold less": (
        index(held={"users": [2], "items": [1, 4]}),
        r"its members hold different coordinates: \(2,\)",
    ),
    "members that hold others": (
        index(held={"users": [2, 5], "items": [1, 3]}),
        r"its members hold different coordinates: \(1, 3\)",
    ),
    "members of another width": (index(members=3), "its members hold different coordinates"),
    "no number of members": (without("members"), "it lacks 'members'"),
    # the ranking, of two members of rank 3
    "ranking members that do not divide": (
        ranking(members=4),
        "its rank 6 is not a multiple of 4 members",
    ),
    "ranking of no members": (ranking(members=0), "its rank 6 is not a multiple of 0 members"),
    "ranking members that hold others": (
        ranking(held={"users": [1], "items": []}),
        r"its members hold different coordinates: \(1,\)",
    ),
    "ranking that holds beyond": (
        ranking(held={"users": [], "items": [6]}),
        r"it holds coordinates \(6,\) of 6",
    ),
    "eternal ranking": (
        ranking_phase(steps=10**12),
        "has 1,000,000,000,000 steps, more than",
    ),
    "ranking before it began": (
        ranking_phase(steps=-1),
        r"ranking\.phases\[0\]\.steps is -1: expected a whole number",
    ),
    "ranking without phases": (ranking(phases=[]), "its ranking has no phases"),
    "ranking of no phase": (ranking(phases=[{}]), r"it lacks 'ranking\.phases\[0\]\.objective'"),
    "absurd ranking tolerance": (ranking_phase(tolerance=2), r"tolerance is 2\.0: it must be at"),
    "huge ranking shift": (ranking(shift=1e39), "its shift exceeds"),
    "unknown in a ranking": (
        ranking(code="import os"),
        "it has 'code' in 'ranking.': that name is unk",
    ),
    "no ranking vectors": (columns("users", ranking=None), "a table has 0 columns 'ranking'"),
    "no ranking vectors of items": (
        columns("items", ranking=None),
        "a table has 0 columns 'ranking'",
    ),
    "ranking of another rank": (
        columns("users", ranking=vectors([1] * 32, pa.float32(), 8)),
        "its user vectors have length 8 and its item vectors 6",
    ),
    "nan in the ranking": (
        columns("items", ranking=vectors([np.nan] + [1] * 23, pa.float32(), 6)),
        "one vector has entries that are not finite",
    ),
    "missing in the ranking": (
        columns("users", ranking=vectors([None] + [1] * 23, pa.float32(), 6)),
        "one user vector is missing or has missing entries",
    ),
    "ranking in 64 bits": (
        columns("users", ranking=vectors([1.0] * 24, None, 6)),
        "its user vectors are of type 'fixed_s",
    ),
    "ranking of numbers": (columns("users", ranking=FLAT[:4]), "vectors are of type 'float': exp"),
    # noise
    "noise of six": (index(noise=[0.5] * 6), "its noise has 6 coefficients: expected 7"),
    "noise of eight": (index(noise=[0.5] * 8), "its noise has 8 coefficients: expected 7"),
    "noise of text": (index(noise=["1"] * 7), r"its noise\[0\] is '1': expected a finite number"),
    "noise of null": (index(noise=[None] * 7), r"its noise\[0\] is None: expected a finite number"),
    "noise beyond floats": (
        index(noise=[10**400] * 7),
        r"its noise\[0\] is 1000.*expected a finite",
    ),
    "no noise of users": (columns("users", noise=None), "a table has 0 columns 'noise'"),
    "no noise of items": (columns("items", noise=None), "a table has 0 columns 'noise'"),
    "nan noise": (
        columns("users", noise=[0.0, np.nan, 0.0, 0.0]),
        "noise is not finite",
    ),
    "infinite noise": (
        columns("items", noise=[0.0, 0.0, 0.0, -np.inf]),
        "noise is not finite",
    ),
    "missing noise": (
        columns("users", noise=pa.array([0.0, None, 0.0, 0.0])),
        "noise is not finite",
    ),
    "noise in 32 bits": (columns("users", noise=FLAT[:4]), "'noise' is of type 'float': expected"),
    "noise as text": (columns("users", noise=["1"] * 4), "'noise' is of type 'dictionary"),
}


def refused(path: Path, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as raised:
        tm.load(path)
    assert raised.type is ModelFileError
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


def test_the_model_to_be_spoiled_is_whole(folder: Path) -> None:
    for name in ("users", "items", "ratings"):
        put(folder, name, parquet(pq.read_table(table_of(folder, name))))
    model = tm.load(folder)
    assert model.ratings is not None
    assert model.ratings.fingerprint == RATINGS.fingerprint
    assert len(HOSTILE) > 150


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_model_is_refused_with_a_sentence(kind: str, folder: Path) -> None:
    spoil, message = HOSTILE[kind]
    spoil(folder)
    refused(folder, message)


def test_the_average_to_be_spoiled_is_whole(average: Path) -> None:
    for name in ("users", "items", "ratings"):
        put(average, name, parquet(pq.read_table(table_of(average, name))))
    model = tm.load(average)
    assert model.factors.members == 2
    assert model.ranking is not None
    assert (model.factors.rank, model.ranking.factors.rank) == (6, 6)
    assert model.noise is not None


@pytest.mark.parametrize("kind", HOSTILE_AVERAGE)
def test_a_hostile_average_is_refused_with_a_sentence(kind: str, average: Path) -> None:
    spoil, message = HOSTILE_AVERAGE[kind]
    spoil(average)
    refused(average, message)


def test_an_average_may_lose_its_ranking_and_its_errors(average: Path) -> None:
    index(ranking=None, noise=None)(average)
    model = tm.load(average)
    assert (model.ranking, model.noise) == (None, None)
    score = model.recommend("ann", 1, seen=[])["score"][0].as_py()
    assert score == model.predict(["ann"] * 4, sorted(set(ITEMS)), clip=False).max()


WRONG: list[Any] = [None, True, -1, 0.5, 10**400, "x", "", [], [[]], [None], {}, {"x": None}]
RIGHT: dict[str, list[Any]] = {
    "method": ["x"],
    "parameters": [{}, {"x": None}],
    "phases": [[]],
    "history": [[]],
    "mean": [-1, 0.5],
    "shift": [-1, 0.5],
    "ranking": [None],
    "order": [None],
    "noise": [None],
    "uuids": [[]],
    "fingerprint": [None],
    "made_with": [{}],
    "ridges": [None],
    "unknown": [None, "mean", "average"],
    "pulls": [None],
    "numbering": [None],
    "groups": [None],
}
SAID = {"fingerprint": "|its ratings, ids or scale", "groups": "|its coordinates are of the tastes"}
KEYS = [field.name for field in dataclasses.fields(About)]


@pytest.mark.parametrize("key", KEYS)
def test_every_entry_of_the_index_is_of_its_type(key: str, average: Path) -> None:
    said = f"is incomplete or damaged: (its {key}|it lacks '{key}|it has 'x'{SAID.get(key, '')})"
    for value in WRONG:
        if not any(type(value) is type(right) and value == right for right in RIGHT.get(key, [])):
            index(**{key: value})(average)
            refused(average, said)
    for value in RIGHT.get(key, []):
        index(**{key: value})(average)
        tm.load(average)


@pytest.mark.parametrize("key", [key for key in KEYS if f"About.{key}" not in LATER])
def test_every_entry_of_the_index_is_needed(key: str, average: Path) -> None:
    without(key)(average)
    refused(average, f"is incomplete or damaged: it lacks '{key}'")


@pytest.mark.parametrize("key", ["format", "version", "tables"])
def test_every_entry_about_the_format_is_of_its_type(key: str, folder: Path) -> None:
    for value in WRONG:
        index(**{key: value})(folder)
        refused(folder, "does not describe a|has format version|names no tables|no table of users")


def test_what_a_later_release_adds_is_left_alone(folder: Path) -> None:
    index(colour="red", phase=None)(folder)
    change_index(folder, lambda index: index["tables"].update(more={"file": "../x"}))
    assert tm.load(folder).method == "MIXD"


def test_a_model_without_its_ratings_is_none_the_less_checked(whole: Path, tmp_path: Path) -> None:
    tm.load(whole).save(tmp_path / "m", ratings=False)
    index(scale=[5, 1])(tmp_path / "m")
    refused(tmp_path / "m", r"its scale is \(5\.0, 1\.0\)")
    index(scale=[1, 5])(tmp_path / "m")
    columns("users", vector=vectors([np.nan] * 12, pa.float32()))(tmp_path / "m")
    refused(tmp_path / "m", "one vector has entries that are not finite")


def test_no_memory_is_taken_for_what_is_not_there(folder: Path) -> None:
    """Read as it is, this file of 500 bytes takes 150 megabytes."""
    put(folder, "users", one_long_list())
    before = pa.default_memory_pool().max_memory()
    refused(folder, "pages hold more or less than")
    assert pa.default_memory_pool().max_memory() - before < 2**20


@pytest.mark.parametrize("data", [b"\x05\x02\0", b"\x15" + b"\xff" * 10 + b"\0\0"])
def test_what_arrow_might_read_in_another_way_is_refused(data: bytes) -> None:
    """A field numbered the long way; a number of more than ten bytes."""
    with pytest.raises(LookupError):
        pages.value(data, 0, pages.STRUCT)


@pytest.mark.parametrize("shift", range(6))
def test_nothing_is_unpickled(shift: int, folder: Path) -> None:
    file = put(folder, "users", parquet(extension(shift)))
    pa.register_extension_type(Unpickled())
    try:
        refused(folder, "a column is of an extension type, which may run code")
        assert Unpickled.ran == []
        pq.read_table(file)
        assert "anything" in Unpickled.ran  # so it would have been
    finally:
        pa.unregister_extension_type("tests.unpickled")
        Unpickled.ran.clear()


def test_row_groups_behind_a_count_that_begins_again_are_read_by_arrow() -> None:
    """Or else the refusal of such a file would show nothing."""
    content = hidden(constant(1000))
    assert pq.read_metadata(io.BytesIO(content)).row_group(0).num_rows == 1000


WAYS_TO_WRITE: dict[str, dict[str, Any]] = {
    "version 1": {"compression": "none"},
    "version 2": {"data_page_version": "2.0", "compression": "zstd"},
    "snappy with statistics": {"write_statistics": True, "compression": "snappy"},
    "without dictionaries": {"use_dictionary": False},
    **{
        encoding: {
            "use_dictionary": False,
            "column_encoding": {"id": encoding, "count": "DELTA_BINARY_PACKED"},
        }
        for encoding in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")
    },
}


@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_a_table_that_another_tool_wrote_again_is_read(way: str, folder: Path) -> None:
    before = tm.load(folder)
    put(folder, "users", parquet(pq.read_table(table_of(folder, "users")), **WAYS_TO_WRITE[way]))
    after = tm.load(folder)
    assert after.users.ids.values.tolist() == before.users.ids.values.tolist()
    np.testing.assert_array_equal(after.predict(USERS, ITEMS), before.predict(USERS, ITEMS))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["model.json", "users"])
def test_what_may_not_be_read_is_refused(name: str, folder: Path) -> None:
    (folder / name if name == "model.json" else table_of(folder, name)).chmod(0)
    refused(folder, "cannot be read.*Permission denied")


@pytest.mark.parametrize("path", ["a\0b", "x" * 300])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    refused(Path(path), "cannot be read: (embedded null|File name too long)")
    with pytest.raises(ModelFileError, match=r"cannot be written \(.*\).*: .*another folder"):
        tm.PSVD(1).fit(RATINGS).save(path)


# Files of ratings

HEADER = b"user,item,rating\n"


def ratings_table(**changes: Any) -> bytes:
    filled = {"user": ["a", "b"], "item": ["x", "y"], "rating": [1.0, 2.0], **changes}
    return parquet(pa.table(filled), compression="snappy")


BAD_RATINGS: dict[str, tuple[bytes, type[TastemixError], str]] = {
    "nothing": (b"", DataError, "has no rows: there are no ratings"),
    "only a header": (HEADER, DataError, "there are no ratings"),
    "zeros": (bytes(9999), DataError, "is neither csv nor parquet"),
    "a program": (b"\x7fELF\x02\x01\x01\0", DataError, "is neither csv nor parquet"),
    "a pickle": (pickle.dumps({"user": print}), DataError, "is neither csv nor parquet"),
    "utf-16": (HEADER.decode().encode("utf-16-le"), DataError, "is neither csv nor parquet"),
    "utf-16 that ends": (HEADER.decode().encode("utf-16") + b"a", DataError, "cannot be read|rows"),
    "header not in UTF-8": (b"us\xe9r,item,rating\na,b,1\n", ColumnError, "are 'usér', 'item'"),
    "id not in UTF-8": (
        HEADER + "é,b,1\n".encode() + b"x,b,1\n" * 20_000 + b"a\xff,b,1\n",
        IdError,
        r"row 20001 is b'a\\xff': it must be UTF-8",
    ),
    "ragged": (HEADER + b"a,b,1\na,b\n", DataError, "row 1 of .* has 2 fields, not 3"),
    "open quote": (HEADER + b'"a,b,1\n', DataError, "row 0 of .* has 1 fields, not 3"),
    "1e400": (HEADER + b"a,b,1e400\n", RatingError, "the rating in row 0 is inf"),
    "1e300": (HEADER + b"a,b,1e300\n", RatingError, r"the rating in row 0 is 1e\+300"),
    "nan": (HEADER + b"a,b,nan\n", RatingError, "the rating in row 0 is"),
    "no number": (HEADER + b"a,b,1\na,c,=cmd()\n", RatingError, "in row 1 is '=cmd\\(\\)'"),
    "no id": (HEADER + b",b,1\nc,d,1\n", IdError, "the user id in row 0 is missing"),
    "pair twice": (HEADER + b"a,b,1\na,b,2\n", DuplicateError, "user 'a' rated item 'b' twice"),
    "other columns": (b"a,b,c\n1,2,3\n", ColumnError, "there is no column 'user'"),
    "10,000 columns": (b"x," * 10**4 + b"y\n", ColumnError, "are 'x', 'x'.*, …. Name yours"),
    "column twice": (b"user,user,item,rating\n1,1,1,1\n", ColumnError, "2 columns named 'user'"),
    "long line": (HEADER + b"x" * 2**24, DataError, "cannot be read|has 1 fields"),
    "cut gzip": (gzip.compress(HEADER * 99)[:-9], DataError, "cannot be read .*Truncated"),
    "wrong gzip": (b"\x1f\x8b" + b"\xff" * 99, DataError, "cannot be read"),
    "wrong zstd": (b"\x28\xb5\x2f\xfd" + b"\xff" * 99, DataError, "cannot be read"),
    "wrong bz2": (b"BZh9" + b"\xff" * 99, DataError, "cannot be read"),
    "cut parquet": (ratings_table()[:-9], DataError, "cannot be read"),
    "parquet without a middle": (b"PAR1" + ratings_table()[-300:], DataError, "cannot be read"),
    "encrypted parquet": (ratings_table()[:-4] + b"PARE", DataError, "cannot be read"),
    "parquet's name": (b"PAR1", DataError, "cannot be read"),
    "parquet of zeros": (b"PAR1" + bytes(99) + b"PAR1", DataError, "cannot be read"),
    "null id in parquet": (ratings_table(user=["a", None]), IdError, "user id in row 1 is missing"),
    "nested ids in parquet": (ratings_table(item=[[1], [2]]), IdError, "ids are of type list"),
    "nested ratings": (ratings_table(rating=[[1], [2]]), ColumnError, "ratings are of type list"),
    "ratings as text": (ratings_table(rating=["1", "2"]), ColumnError, "are of type string"),
    "nan in parquet": (ratings_table(rating=[1, np.nan]), RatingError, "rating in row 1 is nan"),
    "infinity in parquet": (ratings_table(rating=[-np.inf, 1]), RatingError, "in row 0 is -inf"),
    "1e300 in parquet": (ratings_table(rating=[1, 1e300]), RatingError, r"in row 1 is 1e\+300"),
    "no rows in parquet": (
        parquet(pa.table({"user": [], "item": [], "rating": []})),
        DataError,
        "there are no ratings",
    ),
    "row groups behind a count that begins again": (
        hidden(ratings_table()),
        DataError,
        "cannot be read .*header is not valid",
    ),
    "a page for every row": (
        parquet(
            pa.table({name: np.zeros(33_400, np.int8) for name in ("user", "item", "rating")}),
            data_page_size=1,
            write_batch_size=1,
            use_dictionary=False,
        ),
        DataError,
        "too many pages for its size",
    ),
    "no columns in parquet": (parquet(pa.table({})), ColumnError, "there is no column 'user'"),
    "column twice in parquet": (
        parquet(pa.table([[1], [1], [1], [1]], ["user", "user", "item", "rating"])),
        ColumnError,
        "2 columns named 'user'",
    ),
}


def test_a_walk_over_pages_ends_where_chunks_are_more_than_the_file() -> None:
    """However often row groups name the same one."""
    file = io.BytesIO(content := overlapping())
    about, _ = pages.value(pages.footer_of(file, len(content), len(content)), 0, pages.STRUCT)
    claims = pages.Claims(file, len(content))
    first, second, _ = (chunks[0] for _, chunks in pages.row_groups(about))
    claims.add(first)
    with pytest.raises(ValueError, match="its columns overlap"):
        claims.add(second)
    assert claims.pages == 2  # those of the first one


@pytest.mark.parametrize("kind", BAD_RATINGS)
def test_hostile_ratings_are_refused_with_a_sentence(kind: str, tmp_path: Path) -> None:
    content, error, message = BAD_RATINGS[kind]
    path = tmp_path / "ratings"
    path.write_bytes(content)
    with pytest.raises(error, match=message) as raised:
        tm.read(path)
    assert raised.type in (error, MissingColumnError)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    "make", [os.mkfifo, socket_at, Path.mkdir, lambda path: path.symlink_to(path)]
)
def test_what_is_no_file_of_ratings_is_refused(make: Spoil, tmp_path: Path) -> None:
    make(tmp_path / "ratings.csv")
    with pytest.raises(DataError, match=r"ratings\.csv .*: give the path of a csv or parquet file"):
        tm.read(tmp_path / "ratings.csv")


@pytest.mark.parametrize("read", [tm.read, lambda file: tm.ingest(file, f"{file}.tmr")])
def test_columns_in_parquet_whose_names_are_not_in_utf8_are_refused(
    read: Any, tmp_path: Path
) -> None:
    table = pa.table({"user": [1, 2], "item": [3, 4], "rating": [1.0, 2.0], "zzzz": [0, 0]})
    pq.write_table(table, tmp_path / "ratings.parquet", store_schema=False)
    spoiled = (tmp_path / "ratings.parquet").read_bytes().replace(b"zzzz", b"\xffzzz")
    (tmp_path / "ratings.parquet").write_bytes(spoiled)
    with pytest.raises(tm.errors.DataError, match=r"ratings\.parquet cannot be read"):
        read(tmp_path / "ratings.parquet")


def test_ids_in_parquet_that_are_not_in_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(ratings_table(user=invalid_text(b"a", b"\xff")))
    with pytest.raises(IdError, match="UTF-8"):
        tm.read(tmp_path / "r")


def test_a_ragged_row_that_is_not_in_utf8_is_refused_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r").write_bytes(HEADER + b"a,b,1\n\xff,1\n")
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with pytest.raises(DataError):
        tm.read(tmp_path / "r")
    assert said == []


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param((), id="everywhere"),
        pytest.param((-1,), id="in the row group"),
    ],
)
def test_no_memory_is_taken_for_ratings_that_are_not_there(
    claims: tuple[int, ...], tmp_path: Path
) -> None:
    """A file of 700 bytes that claims 10¹² rows; in a process that may not take all memory."""
    names = ("user", "item", "rating")
    content = parquet(pa.table({name: pa.repeat(pa.scalar(7), 12345) for name in names}))
    (tmp_path / "r").write_bytes(lying(content, 12345, 10**12, *claims))
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))\n"
    reading = f"import tastemix as tm; tm.read({str(tmp_path / 'r')!r})"
    ran = subprocess.run(
        [sys.executable, "-c", limited + reading], capture_output=True, text=True, check=False
    )
    assert "DataError" in ran.stderr
    assert "malloc" not in ran.stderr


# Any bytes

FUZZ = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A few bytes of a file overwritten, taken out or put in, anywhere or near its end."""
    places = st.floats(0, 1) | st.floats(0.7, 1)
    edits = draw(
        st.lists(
            st.tuples(places, st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=4
        )
    )

    def mutate(content: bytes) -> bytes:
        for place, taken, new in edits:
            at = int(place * len(content))
            content = content[:at] + new + content[at + taken :]
        return content

    return mutate


def loads_or_is_refused(folder: Path) -> None:
    try:
        model = tm.load(folder)
    except ModelFileError as error:
        sentence = str(error)
        assert "\n" not in sentence
    else:
        user, item = model.users.ids.values[:1], model.items.ids.values[:1]
        assert len(model.predict(user, item, return_std=model.noise is not None)) >= 1
        assert len(model.recommend(user, 1, seen=[])) <= 1
        assert len(repr(model)) > 0


@FUZZ
@given(mutate=mutations(), name=st.sampled_from(["users", "items", "ratings"]))
def test_any_bytes_for_a_table_load_or_are_refused(
    whole_average: Path, tmp_path_factory: pytest.TempPathFactory, mutate: Any, name: str
) -> None:
    folder = fresh(whole_average, tmp_path_factory)
    put(folder, name, mutate(table_of(folder, name).read_bytes()))
    loads_or_is_refused(folder)


@FUZZ
@given(mutate=mutations(), name=st.sampled_from(["users", "items", "ratings"]))
def test_any_schema_of_a_table_loads_or_is_refused(
    whole_average: Path, tmp_path_factory: pytest.TempPathFactory, mutate: Any, name: str
) -> None:
    """Within its base64, where random bytes do not get."""
    folder = fresh(whole_average, tmp_path_factory)

    def recode(found: re.Match[bytes]) -> bytes:
        schema = base64.b64decode(found[0])
        return base64.b64encode(mutate(schema).ljust(len(schema), b"\0")[: len(schema)])

    content, count = re.subn(rb"[A-Za-z0-9+/]{100,}=*", recode, table_of(folder, name).read_bytes())
    assert count == 1
    put(folder, name, content)
    loads_or_is_refused(folder)


@FUZZ
@given(mutate=mutations())
def test_any_bytes_for_the_index_load_or_are_refused(
    whole_average: Path, tmp_path_factory: pytest.TempPathFactory, mutate: Any
) -> None:
    folder = fresh(whole_average, tmp_path_factory)
    raw(mutate)(folder)
    loads_or_is_refused(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@FUZZ
@given(key=st.sampled_from([*KEYS, "format", "version", "tables"]), value=JSON)
def test_any_json_in_the_index_loads_or_is_refused(
    whole_average: Path, tmp_path_factory: pytest.TempPathFactory, key: str, value: Any
) -> None:
    folder = fresh(whole_average, tmp_path_factory)
    change_index(folder, lambda index: index.update({key: value}))
    loads_or_is_refused(folder)


def fresh(whole: Path, factory: pytest.TempPathFactory) -> Path:
    """A copy of a model in the place of the last example's."""
    folder = factory.getbasetemp() / "fuzzed"
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(whole, folder)


CSV = HEADER + b"".join(
    f"{user},{item},{stars}\n".encode()
    for user, item, stars in zip(USERS, ITEMS, STARS, strict=True)
)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@FUZZ
@given(
    mutate=mutations(),
    whole_file=st.sampled_from([CSV, parquet(RATINGS.to_table(), compression="snappy")]),
    duplicates=st.sampled_from(["refuse", "last", "mean"]),
)
def test_any_bytes_for_ratings_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, mutate: Any, whole_file: bytes, duplicates: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed ratings"
    path.write_bytes(mutate(whole_file))
    try:
        ratings = tm.read(path, duplicates=duplicates)
    except TastemixError as error:
        sentence = str(error)
        assert "\n" not in sentence
    else:
        assert len(ratings) > 0
        assert np.isfinite(ratings.by_user.values).all()
