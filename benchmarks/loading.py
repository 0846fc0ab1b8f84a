"""Seconds and memory of reading a large table of ratings, beside pandas and polars on it.

python benchmarks/loading.py [--rows 25000000] [--text] [--shuffled]

Every measurement runs in a process of its own. "grown" is its peak resident memory (Linux) over
what it held before the first byte was read; pandas and polars only read the three columns, while
tastemix also numbers the ids, checks the ratings and orders them by user and by item. "pandas,
arrow, csr" does as much with pandas' arrow engine: it factorizes both columns and makes a SciPy
matrix. "cpu" is processor time, which other jobs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

COLUMNS = ["user", "item", "rating"]


def ratings_like_movielens(rows: int, *, text: bool, shuffled: bool, seed: int = 0) -> pa.Table:
    """Half-star ratings of MovieLens 10M's shape: 143 a user, few people and films with many."""
    rng = np.random.default_rng(seed)
    users, items = rows // 143 + 2, int(3.4 * rows**0.5) + 10
    pairs = np.empty(0, np.int64)
    while len(pairs) < rows:
        count = (rows - len(pairs)) * 5 // 4 + 10
        user = (users * rng.random(count) ** 1.5).astype(np.int64)
        item = (items * rng.random(count) ** 2).astype(np.int64)
        pairs = np.unique(np.append(pairs, user * items + item))
    pairs = np.delete(pairs, rng.choice(len(pairs), len(pairs) - rows, replace=False))
    if shuffled:
        rng.shuffle(pairs)
    columns = [pa.array(pairs // items), pa.array(pairs % items)]
    if text:
        for at, (what, count) in enumerate((("user", users), ("item", items))):
            names = pa.array([f"{what}-{number:07}" for number in range(count)])
            columns[at] = names.take(columns[at])
    return pa.table([*columns, pa.array(rng.integers(1, 11, rows) / 2)], COLUMNS)


def read_with_tastemix(path: str) -> object:
    import tastemix as tm

    return tm.read(path)


def read_with_pandas(path: str) -> object:
    import pandas as pd

    if path.endswith(".parquet"):
        return pd.read_parquet(path, columns=COLUMNS)
    return pd.read_csv(path, usecols=COLUMNS)


def read_with_pandas_arrow(path: str) -> object:
    import pandas as pd

    if path.endswith(".parquet"):
        return pd.read_parquet(path, columns=COLUMNS, engine="pyarrow")
    return pd.read_csv(path, usecols=COLUMNS, engine="pyarrow")


def read_with_pandas_arrow_csr(path: str) -> object:
    import pandas as pd
    from scipy.sparse import csr_array

    frame = read_with_pandas_arrow(path)
    assert isinstance(frame, pd.DataFrame)
    user, item = (pd.factorize(frame[name], sort=True)[0] for name in ("user", "item"))
    matrix = csr_array((frame["rating"].to_numpy(np.float32), (user, item)))
    matrix.sort_indices()
    return frame


def read_with_polars(path: str) -> object:
    import polars as pl

    if path.endswith(".parquet"):
        return pl.read_parquet(path, columns=COLUMNS)
    return pl.read_csv(path, columns=COLUMNS)


READERS: dict[str, Callable[[str], object]] = {
    "tastemix": read_with_tastemix,
    "polars": read_with_polars,
    "pandas": read_with_pandas,
    "pandas, arrow": read_with_pandas_arrow,
    "pandas, arrow, csr": read_with_pandas_arrow_csr,
}


def resident(field: str) -> float:
    """A memory figure of this process in GB: VmRSS now, or VmHWM, the highest so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 2**20
    raise KeyError(field)


def measure(reader: str, path: str, small: str) -> None:
    """Print seconds and memory growth of one read; a small file first, for the imports."""
    READERS[reader](small)
    before = resident("VmRSS")
    start, work = time.perf_counter(), time.process_time()
    result = READERS[reader](path)
    seconds, work = time.perf_counter() - start, time.process_time() - work
    print(f"{seconds} {work} {resident('VmHWM') - before} {len(result)}")  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=25_000_000)
    parser.add_argument("--text", action="store_true", help="ids are text, not integers")
    parser.add_argument("--shuffled", action="store_true", help="rows in random order")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(*options.measure)
    with tempfile.TemporaryDirectory() as folder:
        table = ratings_like_movielens(options.rows, text=options.text, shuffled=options.shuffled)
        for kind, write in (("csv", csv.write_csv), ("parquet", pq.write_table)):
            write(table, f"{folder}/all.{kind}")
            write(table[:100], f"{folder}/small.{kind}")
        del table
        print(f"{options.rows:,} ratings\n{'':30} seconds    cpu   grown   file")
        for kind in ("csv", "parquet"):
            path, small = f"{folder}/all.{kind}", f"{folder}/small.{kind}"
            size = Path(path).stat().st_size / 2**30
            for reader in READERS:
                command = [sys.executable, __file__, "--measure", reader, path, small]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                seconds, work, grown, rows = map(float, output.split())
                assert rows == options.rows
                print(
                    f"{kind:8} {reader:20} {seconds:8.2f} {work:6.2f} "
                    f"{grown:5.2f} GB {size:5.2f} GB",
                    flush=True,
                )
    return None


if __name__ == "__main__":
    main()
