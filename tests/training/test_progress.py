"""Progress in Python: said after two seconds, gone at the end, silent in a pipe."""

import io

import pytest

import tastemix as tm
from tastemix.training import progress
from tests.conftest import random_ratings


def test_a_long_fit_says_how_far_it_is_and_cleans_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    options = {"feedback": "implicit", "progress": True}
    tm.fit(random_ratings(20, 10, 0.5), **options)
    lines = capsys.readouterr().err.split("\r")
    assert "step 15 of 15, 0 s left" in lines[-3]
    assert lines[-2].strip() == lines[-1] == ""
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    tm.fit(random_ratings(20, 10, 0.5), **options)
    assert capsys.readouterr().err == ""


def test_a_pipe_is_left_alone_and_steps_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[int] = []
    tm.fit(
        random_ratings(20, 10, 0.5),
        feedback="implicit",
        on_step=lambda step, session: steps.append(step.number),
    )
    assert steps == list(range(1, 16))
    assert capsys.readouterr().err == ""
    shown = progress.Progress(2, lambda step, session: True, io.StringIO())
    model = tm.RNMF(2, steps=9).fit(random_ratings(20, 10, 0.5), on_step=shown)
    assert len(model.history) == 1  # what the caller returns still ends the fit
