"""The service under load, on loopback with wrk: python benchmarks/serve.py [MODEL] [--items FILE].

Everything is in one run: a constant answer from bare ASGI behind the same server, then the routes.
Processor time is that of the worker, from /proc. Writes docs/performance/serve.{json,md}; a part
that is given as 0 keeps its figures of the run before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tastemix as tm
from tastemix.data.ratings import Half
from tastemix.model.factors import Factors
from tastemix.model.links import Weights
from tastemix.model.ordering import Ordering
from tastemix.serve.finding import Finder

OUT = Path(__file__).parent.parent / "docs" / "performance"
HERTZ = os.sysconf("SC_CLK_TCK")
STARTED = re.compile(r"http://\S+:(\d+) answers")
PEOPLE = {
    "ratings": [
        {"item": i, "rating": r} for i, r in ((1, 5), (260, 4), (2028, 3), (593, 5), (527, 2))
    ],
    "n": 10,
}
CONSTANT = """
import asyncio, socket, sys, uvicorn, uvloop
body = b"{}"
headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
listening = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]} answers", flush=True)
config = uvicorn.Config(app, http="httptools", loop="uvloop", ws="none", lifespan="off",
                        access_log=False, log_level="critical", server_header=False)
uvicorn.Server(config).run([listening])
"""


class Process:
    """A server, the process of it that answers, and its port."""

    def __init__(self, started: subprocess.Popen[str], port: int, pids: list[int]) -> None:
        self.started, self.port, self.pids = started, port, pids

    def cpu(self) -> float:
        """Seconds of processor time of the processes that answer."""
        total = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / HERTZ

    def memory(self) -> int:
        """Bytes of memory of all processes, what they share counted once."""
        pids = [self.started.pid, *children(self.started.pid)]
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
        return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) for text in rollups) * 1024  # type: ignore[index]


def children(pid: int) -> list[int]:
    return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def server(*command: str, forks: bool = True) -> Iterator[Process]:
    """A server, ended at the end."""
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        for line in started.stdout:
            if found := STARTED.search(line):
                break
        else:
            raise SystemExit("the server did not start")
        pids = children(started.pid) if forks else [started.pid]
        yield Process(started, int(found[1]), pids)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(60)


def wrk(
    port: int, path: str, seconds: int, connections: int = 16, script: str = ""
) -> dict[str, Any]:
    """What wrk says: requests, their rate, percentiles of the latency, and what failed."""
    lua = (
        script
        + """
done = function(summary, latency, requests)
  io.write(string.format('FOUND {"requests": %d, "seconds": %f, "p50": %f, "p99": %f, '
    .. '"connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, summary.errors.connect, summary.errors.read,
    summary.errors.write, summary.errors.status, summary.errors.timeout))
end
"""
    )
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(lua)
        file.flush()
        url = f"http://127.0.0.1:{port}{path}"
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "-s", file.name, url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(re.search(r"FOUND (.*)", said)[1])  # type: ignore[index]
    return {**found, "rate": found["requests"] / found["seconds"]}


def measured(process: Process, path: str, seconds: int, script: str = "") -> dict[str, Any]:
    """A load and its processor time per request."""
    before = process.cpu()
    found = wrk(process.port, path, seconds, script=script)
    found["cpu_us"] = (process.cpu() - before) / max(found["requests"], 1) * 1e6
    return found


EVERYONE = """
local n = 0
local spelled = {{}}
for zeros = 0, 9 do spelled[zeros] = "/recommendations?n=" .. string.rep("0", zeros) .. "10" end
request = function()
  n = n + 1
  local path = "/api/v1/users/" .. n % {users} + 1 .. spelled[math.floor(n / {users}) % 10]
  return wrk.format("GET", path)
end
"""
"""A user after the other, then again with n spelled otherwise: no answer is kept for so long."""
POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{body}'
"""


def loads(process: Process, users: int, seconds: int) -> dict[str, Any]:
    """The routes under load."""
    one = "/api/v1/users/7/recommendations"
    return {
        "recommend, kept": measured(process, one, seconds),
        "recommend, not kept": measured(process, one, seconds, EVERYONE.format(users=users)),
        "people, five ratings": measured(
            process, "/api/v1/people", seconds, POST.format(body=json.dumps(PEOPLE))
        ),
        "explanation": measured(process, "/api/v1/users/7/items/1/explanation", seconds),
        "search": measured(process, "/api/v1/items?q=star%20w", seconds),
        "item": measured(process, "/api/v1/items/1", seconds),
    }


