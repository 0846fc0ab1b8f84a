"""Answers that depend on the model and the URL alone are kept, within bounds."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

import tastemix as tm
from tastemix.serve import predicting
from tastemix.serve.app import Service
from tastemix.serve.limits import Limits
from tastemix.serve.prepared import Prepared

USERS = ("Ada", "Agnes", "Abeni")


def told(service: Service, user: str, method: str = "GET") -> tuple[int, bytes]:
    """The status and the body of someone's recommendations."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("there is no body to receive")

    path = f"/api/v1/users/{user}/recommendations".encode()
    about = {"raw_path": path, "query_string": b"", "headers": [(b"host", b"localhost")]}
    scope = {"type": "http", "method": method, "client": None, **about}
    asyncio.run(service(scope, receive, send))  # type: ignore[arg-type]
    return sent[0]["status"], sent[1]["body"]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """How many answers were computed so far, when it is called."""
    number, plain = count(), predicting.recommend
    made = [0]

    def recommend(*args: Any, **options: Any) -> Any:
        made[0] = next(number) + 1
        return plain(*args, **options)

    monkeypatch.setattr(predicting, "recommend", recommend)
    return lambda: made[0]


def test_an_answer_is_computed_once_for_get_and_head(dishes: tm.Model, computed: Any) -> None:
    service = Service(Prepared(dishes))
    first = told(service, "Ada", "HEAD")
    assert [told(service, "Ada", method) for method in ("GET", "HEAD", "GET")] == [first] * 3
    assert computed() == 1


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_oldest_make_room_for_new_ones(dishes: tm.Model, computed: Any, method: str) -> None:
    service = Service(Prepared(dishes), Limits(cached=2))
    for user in USERS:
        assert told(service, user, method)[0] == 200
    assert told(service, USERS[2], method)[0] == 200
    assert told(service, USERS[1], method)[0] == 200
    assert computed() == 3
    assert told(service, USERS[0], method)[0] == 200
    assert computed() == 4


def test_an_answer_that_is_too_large_is_not_kept(dishes: tm.Model, computed: Any) -> None:
    service = Service(Prepared(dishes), Limits(cached_bytes=10))
    assert [told(service, "Ada")[0] for _ in range(3)] == [200] * 3
    assert computed() == 3
