"""A model served by the command, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def chromium() -> str:
    """The path of a Chromium; without one the test is skipped."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium on the PATH: apt-get install chromium")
    return found


@contextmanager
def served(*arguments: str | Path) -> Iterator[str]:
    """The address of `tastemix serve` with these arguments."""
    command = [sys.executable, "-u", "-m", "tastemix", "serve", *map(str, arguments), "--port", "0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert service.stdout is not None
    try:
        lines = (line.strip() for line in service.stdout)
        yield next(line[line.index("http://") :] for line in lines if "http://" in line)
    finally:
        service.terminate()
        service.wait(20)
        service.stdout.close()
