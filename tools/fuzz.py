"""Reads files that were spoiled in every way: ratings, items, saved models, logs of runs.

Run: .venv/bin/python tools/fuzz.py [--cases 1000000 | --seconds 60] [--seed 0] [--workers 1]

Each case is a valid file with a few changes, drawn from the seed and the number of the case alone:
`--first 1234 --cases 1` runs case 1234 again. Cases run in forked processes. A finding is an end
of the process, more than 10 s of work or 5 minutes of waiting (a busy machine is no finding), more
than 300 MB, or an exception that is not one of ours; the file is then kept under --keep. Prints the
number of cases, and fails if there was a finding.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import io
import json
import mmap
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv  # so that no worker loads it anew
import pyarrow.parquet as pq

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.data.disk import manifest
from tastemix.data.disk import writing as store
from tastemix.evaluation.cross_validation import Judge
from tastemix.experiments.runs import Log, Run, execute

MOST_SECONDS = 10
"""Of the processor."""
MOST_WAITING = 300
"""Seconds by the clock."""
MOST_MEMORY = 300 * 10**6
ADDRESS_SPACE = 2**30
"""Bytes that a worker may reserve beyond what it has when it begins."""
CASES_A_WORKER = 4000
LIMITS: dict[int, str] = {
    signal.SIGPROF: f"over {MOST_SECONDS} s of work",
    signal.SIGALRM: f"over {MOST_WAITING} s of waiting",
}
"""The signal that ends a case → what it tells."""

Files = dict[str, bytes]
NUMBERS = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**64, 1e308, -1e308, 1e-320, 1e15, 0.5]
WORDS = [b"", b"NA", b"nan", b"inf", b"1e400", b'"', b"'", b"\r", b"\n", b"\0", b",", b"-0", b"007"]
WORDS += [
    "é".encode(),
    b"\xff\xfe",
    b"9223372036854775808",
    b"1" * 400,
    b"2020-01-01",
    b"\xef\xbb\xbf",
]


@dataclass(frozen=True)
class Target:
    """A valid file or folder, how to spoil it, and how to read it."""

    name: str
    files: Files
    spoil: Callable[[random.Random, Files], Files]
    use: Callable[[Path, random.Random], None]


# Changes


def spoiled(draw: random.Random, data: bytes, words: list[bytes] = WORDS) -> bytes:
    """Bytes with one to a few changes, often near their end, where Parquet describes itself."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(out) + 1)
        if draw.random() < 0.5:
            at = len(out) - min(len(out), int(draw.expovariate(1 / 400)))
        length = draw.choice((1, 1, 2, 4, 8, 64))
        how = draw.randrange(9)
        if how == 0 and at < len(out):
            out[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            out[at : at + length] = draw.randbytes(length)
        elif how == 2:
            out[at:at] = draw.randbytes(length)
        elif how == 3:
            del out[at : at + length]
        elif how == 4:
            begin = draw.randrange(len(out) + 1)
            out[at:at] = out[begin : begin + length * draw.choice((1, 1, 100))]
        elif how == 5:
            del out[at:]
        elif how == 6:
            out[at : at + length] = draw.choice(words)
        elif how == 7 and at < len(out):
            out[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, (out[at] + 1) % 256, out[at] - 1 & 255))
        else:  # a number in Thrift's or Parquet's spelling
            number = draw.choice((2**7, 2**15, 2**31, 2**35, 2**62, draw.randrange(2**20)))
            out[at : at + draw.choice((1, 2, 5))] = varint(number)
    return bytes(out)


