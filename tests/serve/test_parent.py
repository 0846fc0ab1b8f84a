"""Who counts where, and what is held, when a parent changes over; its workers are not forked."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tastemix.serve import parent
from tastemix.serve.counts import Counts
from tastemix.serve.parent import Parent, Worker


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class Changing:
    """A parent with two workers that begin to answer, or do not, and end when they are let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, listening: socket.socket) -> None:
        self.said: list[str] = []
        self.parent: Any = Parent(Mock(), Path("m"), listening, 2, Mock(), self.said.append)
        self.parent._service, self.parent._counts = Mock(), Counts(["/"], 8)
        self.begin = self.end = True
        numbers = itertools.count(2**30)  # of no process
        ended: Callable[[Worker], bool] = parent._ended
        monkeypatch.setattr(os, "fork", lambda: next(numbers))
        monkeypatch.setattr(os, "kill", Mock())
        monkeypatch.setattr(parent, "_ended", lambda each: self.end and ended(each))
        monkeypatch.setattr(self.parent, "_prepared", Mock())
        monkeypatch.setattr(self.parent, "_wait_for", lambda workers: self.begin)
        self.parent._workers += [Worker(next(numbers), slot, -1) for slot in range(2)]

    def slots(self) -> list[int]:
        return [each.slot for each in (*self.parent._workers, *self.parent._leaving)]

    def reap(self) -> None:
        """Look at those that are to end; those that answer go on."""
        here, self.parent._workers = self.parent._workers, []
        count, self.parent._count = self.parent._count, 0
        self.parent._reap()
        self.parent._workers, self.parent._count = here, count


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Changing]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Changing(monkeypatch, listening)
        yield made
        for each in (*made.parent._workers, *made.parent._leaving):
            if each.ready >= 0:
                os.close(each.ready)
        for each in made.parent._wake:
            each.close()
        for each in made.parent._life:
            os.close(each)


def test_no_two_workers_that_are_there_have_the_same_counters(changing: Changing) -> None:
    changing.end = False
    for sets in (2, 3, 4):
        changing.parent._reload()
        assert len(set(changing.slots())) == len(changing.slots()) == 2 * sets


def test_a_change_waits_for_free_counters_and_says_so_once(changing: Changing) -> None:
    changing.end = False
    while changing.parent._has_room():
        changing.parent._reload()
    assert not changing.parent._has_room()
    assert changing.said == [
        "the model is changed later: workers of those before are still answering"
    ]
    changing.end = True
    changing.reap()
    assert changing.parent._has_room()


def test_workers_that_did_not_begin_hold_nothing(changing: Changing) -> None:
    before, workers = descriptors(), list(changing.parent._workers)
    changing.begin = False
    changing.parent._reload()
    assert "did not begin" in changing.said[0]
    assert changing.parent._workers == workers, "the old ones go on"
    changing.reap()
    assert descriptors() == before
