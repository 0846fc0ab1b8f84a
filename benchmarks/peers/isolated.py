"""Running a script in a peer's environment: a job goes in, a result or one line of error comes out.

The benchmark calls `run`. The script, called a worker, ends in `serve(work)`, may read the arrays
that `save` wrote, and may measure itself with `Growth`. Workers need no package but NumPy.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import envs

THREADS = 2
_THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS", "NUMEXPR_NUM_THREADS"),
    *("TASTEMIX_THREADS", "LK_NUM_THREADS", "LK_NUM_BACKEND_THREADS"),
)

Job = dict[str, Any]


def run(peer: str, script: Path, job: Job, timeout: float) -> Job:
    """What the worker answers to the job, from a fresh process of the peer's environment.

    A missing environment, a crash or a timeout gives {"error": one line}.
    """
    interpreter = envs.python(peer)
    if not interpreter.exists():
        why = envs.installed().get(peer, {}).get("error", "run envs.py first").splitlines()
        return {"error": f"{peer} is not installed: {why[-1]}"}
    found = answer(interpreter, script, job, timeout)
    return {"error": f"{peer}: {found['error']}"} if "error" in found else found


def answer(interpreter: Path, script: Path, job: Job, timeout: float) -> Job:
    """What the worker answers to the job, from a fresh process of an interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "job.json"), Path(folder, "result.json")
        asked.write_text(json.dumps(job))
        with subprocess.Popen(
            [interpreter, script, asked, answered],
            env=os.environ | dict.fromkeys(_THREAD_VARIABLES, str(THREADS)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as worker:
            try:
                complaints = worker.communicate(timeout=timeout)[1]
            except BaseException as reason:
                os.killpg(worker.pid, signal.SIGKILL)  # its own group: the JVM of Spark ends too
                if isinstance(reason, subprocess.TimeoutExpired):
                    return {"error": f"it did not finish in {timeout:g} s"}
                raise
        if answered.exists():
            return json.loads(answered.read_text())
        return {"error": _reason(worker.returncode, complaints)}


def _reason(code: int, complaints: str) -> str:
    if code < 0:
        return f"ended by signal {signal.Signals(-code).name}"
    lines = complaints.strip().splitlines()
    return f"exit status {code}: {lines[-1] if lines else 'nothing said'}"


def serve(work: Callable[[Job], Job]) -> None:
    """The main program of a worker: read the job, do the work, write the result."""
    asked, answered = map(Path, sys.argv[1:3])
    try:
        result = work(json.loads(asked.read_text()))
    except Exception as error:
        traceback.print_exc()
        line = " ".join(str(error).split())[:300]
        result = {"error": f"{type(error).__name__}: {line}"}
    answered.write_text(json.dumps(result))


def save(path: Path, user: Any, item: Any, rating: Any) -> str:
    """Write ratings for a worker; the return value is what the job should hold."""
    import numpy as np

    columns = {"user": (user, np.int32), "item": (item, np.int32), "rating": (rating, np.float32)}
    np.savez(path, **{name: np.asarray(column, kind) for name, (column, kind) in columns.items()})
    return str(path)


def load(path: str) -> tuple[Any, Any, Any]:
    """The user, item and rating arrays that `save` wrote: int32, int32 and float32."""
    import numpy as np

    with np.load(path) as arrays:
        return arrays["user"], arrays["item"], arrays["rating"]


class Growth:
    """How much memory a block of code takes on top of what the process held before it.

    `with Growth() as growth: …` leaves `before`, `peak` and `growth.bytes`. The peak is the
    kernel's own high-water mark (Linux), so no moment is missed and no lock of Python delays it.
    Children count, such as Spark's JVM: each with its own peak, unless it ended within the block.
    """

    before = peak = 0

    def __enter__(self) -> Growth:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        tree = _tree()
        for process in tree:
            Path(f"/proc/{process}/clear_refs").write_text("5")  # the mark falls to what is held
        self.before = sum(_held(process, "VmRSS") for process in tree)
        return self

    def __exit__(self, *_: object) -> None:
        self.peak = sum(_held(process, "VmHWM") for process in _tree())

    @property
    def bytes(self) -> int:
        """The peak over what was held before."""
        return self.peak - self.before


def _tree() -> list[int]:
    """This process and all below it."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    tree = [os.getpid()]
    for process in tree:
        tree += children.get(process, [])
    return tree


def _held(process: int, mark: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(mark)), 0)
