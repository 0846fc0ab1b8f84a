"""Fits on a cluster of processes: the bits of a fit here, whatever is lost on the way."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix.data.disk import writing
from tastemix.engine import CpuEngine, Session
from tastemix.engine.objective import Objective
from tastemix.engine.session import BlockSession
from tastemix.model import for_all
from tests.conftest import random_ratings
from tests.engine.problems import steps
from tests.engine.test_estimated import OBJECTIVE as ESTIMATED

distributed = pytest.importorskip("distributed")
from tastemix.engine.dask import Dask, cluster, placed, spreading  # noqa: E402
from tastemix.engine.dask.cluster import Cluster  # noqa: E402
from tastemix.engine.dask.shelf import Shelf  # noqa: E402
from tastemix.engine.dask.team import DaskTeam, Layout  # noqa: E402

RATINGS = random_ratings(3000, 2600, 0.006, seed=1)
"""Six chunks of users and of items."""
METHODS = {
    "RNMF": Objective(l1=0.2),
    "PR": Objective(prior=3.0),
    "PRD": Objective(prior="dynamic"),
    "CNMF": ESTIMATED,
}
pytestmark = pytest.mark.filterwarnings("ignore")


def made(workers: int = 2) -> Any:
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with made() as local, distributed.Client(local) as client:
        yield client


def assert_same(far: Session, near: Session) -> None:
    for one, other in zip(far.factors(), near.factors(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (far.pulls() is None) == (near.pulls() is None)
    for one, other in zip(far.pulls() or (), near.pulls() or (), strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize(("name", "blocks"), [("RNMF", 2), ("PR", 1), ("PRD", 5), ("CNMF", 2)])
def test_a_cluster_gives_the_bits_of_a_fit_here(name: str, blocks: int, client: Any) -> None:
    objective = METHODS[name]
    far = steps(Dask(client, blocks=blocks), RATINGS, 5, objective, 2, offsets=True)
    near = steps(CpuEngine(), RATINGS, 5, objective, 2, offsets=True)
    assert_same(far, near)
    reports = [session.half_step("items", objective, 1e-3) for session in (far, near)]
    assert reports[0] == reports[1]
    for side in ("users", "items"):
        spreads = [session.spread(side) for session in (far, near)]
        np.testing.assert_array_equal(spreads[0].squared, spreads[1].squared)


def test_a_fit_on_the_current_client_goes_through_the_seam(client: Any) -> None:
    """Split, part, errors, keep, restore: early stopping and the uncertainty of the default."""
    train, test = tm.holdout(RATINGS, seed=1)
    method = tm.CNMF(rank=3, steps=2, noise=0.6, choice_penalty=3.0, ranking=0)
    far, near = (
        method.fit(train, held_out=test, patience=1, engine=engine) for engine in ("dask", "cpu")
    )
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    assert [step.objective for step in far.history] == [step.objective for step in near.history]
    some = far.predict([0, 1], [1, 2], return_std=True)
    for one, other in zip(some, near.predict([0, 1], [1, 2], return_std=True), strict=True):
        np.testing.assert_array_equal(one, other)


def test_workers_map_ratings_that_are_on_disk(client: Any, tmp_path: Any) -> None:
    writing.write(RATINGS, tmp_path / "ratings.tmr")
    mapped = tm.open(tmp_path / "ratings.tmr")
    there = Dask(client).place(mapped)
    assert there.folder == str(tmp_path / "ratings.tmr")
    there.close()
    far = tm.RNMF(3, steps=2).fit(mapped, engine="dask")
    np.testing.assert_array_equal(far.factors.users, tm.RNMF(3, steps=2).fit(RATINGS).factors.users)


def test_a_dataframe_of_the_cluster_is_fitted_there(client: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    few = RATINGS.subset(np.arange(len(RATINGS)) < 2000).to_table().to_pandas()
    options: dict[str, Any] = {"progress": False, "scale": RATINGS.scale}
    far = tm.fit(frames.from_pandas(few, npartitions=3), engine="dask", **options)
    near = tm.fit(few, **options)
    np.testing.assert_array_equal(far.factors.users, near.factors.users)


class Killer:
    """Kills a worker after some steps, with a session that goes on."""

    def __init__(self, client: Any, at: set[int]) -> None:
        self.client, self.at, self.repeated = client, at, 0

    def __call__(self, step: Any, session: Any) -> None:
        self.repeated = session.repeated
        if step.number in self.at:
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)


def test_a_killed_worker_changes_no_bit_and_little_is_repeated() -> None:
    method = tm.ANLS(4, [tm.Phase(ESTIMATED, 5)], offsets=True)
    with made() as local, distributed.Client(local) as client:
        killer = Killer(client, {4})
        far = method.fit(RATINGS, engine=Dask(client, every=3), on_step=killer)
    near = method.fit(RATINGS)
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    np.testing.assert_array_equal(far.factors.items, near.factors.items)
    assert [step.objective for step in far.history] == [step.objective for step in near.history]
    assert 2 <= killer.repeated <= 3  # the fourth step, and what was under way


def test_a_fit_whose_scheduler_was_lost_goes_on_by_the_same_call(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "POLL", 0.2)
    done = []
    half_step = BlockSession.half_step

    def counted(*arguments: Any, **options: Any) -> Any:
        done.append(arguments[1])
        return half_step(*arguments, **options)

    monkeypatch.setattr(BlockSession, "half_step", counted)
    method, shelf = tm.ANLS(4, [tm.Phase(METHODS["PRD"], 6)], offsets=True), tmp_path / "checkpoint"

    def end(step: Any, session: Any) -> None:
        if step.number == 5:
            local.close()

    local = made()
    with (
        distributed.Client(local, timeout=3) as client,
        pytest.raises(
            tm.errors.EngineError, match=r"the scheduler at .* does not answer: start a cluster"
        ),
    ):
        method.fit(RATINGS, engine=Dask(client, checkpoint=shelf, every=2), on_step=end)
    assert len(done) >= 10
    done.clear()
    with made() as local, distributed.Client(local) as client:
        far = method.fit(RATINGS, engine=Dask(client, checkpoint=shelf, every=2))
    assert len(done) == 4  # of twelve: the fifth and the sixth step
    near = method.fit(RATINGS)
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    assert [step.objective for step in far.history] == [step.objective for step in near.history]
    assert not [name for name in os.listdir(shelf) if name.startswith("fit-")]


def test_everyones_recommendations_are_written_by_the_workers(
    client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(for_all, "PART_ROWS", 4000)
    model = tm.RNMF(3, steps=2).fit(RATINGS)
    model.recommend_all(5, to=tmp_path / "far", engine="dask")
    model.recommend_all(5, to=tmp_path / "near")
    expected = [f"part-0000{number}.parquet" for number in range(4)]
    whole = model.recommend_all(5).read_all()
    for folder in ("far", "near"):
        assert sorted(os.listdir(tmp_path / folder)) == expected
        assert pq.read_table(tmp_path / folder).equals(whole)

    def held() -> int:
        from tastemix.engine.dask import spreading

        return len(spreading._BEGUN)

    assert sum(client.run(held).values()) == 0


def test_recommendations_are_written_to_an_address(
    client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file system of fsspec, which Arrow does not know to be this disk."""
    monkeypatch.setattr(for_all, "PART_ROWS", 4000)
    model = tm.CNMF(3, steps=2).fit(RATINGS)
    to = f"blockcache::file://{tmp_path}/lists"
    model.recommend_all(5, to=to, engine="dask")
    assert sorted(os.listdir(tmp_path / "lists")) == [f"part-0000{n}.parquet" for n in range(4)]
    assert pq.read_table(tmp_path / "lists").equals(model.recommend_all(5).read_all())
    with pytest.raises(tm.errors.DataError, match=r"there already.*s3://bucket/lists"):
        model.recommend_all(5, to=to)
    assert len(os.listdir(tmp_path / "lists")) == 4
    for address in ("nowhere://lists", "oss://bucket/lists", "github://a/b"):
        with pytest.raises(tm.errors.DataError, match=f"{address} cannot be"):
            model.recommend_all(5, to=address)
        with pytest.raises(tm.errors.TastemixError, match=f"{address}.* cannot be"):
            Dask(client, checkpoint=address).place(RATINGS)


