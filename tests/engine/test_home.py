"""Factors of a fit on a cluster that are larger than this process should hold."""

from __future__ import annotations

import errno
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.data.disk import writing
from tastemix.engine import CpuEngine
from tests.engine.problems import steps

distributed = pytest.importorskip("distributed")
from tastemix.engine.dask import Dask, home  # noqa: E402
from tastemix.engine.dask.team import DaskTeam  # noqa: E402
from tests.engine.test_dask import METHODS, RATINGS, assert_same, made  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with made() as local, distributed.Client(local) as client:
        yield client


def mapped(array: Any) -> bool:
    """Whether an array is mapped from a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


@pytest.mark.parametrize("name", ["RNMF", "PR", "PRD", "CNMF"])
def test_factors_larger_than_asked_for_are_mapped_with_the_same_bits(
    name: str, client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "AT_ONCE", 4 * 7 * 2 * 300)  # in several pieces of unequal blocks
    factors = 4 * 7 * (3000 + 2600)
    near = steps(CpuEngine(), RATINGS, 5, METHODS[name], 2, offsets=True)
    for memory, is_mapped in ((factors, False), (factors - 1, True)):
        engine = Dask(client, blocks=2, checkpoint=tmp_path, memory=memory)
        far = steps(engine, RATINGS, 5, METHODS[name], 2, offsets=True)
        assert_same(far, near)
        assert {mapped(factor) for factor in far.factors()} == {is_mapped}
        for pull in far.pulls() or ():
            assert {mapped(part) for part in (pull.z, pull.variances)} == {is_mapped}


def test_a_model_whose_factors_are_mapped_is_like_any_other(client: Any, tmp_path: Any) -> None:
    method = tm.PRD(4, steps=2)
    engine = Dask(client, checkpoint=tmp_path / "checkpoint", memory=1)
    far, near = method.fit(RATINGS, engine=engine), method.fit(RATINGS)
    assert os.listdir(tmp_path / "checkpoint") == []
    assert all(mapped(factor) for factor in (far.factors.users, far.factors.items))
    assert far.predict(3, 5) == near.predict(3, 5)
    assert far.recommend(3).equals(near.recommend(3))
    assert far.explain(3, 5).equals(near.explain(3, 5))
    far.save(tmp_path / "far")
    loaded = tm.load(tmp_path / "far")
    np.testing.assert_array_equal(loaded.factors.users, near.factors.users)
    np.testing.assert_array_equal(loaded.factors.items, near.factors.items)
    far.recommend_all(5, to=tmp_path / "lists", engine=engine)
    assert pq.read_table(tmp_path / "lists").equals(near.recommend_all(5).read_all())


def test_a_worker_lost_while_factors_come_home_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(home, "AT_ONCE", 2**14)
    pieces, came = DaskTeam._pieces, []

    with made() as local, distributed.Client(local) as client:

        def losing(*arguments: Any) -> Iterator[Any]:
            for piece in pieces(*arguments):
                came.append(piece[0])
                if len(came) == 3:
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                yield piece

        monkeypatch.setattr(DaskTeam, "_pieces", losing)
        far = tm.PR(4, steps=2).fit(RATINGS, engine=Dask(client, memory=1))
    near = tm.PR(4, steps=2).fit(RATINGS)
    assert came.count(0) == 3  # the users' first piece twice, and the items'
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    np.testing.assert_array_equal(far.factors.items, near.factors.items)


def test_factors_without_room_are_refused_before_the_fit_and_after_it(
    client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, method = Dask(client, checkpoint=tmp_path, memory=1, every=1), tm.NMF(256, steps=1)
    known = {"total": 0, "used": 0, "free": 2**20}
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(**known))
        with pytest.raises(tm.errors.EngineError) as refused:
            method.fit(RATINGS, engine=engine)
    assert str(refused.value) == (
        f"the factors take 5 MiB, for which {tmp_path} has no room (1 MiB are free): make some and "
        "run the same call again, or give the engine a checkpoint in a larger folder, or more "
        "memory"
    )
    assert os.listdir(tmp_path) == []

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(tm.errors.EngineError, match=r"has no room \(.*No space left"):
            method.fit(RATINGS, engine=engine)
    assert [name for name in os.listdir(tmp_path) if name.startswith("fit-")]
    far = method.fit(RATINGS, engine=engine)
    np.testing.assert_array_equal(far.factors.users, method.fit(RATINGS).factors.users)
    assert os.listdir(tmp_path) == []


MEASURED = """
import json, sys, threading
from pathlib import Path
import pyarrow.parquet, scipy.sparse, tastemix as tm
from distributed import Client

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

def grown(work):
    before, most, done = anonymous(), [0], threading.Event()
    def watch():
        while not done.wait(0.005):
            most[0] = max(most[0], anonymous())
    thread = threading.Thread(target=watch)
    thread.start()
    result = work()
    done.set()
    thread.join()
    return result, most[0] - before

def used(model):
    user, item = model.users.ids[7], model.items.ids[7]
    model.predict(user, item), model.recommend(user), model.explain(user, item)

address, folder = sys.argv[1:]
with Client(address) as client:
    ratings = tm.open(folder + "/ratings.tmr")
    engine = tm.engines.Dask(client, memory="200 MB")
    tm.RNMF(1, steps=1).fit(ratings, engine=engine)
    model, fit = grown(lambda: tm.RNMF(256, steps=1).fit(ratings, engine=engine))
    _, use = grown(lambda: used(model))
    _, save = grown(lambda: model.save(folder + "/model", ratings=False))
print(json.dumps([model.factors.users.nbytes, fit, use, save]))
"""


def test_the_memory_of_this_process_does_not_grow_by_the_factors(tmp_path: Any) -> None:
    users, items = 280_000, 2_000
    rng = np.random.default_rng(0)
    rated = np.append(np.arange(items), rng.integers(0, items, users - items))
    stars = rng.integers(1, 6, users) * 1.0
    ratings = tm.Ratings.from_arrays(np.arange(users), rated, stars)
    writing.write(ratings, tmp_path / "ratings.tmr")
    with made() as local:
        command = [sys.executable, "-c", MEASURED, local.scheduler_address, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    factors, fit, use, save = json.loads(done.stdout)
    assert factors == 4 * 256 * users
    assert fit < 0.1 * factors
    assert use < 0.1 * factors
    assert save < 0.2 * factors
