"""A csv file of user, item, rating as what a library can fit, with one reader, timed.

Job: reader, path, small (a file of a few rows: imports and first calls do not count).
Result: seconds, the peak growth of the process in bytes, and the shape that was read.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import isolated

Shape = tuple[int, int, int]
"""Users, items, ratings."""


def with_tastemix(path: str) -> Shape:
    import tastemix as tm

    ratings = tm.read(path)
    return len(ratings.users), len(ratings.items), len(ratings)


def with_pandas(path: str) -> Shape:
    """The usual way to a sparse matrix."""
    import pandas as pd
    from scipy.sparse import csr_matrix

    frame = pd.read_csv(path)
    user, users = pd.factorize(frame["user"])
    item, items = pd.factorize(frame["item"])
    entries = frame["rating"].to_numpy("float32"), (user, item)
    matrix = csr_matrix(entries, shape=(len(users), len(items)))
    return len(users), len(items), matrix.nnz


def with_surprise(path: str) -> Shape:
    from surprise import Dataset, Reader

    reader = Reader(line_format="user item rating", sep=",", skip_lines=1)
    train = Dataset.load_from_file(path, reader).build_full_trainset()
    return train.n_users, train.n_items, train.n_ratings


def with_cornac(path: str) -> Shape:
    from cornac.data import Dataset, Reader

    data = Dataset.from_uir(Reader().read(path, "UIR", sep=",", skip_lines=1))
    data.csr_matrix  # noqa: B018 — built at first use
    return data.num_users, data.num_items, data.num_ratings


def with_spark(path: str) -> Shape:
    """Read, number both ids, and keep the result in memory: Spark is lazy until then."""
    from pyspark.ml.feature import StringIndexer
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local[{isolated.THREADS}]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    frame = session.read.csv(path, header=True, schema="user STRING, item STRING, rating FLOAT")
    indexer = StringIndexer(inputCols=["user", "item"], outputCols=["u", "i"]).fit(frame)
    count = indexer.transform(frame).select("u", "i", "rating").cache().count()
    users, items = indexer.labelsArray
    return len(users), len(items), count


READERS: dict[str, Callable[[str], Shape]] = {
    "tastemix": with_tastemix,
    "pandas": with_pandas,
    "surprise": with_surprise,
    "cornac": with_cornac,
    "spark": with_spark,
}


def work(job: isolated.Job) -> isolated.Job:
    read = READERS[job["reader"]]
    read(job["small"])
    with isolated.Growth() as growth:
        began = time.perf_counter()
        shape = read(job["path"])
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "growth": growth.bytes, "shape": shape}


if __name__ == "__main__":
    isolated.serve(work)
