"""Ratings on disk: what ingesting them costs, and fitting them with the page cache dropped.

    python benchmarks/disk.py generate --ratings 400e6      Parquet parts of 10 M rows, any order
    python benchmarks/disk.py ingest --ratings 400e6        processor time, peak memory
    python benchmarks/disk.py kill --ratings 400e6          killed three times: the same bytes
    python benchmarks/disk.py equal --ratings 20e6          the bytes of from_table, also text
    python benchmarks/disk.py fit RNMF --ratings 400e6      warm and cold, on two threads; also PRD
    python benchmarks/disk.py default --ratings 100e6       tm.fit, mapped and in memory
    python benchmarks/disk.py show                          docs/performance/disk.md

Each but the first and the last adds to docs/performance/disk.json. Ratings are generated: skewed
activity and popularity, no pair twice, users 143 ratings on average, 60,000 items.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(
    os.environ.get("DISK_RESULTS", Path(__file__).parents[1] / "docs" / "performance" / "disk.json")
)
PART, ITEMS, A_USER = 10_000_000, 60_000, 143
MEMORY = "1GB"
METHODS, RANK, STEPS = ("RNMF", "PRD"), 32, 1
FIT = "times", "memory", "in_memory"
MOST_IN_MEMORY = 200_000_000


def base(rows: int, users: int, places: int) -> Any:
    """Distinct pairs of a user and a place in a class of items, in random order."""
    rng = np.random.default_rng(0)
    keys = np.empty(0, np.int64)
    while len(keys) < rows:
        more = int(1.2 * (rows - len(keys))) + 1000
        user = (users * rng.random(more) ** 1.5).astype(np.int64)
        place = (places * rng.random(more) ** 2).astype(np.int64)
        keys = np.unique(np.append(keys, user * places + place))
    return np.divmod(rng.permutation(keys)[:rows], places)


def generate(folder: Path, ratings: int, text: bool = False) -> None:
    """All parts. Each has the pairs of the base, moved to another class of items for every user."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = max(1, ratings // PART)
    rows, places = ratings // parts, ITEMS // parts
    folder.mkdir(parents=True, exist_ok=True)
    user, place = base(rows, ratings // A_USER, places)
    taste = np.sin(user).astype(np.float32) + np.cos(np.float32(0.3) * place)
    for number in range(parts):
        file = folder / f"part-{number:03}.parquet"
        if file.exists():
            continue
        noise = np.random.default_rng(number).random(rows, np.float32)
        stars = np.rint(6 + 2 * taste + 4 * noise - 2).clip(1, 10) / 2
        columns = {"user": 2 * user + 10, "item": place * parts + (number - user) % parts + 1}
        table = pa.table({**columns, "rating": np.roll(stars, number)})
        if text:
            for at, what in enumerate(("user", "item")):
                names = [pa.array([f"{what}-"] * len(table)), table[what].cast(pa.string())]
                table = table.set_column(at, what, joined(names))
        pq.write_table(table, folder / "new", row_group_size=1_000_000)
        (folder / "new").rename(file)


def first_parts(folder: Path, count: int) -> Path:
    """A folder of links to the first parts."""
    some = folder.with_name(f"{folder.name}-{count}")
    (some / "parts").mkdir(parents=True, exist_ok=True)
    for file in sorted((folder / "parts").glob("part-*"))[:count]:
        if not (some / "parts" / file.name).exists():
            os.link(file, some / "parts" / file.name)
    return some


def joined(texts: list[Any]) -> Any:
    """Texts put together."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*texts, "")


def processor_time(process: int) -> float:
    """Seconds that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ingested(parts: Path, to: Path, kill_after: float | None = None) -> dict[str, Any]:
    """Run an ingest in a process of its own, and kill it after so much processor time."""
    command = [sys.executable, __file__, "child", "--parts", str(parts), "--to", str(to)]
    began = time.perf_counter()
    child = subprocess.Popen(command)
    killed = False
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        if kill_after is not None and not killed and processor_time(child.pid) > kill_after:
            child.kill()
            killed = True
        time.sleep(0.05)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert killed or child.returncode == 0, child.returncode
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
        "finished": child.returncode == 0,
    }


def child(parts: str, to: str) -> None:
    """One ingest."""
    import tastemix as tm

    told = [""]
    began = [time.process_time()]

    def tell(what: str, done: int, total: int | None) -> None:
        if what != told[0]:
            now = time.process_time()
            print(f"{told[0]:20} {now - began[0]:8.1f} s", file=sys.stderr, flush=True)
            told[0], began[0] = what, now

    print(tm.ingest(parts, to, MEMORY, on_progress=tell), file=sys.stderr)


