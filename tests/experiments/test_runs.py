"""The log of runs: nothing finished is lost or repeated, whatever kills the process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.errors import DataError
from tastemix.evaluation.judging import Judge
from tastemix.experiments.runs import LAST, Log, Record, Run, execute, means
from tests.conftest import Watched, random_ratings

RATINGS = random_ratings(60, 40, 0.4)
JUDGE = Judge(raw=True)
RUNS = [
    Run(tm.RNMF(2, steps=6), (2, 4)),
    Run(tm.Random()),
    Run(tm.MIXD(3, prior_steps=2, steps=5), (1, 5), folds=3, fold=2),
    Run(tm.NMF(2, steps=4), (4,), largest=True),
    Run(tm.Popular(), catalogue=True),
]


def executed(folder: Path, runs: list[Run] = RUNS) -> dict[Run, Record]:
    log = Log(folder / "runs.jsonl")
    try:
        return execute(runs, RATINGS, log, JUDGE)
    finally:
        log.close()


def values(records: dict[Run, Record]) -> dict[Run, dict]:
    return {run: record.judged for run, record in records.items()}


def test_a_checkpoint_is_the_fit_of_that_many_steps(tmp_path: Path) -> None:
    found = executed(tmp_path)[RUNS[0]]
    train, test = next(tm.folds(RATINGS, 5))
    half = test.by_user
    assert list(found.judged) == [2, 4, 6]
    for steps, judged in found.judged.items():
        bare = tm.RNMF(2, steps=steps).fit(train).scores.pairs(half.rows, half.indices)
        expected = tm.metrics.evaluate(half.rows, half.values, bare, scale=RATINGS.scale)
        assert judged == expected


def test_each_run_measures_what_it_says(tmp_path: Path) -> None:
    found = executed(tmp_path)
    assert list(found[RUNS[1]].judged) == [LAST]
    split = list(tm.folds(RATINGS, 3))[2]
    half = split.test.by_user
    bare = tm.MIXD(3, prior_steps=2, steps=5).fit(split.train).scores.pairs(half.rows, half.indices)
    rmse = float(np.sqrt(np.mean((bare - half.values) ** 2)))
    assert found[RUNS[2]].last["rmse"] == pytest.approx(rmse)
    train = next(tm.folds(RATINGS, 5)).train
    largest = tm.NMF(2, steps=4).fit(train).factors.largest()
    assert found[RUNS[3]].judged == {4: {"largest": pytest.approx(largest)}}
    assert "catalogue_coverage" in found[RUNS[4]].last
    assert "catalogue_coverage" not in found[RUNS[1]].last


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    first = executed(tmp_path)
    before = (tmp_path / "runs.jsonl").read_bytes()
    assert executed(tmp_path) == first
    assert (tmp_path / "runs.jsonl").read_bytes() == before


def test_other_data_another_judge_or_another_parameter_is_another_run() -> None:
    run, other = RUNS[0], random_ratings(60, 40, 0.4, seed=1)
    keys = {
        run.key(RATINGS, JUDGE),
        run.key(other, JUDGE),
        run.key(RATINGS, Judge(relevant=3)),
        Run(tm.RNMF(2, l1=0.3, steps=6), (2, 4)).key(RATINGS, JUDGE),
        Run(tm.RNMF(2, steps=6), (2, 5)).key(RATINGS, JUDGE),
    }
    assert len(keys) == 5
    assert run.key(random_ratings(60, 40, 0.4), JUDGE) in keys


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.9, 0.999])
def test_a_torn_line_is_dropped_and_run_again(tmp_path: Path, kept: float) -> None:
    undisturbed = executed(tmp_path)
    path = tmp_path / "runs.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    whole = content[: int(kept * len(content))].count(b"\n")
    assert values(executed(tmp_path)) == values(undisturbed)
    lines = path.read_bytes().splitlines()
    assert lines[:whole] == content.splitlines()[:whole]
    assert len(lines) == len(RUNS)
    assert len({json.loads(line)["key"] for line in lines}) == len(RUNS)


def test_two_processes_do_not_write_one_log(tmp_path: Path) -> None:
    log = Log(tmp_path / "runs.jsonl")
    with pytest.raises(DataError, match="is in use by another run: wait for it"):
        Log(tmp_path / "runs.jsonl")
    log.close()
    Log(tmp_path / "runs.jsonl").close()


def test_means_are_over_the_ends() -> None:
    one = Record({5: {"rmse": 9.0}, 10: {"rmse": 1.0}}, 0)
    other = Record({10: {"rmse": 2.0}}, 0)
    assert means([one, other]) == {"rmse": 1.5}


MANY = [Run(tm.RNMF(rank, steps=40), (10, 20)) for rank in range(1, 25)]


def test_a_killed_experiment_goes_on_where_it_was(tmp_path: Path) -> None:
    """kill -9 in the middle, twice; the records equal those of an undisturbed run."""
    program = (
        "import sys; from pathlib import Path; from tests.experiments.test_runs import *\n"
        "executed(Path(sys.argv[1]), MANY)"
    )
    path = tmp_path / "runs.jsonl"
    for goal in (3, 8):
        running = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
        deadline = time.monotonic() + 60
        while running.poll() is None and time.monotonic() < deadline:
            if path.exists() and path.read_bytes().count(b"\n") >= goal:
                break
            time.sleep(0.001)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    finished = path.read_bytes().count(b"\n")
    assert 8 <= finished < len(MANY)
    resumed = executed(tmp_path, MANY)
    assert path.read_bytes().count(b"\n") == len(MANY)
    assert values(resumed) == values(executed(tmp_path / "undisturbed", MANY))


def test_the_engine_is_handed_to_methods_that_take_one(tmp_path: Path) -> None:
    mine = Watched([])
    log = Log(tmp_path / "runs.jsonl")
    execute([Run(mine), Run(tm.Random())], RATINGS, log, JUDGE, engine="cuda")
    log.close()
    assert mine.engines == ["cuda"]
