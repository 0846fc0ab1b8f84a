"""`tastemix serve`: a model over HTTP, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tastemix.cli import choices
from tastemix.cli.console import say
from tastemix.cli.saved import opened
from tastemix.errors import ParameterError

MISSING = "serve needs more packages: pip install 'tastemix[serve]'"


def serve(
    model: Annotated[Path | None, typer.Argument(help="Folder of a model saved by train.")] = None,
    items: choices.ItemsFile = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve a model of embedded data.")] = False,
    port: Annotated[int, typer.Option("--port", help="Port; 0 for a free one.")] = 8000,
) -> None:
    """Serve a model over HTTP, with a page where people see their tastes.

    Examples: tastemix serve movies.tastemix --items movies.csv

    tastemix serve --demo
    """
    import socket
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from tastemix.data.datasets import demo as dishes
    from tastemix.methods import CNMF

    try:
        from tastemix.serve import worker
        from tastemix.serve.answers import Answers
        from tastemix.serve.app import Service
        from tastemix.serve.labels import Labels
    except ImportError as error:
        raise ParameterError(MISSING) from error
    if (model is None) != demo:
        raise ParameterError("give the folder of a model, or --demo")
    with ExitStack() as until_the_end:
        if model is None:
            model = Path(until_the_end.enter_context(TemporaryDirectory())) / "dishes.tastemix"
            CNMF(6).fit(dishes.ratings()).save(model)
        labels = Labels.of(model)
        answers = Answers(opened(model, items), name=model.stem, labels=labels)
        answers.warm()
        listening = socket.create_server(("127.0.0.1", port), backlog=worker.BACKLOG)
        at = listening.getsockname()[1]
        worker.run(Service(answers), listening, lambda: say(f"http://127.0.0.1:{at}"))
