"""Threads, forks, signal handlers and interpreters that meet in the core."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import CpuEngine, Pair, _native
from tastemix.engine.cpu import CpuSession
from tastemix.engine.objective import Objective
from tests.conftest import random_ratings
from tests.engine.problems import OBJECTIVES, steps

HERE = """
import os, signal, sys, threading, time
import numpy as np
import tastemix as tm
from tests.engine.test_one_at_a_time import long_session, half_step
"""


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = _native.threads()
    yield
    _native.set_threads(before)


def long_session(users: int = 1000, items: int = 400, rank: int = 4096) -> CpuSession:
    """A session whose half-step takes a minute on one core: the Gram products alone 7 · 10¹²."""
    rng = np.random.default_rng(0)
    ratings = tm.Ratings.from_arrays(
        np.repeat(np.arange(users), items), np.tile(np.arange(items), users),
        rng.integers(1, 6, users * items),
    )  # fmt: skip
    start = Pair(rng.random((users, rank), np.float32), rng.random((items, rank), np.float32))
    return CpuEngine().place(ratings).open(start)


def half_step(session: CpuSession) -> None:
    session.half_step("users", Objective(), 0.0, max_updates=10**7)


def run(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HERE + program],
        env={**os.environ, "PYTHONPATH": os.getcwd(), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


class StoppedError(Exception):
    pass


def at_signal(session: CpuSession, handler: object) -> float:
    """Seconds until a half-step that a signal interrupts has ended."""
    before = signal.signal(signal.SIGALRM, handler)  # type: ignore[arg-type]
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        half_step(session)
    except StoppedError:
        return time.monotonic() - began
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("the half-step came to its end")


@pytest.mark.parametrize(
    "use",
    [
        half_step,
        CpuSession.factors,
        CpuSession.pulls,
        CpuSession.keep,
        CpuSession.restore,
        lambda session: session.spread("users"),
        lambda session: session.errors(part_of(session)),
        lambda session: session.rmse(part_of(session)),
    ],
)
def test_a_session_entered_again_from_a_signal_handler_is_refused(use) -> None:
    session = long_session()
    refused = []

    def handler(*_) -> None:
        with pytest.raises(tm.errors.EngineError, match="this session is in use by another thread"):
            use(session)
        refused.append(True)
        raise StoppedError

    at_signal(session, handler)
    assert refused == [True]
    assert session.factors().users.shape == (1000, 4096)  # and it is free again


def part_of(session: CpuSession):
    placed = CpuEngine().place(random_ratings(5, 5, 0.9, seed=0))
    return placed.part(placed.ratings)


def test_a_session_used_by_another_thread_is_refused_there() -> None:
    session, refused = long_session(), []

    def intrude() -> None:
        time.sleep(0.2)
        for _ in range(20):
            try:
                half_step(session)
            except tm.errors.EngineError as error:
                refused.append(str(error))

    def handler(*_) -> None:
        other.join()
        raise StoppedError

    other = threading.Thread(target=intrude)
    other.start()
    at_signal(session, handler)
    assert len(refused) == 20
    assert set(refused) == {
        "this session is in use by another thread, or by what a signal interrupted: "
        "let one thread use it, or open a session for each"
    }


def test_another_session_may_work_in_a_signal_handler() -> None:
    _native.set_threads(2)
    ratings = random_ratings(900, 500, 0.15, seed=1)
    expected, found = tm.NMF(3, steps=2).fit(ratings), []

    def handler(*_) -> None:
        found.append(tm.NMF(3, steps=2).fit(ratings))
        raise StoppedError

    at_signal(long_session(), handler)
    np.testing.assert_array_equal(found[0].factors.users, expected.factors.users)


def test_the_number_of_threads_may_change_during_a_fit() -> None:
    ratings = random_ratings(900, 500, 0.15, seed=1)

    def fitted(name: str) -> np.ndarray:
        return steps(CpuEngine(), ratings, 8, OBJECTIVES[name], 3).factors().users

    names = ("l1", "weak dynamic", "towards choices")
    expected = [fitted(name) for name in names]
    done = threading.Event()

    def change() -> None:
        for number in range(10**9):
            _native.set_threads(1 + number % 7)
            if done.wait(0.0005):
                return

    other = threading.Thread(target=change)
    other.start()
    found = [[fitted(name) for name in names] for _ in range(4)]
    done.set()
    other.join()
    for factors in found:
        np.testing.assert_array_equal(factors, expected)


def test_a_daemon_thread_in_a_half_step_when_the_interpreter_ends() -> None:
    done = run(
        "session = long_session()\n"
        "threading.Thread(target=half_step, args=[session], daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_daemon_threads_in_short_calls_when_the_interpreter_ends() -> None:
    """They come back for the GIL at every moment of the ending."""
    done = run(
        "from tests.conftest import random_ratings\n"
        "model = tm.NMF(3, steps=2).fit(random_ratings(40, 30, 0.5, seed=1))\n"
        "users = list(range(40))\n"
        "def loop():\n"
        "    while True: model.recommend(users, 2)\n"
        "for _ in range(8): threading.Thread(target=loop, daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("daemon", [True, False])
def test_ctrl_c_in_join(daemon: bool) -> None:
    """A second Ctrl-C ends the wait for a thread that is not a daemon."""
    done = run(
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"worker = threading.Thread(target=half_step, args=[long_session()], daemon={daemon})\n"
        "worker.start()\n"
        "def interrupt():\n"
        "    for _ in range(3):\n"
        "        time.sleep(0.3)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt, daemon=True).start()\n"
        "worker.join()\n"
    )
    assert done.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in done.stderr
    assert "terminate" not in done.stderr


def test_a_fork_while_another_thread_makes_the_pool_anew() -> None:
    ratings = random_ratings(40, 30, 0.5, seed=1)
    tm.NMF(2, steps=1).fit(ratings)
    done = threading.Event()

    def rebuild() -> None:
        number = 0
        while not done.is_set():
            number += 1
            _native.set_threads(2 + number % 5)
            tm.NMF(2, steps=1).fit(ratings)

    others = [threading.Thread(target=rebuild) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for _ in range(40):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that waits for a lock of nobody is killed
                try:
                    tm.NMF(2, steps=1).fit(ratings)
                finally:
                    os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        for other in others:
            other.join()


def test_a_session_in_use_is_refused_in_a_fork() -> None:
    session = long_session()

    def handler(*_) -> None:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                session.factors()
            except tm.errors.EngineError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        raise StoppedError

    at_signal(session, handler)


def test_sub_interpreters_are_refused_at_import() -> None:
    program = (
        "import importlib\n"
        "try: interpreters = importlib.import_module('_interpreters')\n"
        "except ImportError: interpreters = importlib.import_module('_xxsubinterpreters')\n"
        "program = '''\n"
        "try: import tastemix\n"
        "except ImportError as error: print(error, flush=True)\n"
        "'''\n"
        "interpreters.run_string(interpreters.create(), program)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == (
        "tastemix cannot be used in a sub-interpreter: use threads, or a process of its own\n"
    )


LONG = 2**20  # ratings of a row


def long_rows(count: int, rank: int = 200) -> tuple[_native.Half, _native.Rows, _native.Rows]:
    """Rows of a million ratings, those they move and those they are fitted to."""
    rng = np.random.default_rng(0)
    pointers = LONG * np.arange(count + 1, dtype=np.int64)
    indices = np.tile(np.arange(1024, dtype=np.int32), count * LONG // 1024)
    half = _native.Half(pointers, indices, rng.random(len(indices), np.float32), 1024)
    moving, fixed = rng.random((count, rank), np.float32), rng.random((1024, rank), np.float32)
    return half, _native.Rows(moving), _native.Rows(fixed)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_within_one_row_of_a_million_ratings(count: int, threads: int) -> None:
    """The descent ends before the row's Gram product is done: the row has not moved."""
    _native.set_threads(threads)
    half, moving, fixed = long_rows(count)
    before = moving.get()
    mover = _native.Mover(half, moving, 0.0, _native.Workspace())
    nothing = np.zeros(200, np.float32)
    mover.survey(fixed, 0, 0, 0, 0, False, nothing[:0], nothing, None, None, None, 0)
    interrupted = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            mover.descend(0.0, 10)
    finally:
        signal.signal(signal.SIGALRM, interrupted)
    np.testing.assert_array_equal(moving.get(), before)