def varint(number: int) -> bytes:
    """A number in groups of seven bits."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def spoiled_json(draw: random.Random, data: bytes) -> bytes:
    """JSON with one value changed, or its bytes."""
    if draw.random() < 0.3:
        return spoiled(draw, data)
    whole = json.loads(data)
    for _ in range(draw.choice((1, 1, 2))):
        holders = [found for found in nested(whole) if found]
        holder = draw.choice(holders)
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        key = draw.choice(list(keys))
        how = draw.randrange(6)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1:
            holder[key] = draw.choice(NUMBERS)
        elif how == 2:
            holder[key] = draw.choice((None, True, "", "x" * 300, [], {}, [[]], "users", "é\0"))
        elif how == 3:
            other = draw.choice(holders)
            holder[key] = json.loads(json.dumps(draw.choice(list(values(other)))))
        elif how == 4 and isinstance(holder[key], int | float):
            holder[key] = holder[key] * draw.choice((-1, 0, 2, 1e30)) + draw.choice((-1, 0, 1))
        else:
            holder[key] = [holder[key]] * draw.choice((1, 2, 50))
    return json.dumps(whole).encode()


def nested(value: object) -> Iterator[dict | list]:
    """All objects and lists in a value of JSON."""
    if isinstance(value, dict | list):
        yield value
        for inner in values(value):
            yield from nested(inner)


def values(holder: dict | list) -> list:
    """What an object or a list holds."""
    return list(holder.values()) if isinstance(holder, dict) else list(holder)


def spoiled_file(draw: random.Random, files: Files) -> Files:
    """A folder of one file, that file spoiled."""
    return {name: spoiled(draw, data) for name, data in files.items()}


def packed(pack: Callable[[bytes], bytes]) -> Callable[[random.Random, Files], Files]:
    """Text that is spoiled before it is compressed, or after."""

    def spoil(draw: random.Random, files: Files) -> Files:
        name, data = next(iter(files.items()))
        if draw.random() < 0.2:
            return {name: spoiled(draw, pack(data))}
        repeated = spoiled(draw, data) * (200 if draw.random() < 0.02 else 1)
        return {name: pack(repeated)}

    return spoil


def spoiled_model(draw: random.Random, files: Files) -> Files:
    """A model with its index or one of its tables spoiled; the sums are made to fit."""
    out, index = dict(files), json.loads(files["model.json"])
    if draw.random() < 0.4:
        return {**out, "model.json": spoiled_json(draw, files["model.json"])}
    entries = index["tables"]
    name = draw.choice(list(entries))
    data = spoiled(draw, out.pop(entries[name]["file"]))
    if draw.random() < 0.05:
        data = spoiled(draw, draw.choice(list(out.values())))
    digest = hashlib.sha256(data).hexdigest()
    entry = {"file": f"{name}-{digest[:16]}.parquet", "sha256": digest}
    out[entry["file"]] = data
    # Read first: that the others are whole needs no proof in every case.
    index["tables"] = {name: entry} | {other: entries[other] for other in entries if other != name}
    return {**out, "model.json": json.dumps(index).encode()}


def spoiled_store(draw: random.Random, files: Files) -> Files:
    """A folder of ratings with its manifest or one of its arrays spoiled; the sums made to fit."""
    if draw.random() < 0.3:
        return {**files, manifest.INDEX: spoiled_json(draw, files[manifest.INDEX])}
    about = json.loads(files[manifest.INDEX])
    name = draw.choice(list(about["files"]))
    data = spoiled(draw, files[name])
    sums = [hashlib.sha256(data).hexdigest()] if data else []
    about["files"][name] = {"bytes": len(data), "sha256": sums}
    return {**files, name: data, manifest.INDEX: json.dumps(about).encode()}


# Uses


def read_ratings(path: Path, draw: random.Random) -> None:
    """Read ratings, with times or without."""
    timestamp = draw.choice((None, "when"))
    tm.read(path / "r", timestamp=timestamp, duplicates=draw.choice(("refuse", "last", "mean")))


def read_messy(path: Path, draw: random.Random) -> None:
    """Read a messy csv file of ratings, told some of how it is written, and that often wrong."""
    told = {name: draw.choice(values) for name, values in TOLD.items() if draw.random() < 0.3}
    columns: dict[str, str | int] = dict(zip(("user", "item", "rating"), COLUMNS, strict=True))
    if draw.random() < 0.5:
        columns = {"user": 0, "item": 1, "rating": 2}
    tm.read(path / "r", **columns, **told, duplicates="last")


def use_model(path: Path, draw: random.Random) -> None:
    """Load a model and ask it a little."""
    model = tm.load(path)
    user, item = model.users.ids[0], model.items.ids[0]
    model.predict([user], [item])
    model.recommend([user], 3)
    if model.ratings is not None:
        model.explain(user, item)
    model.fold_in({item: model.mean})


def use_store(path: Path, draw: random.Random) -> None:
    """Open a folder of ratings and fit to it."""
    ratings = tm.open(path, verify=draw.random() < 0.5)
    tm.NMF(1, steps=1).fit(ratings).recommend(ratings.users[0], 2)
    ratings.to_table()


def read_items(path: Path, draw: random.Random) -> None:
    """Read titles and words, and give them to a model."""
    items = tm.read_items(path / "r", separator=draw.choice(("|", ",", "")))
    LABELLED.label(items).recommend(LABELLED.users.ids[0], 3)


def use_log(path: Path, draw: random.Random) -> None:
    """Open a log of runs."""
    Log(path / "runs.jsonl").close()


LABELLED = tm.NMF(2, steps=1).fit(demo.ratings())

# Valid files


def targets() -> list[Target]:
    """What is spoiled."""
    ratings = demo.ratings()
    chosen = np.random.default_rng(0).permutation(len(ratings))[:60]
    table = ratings.subset(chosen).to_table()
    table = table.append_column("when", pa.array(np.arange(len(table)) * 86400))
    numbered = table.set_column(0, "user", pa.array(np.arange(len(table)) // 7))
    numbered = numbered.set_column(1, "item", pa.array(np.arange(len(table)) % 7))
    dated = table.set_column(3, "when", table["when"].cast(pa.timestamp("s")))
    found = []
    for name, content in {"text": table, "numbers": numbered, "dates": dated}.items():
        csv = to_csv(content)
        found.append(Target(f"csv of {name}", {"r": csv}, spoiled_file, read_ratings))
        for how, pack in {"gzip": gzip_fast, "bz2": bz2_fast, "zstd": zstd}.items():
            found.append(Target(f"{how} csv of {name}", {"r": csv}, packed(pack), read_ratings))
        for how, options in PARQUET.items():
            data = to_parquet(content, **options)
            found.append(
                Target(f"{how} parquet of {name}", {"r": data}, spoiled_file, read_ratings)
            )
    for name, data in messy().items():
        found.append(Target(f"csv with {name}", {"r": data}, spoiled_file, read_messy))
    few = ratings.subset(chosen)
    methods = [tm.NMF(2, steps=2), tm.PRD(2, steps=2), tm.CNMF(2, steps=2)]
    methods += [tm.ANMF(members=2, rank=2), tm.Baseline()]
    for method in methods:
        with tempfile.TemporaryDirectory() as folder:
            method.fit(few).save(folder)
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        name = f"{type(method).__name__} model"
        found += [Target(name, files, spoiled_model, use_model)] * 4
    labelled = tm.NMF(2, steps=2).fit(few).label(titles_of(few))
    person = tm.CNMF(2, steps=2).fit(few).fold_in({few.items[0]: 4}).model
    for name, model in {"labelled model": labelled, "person": person}.items():
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        found += [Target(name, files, spoiled_model, use_model)] * 2
    with tempfile.TemporaryDirectory() as folder:
        store.write(few, Path(folder) / "r")
        files = {path.name: path.read_bytes() for path in (Path(folder) / "r").iterdir()}
    found += [Target("folder of ratings", files, spoiled_store, use_store)] * 4
    catalogue = titles_of(few)
    for how, data in {"csv": to_csv(catalogue), "parquet": to_parquet(catalogue)}.items():
        found.append(Target(f"items in {how}", {"r": data}, spoiled_file, read_items))
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "runs.jsonl")
        execute([Run(tm.Random()), Run(tm.NMF(2, steps=2), (1,))], few, log, Judge(raw=True))
        log.close()
        files = {"runs.jsonl": (Path(folder) / "runs.jsonl").read_bytes()}
    found.append(Target("log", files, spoiled_file, use_log))
    return found


COLUMNS = ("Who", "Book-Title", "Stars")
TOLD: dict[str, tuple[Any, ...]] = {
    "delimiter": (",", ";", "\t", "|", "::", "é", "a"),
    "encoding": ("utf-8", "latin-1", "cp1252", "utf-16", "utf-7", "idna", "cp037"),
    "quote": ("", '"', "'"),
    "decimal": (".", ","),
    "header": (True, False),
    "ids": ("text",),
    "missing": (0, 3.5),
}
"""Arguments of `tm.read` and what a caller may say."""


def messy() -> dict[str, bytes]:
    """Csv files as other programs write them."""
    people = [(f"Zoë {n % 7}", f"A; or, b::{n} 'c'", f"{n % 10 / 2}") for n in range(60)]
    plain = [(str(n % 7), f"{n:03}", str(n % 6)) for n in range(60)]

    def written(rows: list[tuple[str, ...]], between: str, quote: str = "") -> str:
        return "".join(between.join(quote + f + quote for f in row) + "\n" for row in rows)

    commas = [(user, item, stars.replace(".", ",")) for user, item, stars in people]
    backslashes = [(user, item.replace("'", '\\"'), stars) for user, item, stars in people]
    return {
        "semicolons in Latin-1": written([COLUMNS, *people], ";", '"').encode("latin-1"),
        "tabs and no header": written(plain, "\t").encode(),
        "two colons": written(plain, "::").encode(),
        "UTF-16": written([COLUMNS, *people], "\t").encode("utf-16"),
        "decimal commas": written([COLUMNS, *commas], ",", '"').encode(),
        "a line for the delimiter": ("sep=;\r\n" + written([COLUMNS, *plain], ";")).encode(),
        "backslashes": written([COLUMNS, *backslashes], "|", '"').encode(),
        "single quotes": written([COLUMNS, *plain], ",", "'").encode(),
    }


def titles_of(ratings: tm.Ratings) -> pa.Table:
    """A title and words for each item."""
    ids = [ratings.items[row] for row in range(len(ratings.items))]
    words = ["|".join(word for word in ("warm", "sweet", "old") if len(str(i)) % 3) for i in ids]
    return pa.table({"id": ids, "title": [f"The {i}" for i in ids], "genres": words})


PARQUET: dict[str, dict[str, object]] = {
    "plain": {"compression": "none"},
    "packed": {"compression": "snappy", "use_dictionary": False},
    "zstd": {"compression": "zstd", "row_group_size": 50},
    "second": {"data_page_version": "2.0", "compression": "gzip", "data_page_size": 64},
    "delta": {
        "use_dictionary": False,
        "data_page_version": "2.0",
        "column_encoding": {"rating": "BYTE_STREAM_SPLIT", "when": "DELTA_BINARY_PACKED"},
    },
}


def to_csv(table: pa.Table) -> bytes:
    """A table as csv."""
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue()


def to_parquet(table: pa.Table, **options: object) -> bytes:
    """A table as Parquet."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def gzip_fast(data: bytes) -> bytes:
    """As gzip does it with least effort."""
    return gzip.compress(data, 1)


