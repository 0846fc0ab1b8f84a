"""How each library is handed the ratings, fitted and asked, in as few lines as it allows.

`prepare` makes the library's own form of the ratings, before the clock starts. `fit` is what the
clock measures. `predict` gives the unclipped rating of every pair, nan where the library has no
answer. Imports are inside: each class runs in an environment of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from isolated import THREADS

Arrays = tuple[Any, Any, Any]
Shape = tuple[int, int]


class Library(Protocol):
    """What the workers need of a library."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any: ...

    def fit(self, data: Any, setting: dict[str, Any]) -> Any: ...

    def predict(self, model: Any, user: Any, item: Any) -> Any: ...


def matrix(ratings: Arrays, shape: Shape) -> Any:
    """The ratings as a scipy COO matrix."""
    from scipy.sparse import coo_matrix

    user, item, rating = ratings
    return coo_matrix((rating, (user, item)), shape=shape)


class Ours:
    """tastemix: the arrays themselves, so that numbering and ordering them is timed too."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        return ratings

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        import ours

        import tastemix as tm

        return ours.method(setting).fit(tm.Ratings.from_arrays(*data, scale=(1, 5)))

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        return model.predict(user, item, clip=False)


class OursOrdered:
    """tastemix from ratings that are numbered and ordered already."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        import tastemix as tm

        return tm.Ratings.from_arrays(*ratings, scale=(1, 5))

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        import ours

        return ours.method(setting).fit(data)


class _Cornac:
    """A seed would make Cornac use one thread, so there is none."""

    kind: str

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        from cornac.data import Dataset

        return Dataset.from_uir(list(zip(*(column.tolist() for column in ratings), strict=True)))

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from cornac import models

        return getattr(models, self.kind)(num_threads=THREADS, **setting).fit(data)

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        users, items = (
            [numbers.get(one, len(numbers)) for one in asked.tolist()]
            for numbers, asked in ((model.uid_map, user), (model.iid_map, item))
        )
        pairs = zip(users, items, strict=True)
        return np.array([model.rate(*pair, clipping=False) for pair in pairs])


class CornacMF(_Cornac):
    kind = "MF"


class CornacNMF(_Cornac):
    kind = "NMF"


class Cmfrec:
    """Given only the users and items with ratings: nonnegative fits leave empty rows unset.

    A pair with a new user or item gets the mean and the biases that are known; none if not centred.
    """

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        user, item, rating = ratings
        (self.users, row), (self.items, column) = (
            np.unique(ids, return_inverse=True) for ids in (user, item)
        )
        return matrix((row, column, rating), (len(self.users), len(self.items)))

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from cmfrec import CMF

        return CMF(nthreads=THREADS, **setting).fit(data)

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        places = []
        for ids, asked in ((self.users, user), (self.items, item)):
            place = np.searchsorted(ids, asked).clip(max=len(ids) - 1)
            places.append(np.where(ids[place] == asked, place, len(ids)))
        found = np.full(len(user), float(model.glob_mean_) or np.nan)
        for biases, place in zip((model.user_bias_, model.item_bias_), places, strict=True):
            found += np.append(biases, 0.0)[place] if len(biases) else 0.0
        known = (places[0] < len(self.users)) & (places[1] < len(self.items))
        found[known] = model.predict(*(place[known] for place in places))
        return found


class _Surprise:
    """Single-threaded by nature."""

    def algorithm(self, setting: dict[str, Any]) -> Any: ...

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        from surprise import Dataset, Reader

        columns = [column.tolist() for column in ratings]
        rows = [(user, item, rating, None) for user, item, rating in zip(*columns, strict=True)]
        data = Dataset(Reader(rating_scale=(1, 5)))
        return data.construct_trainset(rows)

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        return self.algorithm(setting).fit(data)

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        pairs = zip(user.tolist(), item.tolist(), strict=True)
        return np.array([model.predict(*pair, clip=False).est for pair in pairs])


class SurpriseSVD(_Surprise):
    def algorithm(self, setting: dict[str, Any]) -> Any:
        from surprise import SVD

        return SVD(random_state=0, **setting)


class SurpriseNMF(_Surprise):
    def algorithm(self, setting: dict[str, Any]) -> Any:
        from surprise import NMF

        return NMF(random_state=0, **setting)


class SurpriseBaseline(_Surprise):
    def algorithm(self, setting: dict[str, Any]) -> Any:
        from surprise import BaselineOnly

        return BaselineOnly(bsl_options=setting, verbose=False)


