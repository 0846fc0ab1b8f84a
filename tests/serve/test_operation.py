"""A service that is changed, killed and ended while it is asked."""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import tastemix as tm
from tests.cli.commands import started, tastemix
from tests.serve.running import PATIENCE, Answer, Running, asked, running

TOKEN = "a-token-of-some-length"
PATH = "/api/v1/users/Ada/recommendations?n=20"


def until(true: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What this gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to be")


class Asking:
    """Threads that ask the same again and again, each on a connection that it keeps."""

    def __init__(self, service: Running, path: str, threads: int = 4) -> None:
        self.answers: list[Answer] = []
        self.broken: list[str] = []
        self._service, self._path, self._stop = service, path, threading.Event()
        self._held = ExitStack()
        self._threads = [threading.Thread(target=self._ask) for _ in range(threads)]

    @contextmanager
    def going_on(self) -> Iterator[Asking]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(PATIENCE)
            self._held.close()

    def open(self) -> socket.socket:
        """A connection that lasts as long as this."""
        address = "127.0.0.1", self._service.port
        return self._held.enter_context(socket.create_connection(address, timeout=PATIENCE))

    def _ask(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._service.port, timeout=PATIENCE)
        while not self._stop.is_set():
            try:
                answer = asked(connection, self._path)
            except ConnectionRefusedError:
                break  # the service has ended
            except OSError as error:
                self.broken.append(repr(error))
                break
            self.answers.append(answer)
            time.sleep(0.002)
        connection.close()


def test_models_are_changed_under_load_and_no_answer_is_lost_or_mixed(
    dishes: tm.Model, tmp_path: Path
) -> None:
    other = tm.CNMF(4, seed=1).fit(tm.datasets.demo.ratings())
    home = tmp_path / "m"
    dishes.save(home)
    right = {
        tuple(model.recommend("Ada", 20)["item"].to_pylist()): at
        for at, model in enumerate((dishes, other))
    }
    assert len(right) == 2
    with running(home, "--workers", "2", "--log", "off") as service:
        with Asking(service, PATH).going_on() as asking:
            for generation in range(2, 5):
                (other if generation % 2 == 0 else dishes).save(home)
                until(lambda now=generation: service.get("/model")["generation"] >= now)
        assert not asking.broken
        assert {answer.status for answer in asking.answers} == {200}
        lists = [tuple(one["id"] for one in answer.json["items"]) for answer in asking.answers]
        assert {right.get(listed, "mixed") for listed in lists} == {0, 1}
        until(lambda: len(service.children()) == 2)


def test_a_change_waits_where_many_old_workers_are_still_answering(folder: Path) -> None:
    with running(folder, "--log", "off", "--timeout", "60") as service, ExitStack() as held:

        def connected(generation: int) -> HTTPConnection | None:
            """A connection to the worker of this model."""
            made = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
            held.callback(made.close)
            found = asked(made, "/api/v1/model").json["generation"]
            return made if found == generation else None

        said = service.process.stdout
        assert said is not None
        for generation in (1, 2, 3):
            slow = until(lambda now=generation: connected(now))
            slow.sock.sendall(b"POST /api/v1/people HTTP/1.1\r\nHost: localhost\r\n")
            service.signal(signal.SIGHUP)
            assert said.readline() == f"model {generation + 1} answers\n"
        service.signal(signal.SIGHUP)
        assert "changed later" in said.readline()
        until(lambda: service.get("/model")["generation"] == 4)
        held.close()
        assert said.readline() == "model 5 answers\n"


def test_a_spoiled_model_does_not_take_the_place_of_a_good_one(
    dishes: tm.Model, tmp_path: Path
) -> None:
    dishes.save(tmp_path / "m")
    with running(tmp_path / "m", "--log", "off") as service:
        index = tmp_path / "m" / "model.json"
        index.with_suffix(".new").write_text("{}")
        index.with_suffix(".new").replace(index)
        assert service.process.stdout is not None
        assert "was not changed" in service.process.stdout.readline()
        assert service.get("/model")["generation"] == 1
        dishes.save(tmp_path / "n")
        shutil.copytree(tmp_path / "n", tmp_path / "m", dirs_exist_ok=True)
        service.signal(signal.SIGHUP)
        until(lambda: service.get("/model")["generation"] >= 2)


def test_a_worker_that_is_killed_is_replaced_while_the_others_go_on(folder: Path) -> None:
    with running(folder, "--workers", "2", "--log", "off") as service:
        before = service.children()
        assert len(before) == 2
        service.ask("/healthz")
        counted = requests(service)
        os.kill(before[0], signal.SIGKILL)
        for _ in range(20):
            assert service.ask("/healthz").status == 200
        after = until(lambda: len(now := set(service.children()) - {before[0]}) == 2 and now)
        assert before[1] in after
        assert requests(service) == counted + 20, "counters go on over workers"


def test_a_worker_that_has_just_begun_is_ended_too(folder: Path) -> None:
    with running(folder, "--log", "off") as service:
        before = service.children()
        os.kill(before[0], signal.SIGKILL)
        until(lambda: set(service.children()) - set(before))
        service.signal(signal.SIGTERM)
        assert service.process.wait(15) == 0


def requests(service: Running, route: str = "/healthz") -> int:
    text = service.ask("/metrics").body.decode()
    line = f'tastemix_requests_total{{route="{route}",status="2xx"}} '
    return sum(int(one[len(line) :]) for one in text.splitlines() if one.startswith(line))


def test_what_was_begun_is_answered_before_the_end(folder: Path) -> None:
    with running(folder, "--log", "off") as service, Asking(service, PATH).going_on() as asking:
        until(lambda: len(asking.answers) > 50)
        slow = asking.open()
        body = b'{"ratings": [{"item": "Pecan Pie", "rating": 5}], "n": 1}'
        slow.sendall(
            b"POST /api/v1/people HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10]
        )
        time.sleep(0.2)
        service.signal(signal.SIGTERM)
        late = until(lambda: (found := service.ask("/healthz")).status == 503 and found)
        assert late.headers["retry-after"] == "2"
        slow.sendall(body[10:])
        answer = b""
        while part := slow.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"]}"), "the whole answer came"
        assert service.process.wait(PATIENCE) == 0
    assert not asking.broken
    assert {answer.status for answer in asking.answers} <= {200, 503}
    assert any(answer.headers.get("connection") == "close" for answer in asking.answers)