def bz2_fast(data: bytes) -> bytes:
    """As bz2 does it with least effort; of much data only the beginning."""
    return bz2.compress(data[:10_000], 1)


def zstd(data: bytes) -> bytes:
    """As zstd does it."""
    return pa.compress(data, codec="zstd", asbytes=True)


# Cases


def run_case(number: int, seed: int, known: list[Target], home: Path) -> str:
    """Spoil a file and read it: "read" or the name of an error of ours."""
    draw = random.Random(seed * 2**40 + number)
    target = draw.choice(known)
    for name, data in target.spoil(draw, target.files).items():
        if "/" not in name and "\0" not in name:
            (home / name).write_bytes(data)
    try:
        target.use(home, draw)
    except tm.TastemixError as error:
        return type(error).__name__
    finally:
        for path in home.iterdir():
            path.unlink()
    return "read"


def work(
    first: int, last: int, seed: int, known: list[Target], home: Path, note: mmap.mmap
) -> None:
    """Run cases, in a process of its own; `note` tells the parent where it is."""
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # Arrow tells of bytes that are no text
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    space = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for limit in LIMITS:
        signal.signal(limit, signal.SIG_DFL)
    seen: Counter[str] = Counter()
    for number in range(first, last):
        note[:8] = number.to_bytes(8, "little")
        bound(MOST_SECONDS, MOST_WAITING)
        try:
            seen[run_case(number, seed, known, home)] += 1
        except Exception:
            bound(0, 0)
            told = f"an exception that is not ours\n{traceback.format_exc(limit=-3)}"
            finish(note, told, seen, 3)
        bound(0, 0)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if peak > MOST_MEMORY:
            finish(note, f"{peak / 1e6:.0f} MB", seen, 3)
    finish(note, "", seen, 0)


