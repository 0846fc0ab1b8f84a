"""What all commands share: where they print, and how a mistake ends."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from tastemix.data.ratings import Ratings
from tastemix.errors import TastemixError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class OneSentence(TyperGroup):
    """Commands whose mistakes end in one sentence, or in a traceback with --debug."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit 2 for a mistake, 130 for Ctrl-C."""
        try:
            return super().invoke(ctx)
        except TastemixError as error:
            if ctx.params["debug"]:
                raise
            err.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(2) from None
        except OSError as error:
            if ctx.params["debug"]:
                raise
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            err.print(f"[bold red]error:[/] {escape(what)}", soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            if ctx.params["debug"]:
                raise
            err.print("interrupted")
            raise typer.Exit(130) from None


def say(text: str, end: str = "\n") -> None:
    """A line of output, its markup kept, never broken."""
    out.print(text, soft_wrap=True, end=end)


def warn(text: str) -> None:
    """A sentence on stderr about something that does not end the command."""
    err.print(f"[bold yellow]warning:[/] {escape(text)}", soft_wrap=True)


def facts(ratings: Ratings) -> dict[str, str]:
    """What a report says about how it was made."""
    command = ["tastemix", *(part for part in sys.argv[1:] if part != "--debug")]
    return {
        "command": shlex.join(command),
        "versions": ", ".join(f"{p} {version(p)}" for p in ("tastemix", "numpy", "scipy")),
        "made on": date.today().isoformat(),
        "data": ratings.fingerprint[:16],
    }


@contextmanager
def progress(description: str, total: int) -> Iterator[Any]:
    """A bar on stderr with the time left; call what it gives with (done, description)."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as bar:
        task = bar.add_task(description, total=total)

        def show(done: int, now: str | None = None, total: int | None = total) -> None:
            bar.update(task, completed=done, description=escape(now or description), total=total)

        yield show
