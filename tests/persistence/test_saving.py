"""A save is all or nothing, whatever ends it, and what was saved comes back as it was."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tastemix as tm
from tastemix import persistence
from tastemix.data import memory
from tastemix.errors import ModelFileError
from tastemix.persistence import checking, folder, parquet
from tests.data.test_ids import PYTHON_IDS

RATINGS = tm.Ratings.from_arrays(
    ["ann", "ann", "ann", "bob", "bob", "cy", "cy", "dee"],
    ["Heat", "Alien", "Up", "Heat", "Jaws", "Alien", "Up", "Jaws"],
    [5, 4, 1, 4, 5, 2, 5, 1],
    timestamp=[3, 1, 2, 8, 7, 6, 5, 4],
    scale=(1, 5),
)
OLDER = tm.PR(2, steps=2).fit(RATINGS)
NEWER = tm.RNMF(3, steps=2).fit(RATINGS)
AVERAGE = tm.ANMF(2, members=3, steps=2).fit(RATINGS)


def is_whole(folder: Path) -> str:
    """The method of the model in a folder, which is one of the two, all of it."""
    model = tm.load(folder)
    expected = {"PR": OLDER, "RNMF": NEWER}[model.method]
    np.testing.assert_array_equal(model.factors.users, expected.factors.users)
    np.testing.assert_array_equal(model.factors.items, expected.factors.items)
    assert model.ratings is not None
    assert model.ratings.fingerprint == RATINGS.fingerprint
    return model.method


def has_nothing_left_over(folder: Path) -> None:
    index = json.loads((folder / "model.json").read_text())
    named = {entry["file"] for entry in index["tables"].values()}
    assert {path.name for path in folder.iterdir()} == {"model.json", *named}


# What comes back

METHODS: list[Any] = [
    tm.NMF(2, steps=3),
    tm.RNMF(2, steps=3),
    tm.PR(2, steps=3),
    tm.PRD(2, steps=3),
    tm.MIXR(2, prior_steps=1, steps=3),
    tm.MIXD(2, prior_steps=1, steps=3),
    tm.PSVD(2),
    tm.SSVD(2),
    tm.Popular(),
    tm.Baseline(),
    tm.ANLS(2, [tm.Phase(tm.Objective(l2=1.0), 2)], offsets=True),
    tm.ANLS(2, [tm.Phase(tm.Objective(l2=1.0, centre="average"), 2)]),
    tm.ANMF(2, members=3, steps=3),
    tm.ANMF(2, members=1, steps=3, ranking=0),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_every_method_comes_back_as_it_was(method: Any, tmp_path: Path) -> None:
    model = method.fit(RATINGS)
    model.save(tmp_path / "m")
    again = tm.load(tmp_path / "m")
    for name in ("scale", "mean", "method", "phases", "history"):
        assert getattr(again, name) == getattr(model, name)
    assert again.factors.shift == model.factors.shift
    assert again.factors.held == model.factors.held
    assert again.factors.members == model.factors.members
    for side in ("users", "items"):
        np.testing.assert_array_equal(getattr(again.factors, side), getattr(model.factors, side))
        np.testing.assert_array_equal(getattr(again, side).mean, getattr(model, side).mean)
        np.testing.assert_array_equal(getattr(again, side).count, getattr(model, side).count)
    assert again.explain("ann", "Heat").equals(model.explain("ann", "Heat"))
    assert again.ratings is not None
    assert again.ratings.to_table().equals(RATINGS.to_table())
    again.save(tmp_path / "n")
    names = [sorted(path.name for path in (tmp_path / at).iterdir()) for at in "mn"]
    assert names[0] == names[1]  # so the tables are the same, byte for byte


@pytest.mark.parametrize("ratings", [True, False])
@pytest.mark.parametrize("small", [True, False])
def test_an_average_comes_back_with_its_ranking_and_its_errors(
    ratings: bool, small: bool, tmp_path: Path
) -> None:
    model = AVERAGE.compress() if small else AVERAGE
    model.save(tmp_path, ratings=ratings)
    again = tm.load(tmp_path)
    pairs = ["ann", "dee", "bob", "zoe"], ["Heat", "Up", "Brazil", "Up"]
    for clip in (True, False):
        found, expected = (m.predict(*pairs, clip=clip, return_std=True) for m in (again, model))
        np.testing.assert_array_equal(found, expected)
    left = model if ratings else dataclasses.replace(model, ratings=None)
    assert again.recommend("ann", seen=["Heat"]).equals(left.recommend("ann", seen=["Heat"]))
    told = ["because", "name"]  # by the ratings
    parts = [m.explain("ann", "Jaws", of="score").drop_columns(told) for m in (again, left)]
    assert parts[0].equals(parts[1])
    assert again.ranking.weights == model.ranking.weights
    given = {"Heat": 5, "Up": 1}
    people = again.fold_in(given), model.fold_in(given)
    items = ["Heat", "Alien", "Up", "Jaws"]
    found, expected = (person.predict(items, return_std=True) for person in people)
    np.testing.assert_array_equal(found, expected)
    assert people[0].recommend().equals(people[1].recommend())
    found, expected = (m.fold_in_item({"ann": 5}).weights for m in (again, model))
    np.testing.assert_array_equal(found, expected)
    if ratings:
        found, expected = (m.update(RATINGS, steps=1).predict(*pairs) for m in (again, model))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", PYTHON_IDS)
def test_ids_of_every_type_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    large, small = PYTHON_IDS[kind]
    ratings = tm.Ratings.from_arrays([large, small, large], ["x", "x", "y"], [1, 2, 3])
    model = tm.RNMF(1, steps=2).fit(ratings)
    model.save(tmp_path)
    again = tm.load(tmp_path)
    assert again.users.ids.values.equals(model.users.ids.values)
    assert again.items.ids.values.equals(model.items.ids.values)
    assert again.ratings is not None
    assert again.ratings.fingerprint == ratings.fingerprint
    np.testing.assert_array_equal(again.predict([large], ["x"]), model.predict([large], ["x"]))


def test_a_user_without_ratings_has_no_mean(tmp_path: Path) -> None:
    model = tm.RNMF(2, steps=2).fit(RATINGS.subset(RATINGS.by_user.rows != 3))
    model.save(tmp_path)
    again = tm.load(tmp_path)
    assert np.isnan(again.users.mean[3])
    assert again.users.count[3] == 0
    assert again.predict(["dee"], ["Up"]) == model.predict(["dee"], ["Up"])


def test_a_person_who_was_folded_in_can_be_saved(tmp_path: Path) -> None:
    person = NEWER.fold_in({"Heat": 5})
    person.model.save(tmp_path)
    again = tm.load(tmp_path)
    np.testing.assert_array_equal(again.factors.users[0], person.model.factors.users[0])


def test_what_repeats_much_is_not_taken_for_an_attack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone gave everything one star, and the vectors are all zero."""
    user, item = np.divmod(np.arange(200_000), 2_000)
    names = np.array([f"a rather long name of a film, number {n}" for n in range(2_000)])
    ratings = tm.Ratings.from_arrays(user, names[item], np.ones(len(user)))
    model = tm.RNMF(20, l1=1e9, steps=1).fit(ratings)
    assert not model.factors.items.any()
    model.save(tmp_path)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "MOST_EXPANSION", memory.MOST_EXPANSION // 4)
    assert tm.load(tmp_path).factors.rank == 20
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 800_000