RIGHT = """
local right = {right}
wrong = 0
local threads = {{}}
setup = function(thread) table.insert(threads, thread) end
response = function(status, headers, body)
  if status ~= 200 or not right[body] then wrong = wrong + 1 end
end
done = function(summary, latency, requests)
  local total = 0
  for _, thread in ipairs(threads) do total = total + thread:get("wrong") end
  local e = summary.errors
  io.write(string.format('FOUND {{"requests": %d, "wrong": %d, "broken": %d}}\\n',
    summary.requests, total, e.connect + e.read + e.write + e.timeout))
end
"""


def swaps(count: int) -> dict[str, Any]:
    """Changes between two models under load: answers that are neither's, and broken requests."""
    ratings = tm.datasets.demo.ratings()
    models = [tm.CNMF(6).fit(ratings), tm.CNMF(4, seed=1).fit(ratings)]
    path = "/api/v1/users/Ada/recommendations"
    with tempfile.TemporaryDirectory() as folder:
        home, script = Path(folder) / "m", Path(folder) / "right.lua"
        models[1].save(home)
        bodies = []
        with server(*serve(str(home))) as process:
            for number in range(2):
                while generation(process.port) < number + 1:
                    time.sleep(0.05)
                bodies.append(fetched(process.port, path).decode())
                models[0].save(home)
        assert bodies[0] != bodies[1]
        listed = ", ".join(f"[ [==[{body}]==] ] = true" for body in bodies)
        script.write_text(RIGHT.format(right="{" + listed + "}"))
        with server(*serve(str(home))) as process:
            url = f"http://127.0.0.1:{process.port}{path}"
            command = ["wrk", "-t1", "-c8", "-d3600", "-s", str(script), url]
            load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for number in range(1, count + 1):
                models[number % 2].save(home)
                while generation(process.port) <= number:
                    time.sleep(0.02)
            load.send_signal(signal.SIGINT)
            said = load.communicate()[0]
    found: dict[str, Any] = json.loads(re.search(r"FOUND (.*)", said)[1])  # type: ignore[index]
    return {"swaps": count, **found}


