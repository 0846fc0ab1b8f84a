"""Requests that are wrong, each with the status that it gets, and a service that goes on."""

from __future__ import annotations

import json
import time

import pytest

from tests.serve.running import Running

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
ITEMS = "/api/v1/items/"


def head(
    target: bytes = b"/healthz", headers: bytes = HOST, method: bytes = b"GET", end: bytes = b"\r\n"
) -> bytes:
    return method + b" " + target + b" HTTP/1.1\r\n" + headers + b"Connection: close\r\n" + end


def post(body: bytes, path: bytes = b"people", kind: bytes = JSON, length: int | None = None):
    size = b"Content-Length: %d\r\n" % (len(body) if length is None else length)
    return head(b"/api/v1/" + path, HOST + kind + size, b"POST") + body


def people(**changes: object) -> bytes:
    asked = {"ratings": [{"item": "Pecan Pie", "rating": 5}], "n": 1} | changes
    return post(json.dumps(asked).encode())


RATING = {"item": "Pecan Pie", "rating": 5}
REQUESTS: dict[str, tuple[int, bytes]] = {
    "a good one": (200, head()),
    "a body that may be": (200, people()),
    # heads
    "no host": (400, head(headers=b"")),
    "two hosts": (400, head(headers=HOST + HOST)),
    "another host": (421, head(headers=b"Host: evil.example\r\n")),
    "a host that ends like ours": (421, head(headers=b"Host: localhost.evil.example\r\n")),
    "a host with a user": (421, head(headers=b"Host: localhost@evil.example\r\n")),
    "a host with a strange port": (400, head(headers=b"Host: localhost:80;evil\r\n")),
    "an address as the host": (200, head(headers=b"Host: 127.0.0.1:9\r\n")),
    "an address of version 6": (200, head(headers=b"Host: [::1]:9\r\n")),
    "a header with a NUL": (400, head(headers=HOST + b"X: a\0b\r\n")),
    "a name with a space": (400, head(headers=HOST + b"X y: 1\r\n")),
    "a folded header": (400, head(headers=HOST + b" X: 1\r\n")),
    "a header of 20 kB": (431, head(headers=HOST + b"X: " + b"a" * 20_000 + b"\r\n")),
    "a thousand headers": (431, head(headers=HOST + b"X-Header: abcdefgh\r\n" * 1000)),
    "a URL of 20 kB": (414, head(b"/" + b"a" * 20_000)),
    "a header of 200 kB that does not end": (431, head(end=b"X: " + b"a" * 200_000)),
    "not HTTP": (400, b"hello there\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40)),
    "HTTP/2 without asking": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/9": (400, b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n"),
    "HTTP/1.0": (200, b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n"),
    "an upgrade": (200, head(headers=HOST + b"Upgrade: websocket\r\n")),
    "another server's URL": (400, head(b"http://evil.example/")),
    "a star": (400, head(b"*", method=b"OPTIONS")),
    # smuggling
    "two lengths": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Content-Length: 2\r\n" * 2, b"POST") + b"{}",
    ),
    "a length and chunks": (
        400,
        head(
            b"/api/v1/people",
            HOST + JSON + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            b"POST",
        )
        + b"0\r\n\r\n",
    ),
    "chunks by another name": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Transfer-Encoding: xchunked\r\n", b"POST")
        + b"0\r\n\r\n",
    ),
    "a negative length": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Content-Length: -1\r\n", b"POST"),
    ),
    "a length that is no number": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Content-Length: 1e2\r\n", b"POST"),
    ),
    "a length beyond 64 bits": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Content-Length: 99999999999999999999\r\n", b"POST"),
    ),
    "a chunk's length that is no number": (
        400,
        head(b"/api/v1/people", HOST + JSON + b"Transfer-Encoding: chunked\r\n", b"POST")
        + b"zz\r\n",
    ),
    # methods
    "DELETE": (405, head(b"/api/v1/items/Ramen", method=b"DELETE")),
    "POST where one reads": (405, head(b"/api/v1/model", method=b"POST")),
    "GET where one sends": (405, head(b"/api/v1/people")),
    "TRACE": (405, head(b"/", method=b"TRACE")),
    "a method that there is not": (400, head(method=b"BREW")),
    "OPTIONS from elsewhere": (
        405,
        head(b"/api/v1/model", HOST + b"Origin: https://evil.example\r\n", b"OPTIONS"),
    ),
    # paths
    "up and out": (404, head(b"/page/../../../etc/passwd")),
    "up and out, encoded": (404, head(b"/page/%2e%2e/%2e%2e/etc/passwd")),
    "a path of slashes": (404, head(b"//////")),
    "a path on the disk": (404, head(b"/etc/passwd")),
    "half an escape": (404, head(b"/api/v1/items/%")),
    "not UTF-8": (400, head(b"/api/v1/items/%ff%fe")),
    "a NUL in an id": (404, head(b"/api/v1/items/a%00b")),
    "an id of slashes": (404, head(b"/api/v1/items/%2F%2F")),
    "an empty id": (404, head(b"/api/v1/items/")),
    "an id of 10 kB": (404, head(b"/api/v1/items/" + b"a" * 10_000)),
    "a taste that is no number": (404, head(b"/api/v1/tastes/one")),
    "taste 0": (404, head(b"/api/v1/tastes/0")),
    "taste 10 to the 30": (404, head(b"/api/v1/tastes/1" + b"0" * 30)),
    "a route that there is not": (404, head(b"/api/v1/items/a/b/c/d")),
    # queries
    "n of 0": (422, head(b"/api/v1/items?n=0")),
    "n of minus 1": (422, head(b"/api/v1/items?n=-1")),
    "n of ten million": (422, head(b"/api/v1/items?n=10000000")),
    "n of words": (422, head(b"/api/v1/items?n=ten")),
    "n in other digits": (422, head(b"/api/v1/items?n=%D9%A3")),
    "n twice": (422, head(b"/api/v1/items?n=1&n=2")),
    "a parameter that there is not": (422, head(b"/api/v1/items?admin=1")),
    "a query of many parts": (400, head(b"/api/v1/items?" + b"a&" * 100)),
    "a query that is not UTF-8": (400, head(b"/api/v1/items?q=%ff")),
    "a long query": (422, head(b"/api/v1/items?q=" + b"a" * 300)),
    "after of words": (422, head(b"/api/v1/items?after=x")),
    "of something else": (
        422,
        head(b"/api/v1/users/Ada/items/Pecan%20Pie/explanation?of=life"),
    ),
    # bodies
    "no body": (400, post(b"")),
    "half a body": (400, post(b'{"ratings": [')),
    "not JSON": (400, post(b"ratings=1")),
    "not UTF-8 in JSON": (400, post(b'{"ratings": [{"item": "\xff", "rating": 1}]}')),
    "another type": (415, post(b"{}", kind=b"Content-Type: text/plain\r\n")),
    "no type": (415, post(b"{}", kind=b"")),
    "compressed": (415, post(b"{}", kind=JSON + b"Content-Encoding: gzip\r\n")),
    "a body that is too large": (413, post(b" " * 5000)),
    "a body that says it is too large": (413, post(b"{}", length=10**9)),
    "chunks that are too large": (
        413,
        head(b"/api/v1/people", HOST + JSON + b"Transfer-Encoding: chunked\r\n", b"POST")
        + b"1000\r\n"
        + b" " * 4096
        + b"\r\n1000\r\n"
        + b" " * 4096
        + b"\r\n0\r\n\r\n",
    ),
    "deep lists": (422, post(b"[" * 2000)),
    "deep ratings": (422, post(b'{"ratings": ' + b"[" * 1000 + b"]" * 1000 + b"}")),
    "a list": (422, post(b"[]")),
    "null": (422, post(b"null")),
    "no ratings": (422, people(ratings=[])),
    "an unknown item": (422, people(ratings=[{"item": "Gravel", "rating": 5}])),
    "an item twice": (422, people(ratings=[RATING, RATING])),
    "a rating beyond the scale": (422, people(ratings=[{"item": "Pecan Pie", "rating": 1e300}])),
    "a rating of text": (422, people(ratings=[{"item": "Pecan Pie", "rating": "5"}])),
    "a rating of infinity": (
        422,
        post(b'{"ratings": [{"item": "Pecan Pie", "rating": 1e999}]}'),
    ),
    "a rating that is no number": (400, post(b'{"ratings": [{"item": "P", "rating": NaN}]}')),
    "an item that is a list": (422, people(ratings=[{"item": [], "rating": 5}])),
    "an item that is a huge number": (422, people(ratings=[{"item": 10**40, "rating": 5}])),
    "half a letter as an item": (
        400,
        post(b'{"ratings": [{"item": "\\ud800", "rating": 5}]}'),
    ),
    "n of 0 in a body": (422, people(n=0)),
    "n of 10 to the 18 in a body": (422, people(n=10**18)),
    "n of a fraction in a body": (422, people(n=1.5)),
    "a field that there is not": (422, people(admin=True)),
    "more items than users": (422, post(b'{"users": ["Ada"], "items": []}', b"predictions")),
    "too many users": (
        413,
        post(json.dumps({"users": ["Ada"] * 101}).encode(), b"recommendations"),
    ),
    "too many entries": (
        413,
        post(json.dumps({"users": ["Ada"] * 50, "n": 1000}).encode(), b"recommendations"),
    ),
    "a name with a line break": (
        422,
        head(b"/api/v1/tastes/1", HOST + JSON + b"Content-Length: 16\r\n", b"PUT")
        + b'{"label":"a\\nb"}',
    ),
    "a name that is too long": (
        422,
        head(b"/api/v1/tastes/1", HOST + JSON + b"Content-Length: 113\r\n", b"PUT")
        + b'{"label":"'
        + b"a" * 101
        + b'"}',
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_gets_its_status(service: Running, name: str) -> None:
    status, request = REQUESTS[name]
    answer = service.raw(request)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:400]
    headers, _, body = answer.partition(b"\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    if status >= 400 and b"TRACE" not in request:
        assert b"application/problem+json" in headers
        problem = json.loads(body)
        assert problem["status"] == status
        assert problem["detail"]
        assert b"Traceback" not in body


def test_there_are_enough_of_them() -> None:
    assert len(REQUESTS) >= 60


SLOW: dict[str, tuple[int, tuple[bytes, ...]]] = {
    "a head that stops": (408, (b"GET /healthz HTT",)),
    "a head, a byte at a time": (408, tuple(bytes([b]) for b in head() * 2)[:60]),
    "a body that stops": (408, (post(b'{"rat', length=100),)),
    "a chunk that stops": (
        408,
        (
            head(b"/api/v1/people", HOST + JSON + b"Transfer-Encoding: chunked\r\n", b"POST")
            + b"5\r\nab",
        ),
    ),
    "nothing at all": (408, (b"",)),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_sender_does_not_hold_a_connection(service: Running, name: str) -> None:
    status, pieces = SLOW[name]
    answer = service.raw(*pieces, pause=0.04)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]


def test_requests_that_follow_in_one_piece_are_answered_in_order(service: Running) -> None:
    first = b"GET /api/v1/tastes/1?n=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    second = b"GET /api/v1/tastes/2?n=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = service.raw(first + second + head())
    assert answer.count(b"HTTP/1.1 200") == 3
    assert 0 < answer.find(b'"taste":1,') < answer.find(b'"taste":2,')


def test_after_all_this_it_answers_as_before(service: Running) -> None:
    began = time.monotonic()
    assert service.ask("/readyz").status == 200
    assert service.get("/users/Ada/recommendations?n=1")["items"]
    assert time.monotonic() - began < 5
    assert service.process.poll() is None
