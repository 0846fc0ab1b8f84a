"""The service under load, on loopback: python benchmarks/serve.py MODEL [--items FILE] [--parts …].

`loads` has a constant answer from bare ASGI behind the same server and then the routes, in one run
with wrk, 16 connections and the processor time of the worker from /proc. `recommend` is asked for
every user in turn. `steady` is h2load at half the rate that wrk reached. Writes
docs/performance/serve.{json,md}; parts that are not asked for keep their figures.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tastemix as tm
from load import CONSTANT, Process, measured, serve, server, steady, wrk
from tastemix.data.ratings import Half
from tastemix.model.factors import Factors
from tastemix.model.links import Weights
from tastemix.model.ordering import Ordering
from tastemix.serve.finding import Finder

OUT = Path(__file__).parent.parent / "docs" / "performance"
PARTS = ("ready", "large", "loads", "steady", "overload", "memory", "swaps", "ends")
STEADY = "half the peak: "
Figures = dict[str, Any]
PEOPLE = {
    "ratings": [
        {"item": i, "rating": r} for i, r in ((1, 5), (260, 4), (2028, 3), (593, 5), (527, 2))
    ],
    "n": 10,
}
CALM = {
    "recommend, kept": ("/api/v1/users/7/recommendations", ""),
    "explanation": ("/api/v1/users/7/items/1/explanation", ""),
    "people, five ratings": ("/api/v1/people", json.dumps(PEOPLE)),
}
EVERYONE = """
local n = 0
local spelled = {{}}
for zeros = 0, 9 do spelled[zeros] = "/recommendations?n=" .. string.rep("0", zeros) .. "10" end
request = function()
  n = n + 1
  local path = "/api/v1/users/" .. n % {users} + 1 .. spelled[math.floor(n / {users}) % {spellings}]
  return wrk.format("GET", path)
end
"""
"""A user after the other. With n spelled otherwise each time no answer is kept for long enough."""
POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{body}'
"""


def loads(process: Process, users: int, seconds: int) -> dict[str, Any]:
    """The routes under load."""
    kept, not_kept = (EVERYONE.format(users=users, spellings=count) for count in (1, 10))
    wrk(process.port, "/", seconds, script=kept)
    return {
        "recommend, kept": measured(process, "/", seconds, kept),
        "recommend, not kept": measured(process, "/", seconds, not_kept),
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


JUDGED = """
wrong, threads = 0, {{}}
setup = function(thread) table.insert(threads, thread) end
response = function(status, headers, body)
  local told = status == 429 or status == 503
  if not (status == 200 and body == [==[{body}]==] or told) then wrong = wrong + 1 end
end
"""
"""Wrong is what is neither the right answer nor a request to come back."""


def at_half_the_peak(process: Process, seconds: int, routes: dict[str, tuple[str, str]]) -> Figures:
    """Latencies at half the rate that wrk reached just before; the calmest of three.

    routes: paths, and bodies where there are some.
    """
    found = {}
    for name, (path, body) in routes.items():
        script = POST.format(body=body) if body else ""
        peak = wrk(process.port, path, seconds, script=script)["rate"]
        some = [steady(process, path, peak / 2, seconds, body) for _ in range(3)]
        found[STEADY + name] = min(some, key=lambda one: one["p99 over p50"])
    return found


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
                ["wrk", "-t1", "-c16", "-d2", url],
                stdout=subprocess.PIPE,
                text=True,
            )
            time.sleep(0.7)
            process.started.send_signal(signal.SIGTERM)
            process.started.wait(60)
            said = load.communicate()[0]
        requests += int(re.search(r"(\d+) requests", said)[1])  # type: ignore[index]
        if errors := re.search(r"read (\d+)", said):
            broken += int(errors[1])
    return {"ends": count, "requests": requests, "broken": broken}


def overload(process: Process, seconds: int) -> dict[str, Any]:
    """Twice the connections that are taken: wrong answers, memory, and how soon all is well."""
    before, path = process.memory(), "/api/v1/users/7/recommendations"
    judged = JUDGED.format(body=fetched(process.port, path).decode())
    found = wrk(process.port, path, seconds, connections=2048, script=judged)
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


def measured_parts(model: str, items: list[str], parts: list[str], given: Any) -> Figures:
    """The figures of these parts."""
    found: Figures = {}
    if "ready" in parts:
        found["ready, processor s"] = ready(model, items)
    if "large" in parts:
        found["3 M items, processor ms"] = large()
    if "loads" in parts:
        with (
            server(sys.executable, "-c", CONSTANT, forks=False) as constant,
            server(*serve(model, *items)) as process,
        ):
            wrk(constant.port, "/", 1)
            found["constant"] = measured(
                constant, "/", given.seconds, EVERYONE.format(users=1, spellings=1)
            )
            found |= loads(process, len(tm.load(model).users.ids), given.seconds)
            found["constant, again"] = measured(constant, "/", given.seconds)
    if "steady" in parts:
        with server(sys.executable, "-c", CONSTANT, forks=False) as process:
            found |= at_half_the_peak(process, given.seconds, {"constant": ("/", "")})
        with server(*serve(model, *items)) as process:
            found |= at_half_the_peak(process, given.seconds, CALM)
    if "overload" in parts:
        with server(*serve(model, *items)) as process:
            found["overload"] = overload(process, given.overload)
    if "memory" in parts:
        for count in (1, 4):
            with server(*serve(model, *items), "--workers", str(count)) as process:
                for _ in range(3):
                    wrk(process.port, "/api/v1/users/7/recommendations", 1)
                found[f"MB of {count} worker(s)"] = process.memory() / 1e6
    if "swaps" in parts:
        found["swaps"] = swaps(given.swaps)
    if "ends" in parts:
        found["ends"] = ends(given.ends)
    return found


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--items")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--swaps", type=int, default=100)
    parser.add_argument("--ends", type=int, default=20)
    parser.add_argument("--overload", type=int, default=30)
    given = parser.parse_args()
    items = ["--items", given.items] if given.items else []
    kept = OUT / "serve.json"
    found: Figures = json.loads(kept.read_text()) if kept.exists() else {}
    found |= measured_parts(given.model, items, given.parts.split(","), given)
    OUT.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found, indent=2) + "\n")
    (OUT / "serve.md").write_text(table(found))
    print(table(found))


def table(found: Figures) -> str:
    """The figures as Markdown."""
    rows = [
        "| answer | processor µs a request | requests a second | p50 ms | p99 ms |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {row['cpu_us']:.0f} | {row['rate']:,.0f} "
            f"| {row['p50']:.2f} | {row['p99']:.2f} |"
            for name, row in found.items()
            if isinstance(row, dict) and "cpu_us" in row
        ),
    ]
    calm = [
        "| at half the peak | requests a second | p50 ms | p99 ms | p99 over p50 |",
        "|---|---|---|---|---|",
        *(
            f"| {name.removeprefix(STEADY)} | {row['rate']:,.0f} | {row['p50']:.2f} "
            f"| {row['p99']:.2f} | {row['p99 over p50']:.1f} |"
            for name, row in found.items()
            if name.startswith(STEADY)
        ),
    ]
    facts = ["| fact | value |", "|---|---|"]
    for name, value in found.items():
        if isinstance(value, float):
            facts.append(f"| {name} | {value:.3g} |")
        elif "cpu_us" not in value and not name.startswith(STEADY):
            facts += [f"| {name}: {key} | {shown(one)} |" for key, one in value.items()]
    return "\n\n".join("\n".join(part) for part in (rows, calm, facts)) + "\n"


def shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


if __name__ == "__main__":
    main()
