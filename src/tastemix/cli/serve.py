"""`tastemix serve`: a model over HTTP, with a page."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tastemix.cli import choices
from tastemix.cli.console import say, warn
from tastemix.cli.saved import opened
from tastemix.errors import ParameterError

if TYPE_CHECKING:
    from tastemix.serve.guard import Guard
    from tastemix.serve.limits import Limits

MISSING = "serve needs more packages: pip install 'tastemix[serve]'"
TOKEN = "TASTEMIX_TOKEN"
DEMO = "dishes.tastemix"
STYLES = ("text", "json", "off")
DAY = 86_400.0


def serve(
    model: Annotated[Path | None, typer.Argument(help="Folder of a model saved by train.")] = None,
    items: choices.ItemsFile = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve a model of embedded data.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 for a free one.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", help="Processes that answer.")] = 1,
    token_file: Annotated[
        Path | None,
        typer.Option("--token", help=f"File with the token that is asked for; or {TOKEN}."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Name by which the service is known; repeat for more."),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", help="Origin whose pages may ask; repeat for more."),
    ] = None,
    compared: Annotated[
        Path | None,
        typer.Option("--compare", help="What `tastemix compare --json` printed, to be shown."),
    ] = None,
    log: Annotated[str, typer.Option("--log", help="Access log: text, json or off.")] = "text",
    log_ids: Annotated[
        bool, typer.Option("--log-ids", help="Log paths as they are, with ids.")
    ] = False,
    max_body: Annotated[
        int, typer.Option("--max-body", help="Most bytes of a request's body.")
    ] = 256 * 1024,
    max_n: Annotated[int, typer.Option("--max-n", help="Most entries of an answer.")] = 1000,
    max_connections: Annotated[
        int, typer.Option("--max-connections", help="Most connections to a process.")
    ] = 1024,
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds in which a request must arrive.")
    ] = 10.0,
) -> None:
    """Serve a model over HTTP, with a page where people see their tastes.

    Examples: tastemix serve movies.tastemix --items movies.csv

    tastemix serve --demo
    """
    try:
        from tastemix.serve.guard import Guard
        from tastemix.serve.limits import Limits
    except ImportError as error:
        raise ParameterError(MISSING) from error
    if (model is None) != demo:
        raise ParameterError("give the folder of a model, or --demo")
    if log not in STYLES:
        raise ParameterError(f"--log is {log!r}: choose {', '.join(STYLES)}")
    token = _token(token_file)
    if token is None and not _is_loopback(host):
        raise ParameterError(
            f"on {host} others can reach the service: give --token with a file, or set {TOKEN}"
        )
    limits = Limits(
        body=_at_least("--max-body", max_body),
        n=_at_least("--max-n", max_n),
        connections=_at_least("--max-connections", max_connections),
        seconds=_within("--timeout", timeout, 0.1, DAY),
    )
    guard = Guard([*(allow_host or ()), host], token, cors or ())
    with ExitStack() as until_the_end:
        if model is None:
            model = Path(until_the_end.enter_context(TemporaryDirectory())) / DEMO
            _demo(model)
        _run(
            model,
            items,
            (host, _within("--port", port, 0, 65535)),
            _at_least("--workers", workers),
            (guard, limits, (log, log_ids), _comparison(compared), token is None),
        )


def _run(
    folder: Path,
    items: Path | None,
    at: tuple[str, int],
    workers: int,
    how: tuple[Guard, Limits, tuple[str, bool], bytes | None, bool],
) -> None:
    """Serve the model of a folder until a signal comes."""
    from tastemix.serve.app import Service
    from tastemix.serve.labels import Labels
    from tastemix.serve.logs import Log
    from tastemix.serve.parent import Parent
    from tastemix.serve.prepared import Prepared
    from tastemix.serve.worker import BACKLOG

    guard, limits, (style, log_ids), compared, alone = how

    def made(generation: int) -> Service:
        known = Prepared(
            opened(folder, items),
            name=folder.stem,
            generation=generation,
            labels=Labels.of(folder) if alone else None,
            compared=compared is not None,
            most=limits.n,
        )
        log = Log(cast(Any, style), ids=log_ids)
        return Service(known, limits, guard, log, compared)

    family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
    try:
        listening = socket.create_server(at, family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise ParameterError(
            f"port {at[1]} is in use: choose another --port, or 0 for a free one"
        ) from None
    with listening:
        Parent(made, folder, listening, workers, say, warn).run()


def _demo(folder: Path) -> None:
    from tastemix.data.datasets import demo as dishes
    from tastemix.methods import CNMF

    CNMF(6).fit(dishes.ratings()).save(folder)


def _token(file: Path | None) -> str | None:
    """The token that requests must have, if any."""
    token = os.environ.get(TOKEN) if file is None else file.read_text().strip()
    if token is not None and (len(token) < 16 or not (token.isascii() and token.isprintable())):
        raise ParameterError("the token must have 16 letters or more, all ASCII")
    return token


def _comparison(file: Path | None) -> bytes | None:
    """What a comparison found, as the page reads it."""
    import json

    if file is None:
        return None
    try:
        rows = json.loads(file.read_bytes())
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(isinstance(r, dict) and "method" in r for r in rows):
        raise ParameterError(f"{file} is not what `tastemix compare --json` prints")
    return json.dumps({"methods": rows}).encode()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _at_least(name: str, value: Any, least: float = 1) -> Any:
    if value < least:
        raise ParameterError(f"{name} is {value}: it must be {least} or more")
    return value


def _within(name: str, value: Any, least: float, most: float) -> Any:
    if not least <= value <= most:  # NaN is nowhere.
        raise ParameterError(f"{name} is {value}: it must be from {least:g} to {most:g}")
    return value
