"""One fit judged at some of its steps: what all experiments are made of, and the log of them.

A log is a file of one JSON record a line, each flushed to the disk before the next fit begins. A
killed experiment loses the fit it was in and nothing else: rerun to resume. A last line without
its end was torn by a kill, and goes; a damaged one before it stays, and its fit is run again.
"""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tastemix.data import splits
from tastemix.data.ratings import Ratings
from tastemix.engine.base import Session
from tastemix.errors import DataError
from tastemix.evaluation.fitting import EngineChoice, fitted
from tastemix.evaluation.judging import Judge
from tastemix.model.factors import Factors, Scores
from tastemix.training import loop

LAST = 0
"""The step number under which a method without steps is judged."""


@dataclass(frozen=True)
class Run:
    """A method fitted to the training part of one fold and judged on its test part."""

    method: Any
    checkpoints: tuple[int, ...] = ()
    """Steps after which it is judged; without any, only at the end."""
    folds: int = 5
    fold: int = 0
    catalogue: bool = False
    largest: bool = False
    """Measure the largest prediction over all pairs instead of judging the test part."""

    def key(self, ratings: Ratings, judge: Judge) -> str:
        """What tells this run's record from all others: data, run, judge and our version."""
        text = f"{ratings.fingerprint} {self!r} {judge!r} {version('tastemix')}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Record:
    """What a run found: the metrics at each judged step, and the seconds of the fit alone."""

    judged: dict[int, dict[str, float]]
    seconds: float

    @property
    def last(self) -> dict[str, float]:
        """The metrics at the end."""
        return self.judged[max(self.judged)]


class Log:
    """Records by key, in memory and in a file that only grows."""

    damaged: tuple[int, ...]
    """The lines that were no records when the file was opened, counted from one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                raise DataError(f"{path} is no file: choose another folder with --out")
            self._file = path.open("a+b", buffering=0)  # so that nothing is written later on
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with self._told():
                self._records, self.damaged = self._resumed()
        except OSError:
            self._file.close()
            raise DataError(
                f"{path} is in use by another run: wait for it, or choose another folder with --out"
            ) from None
        except DataError:
            self._file.close()
            raise

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def __getitem__(self, key: str) -> Record:
        return self._records[key]

    def add(self, key: str, run: Run, record: Record) -> None:
        """Append a record; when this returns, it is on the disk."""
        about = {**dataclasses.asdict(run), "method": type(run.method).__name__}
        about["parameters"] = dataclasses.asdict(run.method)
        line = json.dumps({"key": key, "run": about, **dataclasses.asdict(record)}).encode() + b"\n"
        with self._told():
            whole = os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
            except OSError:
                with suppress(OSError):
                    self._file.truncate(whole)
                raise
        self._records[key] = record

    def close(self) -> None:
        """Let another process write."""
        self._file.close()

    def _resumed(self) -> tuple[dict[str, Record], tuple[int, ...]]:
        """The records in the file, less a torn one at its end, and the lines that are none."""
        self._file.seek(0)
        *lines, torn = self._file.read().split(b"\n")
        found = [_parsed(line) for line in lines]
        records = dict(record for record in found if record is not None)
        if not records and (lines or torn[: len(_FIRST)] != _FIRST[: len(torn)]):
            raise DataError(
                f"{self._path} is no log of runs: move it away, or choose another folder with --out"
            )
        if torn:
            self._file.truncate(self._file.tell() - len(torn))
        return records, tuple(at for at, record in enumerate(found, 1) if record is None)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the disk refuses, in a sentence."""
        try:
            yield
        except OSError as error:
            raise DataError(
                f"{self._path} cannot be written ({error.strerror or error}): see to that, or "
                "choose another folder with --out; finished runs are kept"
            ) from None


_FIRST = b'{"key": "'  # what every line begins with


def _parsed(line: bytes) -> tuple[str, Record] | None:
    try:
        found = json.loads(line)
        judged = {int(step): dict(metrics) for step, metrics in found["judged"].items()}
        key, seconds = found["key"], found["seconds"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    numbers = [seconds, *(value for metrics in judged.values() for value in metrics.values())]
    if not judged or type(key) is not str or any(type(n) not in (int, float) for n in numbers):
        return None
    return key, Record(judged, seconds)


OnRun = Callable[[int, int, Run, float], None]
"""Called before each run with the runs done and in all, the run, and the seconds likely left."""


def execute(
    runs: Iterable[Run],
    ratings: Ratings,
    log: Log,
    judge: Judge,
    on_run: OnRun | None = None,
    engine: EngineChoice = None,
) -> dict[Run, Record]:
    """The record of every run, from the log where it is there, on whatever engine it was made."""
    keys = {run: run.key(ratings, judge) for run in runs}
    missing = sorted(
        (run for run, key in keys.items() if key not in log), key=lambda run: (run.folds, run.fold)
    )
    split = lru_cache(maxsize=1)(lambda fold, folds: splits.fold(ratings, fold, folds))
    began = time.perf_counter()
    for done, run in enumerate(missing):
        if on_run is not None:
            each = (time.perf_counter() - began) / done if done else float("nan")
            on_run(done, len(missing), run, each * (len(missing) - done))
        log.add(keys[run], run, _record(run, split(run.fold, run.folds), judge, engine))
    return {run: log[key] for run, key in keys.items()}


def _record(run: Run, split: splits.Split, judge: Judge, engine: EngineChoice) -> Record:
    judge = dataclasses.replace(judge, catalogue=run.catalogue)
    judged: dict[int, dict[str, float]] = {}
    half = split.test.by_user

    def look(step: int, scores: Scores) -> None:
        if run.largest and isinstance(scores, Factors):
            judged[step] = {"largest": scores.largest()}
        else:
            predicted = scores.pairs(half.rows, half.indices)
            judged[step] = judge(scores, split.train, split.test, predicted)

    def watch(step: loop.Step, session: Session) -> None:
        if step.number in run.checkpoints:
            look(step.number, Factors(*session.factors(), shift=split.train.shift))

    began = time.perf_counter()
    watched = {"on_step": watch} if run.checkpoints and hasattr(run.method, "recipe") else {}
    model = fitted(run.method, split.train, engine, **watched)
    seconds = sum(step.seconds for step in model.history) or time.perf_counter() - began
    last = len(model.history) or LAST
    if last not in judged:
        look(last, model.scores)
    return Record(judged, seconds)


def means(records: Sequence[Record]) -> dict[str, float]:
    """The mean of every metric at the end of several runs."""
    names = records[0].last
    return {name: sum(record.last[name] for record in records) / len(records) for name in names}
