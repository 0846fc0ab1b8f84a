"""The command line: `tastemix COMMAND --help` explains each command."""

from typing import Annotated

import typer

from tastemix.cli.change import fold_in, update
from tastemix.cli.compare import compare
from tastemix.cli.console import OneSentence, say
from tastemix.cli.demo import demo
from tastemix.cli.doctor import doctor
from tastemix.cli.ingest import ingest
from tastemix.cli.inspect import inspect
from tastemix.cli.plot import plot
from tastemix.cli.predict import predict, similar
from tastemix.cli.reproduce import datasets, reproduce
from tastemix.cli.serve import serve
from tastemix.cli.train import train
from tastemix.cli.use import evaluate, explain, recommend, tastes

app = typer.Typer(
    cls=OneSentence,
    help="Predict ratings and recommend items with nonnegative factorisation: tastes that add up.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_COMMANDS = (
    demo,
    inspect,
    compare,
    ingest,
    train,
    recommend,
    predict,
    explain,
    similar,
    tastes,
    fold_in,
    update,
    plot,
    evaluate,
    serve,
    reproduce,
    datasets,
    doctor,
)
for _command in _COMMANDS:
    app.command()(_command)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the full traceback of an error.")
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        say(f"tastemix {installed('tastemix')}")
        raise typer.Exit
