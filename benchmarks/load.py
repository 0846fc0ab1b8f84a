"""Processes that answer over HTTP, and load on them: wrk as fast as it goes, h2load at a rate."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERTZ = os.sysconf("SC_CLK_TCK")
STARTED = re.compile(r"http://\S+:(\d+) answers")
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
    """What wrk says: requests, their rate, percentiles of the latency, and what failed.

    script: may count what is `wrong` in its `threads`.
    """
    lua = (
        script
        + """
done = function(summary, latency, requests)
  local wrong = 0
  for _, thread in ipairs(threads or {}) do wrong = wrong + thread:get("wrong") end
  io.write(string.format('FOUND {"requests": %d, "seconds": %f, "p50": %f, "p99": %f, '
    .. '"connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d, "wrong": %d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, summary.errors.connect, summary.errors.read,
    summary.errors.write, summary.errors.status, summary.errors.timeout, wrong))
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


def steady(
    process: Process, path: str, rate: float, seconds: int, body: str = ""
) -> dict[str, float]:
    """Latencies in milliseconds at a rate of requests a second, spread over 16 connections."""
    with tempfile.TemporaryDirectory() as folder:
        log, data = Path(folder) / "log", Path(folder) / "data"
        data.write_text(body)
        command = ["h2load", "--h1", "-c16", f"--rps={rate / 16:.0f}", f"-D{seconds}"]
        command += ["-d", str(data), "-H", "content-type: application/json"] if body else []
        url = f"http://127.0.0.1:{process.port}{path}"
        subprocess.run([*command, f"--log-file={log}", url], capture_output=True, check=True)
        began, status, took = np.loadtxt(log, np.int64, usecols=(0, 1, 2), unpack=True)
    assert (status == 200).all()
    p50, p99 = np.percentile(took, (50, 99)) / 1e3
    found = len(took) / (began.max() - began.min()) * 1e6
    return {"asked": rate, "rate": found, "p50": p50, "p99": p99, "p99 over p50": p99 / p50}


def serve(*arguments: str) -> list[str]:
    """The command that serves."""
    command = str(Path(sys.executable).with_name("tastemix"))
    return [command, "serve", *arguments, "--port", "0", "--log", "off"]
