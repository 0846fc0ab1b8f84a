"""Kills saves and experiments at random moments, and looks for what was lost.

Run: .venv/bin/python tools/kills.py [--saves 200] [--experiments 200] [--seed 0]

After a killed save the folder holds the older model or the newer one, whole, and the next save
leaves nothing of the killed one behind. After a killed experiment the log has every run that was
told to be on the disk, and the experiment can be resumed; at its end it has what an undisturbed
one has. Prints the numbers, and fails if anything was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.evaluation.cross_validation import Judge
from tastemix.experiments.runs import Log, Record, Run, execute


def killed(work: Callable[[Callable[[str], None]], None], seconds: float) -> tuple[list[str], bool]:
    """The lines that a forked process told before it was killed, and whether it was."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            work(lambda line: os.write(writer, f"{line}\n".encode()))
        finally:
            os._exit(0)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        return told.read().split("\n")[:-1], os.WIFSIGNALED(status)


def saves(count: int, draw: random.Random, folder: Path) -> list[str]:
    """Kill saves of models that differ in their mean; what went wrong."""
    ratings = demo.ratings()
    models = [tm.NMF(rank, steps=1).fit(ratings) for rank in (2, 3, 5)]
    ranks = {model.factors.rank for model in models}
    began = time.monotonic()
    for model in models:
        model.save(folder)
    each = (time.monotonic() - began) / len(models)
    lost, done = [], 0
    while done < count:
        before = tm.load(folder).factors.rank
        model = models[(done + 1) % len(models)]

        def work(tell: Callable[[str], None], model: tm.Model = model) -> None:
            model.save(folder)
            tell("saved")

        told, was_killed = killed(work, draw.uniform(0, 1.5 * each))
        done += was_killed and not told
        try:
            found = tm.load(folder).factors.rank
        except tm.TastemixError as error:
            lost.append(f"save {done}: {error}")
            models[0].save(folder)
            continue
        if found not in ({model.factors.rank} if told else {before, model.factors.rank}):
            lost.append(f"save {done}: rank {found} of {ranks}, {before} before")
        if done % 10 == 0:
            models[0].save(folder)
            if len(list(folder.iterdir())) != 4:
                lost.append(f"save {done}: {sorted(path.name for path in folder.iterdir())} stay")
    print(f"{done} kills of a save, {len(lost)} losses", flush=True)
    return lost


def experiments(count: int, draw: random.Random, folder: Path) -> list[str]:
    """Kill experiments, each resumed until it is done; what went wrong."""
    ratings, judge = demo.ratings(), Judge(raw=True)
    runs = [Run(tm.NMF(rank, steps=steps), (1,)) for rank in (1, 2, 3, 4) for steps in (2, 3, 4)]

    def executed(path: Path, on_run: Callable[..., None] | None = None) -> dict[Run, Record]:
        log = Log(path)
        try:
            return execute(runs, ratings, log, judge, on_run)
        finally:
            log.close()

    began = time.monotonic()
    whole = {run: record.judged for run, record in executed(folder / "whole.jsonl").items()}
    each = (time.monotonic() - began) / len(runs)
    lost, done, at = [], 0, 0
    while done < count:
        path = folder / f"{at}.jsonl"

        def work(tell: Callable[[str], None], path: Path = path) -> None:
            # Before a run, those before it are on the disk.
            executed(path, lambda finished, *_: tell(str(finished)))
            tell("all")

        before = lines(path)
        told, was_killed = killed(work, draw.uniform(0, 4 * each))
        done += was_killed and "all" not in told
        promised = len(runs) if "all" in told else before + int(told[-1]) if told else before
        try:
            log = Log(path)
            damaged = log.damaged
            log.close()
        except tm.TastemixError as error:
            lost.append(f"experiment {done}: {error}")
            at += 1
            continue
        if lines(path) < promised or damaged:
            lost.append(f"experiment {done}: {lines(path)} runs of {promised}, damaged {damaged}")
        if lines(path) == len(runs):
            if {run: record.judged for run, record in executed(path).items()} != whole:
                lost.append(f"experiment {done}: other results than an undisturbed one")
            at += 1
    print(f"{done} kills of {at + 1} experiments, {len(lost)} losses", flush=True)
    return lost


def lines(path: Path) -> int:
    """How many whole lines a file has."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> int:
    """Kill as often as was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    tm.set_threads(1)
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        lost = saves(asked.saves, draw, Path(folder) / "model")
        lost += experiments(asked.experiments, draw, Path(folder))
    print(*lost, sep="\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