def note(**found: Any) -> None:
    """Add to the results."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, **found}, indent=1) + "\n")


def measure_ingest(folder: Path, ratings: int) -> None:
    """What one ingest takes that nobody interrupts."""
    to = folder / "ratings.tmr"
    shutil.rmtree(to, ignore_errors=True)
    took = ingested(folder / "parts", to)
    size = sum(file.stat().st_size for file in (folder / "parts").iterdir())
    whole = sum(file.stat().st_size for file in to.iterdir())
    a_rating = round(took["processor"] / ratings * 1e6, 3)
    note(
        ingest={
            "ratings": ratings,
            "memory": MEMORY,
            **took,
            "microseconds_a_rating": a_rating,
            "parquet_gb": round(size / 1e9, 2),
            "store_gb": round(whole / 1e9, 2),
        }
    )


def measure_kill(folder: Path, ratings: int) -> None:
    """Killed three times, after random shares of the processor time one takes, then let finish."""
    to = folder / "killed.tmr"
    shutil.rmtree(to, ignore_errors=True)
    known = json.loads(RESULTS.read_text())["ingest"]
    usual = known["processor"] * ratings / known["ratings"]
    draw = random.Random()
    runs = [ingested(folder / "parts", to, draw.uniform(0.05, 0.3) * usual) for _ in range(3)]
    assert not any(run["finished"] for run in runs)
    runs.append(ingested(folder / "parts", to))
    same = sums(to) == sums(folder / "ratings.tmr")
    shutil.rmtree(to)
    note(kill={"ratings": ratings, "runs": runs, "same_bytes": same})


def sums(folder: Path) -> Any:
    """The checksums of all files."""
    about = json.loads((folder / "ratings.json").read_text())
    return about["files"], about["fingerprint"]


def measure_equal(folder: Path, ratings: int) -> None:
    """Against Ratings.from_table, with whole numbers and with text as ids."""
    import pyarrow.parquet as pq

    import tastemix as tm
    from tastemix.data.disk.writing import write

    found: dict[str, Any] = {"ratings": ratings}
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("numbers", "text"):
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            parts, here = Path(inside) / "parts", Path(inside)
            generate(parts, ratings, text=kind == "text")
            took = ingested(parts, here / "ratings.tmr")
            files = sorted(parts.iterdir())
            table = pq.read_table(files, read_dictionary=["user", "item"] if kind == "text" else [])
            began = time.process_time()
            known = tm.Ratings.from_table(table)
            seconds = time.process_time() - began
            write(known, here / "known.tmr")
            found[kind] = {
                "same_bytes": sums(here / "known.tmr") == sums(here / "ratings.tmr"),
                "microseconds_a_rating": round(took["processor"] / ratings * 1e6, 3),
                "from_table_microseconds_a_rating": round(seconds / ratings * 1e6, 3),
            }
    note(equal=found)


def measure_default(folder: Path, ratings: int) -> None:
    """`tm.fit` of these ratings, mapped and, if they are not too many, in memory, each in a process
    of its own.
    """
    known = json.loads(RESULTS.read_text()).get("default", {})
    found: dict[str, Any] = {}
    for where in ("disk", "memory")[: 2 if ratings <= MOST_IN_MEMORY else 1]:
        script = Path(__file__).with_name("disk_fit.py")
        command = [sys.executable, str(script), "default", str(folder / "ratings.tmr"), where]
        found[where] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(ratings, where, found[where], flush=True)
    digests = {found[where].pop("digest") for where in found}
    same = len(digests) == 1 if len(found) > 1 else None
    note(default={**known, str(ratings): found | {"same_bits": same}})


def measure_fit(folder: Path, ratings: int, method: str, parts: list[str]) -> None:
    """Warm and cold, and the memory, each in a process of its own."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found = known.get("fit", {}) | {"ratings": ratings, "rank": RANK, "steps": STEPS}
    for part in parts:
        script = Path(__file__).with_name("disk_fit.py")
        arguments = part, folder / "ratings.tmr", method, RANK, STEPS
        command = [sys.executable, str(script), *map(str, arguments)]
        took = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        found |= {"disk_gb_a_second": took.pop("disk_gb_a_second", found.get("disk_gb_a_second"))}
        found[method] = found.get(method, {}) | took
        note(fit=found)