def test_workers_end_when_their_parent_is_killed(folder: Path) -> None:
    with running(folder, "--workers", "2", "--log", "off") as service:
        workers = service.children()
        service.signal(signal.SIGKILL)
        service.process.wait(PATIENCE)
        until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_token_is_asked_for_where_one_is_set(folder: Path) -> None:
    with running(folder, "--log", "off", env={"TASTEMIX_TOKEN": TOKEN}) as service:
        path = "/api/v1/model"
        basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        for given, status in {
            "": 401,
            "Bearer": 401,
            "Bearer wrong": 401,
            f"Bearer {TOKEN}x": 401,
            f"Bearer {TOKEN[:-1]}": 401,
            f"Token {TOKEN}": 401,
            "Basic ====": 401,
            "Basic " + base64.b64encode(b"anyone:wrong").decode(): 401,
            f"Bearer {TOKEN}": 200,
            f"bearer {TOKEN}": 200,
            f"Basic {basic}": 200,
        }.items():
            answer = service.ask(path, authorization=given)
            assert answer.status == status, given
            assert ("www-authenticate" in answer.headers) == (status == 401)
        assert service.ask(path).status == 401
        assert service.ask("/").status == 401
        assert service.ask("/metrics").status == 401
        assert service.ask("/healthz").status == service.ask("/readyz").status == 200
        renamed = service.ask(
            "/api/v1/tastes/1", {"label": "x"}, "PUT", authorization=f"Bearer {TOKEN}"
        )
        assert renamed.status == 422, "only a local service is renamed in"
        assert "only in a service without a token on this machine" in renamed.json["detail"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--port", "99999"),
        ("--port", "-5"),
        ("--timeout", "nan"),
        ("--timeout", "inf"),
        ("--timeout", "0.01"),
    ],
)
def test_a_number_that_is_out_of_bounds_is_one_sentence(
    option: str, value: str, folder: Path
) -> None:
    done = tastemix("serve", folder, option, value)
    assert done.returncode == 2
    assert f"{option} is {value}: it must be from" in done.stderr