def test_text_is_stored_once_however_often_it_is_rated(tmp_path: Path) -> None:
    user, item = np.divmod(np.arange(100_000), 10)
    names = np.array([f"{'a rather long name of a user':>100}, number {n}" for n in range(10_000)])
    model = tm.Popular().fit(tm.Ratings.from_arrays(names[user], item, np.ones(len(user))))
    model.save(tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2.5 * names.size * 120


def test_the_tables_hold_plain_columns(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    schemas = {
        name: pq.read_schema(next(tmp_path.glob(f"{name}-*.parquet")))
        for name in ("users", "items", "ratings")
    }
    population = [("id", pa.string()), ("mean", pa.float64()), ("count", pa.int64())]
    population.append(("vector", pa.list_(pa.float32(), 2)))
    columns = [("user", pa.string()), ("item", pa.string()), ("rating", pa.float32())]
    assert schemas["users"].equals(pa.schema(population))
    assert schemas["items"].equals(pa.schema(population))
    assert schemas["ratings"].equals(pa.schema([*columns, ("timestamp", pa.int64())]))
    AVERAGE.save(tmp_path)
    population[-1] = ("vector", pa.list_(pa.float32(), 3 * 4))
    population += [("ranking", pa.list_(pa.float32(), 2 * 6)), ("noise", pa.float64())]
    for name in ("users", "items"):
        schema = pq.read_schema(next(tmp_path.glob(f"{name}-*.parquet")))
        assert schema.equals(pa.schema(population))


# What is in the way


def test_a_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    OLDER.save(tmp_path / "a" / "b")
    assert is_whole(tmp_path / "a" / "b") == "PR"


def test_a_save_that_fails_takes_the_folders_it_made_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ModelFileError, match=r"cannot be written \(No space left"):
            OLDER.save(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_can_be_checked_before_there_is_a_model(tmp_path: Path) -> None:
    persistence.check_folder(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    OLDER.save(tmp_path)
    persistence.check_folder(tmp_path)
    assert is_whole(tmp_path) == "PR"
    has_nothing_left_over(tmp_path)


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "folder").mkdir()
    OLDER.save(tmp_path / "link")
    assert is_whole(tmp_path / "link") == "PR"


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("precious")
    with pytest.raises(ModelFileError, match=r"m is a file: .*new folder"):
        OLDER.save(tmp_path / "m")
    with pytest.raises(
        ModelFileError, match=r"x cannot be written \(Not a directory\).* another folder"
    ):
        OLDER.save(tmp_path / "m" / "x")
    assert (tmp_path / "m").read_text() == "precious"


@pytest.mark.parametrize("content", ["{}", '{"format": "keras"}', "", "[" * 10**6])
def test_a_model_of_something_else_is_not_replaced(content: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(ModelFileError, match=r"other files: .*new folder"):
        OLDER.save(tmp_path)
    assert (tmp_path / "model.json").read_text() == content
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["notes.tmp", "users.parquet", "users-0123.parquet", "x-.tmp"])
def test_files_of_others_are_left_alone(name: str, tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    (tmp_path / name).write_text("precious")
    NEWER.save(tmp_path)
    assert is_whole(tmp_path) == "RNMF"
    assert (tmp_path / name).read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 5


def test_a_model_of_another_version_is_replaced(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**index, "version": 99}))
    NEWER.save(tmp_path)
    assert is_whole(tmp_path) == "RNMF"


def test_what_a_first_save_left_when_it_was_killed_is_replaced(
    savers: list[Saver], tmp_path: Path
) -> None:
    for count in moments(tmp_path / "whole"):
        savers[0].start("RNMF", tmp_path / "m", times=1, last_line=count)
        savers[0].ended()
        OLDER.save(tmp_path / "m")
        assert is_whole(tmp_path / "m") == "PR"
        has_nothing_left_over(tmp_path / "m")
        shutil.rmtree(tmp_path / "m")


def test_what_cannot_be_removed_stays(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    (tmp_path / "users-0123456789abcdef.parquet").mkdir()
    NEWER.save(tmp_path)
    assert is_whole(tmp_path) == "RNMF"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    tmp_path.chmod(0o555)
    with pytest.raises(ModelFileError, match=r"cannot be written \(Permission denied\)"):
        NEWER.save(tmp_path)
    assert is_whole(tmp_path) == "PR"


# What cannot be saved


def model_with(**changes: Any) -> tm.Model:
    return dataclasses.replace(NEWER, **changes)


def factors_with(value: float, factors: tm.Factors = NEWER.factors) -> tm.Factors:
    users = factors.users.copy()
    users[1, 1] = value
    return dataclasses.replace(factors, users=users)


def ranking_with(**changes: Any) -> tm.Model:
    assert AVERAGE.ranking is not None
    return dataclasses.replace(AVERAGE, ranking=dataclasses.replace(AVERAGE.ranking, **changes))


def noise_with(**changes: Any) -> tm.Model:
    assert AVERAGE.noise is not None
    return dataclasses.replace(AVERAGE, noise=dataclasses.replace(AVERAGE.noise, **changes))


UNFIT: dict[str, tuple[tm.Model, str]] = {
    "nan": (
        model_with(scores=factors_with(np.nan)),
        "cannot be saved: one vector has entries that",
    ),
    "infinite": (
        model_with(scores=factors_with(-np.inf)),
        "one vector has entries that are not fin",
    ),
    "no rank": (
        model_with(scores=tm.Factors(np.ones((4, 0), np.float32), np.ones((4, 0), np.float32))),
        "cannot be saved: its rank is 0: expected 1 to 65,536",
    ),
    "eternal": (
        model_with(phases=(tm.Phase(tm.Objective(), 10**7),)),
        "cannot be saved: .*10,000,000 steps",
    ),
    "history": (
        model_with(history=(dataclasses.replace(NEWER.history[0], objective=np.inf),)),
        "cannot be described in JSON: Out of range float",
    ),
    "members": (
        model_with(scores=dataclasses.replace(NEWER.factors, members=2)),
        "cannot be saved: its rank 3 .* 2 members",
    ),
    "nan in the ranking": (
        ranking_with(factors=factors_with(np.nan, AVERAGE.ranking.factors)),
        "cannot be saved: .*vector .*not finite",
    ),
    "eternal ranking": (
        ranking_with(phases=(tm.Phase(tm.Objective(), 10**7),)),
        "cannot be saved: .*10,000,000 steps",
    ),
    "ranking from nowhere": (
        ranking_with(phases=()),
        "cannot be saved: its ranking has no phases",
    ),
    "nan in the noise": (
        noise_with(items=np.array([0, np.nan, 0, 0])),
        "cannot be saved: .*noise is not finite",
    ),
    "short noise": (
        noise_with(coefficients=(1.0,)),
        "cannot be saved: its noise has 1 coeff.*expected 7",
    ),
    "nan noise": (
        noise_with(coefficients=(np.nan,) * 7),
        "cannot be described in JSON: Out of range float",
    ),
    "mean": (model_with(mean=np.nan), "cannot be described in JSON: Out of range float"),
    "object": (model_with(parameters={"x": object()}), "in JSON: .* object"),
    "long": (model_with(parameters={"x": "y" * 2**24}), r"16,\d{3},\d{3} bytes, more than"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_could_not_be_loaded_is_not_saved(kind: str, tmp_path: Path) -> None:
    model, message = UNFIT[kind]
    OLDER.save(tmp_path)
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path)
    assert is_whole(tmp_path) == "PR"
    has_nothing_left_over(tmp_path)
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_parameters_of_numpy_are_saved_as_pythons(tmp_path: Path) -> None:
    parameters = {"rank": np.int64(3), "l1": np.float32(0.5), "weights": np.arange(3)}
    model_with(parameters=parameters).save(tmp_path)
    assert tm.load(tmp_path).parameters == {"rank": 3, "l1": 0.5, "weights": [0, 1, 2]}


def test_ids_of_a_type_that_runs_code_are_not_saved(tmp_path: Path) -> None:
    ids = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1], pa.int8()))
    ratings = tm.Ratings.from_arrays(ids, [1, 2], [3, 4])
    with pytest.raises(
        ModelFileError, match=r"ids of type .*bool8.* cannot be saved: convert them"
    ):
        tm.RNMF(1, steps=1).fit(ratings).save(tmp_path)