class ImplicitALS:
    """Its manual asks for one BLAS thread, as it spreads the rows over threads itself."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        return matrix(ratings, shape).tocsr()

    def fit(
        self, data: Any, setting: dict[str, Any], on_step: Callable[..., None] | None = None
    ) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, "blas"):
            model = AlternatingLeastSquares(num_threads=THREADS, random_state=0, **setting)
            model.fit(data, show_progress=False, callback=on_step)
        return model


class LensKitALS:
    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        import pandas as pd
        from lenskit.data import from_interactions_df

        names = ("user_id", "item_id", "rating")
        return from_interactions_df(pd.DataFrame(dict(zip(names, ratings, strict=True))))

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from lenskit.als import BiasedMFScorer
        from lenskit.pipeline import predict_pipeline

        pipeline = predict_pipeline(BiasedMFScorer(**setting))
        pipeline.train(data)
        return pipeline

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        from lenskit import predict
        from lenskit.data import ItemList

        found = np.full(len(user), np.nan)
        order = np.argsort(user, kind="stable")
        edges = np.flatnonzero(np.diff(user[order], prepend=-1))
        for own in np.split(order, edges[1:]):
            answer = predict(model, int(user[own[0]]), ItemList(item_ids=item[own]))
            found[own] = answer.scores()
        return found


class Libmf:
    """Predicts from its factors: the package's own `predict` mixes up the pairs."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        return np.column_stack(ratings).astype(np.float32)

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from libmf import mf

        model = mf.MF(nr_threads=THREADS, quiet=True, **setting)
        model.fit(data)
        return model

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        users, items = model.p_factors(), model.q_factors()
        found = np.full(len(user), np.nan)
        known = (user < len(users)) & (item < len(items))
        found[known] = np.einsum("ij,ij->i", users[user[known]], items[item[known]])
        return found


class MyFM:
    """One-hot users and items, with a prior for each of the two if grouped. One thread samples."""

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        self.shape = shape
        return self.design(*ratings[:2]), ratings[2]

    def design(self, user: Any, item: Any) -> Any:
        from scipy.sparse import csr_matrix

        columns = np.stack([user, item + self.shape[0]], axis=1).ravel()
        pointers = np.arange(0, len(columns) + 1, 2)
        ones = np.ones(len(columns))
        return csr_matrix((ones, columns, pointers), (len(user), sum(self.shape)))

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from myfm import MyFMRegressor

        groups = list(self.shape) if setting.get("grouped") else None
        model = MyFMRegressor(rank=setting["rank"], random_seed=0)
        return model.fit(*data, n_iter=setting["n_iter"], group_shapes=groups)

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        return model.predict(self.design(user, item), n_workers=THREADS)


class SklearnNMF:
    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        return matrix(ratings, shape).tocsr()

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from sklearn.decomposition import NMF

        model = NMF(random_state=0, **setting)
        return model.fit_transform(data), model.components_

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        left, right = model
        return np.einsum("ij,ji->i", left[user], right[:, item])


class SparkALS:
    """A local Spark of two threads; the ratings are in its memory before the clock starts."""

    memory = "8g"

    def prepare(self, ratings: Arrays, shape: Shape) -> Any:
        self.folder = tempfile.TemporaryDirectory()
        data = self.table(user=ratings[0], item=ratings[1], rating=ratings[2]).cache()
        data.count()
        return data

    def table(self, **columns: Any) -> Any:
        """The columns as a table of Spark's, by way of a file."""
        import pyarrow as pa
        from pyarrow import parquet

        path = Path(self.folder.name) / f"{len(os.listdir(self.folder.name))}.parquet"
        parquet.write_table(pa.table(columns), path)
        return self.session().read.parquet(str(path))

    def session(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[{THREADS}]").config(
            "spark.driver.memory", self.memory
        )
        options = {
            "spark.driver.extraJavaOptions": f"-XX:ActiveProcessorCount={THREADS}",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(THREADS),
            "spark.log.level": "ERROR",
        }
        return builder.config(map=options).getOrCreate()

    def fit(self, data: Any, setting: dict[str, Any]) -> Any:
        from pyspark.ml.recommendation import ALS

        columns = {"userCol": "user", "itemCol": "item", "ratingCol": "rating"}
        return ALS(nonnegative=True, seed=0, **columns, **setting).fit(data)

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        asked = self.table(row=np.arange(len(user)), user=user, item=item)
        rows = model.transform(asked).select("row", "prediction").toArrow()
        found = np.full(len(user), np.nan)
        found[rows["row"].to_numpy()] = rows["prediction"].to_numpy()
        return found