def bound(work: float, waiting: float) -> None:
    """End the process after so many seconds from now; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, work)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def finish(note: mmap.mmap, told: str, seen: Counter[str], code: int) -> None:
    """Leave a report and end the process."""
    report = json.dumps([told, seen]).encode()[: len(note) - 16]
    note[8:16] = len(report).to_bytes(8, "little")
    note[16 : 16 + len(report)] = report
    os._exit(code)


class Worker:
    """A forked process and the cases it has."""

    def __init__(self, first: int, last: int, seed: int, known: list[Target], home: Path) -> None:
        self.last, self.home = last, home
        self.note = mmap.mmap(-1, 2**16)
        self.note[:8] = first.to_bytes(8, "little")
        home.mkdir(exist_ok=True)
        self.process = os.fork()
        if self.process == 0:
            work(first, last, seed, known, home, self.note)

    def ended(self, status: int) -> tuple[int, str, Counter[str]]:
        """Where it was, what it found, and how the cases before ended."""
        at = int.from_bytes(self.note[:8], "little")
        length = int.from_bytes(self.note[8:16], "little")
        told, seen = json.loads(self.note[16 : 16 + length]) if length else ("", {})
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            told = LIMITS.get(number, f"signal {number}")
        return at, told, Counter(seen)


def main() -> int:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    asked = parser.parse_args()
    cases = asked.cases or (10**9 if asked.seconds else 10_000)
    end = asked.first + cases
    tm.set_threads(1)
    pa.set_cpu_count(1)
    warnings.simplefilter("ignore")
    known = targets()
    began = time.monotonic()
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    following, done, findings, seen = asked.first, 0, 0, Counter[str]()
    running: dict[int, Worker] = {}
    spare = [place / str(number) for number in range(asked.workers)]
    try:
        while running or following < end:
            late = asked.seconds and time.monotonic() - began > asked.seconds
            while spare and following < end and not late:
                last = min(end, following + CASES_A_WORKER)
                worker = Worker(following, last, asked.seed, known, spare.pop())
                running[worker.process], following = worker, last
            if not running:
                break
            process, status = os.waitpid(-1, 0)
            worker = running.pop(process)
            at, told, outcomes = worker.ended(status)
            seen += outcomes
            spare.append(worker.home)
            done += outcomes.total()
            if told:
                findings += 1
                done += 1
                keep(asked.keep, at, asked.seed, known)
                print(f"case {at} ({asked.keep / str(at)}): {told}", flush=True)
                shutil.rmtree(worker.home)
                if at + 1 < worker.last and not late:
                    again = Worker(at + 1, worker.last, asked.seed, known, spare.pop())
                    running[again.process] = again
            if done // 100_000 != (done - outcomes.total()) // 100_000:
                print(f"{done:,} cases, {findings} findings", flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    took = time.monotonic() - began
    ways = ", ".join(f"{name} {count:,}" for name, count in seen.most_common())
    print(f"{done:,} cases in {took:.0f} s with seed {asked.seed}: {findings} findings ({ways})")
    return 1 if findings else 0


def keep(folder: Path, number: int, seed: int, known: list[Target]) -> None:
    """Keep the files of a case."""
    draw = random.Random(seed * 2**40 + number)
    target = draw.choice(known)
    home = folder / str(number)
    home.mkdir(parents=True, exist_ok=True)
    (home / "target.txt").write_text(target.name)
    for name, data in target.spoil(draw, target.files).items():
        (home / name).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
