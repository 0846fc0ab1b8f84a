"""One virtual environment per peer, so that their requirements never meet.

python benchmarks/peers/envs.py [peer …]

An environment is made again only when its requirements change. `.venv-peers/installed.json` says
which version of each peer is there, or why it is not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / ".venv-peers"
INSTALLED = HOME / "installed.json"
PEERS = {
    "cmfrec": "cmfrec",
    "cornac": "cornac",
    "implicit": "implicit",
    "lenskit": "lenskit",
    "libmf": "libmf",
    "myfm": "myfm",
    "sklearn": "scikit-learn",
    "spark": "pyspark",
    "surprise": "scikit-surprise",
}
"""Peer → the distribution whose version is reported."""


def python(peer: str) -> Path:
    """The interpreter of a peer's environment; "tastemix" is the one that runs now."""
    return Path(sys.executable) if peer == "tastemix" else HOME / peer / "bin" / "python"


def installed() -> dict[str, dict[str, str]]:
    """Peer → its version, or the error that kept it out."""
    return json.loads(INSTALLED.read_text()) if INSTALLED.exists() else {}


def install(peer: str) -> dict[str, str]:
    """Make the environment of a peer, unless it was made from the same requirements."""
    requirements = HERE / "requirements" / f"{peer}.txt"
    done = HOME / peer / "requirements.txt"
    if not (done.exists() and done.read_text() == requirements.read_text()):
        pip = [str(python(peer)), "-m", "pip", "install", "--quiet", "--prefer-binary"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(HOME / peer)],
            [*pip, "-r", str(requirements)],
        ):
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode:
                return {"error": "\n".join(ended.stderr.strip().splitlines()[-5:])}
        done.write_text(requirements.read_text())
    return {"version": version(peer)}


def version(peer: str) -> str:
    """The version of a peer in its environment."""
    program = f"import importlib.metadata as m; print(m.version({PEERS[peer]!r}))"
    ended = subprocess.run(
        [python(peer), "-c", program], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*", choices=[[], *PEERS], help=f"of {', '.join(PEERS)}")
    HOME.mkdir(exist_ok=True)
    for peer in parser.parse_args().peers or PEERS:
        found = install(peer)
        partial = INSTALLED.with_suffix(".partial")
        partial.write_text(json.dumps({**installed(), peer: found}, indent=2) + "\n")
        os.replace(partial, INSTALLED)
        print(f"{peer:10} {found.get('version') or 'NOT INSTALLED: ' + found['error']}", flush=True)


if __name__ == "__main__":
    main()