def test_others_are_not_let_in_without_a_token(folder: Path) -> None:
    done = started("serve", folder, "--host", "0.0.0.0", env={"TASTEMIX_TOKEN": ""})
    assert done.returncode == 2
    done = started("serve", folder, "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "give --token" in done.stderr


def test_pages_of_another_origin_may_ask_only_where_it_was_named(folder: Path) -> None:
    mine = "https://shop.example"
    with running(
        folder, "--log", "off", "--cors", mine, "--allow-host", "Tastes.example"
    ) as service:
        answer = service.ask("/api/v1/model", origin=mine, host="tastes.example:443")
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == mine
        asked_first = service.ask("/api/v1/people", method="OPTIONS", origin=mine)
        assert asked_first.status == 204
        assert "POST" in asked_first.headers["access-control-allow-methods"]
        other = service.ask("/api/v1/model", origin="https://evil.example")
        assert "access-control-allow-origin" not in other.headers


def test_more_connections_than_allowed_are_told_to_come_back(folder: Path) -> None:
    with running(folder, "--log", "off", "--max-connections", "5") as service:
        held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(5)]
        answer = until(lambda: service.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer
        for each in held:
            each.close()
        until(lambda: service.ask("/healthz").status == 200)


def test_the_log_leaves_ids_out_unless_asked(folder: Path) -> None:
    for options, shown in (((), "/users/{user}"), (("--log-ids",), "/users/Ada")):
        with running(folder, "--log", "json", *options) as service:
            service.get("/users/Ada")
            assert service.process.stdout is not None
            line = service.process.stdout.readline()
            assert f'"path": "/api/v1{shown}"' in line
            assert '"status": 200' in line
            assert ("Ada" in line) == bool(options)


def test_a_taste_that_is_renamed_is_called_so_by_all_workers(
    dishes: tm.Model, tmp_path: Path
) -> None:
    home = tmp_path / "m"
    dishes.save(home)
    with running(home, "--log", "off", "--workers", "2") as service:
        answer = service.ask("/api/v1/tastes/2", {"label": "Smoky"}, "PUT")
        assert answer.json["label"] == "Smoky"
        for _ in range(10):
            assert service.get("/tastes/2")["label"] == "Smoky"
        assert "Smoky" in {share["name"] for share in service.get("/users/Ada")["tastes"]}
        service.ask("/api/v1/tastes/2", {"label": None}, "PUT")
        assert service.get("/tastes/2")["label"] is None
    assert (home / "labels.json").exists()
    tm.load(home)


def test_the_page_and_its_headers(folder: Path) -> None:
    with running(folder, "--log", "off") as service:
        first = service.ask("/")
        assert b"<!doctype html" in first.body.lower()
        policy = first.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/taste/3", "/item/Pecan%20Pie", "/person/Ada", "/you?r=1", "/compare"):
            assert service.ask(path).body == first.body
        again = service.ask("/", if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        zipped = service.ask("/", accept_encoding="gzip")
        assert zipped.headers["content-encoding"] == "gzip"
        assert service.ask("/", method="HEAD").body == b""
        assert b"openapi.json" in service.ask("/docs").body


def test_the_demo_is_served_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with running("--demo", "--log", "off") as service:
        assert len(service.get("/users/Ada/recommendations")["items"]) == 10
        assert service.ask("/").status == 200
    assert not list(tmp_path.iterdir())


def test_the_demo_ends_by_saying_how_to_serve_its_model(tmp_path: Path) -> None:
    done = started("demo", "--out", str(tmp_path / "out"), env={"COLUMNS": "400"})
    (told,) = re.findall("^To see it: tastemix serve (.*)$", done.stdout, re.MULTILINE)
    with running(told, "--log", "off") as service:
        assert service.get("/model")["tastes"] == 6


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("tastemix.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    done = tastemix("serve", folder)
    assert done.returncode == 2
    assert "tastemix[serve]" in done.stderr
