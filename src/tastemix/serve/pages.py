"""The files of the page, read once: a request chooses among them and never names a path."""

from __future__ import annotations

import gzip
import re
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

INDEX = "index.html"
FOLDER = "/page/"
"""Where files other than the index are served."""
ROOTS = frozenset(("", "taste", "item", "person", "you", "compare"))
"""First parts of the paths that the index is served at."""
TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".ico": b"image/x-icon",
    ".json": b"application/json",
}
SPARED = re.compile(rb"^[ \t]*(?://.*|/\*\*.*\*/)\n|^\s+", re.MULTILINE)
"""Lines that are only a comment, empty lines and indentation: they are not sent."""
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class File(NamedTuple):
    """A file as it is sent."""

    type: bytes
    content: bytes
    zipped: bytes
    tag: bytes

    @staticmethod
    def of(kind: bytes, content: bytes) -> File:
        """A file with this content."""
        tag = b'"' + sha256(content).hexdigest()[:16].encode() + b'"'
        return File(kind, content, gzip.compress(content, mtime=0), tag)


def load() -> dict[str, File]:
    """The files of the page by the paths that they are served at."""
    found = dict(_under(files("tastemix.serve") / "page", FOLDER))
    index = found.pop(FOLDER + INDEX, None)
    if index is not None:
        found["/"] = index
    return found


def _under(folder: Traversable, path: str) -> list[tuple[str, File]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _under(entry, f"{path}{entry.name}/")
        elif (kind := TYPES.get(entry.name[entry.name.rfind(".") :])) is not None:
            found.append((path + entry.name, File.of(kind, SPARED.sub(b"", entry.read_bytes()))))
    return found