def fetched(port: int, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


def generation(port: int) -> int:
    return int(json.loads(fetched(port, "/api/v1/model"))["generation"])


def ends(count: int) -> dict[str, Any]:
    """SIGTERM under load: established requests that broke (read errors)."""
    broken = requests = 0
    for _ in range(count):
        with server(*serve("--demo")) as process:
            url = f"http://127.0.0.1:{process.port}/api/v1/users/Ada"
            load = subprocess.Popen(
                ["wrk", "-t1", "-c16", "-d3", url],
                stdout=subprocess.PIPE,
                text=True,
            )
            time.sleep(1)
            process.started.send_signal(signal.SIGTERM)
            process.started.wait(60)
            said = load.communicate()[0]
        requests += int(re.search(r"(\d+) requests", said)[1])  # type: ignore[index]
        if errors := re.search(r"read (\d+)", said):
            broken += int(errors[1])
    return {"ends": count, "requests": requests, "broken": broken}


def overload(process: Process, seconds: int) -> dict[str, Any]:
    """Twice the connections that are taken: memory, and the time until all is well."""
    before = process.memory()
    found = wrk(process.port, "/api/v1/users/7/recommendations", seconds, connections=2048)
    after, began = process.memory(), time.monotonic()
    while True:
        try:
            with socket.create_connection(("127.0.0.1", process.port), timeout=1) as connection:
                connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if connection.recv(64).startswith(b"HTTP/1.1 200"):
                    break
        except OSError:
            pass
        time.sleep(0.01)
    return {
        **found,
        "MB before": before / 1e6,
        "MB after": after / 1e6,
        "recovered s": time.monotonic() - began,
    }


def serve(*arguments: str) -> list[str]:
    command = str(Path(sys.executable).with_name("tastemix"))
    return [command, "serve", *arguments, "--port", "0", "--log", "off"]


def ready(model: str, items: list[str]) -> float:
    """Processor seconds from imports, with pandas that Arrow looks for, to what a worker needs."""
    program = (
        "import sys, time\n"
        "from tastemix.cli.saved import opened\n"
        "from tastemix.serve.prepared import Prepared\n"
        "from tastemix.serve.app import Service\n"
        "from tastemix.serve import parent\n"
        "import pyarrow.parquet, scipy.sparse\n"
        "try:\n"
        "    import pandas\n"
        "except ImportError:\n"
        "    pass\n"
        "from pathlib import Path\n"
        "items = Path(sys.argv[2]) if len(sys.argv) > 2 else None\n"
        "began = time.process_time()\n"
        "known = Prepared(opened(Path(sys.argv[1]), items))\n"
        "known.warm()\n"
        "Service(known)\n"
        "print(time.process_time() - began)\n"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", program, model, *items[1:]],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(3)
    ]
    return min(times)


LARGE = 3_000_000


def large() -> dict[str, float]:
    """Processor milliseconds in a generated catalogue of three million items, the least of some."""
    random, letters = np.random.default_rng(0), list("abcdefghijklmnopqrstuvwxyz")
    words = np.array(["".join(random.choice(letters, 3 + at % 7)) for at in range(50_000)])
    titles = words[np.minimum(random.zipf(1.3, (LARGE, 3)) - 1, len(words) - 1)]
    joined = np.char.add(np.char.add(titles[:, 0], " "), titles[:, 1])
    finder = Finder(pa.array(joined, pa.large_string()), random.zipf(1.5, LARGE))
    asked = ["", "a", "ab", "abc", str(words[3]), f"{words[3][:2]} {words[5][:1]}", "q z"]
    items, users = random.random((LARGE, 16), np.float32), random.random((10, 16), np.float32)
    popular = random.random(LARGE, np.float32)
    factors = Factors(users, items)
    ordering = Ordering(factors, None, None, popular, Weights(1.0, 0.0, 1.0))
    nothing = Half(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    one = np.zeros(1, np.int32)
    return {
        "search, slowest of seven": max(least(lambda q=q: finder.find(q, 0, 20)) for q in asked),
        "top ten by tastes": least(lambda: factors.best(one, nothing, None, 10)),
        "top ten by tastes and popularity": least(lambda: ordering.best(one, nothing, None, 10)),
    }


def least(call: Callable[[], Any], times: int = 8) -> float:
    """Processor milliseconds of a call."""
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1e3 * min(found[1:])


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--items")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--swaps", type=int, default=100)
    parser.add_argument("--ends", type=int, default=20)
    parser.add_argument("--large", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--overload", type=int, default=30)
    given = parser.parse_args()
    items = ["--items", given.items] if given.items else []
    users = len(tm.load(given.model).users.ids)
    kept = OUT / "serve.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    found["ready, processor s"] = ready(given.model, items)
    if given.large:
        found["3 M items, processor ms"] = large()
    with (
        server(sys.executable, "-c", CONSTANT, forks=False) as constant,
        server(*serve(given.model, *items)) as process,
    ):
        wrk(constant.port, "/", 1)
        found["constant"] = measured(constant, "/", given.seconds)
        found |= loads(process, users, given.seconds)
        found["constant, again"] = measured(constant, "/", given.seconds)
        found["MB of one worker"] = process.memory() / 1e6
        if given.overload:
            found["overload"] = overload(process, given.overload)
    with server(*serve(given.model, *items), "--workers", "4") as process:
        for _ in range(3):
            wrk(process.port, "/api/v1/users/7/recommendations", 1)
        found["MB of four workers"] = process.memory() / 1e6
    if given.swaps:
        found["swaps"] = swaps(given.swaps)
    if given.ends:
        found["ends"] = ends(given.ends)
    OUT.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found, indent=2) + "\n")
    (OUT / "serve.md").write_text(table(found))
    print(table(found))


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    rows = [
        "| answer | processor µs a request | requests a second | p50 ms | p99 ms |",
        "|---|---|---|---|---|",
    ]
    for name, row in found.items():
        if isinstance(row, dict) and "cpu_us" in row:
            rows.append(
                f"| {name} | {row['cpu_us']:.0f} | {row['rate']:,.0f} "
                f"| {row['p50']:.1f} | {row['p99']:.1f} |"
            )
    facts = [
        f"| {name} | {value:.3g} |" for name, value in found.items() if isinstance(value, float)
    ]
    for name in ("3 M items, processor ms", "swaps", "ends", "overload"):
        if name in found:
            facts += [
                f"| {name}: {key} | {value:.4g} |"
                if isinstance(value, float)
                else f"| {name}: {key} | {value} |"
                for key, value in found[name].items()
            ]
    return "\n".join([*rows, "", "| fact | value |", "|---|---|", *facts]) + "\n"


if __name__ == "__main__":
    main()