def ended_early(work) -> float:
    """Seconds of the processor that work took which a signal ended, .05 s of them before it."""
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began


MOST = 1.0
"""Seconds of the processor: five times what is promised, for a busy machine with sanitizers."""


def test_ctrl_c_within_one_search_of_a_long_catalogue() -> None:
    """A list of all items in order, the worst of them first, takes minutes to keep sorted."""
    items, none = 2**20, np.zeros(0, np.int32)
    rows = np.arange(items, dtype=np.float32)[:, None]
    catalogue = _native.Catalogue(rows)
    one, pointers = np.ones((1, 1), np.float32), np.zeros(2, np.int64)
    asked = np.zeros(1, np.int32)
    assert catalogue.top(one, asked, pointers, none, None, 2)[0].tolist() == [items - 1, items - 2]
    took = ended_early(lambda: catalogue.top(one, asked, pointers, none, None, items))
    assert took < MOST
    scores = np.ascontiguousarray(rows.T)
    assert ended_early(lambda: _native.best_items(scores, pointers, none, None, items)) < MOST
    # What was marked as seen by the search that was given up is not left so.
    seen = np.arange(items, dtype=np.int32)
    marked = np.array([0, items - 1], np.int64)
    ended_early(lambda: [catalogue.top(one, asked, marked, seen, None, 2) for _ in range(10**4)])
    assert catalogue.top(one, asked, pointers, none, None, 2)[0].tolist() == [items - 1, items - 2]


def test_ctrl_c_while_variances_of_a_large_rank_are_found() -> None:
    """A row of 17 ratings at rank 2048: its Gram product is nothing, the rest takes seconds."""
    rank = 2048
    rng = np.random.default_rng(0)
    half = _native.Half(
        np.array([0, 17], np.int64), np.arange(17, dtype=np.int32), np.ones(17, np.float32), 17
    )
    moving = _native.Rows(rng.random((1, rank), np.float32))
    fixed = _native.Rows(rng.random((17, rank), np.float32))
    mover = _native.Mover(half, moving, 0.0, _native.Workspace())
    ridges, variances = (_native.Rows(np.full((1, rank), v, np.float32)) for v in (1, 0))
    nothing = np.zeros(rank, np.float32)
    mover.survey(
        fixed, 0, 0, 0, 0, False, nothing[:0], nothing, _native.Rows(nothing[None]), ridges,
        variances, 0.5,
    )  # fmt: skip
    assert ended_early(lambda: mover.descend(0.0, 10)) < MOST
    assert not variances.get().any()