# What ends a save


class Interrupted(BaseException):
    """Neither an Exception nor expected anywhere."""


def at_lines(act: Callable[[int], object]) -> Callable[..., Any]:
    """A trace function that acts on the number of each line of the module that is reached.

    Not in the function that holds the lock: it would be held until this process ends.
    """

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != folder.__file__ or frame.f_code.co_name == "_alone_in":
            return None
        if event == "line":
            act(frame.f_lineno)
        return trace

    return trace


def at_line(count: int, act: Callable[[], object]) -> Callable[..., Any]:
    """A trace function that acts when `count` lines of the module have been reached."""
    left = itertools.count(count - 1, -1)
    return at_lines(lambda _: act() if next(left) == 0 else None)


def moments(folder: Path) -> list[int]:
    """After how many lines a save reaches one for the first or for the last time, and its end.

    What lies between are the same lines for another table.
    """
    lines: list[int] = []
    OLDER.save(folder)
    traced(at_lines(lines.append), folder)
    last = {line: at for at, line in enumerate(lines, 1)}
    first = {line: at for at, line in reversed([*enumerate(lines, 1)])}
    return [*sorted({*first.values(), *last.values()}), len(lines) + 1]


def traced(trace: Callable[..., Any], folder: Path) -> None:
    """Save the newer model under a trace function."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        NEWER.save(folder)
    finally:
        sys.settrace(before)


def save_until(count: int, folder: Path) -> bool:
    """Save the newer model, interrupted at a line; whether it was saved before."""

    def interrupt() -> None:
        raise Interrupted

    try:
        traced(at_line(count, interrupt), folder)
    except Interrupted:
        return False
    return True


# A file whose `with` is interrupted at the very end is closed, with a warning, when it is let go.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_save_interrupted_at_any_line_leaves_the_older_model_or_the_newer(tmp_path: Path) -> None:
    seen = []
    for count in moments(tmp_path):
        OLDER.save(tmp_path)
        has_nothing_left_over(tmp_path)  # whatever was left by the one interrupted before
        done = save_until(count, tmp_path)
        seen.append(is_whole(tmp_path))
    assert done
    assert len(seen) > 50
    assert seen == sorted(seen)  # the older one first, from some line on the newer one
    assert set(seen) == {"PR", "RNMF"}


CALLS = ["replace", "fsync", "open", "close", "listdir", "scandir", "mkdir", "unlink", "lstat"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Interrupted()])
def test_a_save_of_which_any_call_fails_leaves_the_older_model_or_the_newer(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = getattr(os, call)
    for count in range(1, 100):
        OLDER.save(tmp_path)
        has_nothing_left_over(tmp_path)
        left = count

        def fails(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise error
            return works(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fails)
            try:
                NEWER.save(tmp_path)
            except ModelFileError as refusal:
                sentence = str(refusal)
                assert "(No space left on device)" in sentence
            except Interrupted:
                pass
        is_whole(tmp_path)
        if left > 0:
            return
    pytest.fail("this never ends")


def test_a_full_disk_is_told_in_a_sentence_and_leaves_the_older_model(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, limits[1]))  # no file may grow beyond
    try:
        with pytest.raises(
            ModelFileError, match=r"cannot be written \(File too large\).* another folder"
        ):
            NEWER.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert is_whole(tmp_path) == "PR"
    has_nothing_left_over(tmp_path)


SAVER = """
import os, sys
from pathlib import Path
import tastemix as tm
from tests.persistence.test_saving import NEWER, OLDER, at_line
models = {"PR": [OLDER], "RNMF": [NEWER], "both": [NEWER, OLDER]}
print("ready", flush=True)
for line in sys.stdin:
    which, times, last_line, folder = line.rstrip().split(" ", 3)
    child = os.fork()
    if child == 0:
        if int(last_line):
            sys.settrace(at_line(int(last_line), lambda: os.kill(os.getpid(), 9)))
        for _ in range(int(times)):
            for model in models[which]:
                model.save(folder)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Saver:
    """Another process that saves models, each time in a child of its own that can be killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SAVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._said() == "ready"

    def start(self, which: str, folder: Path, *, times: int, last_line: int = 0) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{which} {times} {last_line} {folder}\n")
        self.process.stdin.flush()
        return int(self._said())

    def ended(self) -> int:
        return int(self._said())

    def close(self) -> None:
        self.process.communicate(timeout=30)

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def savers() -> Iterator[list[Saver]]:
    both = [Saver(), Saver()]
    yield both
    for saver in both:
        saver.close()


def test_a_save_killed_at_any_line_leaves_the_older_model_or_the_newer(
    savers: list[Saver], tmp_path: Path
) -> None:
    seen, ends = [], []
    for count in moments(tmp_path):
        OLDER.save(tmp_path)
        has_nothing_left_over(tmp_path)
        savers[0].start("RNMF", tmp_path, times=1, last_line=count)
        ends.append(savers[0].ended())
        seen.append(is_whole(tmp_path))
    assert set(ends[:-1]) == {-signal.SIGKILL}
    assert ends[-1] == 0
    assert len(seen) > 50
    assert seen == sorted(seen)
    assert set(seen) == {"PR", "RNMF"}


def test_saves_killed_at_any_moment_leave_the_older_model_or_the_newer(
    savers: list[Saver], tmp_path: Path
) -> None:
    OLDER.save(tmp_path)
    chance = random.Random(0)
    for _ in range(15):
        child = savers[0].start("both", tmp_path, times=10**6)
        time.sleep(chance.uniform(0, 0.04))
        os.kill(child, signal.SIGKILL)
        assert savers[0].ended() == -signal.SIGKILL
        is_whole(tmp_path)
    NEWER.save(tmp_path)
    assert is_whole(tmp_path) == "RNMF"
    has_nothing_left_over(tmp_path)


def test_a_set_that_goes_and_comes_back_between_two_looks_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two savers of two models in turns may bring back the very index that a reader holds."""
    OLDER.save(tmp_path / "m")
    read, looks = folder._read_table, []

    def gone_at_first(*arguments: Any) -> Any:
        looks.append(arguments)
        if len(looks) == 1:
            raise FileNotFoundError(errno.ENOENT, "gone", "users.parquet")
        return read(*arguments)

    monkeypatch.setattr(folder, "_read_table", gone_at_first)
    assert is_whole(tmp_path / "m") == "PR"
    assert len(looks) == 1 + 3


