"""What an installation costs: seconds of the import and megabytes on disk.

python benchmarks/peers/footprint.py [--quick]

tastemix is installed from this checkout into an environment of its own, as a user would. Sizes are
those of the files in site-packages, without pip, setuptools, compiled Python and other tools of
the environment; an import is the fastest of several, each in a fresh process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

import envs
import pages

READY = {
    "tastemix": "import tastemix; tastemix.MIXD; tastemix.read",
    "cmfrec": "from cmfrec import CMF",
    "cornac": "from cornac.models import MF; from cornac.data import Dataset",
    "implicit": "from implicit.als import AlternatingLeastSquares",
    "lenskit": "from lenskit.als import BiasedMFScorer; from lenskit.data import ItemList",
    "libmf": "from libmf import mf",
    "myfm": "from myfm import MyFMRegressor",
    "sklearn": "from sklearn.decomposition import NMF",
    "spark": "from pyspark.ml.recommendation import ALS",
    "surprise": "from surprise import SVD, Dataset",
}
"""Peer → what a program imports to fit. Some packages import nothing until a name is used."""
PACKAGES = {"spark": "pyspark"}
"""Peer → its package, where the name is another."""
NOT_COUNTED = {"pip", "setuptools", "wheel"}
SIZES = """
import importlib.metadata as metadata, json
sizes = {}
for distribution in metadata.distributions():
    name = distribution.metadata["Name"].lower().replace("_", "-")
    files = [f for f in distribution.files or () if f.suffix != ".pyc"]
    paths = [distribution.locate_file(file) for file in files]
    sizes[name] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(sizes))
"""


def install_ours() -> dict[str, str]:
    """A fresh environment with this checkout; the checkout's own build folder is left alone."""
    home = envs.HOME / "tastemix"
    with tempfile.TemporaryDirectory() as build:
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(home)],
            [*pip, f"--config-settings=build-dir={build}", str(pages.ROOT)],
        ):
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode:
                return {"error": (ended.stderr.strip().splitlines() or ["nothing said"])[-1]}
    return {}


def answer(peer: str, program: str) -> str:
    """What a program prints in a peer's environment."""
    interpreter = envs.HOME / peer / "bin" / "python"
    ended = subprocess.run([interpreter, "-c", program], capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip().splitlines() or ["nothing said"])[-1])
    return ended.stdout.splitlines()[-1]  # some packages print when imported


def seconds(peer: str, statement: str, repeats: int) -> float:
    """The fastest import; the first one, which also compiles, is not counted."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    answer(peer, program)
    return min(float(answer(peer, program)) for _ in range(repeats))


def measured(peer: str, repeats: int) -> dict[str, Any]:
    installed = json.loads(answer(peer, SIZES))
    sizes = {name: size for name, size in installed.items() if name not in NOT_COUNTED}
    return {
        "package": seconds(peer, f"import {PACKAGES.get(peer, peer)}", repeats),
        "ready": seconds(peer, READY[peer], repeats),
        "own_bytes": sizes[envs.PEERS.get(peer, peer)],
        "all_bytes": sum(sizes.values()),
        "distributions": len(sizes),
    }


def measure(repeats: int) -> dict[str, Any]:
    ours = install_ours()
    found: dict[str, Any] = {}
    for peer in READY:
        if peer == "tastemix" and "error" in ours:
            found[peer] = ours
            continue
        if not (envs.HOME / peer / "bin" / "python").exists():
            why = envs.installed().get(peer, {}).get("error", "run envs.py first")
            found[peer] = {"error": why.splitlines()[-1]}
            continue
        try:
            found[peer] = measured(peer, repeats)
        except (RuntimeError, KeyError) as error:
            found[peer] = {"error": f"{type(error).__name__}: {error}"}
    return found


def text(found: dict[str, Any]) -> str:
    header = [
        "library",
        "package, s",
        "ready to fit, s",
        "own, MB",
        "with dependencies, MB",
        "distributions",
    ]
    rows: list[list[str]] = []
    for peer, row in found.items():
        if "error" in row:
            rows.append(pages.failed(peer, row["error"], len(header)))
            continue
        times = (f"{row[name]:.3f}" for name in ("package", "ready"))
        sizes = (f"{row[name] / 1e6:,.1f}" for name in ("own_bytes", "all_bytes"))
        rows.append([peer, *times, *sizes, str(row["distributions"])])
    title = "Importing the package alone and what a fit needs; installed sizes:\n"
    return title + "\n" + pages.table(header, rows)


def main() -> None:
    options = pages.options(__doc__)
    found = measure(2 if options.quick else 5)
    pages.write(options.folder, "footprint", found, text(found))


if __name__ == "__main__":
    main()