def show() -> None:
    """The results as a table."""
    known = json.loads(RESULTS.read_text())
    lines = [
        "What ingesting takes, and fits of ratings that are mapped from disk "
        "(`benchmarks/disk.py`, two cores, shared with other work).",
        "",
    ]
    if took := known.get("ingest"):
        lines += [
            f'| ingest, `memory="{took["memory"]}"` | |',
            "|---|---|",
            f"| ratings | {took['ratings']:,} |",
            f"| Parquet, folder | {took['parquet_gb']} GB, {took['store_gb']} GB |",
            f"| processor time a rating | {took['microseconds_a_rating']} µs |",
            f"| processor time, seconds | {took['processor']}, {took['seconds']} |",
            f"| peak memory | {took['peak_mb']:,} MB |",
            "",
        ]
    if took := known.get("kill"):
        ended = [f"{run['seconds']} s" for run in took["runs"]]
        lines += [
            f"Killed after {', '.join(ended[:-1])} and resumed for {ended[-1]}, "
            f"{took['ratings']:,} ratings: the same bytes: {took['same_bytes']}.",
            "",
        ]
    if took := known.get("equal"):
        lines += [
            f"| {took['ratings']:,} ratings | ids are numbers | ids are text |",
            "|---|---|---|",
        ]
        lines += [
            f"| {name} | {took['numbers'][key]} | {took['text'][key]} |"
            for name, key in (
                ("the bytes of `Ratings.from_table`", "same_bytes"),
                ("ingest, µs a rating", "microseconds_a_rating"),
                ("`from_table`, µs a rating", "from_table_microseconds_a_rating"),
            )
        ] + [""]
    if took := known.get("fit"):
        lines += [
            f"{took['ratings']:,} ratings, rank {took['rank']}, steps: {took['steps']}; cold: the "
            "page cache dropped before every survey and every descent. The disk gives "
            f"{took['disk_gb_a_second']} GB a second to one reader, and a step of RNMF reads both "
            "halves twice, of PRD once.",
            "",
            "| method | warm, s | cold, s | cold / warm | processor, cold / warm | factors, MB | "
            "peak anonymous, MB | 2 × factors + 300 | same bits |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for method in METHODS:
            row = took[method]
            same = row["same_bits"] and row["same_bits_as_in_memory"]
            row["processor"] = round(row["cold_processor"] / row["warm_processor"], 2)
            figures = (
                "warm",
                "cold",
                "ratio",
                "processor",
                "factors_mb",
                "peak_anonymous_mb",
                "bar_mb",
            )
            cells = [method, *(f"{row[name]:,}" for name in figures), str(same)]
            lines.append(f"| {' | '.join(cells)} |")
        lines += [""]
    if took := known.get("default"):
        lines += [
            "| `tm.fit` of | seconds, mapped | in memory | peak anonymous, MB, mapped "
            "| in memory | same bits |",
            "|---:|---:|---:|---:|---:|---|",
        ]
        for ratings, row in sorted(took.items(), key=lambda known: int(known[0])):
            cells = [
                f"{row[where][name]:,}" if where in row else "–"
                for name in ("seconds", "peak_anonymous_mb")
                for where in ("disk", "memory")
            ]
            same = "–" if row["same_bits"] is None else row["same_bits"]
            lines.append(f"| {int(ratings):,} | {' | '.join(cells)} | {same} |")
    RESULTS.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("method", nargs="?", choices=METHODS, default=METHODS[0])
    parser.add_argument("--only", choices=FIT, help="of a fit, in a piece")
    parser.add_argument("--ratings", type=float, default=400e6)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "disk-bench")
    parser.add_argument("--first", type=int, help="use so many parts of them")
    parser.add_argument("--parts")
    parser.add_argument("--to")
    options = parser.parse_args()
    ratings = int(options.ratings)
    folder = options.folder / str(ratings)
    if options.what == "child":
        return child(options.parts, options.to)
    if options.what == "generate":
        return generate(folder / "parts", ratings)
    if options.first:
        ratings, folder = options.first * PART, first_parts(folder, options.first)
    if options.what == "show":
        return show()
    if options.what == "fit":
        parts = [options.only] if options.only else [*FIT]
        return measure_fit(folder, ratings, options.method, parts)
    return {
        "ingest": measure_ingest,
        "kill": measure_kill,
        "equal": measure_equal,
        "default": measure_default,
    }[options.what](folder, ratings)


if __name__ == "__main__":
    main()