def test_lists_stay_where_tidying_up_after_them_fails(
    client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))

    monkeypatch.setattr(for_all, "_clear", fails)
    model = tm.RNMF(3, steps=1).fit(RATINGS)
    model.recommend_all(5, to=tmp_path / "lists", engine="dask")
    assert "part-00000.parquet" in os.listdir(tmp_path / "lists")


def test_lists_that_find_no_room_leave_no_folder(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", full)
    model = tm.RNMF(3, steps=1).fit(RATINGS)
    with pytest.raises(tm.errors.DataError, match=r"No space left.*make room there"):
        model.recommend_all(5, to=tmp_path / "lists")
    assert os.listdir(tmp_path) == []


def test_recommendations_that_fail_leave_no_folder(
    client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tm.RNMF(3, steps=1).fit(RATINGS)
    with pytest.raises(tm.errors.DataError, match="give a folder that is not there yet"):
        model.recommend_all(5, to=tmp_path, engine="dask")
    monkeypatch.setattr(type(model), "save", lambda *_: None)
    with pytest.raises(tm.errors.DataError, match="give a folder that all machines see"):
        model.recommend_all(5, to=tmp_path / "lists", engine="dask")
    assert os.listdir(tmp_path) == []


def test_a_piece_of_a_lost_worker_is_done_by_another() -> None:
    with made() as local, distributed.Client(local) as client:
        done = Dask(client).spread(_number, 10, _dying_once, [str(local.scheduler_address), "b"])
    assert done == [10, 10]


def _number(about: int) -> int:
    return about


def _dying_once(begun: int, piece: str) -> int:
    """Ends its worker if no worker was lost before."""
    if piece != "b" and len(distributed.get_client().nthreads()) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return begun


def test_what_is_begun_when_its_work_has_ended_is_not_kept() -> None:
    loading, forgotten, done = threading.Event(), threading.Event(), []

    def begin(about: str) -> str:
        loading.set()
        assert forgotten.wait(10)
        return about

    def run() -> None:
        spreading._done("key", begin, "model", lambda *_: done.append("work"), 1)

    runs = [threading.Thread(target=run) for _ in range(2)]
    for thread in runs:
        thread.start()
    assert loading.wait(10)
    spreading._forget("key")  # which does not wait for what is under way
    forgotten.set()
    for thread in runs:
        thread.join()
    assert "key" not in spreading._BEGUN
    assert done == []


def test_a_worker_lost_while_it_writes_lists_leaves_no_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(for_all, "PART_ROWS", 4000)
    model = tm.RNMF(3, steps=1).fit(RATINGS)
    with made() as local, distributed.Client(local) as client:
        lost = next(iter(client.nthreads()))
        client.run(_die_while_writing, workers=[lost])
        model.recommend_all(5, to=tmp_path / "lists", engine=Dask(client))
        assert lost not in client.nthreads()
    assert sorted(os.listdir(tmp_path / "lists")) == [f"part-0000{n}.parquet" for n in range(4)]
    assert pq.read_table(tmp_path / "lists").equals(model.recommend_all(5).read_all())


def _die_while_writing() -> None:
    """Have this worker end in the midst of a file."""
    import pyarrow.parquet

    pyarrow.parquet.ParquetWriter.write_batch = lambda *_: os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_of_another_version_is_refused(client: Any, tmp_path: Any) -> None:
    def become(version: str) -> None:
        import tastemix

        tastemix.__version__ = version

    address = sorted(client.nthreads())[0]
    client.run(become, "0.0.1", workers=[address])
    try:
        with pytest.raises(tm.errors.EngineError) as refused:
            tm.NMF(2, steps=1).fit(RATINGS, engine=Dask(client, checkpoint=tmp_path))
    finally:
        client.run(become, tm.__version__, workers=[address])
    assert os.listdir(tmp_path) == []
    assert str(refused.value) == (
        f"worker {address} has tastemix 0.0.1, and this is {tm.__version__}: "
        "install the same version everywhere"
    )


def test_workers_whose_bits_differ_are_refused(client: Any) -> None:
    def use(isa: str) -> str:
        from tastemix.engine import _native

        before = _native.current_isa()
        _native.use_isa(isa)
        return before

    address = sorted(client.nthreads())[0]
    before = client.run(use, "plain", workers=[address])[address]
    try:
        with pytest.raises(tm.errors.EngineError, match="set TASTEMIX_ISA=plain on all workers"):
            tm.NMF(2, steps=1).fit(RATINGS, engine=Dask(client))
    finally:
        client.run(use, before, workers=[address])


def test_a_worker_without_tastemix_is_named(client: Any) -> None:
    def hide(hidden: bool) -> None:
        import sys

        if hidden:
            sys.modules["tastemix.engine._native_"] = sys.modules["tastemix.engine._native"]
            sys.modules["tastemix.engine._native"] = None
        else:
            sys.modules["tastemix.engine._native"] = sys.modules.pop("tastemix.engine._native_")

    address = sorted(client.nthreads())[0]
    client.run(hide, True, workers=[address])
    try:
        with pytest.raises(tm.errors.EngineError, match=f"worker {address} has no tastemix"):
            tm.NMF(2, steps=1).fit(RATINGS, engine=Dask(client))
    finally:
        client.run(hide, False, workers=[address])


def test_a_block_larger_than_its_worker_is_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.Cluster, "memory", lambda *_: 2**16)
    with pytest.raises(tm.errors.EngineError, match=r"the users 0 to .* MiB at rank 8, and worker"):
        tm.NMF(8, steps=1).fit(RATINGS, engine=Dask(client))


def test_without_a_client_it_says_how_to_make_one() -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as local:
        client = distributed.Client(local, set_as_default=False)
        client.close()
        with pytest.raises(tm.errors.EngineError, match=r"the scheduler|needs a client"):
            tm.NMF(2, steps=1).fit(RATINGS, engine=Dask(client))


def test_a_checkpoint_that_cannot_be_written_is_refused(client: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(tm.errors.EngineError, match="cannot be made"):
        tm.NMF(2, steps=1).fit(RATINGS, engine=Dask(client, checkpoint=tmp_path / "file"))


def failing(error: Exception) -> Callable[..., None]:
    """What makes a worker fail to save, and what lets it again."""

    def fail(*_: Any) -> None:
        raise type(error)(*error.args)

    def change(back: bool) -> None:
        from tastemix.engine.dask.shelf import Shelf

        if back:
            Shelf.save = Shelf._save  # type: ignore[attr-defined, method-assign]
        else:
            Shelf._save, Shelf.save = Shelf.save, fail  # type: ignore[attr-defined, method-assign]

    return change


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries that a test can wait for."""
    monkeypatch.setattr(cluster, "POLL", 0.2)
    monkeypatch.setattr(cluster, "TRIES", 3)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            r"a worker cannot read or write its files \(No space left on device\): give a folder "
            "that all machines see, with room",
        ),
        (
            ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
            r"workers were lost 3 times over the same work \(the last time: ConnectionResetError: "
            r".*Connection reset by peer\)",
        ),
        (TimeoutError("too late"), r"workers were lost 3 times .*TimeoutError: too late"),
    ],
)
def test_what_workers_cannot_do_is_told_and_not_tried_for_ever(
    error: Exception, said: str, client: Any, tmp_path: Any, patient: None
) -> None:
    shelf, opened, opening = tmp_path / "checkpoint", [], DaskTeam.open
    change = failing(error)
    client.run(change, False)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DaskTeam, "open", lambda *a: (opened.append(1), opening(*a)))
            with pytest.raises(tm.errors.EngineError, match=said):
                tm.NMF(2, steps=2).fit(RATINGS, engine=Dask(client, checkpoint=shelf, every=1))
    finally:
        client.run(change, True)
    assert len(opened) == (1 if error.errno == errno.ENOSPC else 3)
    tm.NMF(2, steps=2).fit(RATINGS, engine=Dask(client, checkpoint=shelf, every=1))


@pytest.mark.parametrize(
    ("error", "there", "raised"),
    [
        (OSError(errno.EIO, "Input/output error"), True, tm.errors.EngineError),
        (OSError(errno.EIO, "Input/output error"), False, cluster.LostWorkerError),
        (OSError("Timed out trying to connect to tcp://b"), True, cluster.LostWorkerError),
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), True, cluster.LostWorkerError),
        (MemoryError(), True, tm.errors.EngineError),
    ],
)
def test_an_error_of_a_question_is_a_lost_worker_or_its_own(
    error: Exception, there: bool, raised: type[Exception], client: Any
) -> None:
    async def answer(about: Any) -> None:
        raise about

    asked_of = Cluster(client).workers()
    beside = {*asked_of} if there else {*asked_of, "tcp://127.0.0.1:1"}
    with pytest.raises(raised):
        Cluster(client).ask(answer, error, asked_of[:1], beside)


def test_an_error_of_spread_work_is_told_as_it_is(client: Any) -> None:
    for error in (OSError(errno.ENOSPC, "No space left on device"), TimeoutError("No space")):
        with pytest.raises(tm.errors.EngineError, match=r"cannot .* its files \(No space"):
            Dask(client).spread(_number, 10, _raising, [error])


def _raising(_: int, error: Exception) -> None:
    raise error


@pytest.mark.parametrize("what", ["ratings", "start", "progress"])
def test_what_finds_no_room_here_is_told(
    what: str, client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers are other processes, which write as before."""

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    patched = {"ratings": (writing, "write"), "start": (Shelf, "save")}
    engine = Dask(client, checkpoint=tmp_path, every=1)
    with monkeypatch.context() as patch:
        patch.setattr(*patched.get(what, (Shelf, "write_json")), full)
        with pytest.raises(tm.errors.EngineError, match=rf"{tmp_path} cannot .*No space left"):
            tm.CNMF(3, steps=3).fit(RATINGS, engine=engine)
    tm.NMF(2, steps=2).fit(RATINGS, engine=engine)


def test_nothing_is_left_on_workers_or_disk(client: Any, tmp_path: Any) -> None:
    before = sum(client.run(_desks).values())
    tm.NMF(2, steps=2).fit(RATINGS, engine=Dask(client, checkpoint=tmp_path))
    assert sum(client.run(_desks).values()) == before
    assert os.listdir(tmp_path) == []


def _desks() -> int:
    """How many fits this worker holds something of."""
    from tastemix.engine.dask import worker

    return len(worker._DESKS)


@pytest.mark.parametrize("place", ["whole", "split", "part"])
def test_placing_that_fails_leaves_nothing(
    place: str, client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = sum(client.run(_desks).values())
    there: Any = Dask(client, checkpoint=tmp_path).place(RATINGS)
    before = sorted(os.listdir(tmp_path))

    mapping = placed.DaskPlaced._map

    def refused(*arguments: Any) -> None:
        mapping(*arguments)
        raise tm.errors.EngineError("refused")

    made = {
        "whole": lambda: Dask(client, checkpoint=tmp_path).place(RATINGS),
        "split": lambda: there.split(1, 0.1),
        "part": lambda: there.part(RATINGS),
    }
    with monkeypatch.context() as patch:
        if place == "part":
            patch.setattr(writing, "write", _half_written)
        else:
            patch.setattr(placed.DaskPlaced, "_map", refused)
        with pytest.raises(tm.errors.EngineError, match="refused"):
            made[place]()
    if place != "part":
        assert sorted(os.listdir(tmp_path)) == before
    there.close()
    assert os.listdir(tmp_path) == []
    assert sum(client.run(_desks).values()) == held


def _half_written(_: Any, folder: Any) -> None:
    folder.mkdir()
    raise tm.errors.EngineError("refused")


def test_blocks_of_a_lost_worker_go_to_the_others_evenly() -> None:
    borders = {"users": list(range(0, 7 * 512, 512)), "items": [0, 512]}
    layout = Layout("fit", borders, {}, {}, {})
    layout.share_out(["a", "b", "c"])
    before = dict(layout.owners)
    layout.share_out(["a", "c"])
    held = [layout.owners["users", number] for number in range(6)]
    assert sorted(held) == ["a"] * 3 + ["c"] * 3
    assert all(layout.owners[key] == owner for key, owner in before.items() if owner in ("a", "c"))


class Recorder:
    """A cluster of one worker, which notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], list[str]]] = []

    def ask(self, _: Any, question: Any, workers: Any, beside: Any) -> dict[str, Any]:
        views = [view.sight.name for view in question.views]
        steps = [step[0] for step in question.steps]
        self.asked.append((question.side, views, steps))
        return {owner: [None] * len(places) for owner, places in question.blocks.items()}


def test_blocks_see_what_others_held_when_they_were_asked() -> None:
    layout = Layout("fit", {"users": [0, 9], "items": [0, 9]}, {}, {}, {})
    layout.share_out(["a"])
    there = Recorder()
    team: Any = DaskTeam(cast(Any, there), layout, "session", cast(Any, None))
    team.on("users", "first", changes=("away",), later=True)
    team.on("items", "second", sees=("away",), changes=("z",), later=True)
    team.on("users", "third", sees=("z",), later=True)
    assert there.asked == []
    team.on("items", "turn", changes=("z",))
    assert there.asked == [
        ("users", [], ["first"]),
        ("items", ["away"], ["second"]),
        ("users", ["z"], ["third"]),
        ("items", [], ["turn"]),
    ]
    there.asked.clear()
    team.on("users", "again", sees=("z",))
    team.on("users", "again", sees=("z",))
    assert there.asked == [("users", ["z"], ["again"]), ("users", [], ["again"])]


def test_all_that_ask_get_one_copy_until_the_block_changes() -> None:
    from tastemix.engine.block import Block, Rated
    from tastemix.engine.dask.copies import Copies

    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    half = tm.Ratings.from_arrays([0, 1, 2, 3], [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]).by_user
    block = Block(Rated(half, 2), rows, (), 0.0, 512, lambda name: np.empty(0, np.float32))
    copies = Copies()
    first = copies.of(block, "rows")
    assert copies.of(block, "rows") is first
    block.put("rows", rows + 1)
    np.testing.assert_array_equal(first, rows)  # nobody said that it changed
    copies.outdate()
    second = copies.of(block, "rows")
    np.testing.assert_array_equal(second, rows + 1)
    assert np.shares_memory(first, second)
    assert not np.shares_memory(second, block.rows.get())
    assert copies.of(block, "scale") is block.shown("scale")


def test_dask_is_imported_only_when_it_is_used() -> None:
    import subprocess
    import sys

    program = (
        "import sys, tastemix; tastemix.fit; tastemix.engines.Dask\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
