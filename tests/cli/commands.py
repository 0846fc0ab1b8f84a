"""The commands of `tastemix`, in this process or through the entry point."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from tastemix.cli import app

Done = subprocess.CompletedProcess[str]


def started(*arguments: str | Path, env: dict[str, str] | None = None) -> Done:
    """A command as a person runs it: a process of its own, which takes a second to start."""
    return subprocess.run(
        [Path(sys.executable).with_name("tastemix"), *map(str, arguments)],
        env={**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def tastemix(*arguments: str | Path, env: dict[str, str] | None = None) -> Done:
    """The same command in this process; what would end in a traceback is raised."""
    done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "100", **(env or {})})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(arguments, done.exit_code, done.stdout, done.stderr)
