"""Tables on the command line: for people, as JSON, or as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

from tastemix.cli.console import out, say
from tastemix.errors import ParameterError
from tastemix.persistence.tables import write

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write, .parquet or .csv (default: print)."),
]
Rows = Sequence[dict[str, Any]]
FILES = (".csv", ".parquet")


def printed(rows: Rows, as_json: bool, as_csv: bool) -> bool:
    """Print rows as JSON or CSV, if that was asked for; whether it was."""
    if as_json and as_csv:
        raise ParameterError("--json and --csv are two forms of the same: leave one of them out")
    if as_json:
        print_json(rows)
    if as_csv:
        print(as_text(rows), end="")
    return as_json or as_csv


def print_json(data: Any) -> None:
    """Print data as JSON; what is no finite number is null."""
    out.print_json(data=_finite(data), default=str)


def show(found: pa.Table, as_json: bool = False, as_csv: bool = False) -> None:
    """Print an Arrow table in the form that was asked for."""
    rows = found.to_pylist()
    if printed(rows, as_json, as_csv):
        return
    table = Table(*found.column_names)
    for row in rows:
        cells = (f"{v:.3f}" if isinstance(v, float) else escape(str(v)) for v in row.values())
        table.add_row(*cells)
    out.print(table)


def keep_or_show(found: pa.Table, output: Path | None, as_json: bool, as_csv: bool) -> None:
    """Write a table to a file, or print it in the form that was asked for."""
    if output is None:
        show(found, as_json, as_csv)
        return
    rows = write(found.to_batches(), found.schema, checked(output))
    say(f"{rows:,} rows in [bold]{escape(str(output))}[/]")


def as_text(rows: Rows) -> str:
    """Rows as CSV with a header; the entries of a list are separated by |."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        writer.writerow(
            "|".join(map(str, value)) if isinstance(value, list) else value
            for value in row.values()
        )
    return written.getvalue()


def checked(path: Path) -> Path:
    """A path that a table can be written to."""
    if path.suffix not in FILES:
        raise ParameterError(f"{path} ends in neither {' nor '.join(FILES)}: choose one of them")
    return path


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
