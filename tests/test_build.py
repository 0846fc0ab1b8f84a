"""What a machine that cannot build the core is told."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PREFLIGHT = Path(__file__).parent.parent / "tools" / "preflight.sh"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with a shell and a Python that has its headers, and nothing else."""
    os.symlink(shutil.which("sh"), tmp_path / "sh")
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {base} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def preflight(path: Path, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", PREFLIGHT, python],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_compiler_is_one_sentence(bare: Path) -> None:
    done = preflight(bare, "python")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no C++ compiler" in done.stderr
    assert "apt-get install g++" in done.stderr


def test_a_compiler_is_enough(bare: Path) -> None:
    os.symlink("/bin/true", bare / "c++")
    assert preflight(bare, "python").returncode == 0


def test_a_missing_python_is_one_sentence(bare: Path) -> None:
    done = preflight(bare, "python9")
    assert done.returncode == 1
    assert done.stderr.startswith("tastemix needs Python 3.11")


def test_missing_headers_are_one_sentence(bare: Path, tmp_path: Path) -> None:
    """A real interpreter whose include folder is elsewhere: an empty one."""
    os.symlink("/bin/true", bare / "c++")
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    elsewhere = tmp_path / "sitecustomize.py"
    elsewhere.write_text(
        "import sysconfig\n"
        "found = sysconfig.get_paths\n"
        "sysconfig.get_paths = lambda *a, **k: {**found(*a, **k), 'include': '/nowhere'}\n"
    )
    (bare / "python").write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {base} "$@"\n')
    done = preflight(bare, "python")
    assert done.returncode == 1
    assert "found no Python headers for 'python'" in done.stderr
    assert "apt-get install python3-dev" in done.stderr


def test_the_version_is_said_in_one_place_and_cited() -> None:
    root = PREFLIGHT.parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in (root / "CITATION.cff").read_text()
    assert f"\n## [{project['version']}]" in (root / "CHANGELOG.md").read_text()
