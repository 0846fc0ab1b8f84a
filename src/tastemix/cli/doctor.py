"""`tastemix doctor`: what this machine can do."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from rich.markup import escape

from tastemix.cli.console import say
from tastemix.engine import ENGINES, machine

PACKAGES = ("tastemix", "numpy", "scipy", "pyarrow")
CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy")


def doctor() -> None:
    """Print what this machine can do: instruction sets, cores, cards and versions."""
    found = machine.look()
    used, sets = found.instruction_set, ", ".join(found.instruction_sets)
    engine = os.environ.get("TASTEMIX_ENGINE") or "cpu"
    for what, told in {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores, {found.threads} threads used",
        "instruction sets": f"{sets} ({used} used)",
        "cards": "; ".join(found.cards) or f"none: {found.no_card}",
        "engines": f"{', '.join(ENGINES)} ({engine} by default)",
        "versions": ", ".join([f"Python {platform.python_version()}", *_versions()]),
    }.items():
        say(f"{what:18}{escape(told)}")


def _versions() -> list[str]:
    told = [f"{package} {version(package)}" for package in PACKAGES]
    for package in CUPY:
        try:
            return [*told, f"CuPy {version(package)}"]
        except PackageNotFoundError:
            continue
    return told
