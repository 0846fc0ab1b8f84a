"""Fits on engines whose ratings are elsewhere: placed once, and asked for answers alone."""

from __future__ import annotations

import itertools
import multiprocessing
from typing import Any

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import CpuEngine
from tests.conftest import random_ratings

RATINGS = random_ratings(80, 50, 0.3)


class CountingEngine(CpuEngine):
    """Counts what is placed and opened."""

    def __init__(self) -> None:
        self.placed = 0

    def place(self, ratings: tm.Ratings) -> Any:
        self.placed += 1
        return super().place(ratings)


def serve(pipe: Any) -> None:
    """Keeps ratings, sessions and parts by number, and answers calls on them."""
    kept: dict[int, Any] = {0: CpuEngine()}
    numbers = itertools.count(1)
    while True:
        target, name, arguments, options = pipe.recv()
        if name == "end":
            return
        arguments = [kept[a.number] if isinstance(a, Remote) else a for a in arguments]
        answer = getattr(kept[target], name)(*arguments, **options)
        results = answer if name == "split" else (answer,)
        sent = []
        for result in results:
            if type(result).__module__ == "tastemix.engine.cpu":
                number = next(numbers)
                kept[number] = result
                sent.append(Remote(number))
            else:
                sent.append(result)
        pipe.send(tuple(sent) if name == "split" else sent[0])


class Remote:
    """Something that lives in the other process."""

    pipe: Any = None

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "neighbours":  # This engine leaves these to the caller.
            raise AttributeError(name)

        def call(*arguments: Any, **options: Any) -> Any:
            Remote.pipe.send((self.number, name, arguments, options))
            return Remote.pipe.recv()

        return call


@pytest.fixture
def elsewhere():
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=serve, args=(there,))
    process.start()
    Remote.pipe = here
    yield Remote()
    here.send((0, "end", (), {}))
    process.join()


def test_a_fit_places_its_ratings_once() -> None:
    engine = CountingEngine()
    tm.fit(RATINGS, engine=engine)
    assert engine.placed == 1


@pytest.mark.parametrize("method", [None, tm.MIXD(3, steps=6, prior_steps=2)])
def test_a_fit_needs_no_ratings_here(method: Any, elsewhere: Remote) -> None:
    """The ratings are in another process; what comes back is what a fit here gives, bit for bit."""
    fit = tm.fit if method is None else method.fit
    far, near = fit(RATINGS, engine=elsewhere), fit(RATINGS)
    np.testing.assert_array_equal(far.factors.users, near.factors.users)
    np.testing.assert_array_equal(far.factors.items, near.factors.items)
    if method is None:
        np.testing.assert_allclose(
            far.predict([0], [1], return_std=True)[1], near.predict([0], [1], return_std=True)[1]
        )


def test_early_stop_needs_no_ratings_here(elsewhere: Remote) -> None:
    train, test = tm.holdout(RATINGS)
    far = tm.NMF(8).fit(train, held_out=test, patience=2, engine=elsewhere)
    near = tm.NMF(8).fit(train, held_out=test, patience=2)
    assert len(far.history) == len(near.history) < 100
    np.testing.assert_array_equal(far.factors.users, near.factors.users)


class EndedError(Exception):
    """What a Ctrl-C raises here."""


class Interrupted(CpuEngine):
    """Ends the first half-step, and knows what was not given back."""

    def __init__(self) -> None:
        self.held = 0

    def place(self, ratings: tm.Ratings) -> Any:
        engine, placed = self, super().place(ratings)
        engine.held += 1

        class Ending(type(placed)):  # type: ignore[misc]
            def open(self, *args: Any, **kwargs: Any) -> Any:
                raise EndedError

            def close(self) -> None:
                engine.held -= 1

        placed.__class__ = Ending
        return placed


def transformed(engine: Interrupted) -> None:
    sklearn = pytest.importorskip("tastemix.sklearn")
    sklearn.TasteNMF(2, engine=engine).fit(np.ones((4, 3)))


@pytest.mark.parametrize(
    "use",
    [
        lambda engine: tm.NMF(2, steps=1).fit(RATINGS, engine=engine),
        lambda engine: tm.NMF(2, steps=1).fit(RATINGS).update(RATINGS, engine=engine),
        lambda engine: tm.ANMF(2, members=2, steps=1).fit(RATINGS).compress(engine=engine),
        transformed,
    ],
    ids=["fit", "update", "compress", "TasteNMF"],
)
def test_what_was_placed_is_given_back_when_the_work_is_interrupted(use: Any) -> None:
    engine = Interrupted()
    with pytest.raises(EndedError):
        use(engine)
    assert engine.held == 0
