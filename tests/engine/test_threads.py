"""The same bits at any number of threads, in any process, after a fork; and Ctrl-C."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tastemix as tm
from tastemix.engine import CpuEngine, Pair, _native
from tastemix.engine.objective import Objective
from tests.conftest import random_ratings
from tests.engine.problems import ISAS, OBJECTIVES, isa, steps
from tests.engine.test_estimated import OBJECTIVE as ESTIMATED
from tests.engine.test_one_at_a_time import half_step, long_session

RATINGS = random_ratings(900, 500, 0.15, seed=1)  # several chunks a side


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = _native.threads()
    yield
    _native.set_threads(before)


def digest(factors: Pair) -> str:
    return hashlib.sha256(factors.users.tobytes() + factors.items.tobytes()).hexdigest()


def digests(rank: int = 10) -> list[str]:
    return [
        digest(steps(CpuEngine(), RATINGS, rank, objective, 3).factors())
        for objective in map(
            {**OBJECTIVES, "estimated": ESTIMATED}.get,
            ("l1", "prior 3", "weak dynamic", "towards choices", "estimated"),
        )
    ]


@pytest.mark.parametrize("rank", [3, 16, 20, 70])
@pytest.mark.parametrize("instructions", ISAS)
def test_the_same_bits_with_one_two_and_three_threads(instructions: str, rank: int) -> None:
    found = []
    with isa(instructions):
        for threads in (1, 2, 3):
            tm.set_threads(threads)
            found.append(digests(rank))
    assert found[0] == found[1] == found[2]


def test_another_seed_gives_other_bits() -> None:
    one, other = (steps(CpuEngine(), RATINGS, 4, Objective(), 1, seed=seed) for seed in (0, 1))
    assert digest(one.factors()) != digest(other.factors())


def test_the_same_bits_in_another_process() -> None:
    program = "from tests.engine.test_threads import digests; print(*digests())"
    found = {
        threads: subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TASTEMIX_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for threads in ("1", "3")
    }
    assert found["1"] == found["3"] == digests()


def test_the_same_bits_after_a_fork() -> None:
    """The child has none of the parent's threads; it must neither wait for them nor miss them."""
    tm.set_threads(3)
    expected = digests()
    reader, writer = os.pipe()
    # The parent is threaded on purpose: that is what is tested.
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, " ".join(digests()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        assert pipe.read().split() == expected
    assert status == 0
    assert digests() == expected


def test_sessions_in_several_python_threads_do_not_disturb_each_other() -> None:
    tm.set_threads(2)
    expected, found = digests(), []
    workers = [threading.Thread(target=lambda: found.append(digests())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


def test_ctrl_c_ends_a_half_step_before_it_is_done() -> None:
    """A signal after half a second ends it at once."""
    session = long_session()
    # In a shell's background a process ignores SIGINT, and Python with it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        half_step(session)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 10


def test_the_number_of_threads_must_be_positive() -> None:
    with pytest.raises(tm.errors.ParameterError, match="threads is 0"):
        tm.set_threads(0)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TASTEMIX_THREADS", "many", "TASTEMIX_THREADS is 'many': it must be a whole number"),
        ("TASTEMIX_ISA", "mmx", "this processor has no instruction set 'mmx'"),
    ],
)
def test_a_wrong_environment_variable_is_named(variable: str, value: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tastemix; tastemix.NMF"],
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize("name", ISAS)
def test_the_instruction_set_can_be_forced(name: str) -> None:
    program = "import tastemix; tastemix.NMF; print(tastemix.engine._native.current_isa())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TASTEMIX_ISA": name},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [name]