def test_two_that_save_at_once_and_one_that_reads_see_whole_models(
    savers: list[Saver], tmp_path: Path
) -> None:
    OLDER.save(tmp_path)
    for saver, which in zip(savers, ("PR", "RNMF"), strict=True):
        saver.start(which, tmp_path, times=60)
    seen = [is_whole(tmp_path) for _ in range(100)]
    assert [saver.ended() for saver in savers] == [0, 0]
    seen.append(is_whole(tmp_path))
    has_nothing_left_over(tmp_path)
    assert set(seen) <= {"PR", "RNMF"}


def test_a_save_waits_for_another_to_end(tmp_path: Path) -> None:
    OLDER.save(tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    save = threading.Thread(target=NEWER.save, args=[tmp_path])
    save.start()
    save.join(0.3)
    assert save.is_alive()
    assert is_whole(tmp_path) == "PR"
    os.close(handle)
    save.join(30)
    assert is_whole(tmp_path) == "RNMF"


def test_a_save_while_a_model_is_read_gives_the_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    OLDER.save(tmp_path)
    opened = folder._open
    saves = iter([NEWER])

    def open_late(path: Path) -> Any:
        if path.suffix == ".parquet":
            for model in saves:
                model.save(tmp_path)
        return opened(path)

    monkeypatch.setattr(folder, "_open", open_late)
    assert is_whole(tmp_path) == "RNMF"


def test_everything_a_save_writes_reaches_the_disk_before_the_index_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the calls; the folder itself is flushed before and after the index moves."""
    log: list[str] = []
    works = {name: getattr(os, name) for name in ("fsync", "replace")}

    def fsync(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        log.append("flush folder" if path == tmp_path else "flush file")
        works["fsync"](handle)

    def replace(source: Any, target: Any) -> None:
        log.append("move " + re.sub(r"-[0-9a-f]{16}", "", Path(target).name))
        works["replace"](source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    OLDER.save(tmp_path)
    tables = [f"move {name}.parquet" for name in ("users", "items", "ratings")]
    assert log == [
        *("flush file" for _ in tables),
        "flush file",  # the list of what the save writes and replaces
        *tables,
        *("flush file", "flush folder", "move model.json", "flush folder"),
    ]


@pytest.mark.parametrize(("most", "expected"), [(512, 4), (2, 2)])
def test_long_vectors_are_written_in_groups_of_rows_of_which_there_are_few(
    most: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "AT_ONCE", 3)  # one user of four, at rank 3
    monkeypatch.setattr(parquet, "MOST_GROUPS", most)
    NEWER.save(tmp_path)
    (table,) = tmp_path.glob("users-*.parquet")
    assert pq.read_metadata(table).num_row_groups == expected
    assert is_whole(tmp_path) == "RNMF"


def test_the_limits_are_those_that_are_documented() -> None:
    assert checking.MOST_STEPS == 10**6
    assert checking.MOST_DYNAMIC_STEPS == 10**4
    assert checking.MOST_RANK == 2**16
    assert memory.MOST_EXPANSION == 100
    assert memory.SMALL == 2**26


# Rows that were folded in, without the model that they were folded into


@pytest.mark.parametrize(
    "method",
    [tm.RNMF(3, steps=4), tm.ANMF(3, members=2, steps=4), tm.CNMF(3, steps=4)],
    ids=lambda method: type(method).__name__,
)
def test_a_saved_person_keeps_the_numbers_and_the_scale_of_the_tastes(
    method: Any, tmp_path: Path
) -> None:
    person = method.fit(RATINGS).fold_in({"Heat": 5, "Up": 2}).model
    person.save(tmp_path / "person")
    loaded = tm.load(tmp_path / "person")
    weights = [m.tastes_of("rating").user_weights(m.factors.users[0]) for m in (person, loaded)]
    np.testing.assert_array_equal(weights[1], weights[0])
    for of in ("rating", "score"):
        parts = [
            m.explain("new", "Alien", of=of).select(["user_weight", "item_weight", "value"])
            for m in (person, loaded)
        ]
        assert parts[1].equals(parts[0])
        numbers = [
            np.unique(np.column_stack([t["taste"], t["adds"]]), axis=0)
            for t in (m.tastes(of=of) for m in (person, loaded))
        ]
        np.testing.assert_array_equal(numbers[1], numbers[0])
    assert loaded.predict("nobody", "Up") == person.predict("nobody", "Up")
    again = [m.fold_in({"Jaws": 4}).weights for m in (person, loaded)]
    np.testing.assert_array_equal(again[1], again[0])
    loaded.save(tmp_path / "again")
    assert tm.load(tmp_path / "again").tastes().equals(loaded.tastes())


@pytest.mark.parametrize("method", [tm.ANMF(3, members=2, steps=4), tm.CNMF(3, steps=4)])
def test_a_saved_new_item_keeps_the_numbers_and_the_scale_of_the_tastes(
    method: Any, tmp_path: Path
) -> None:
    item = method.fit(RATINGS).fold_in_item({"ann": 5, "bob": 2}).model
    item.save(tmp_path)
    loaded = tm.load(tmp_path)
    weights = [m.tastes_of("rating").item_weights(m.factors.items) for m in (item, loaded)]
    np.testing.assert_array_equal(weights[1], weights[0])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order", [0, 0, 1], "does not name each of them once"),
        ("order", [0, 1, 7], "does not name each of them once"),
        ("users", [1.0], "is not of its rank"),
        ("items", [1.0], "is not of its rank"),
        ("averages", [[1.0], [1.0]], "is not of its rank"),
        ("users", [1e30] * 3, "is beyond"),
    ],
)
def test_a_numbering_that_does_not_fit_the_tastes_is_refused(
    name: str, value: list[Any], message: str, tmp_path: Path
) -> None:
    NEWER.fold_in({"Heat": 5}).model.save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    index["numbering"][name] = value
    (tmp_path / "model.json").write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match=message):
        tm.load(tmp_path)


def test_times_that_were_dates_come_back_as_dates(tmp_path: Path) -> None:
    days = np.array(["2001-01-01", "2001-01-02", "2001-01-03"], "datetime64[D]")
    dated = tm.Ratings.from_arrays([1, 1, 2], [1, 2, 1], [1, 2, 3], timestamp=days)
    for ratings in (dated, RATINGS):
        tm.NMF(1, steps=1).fit(ratings).save(tmp_path)
        loaded = tm.load(tmp_path).ratings
        assert loaded is not None
        assert loaded.dated is ratings.dated
        np.testing.assert_array_equal(loaded.timestamp, ratings.timestamp)
