"""How a csv file is written: found out from its beginning, where it is not said."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tastemix.errors import ParameterError

SAMPLE = 2**16
"""Bytes that are looked at."""
DELIMITERS = (",", ";", "\t", "|", "::", " ")
ROWS = 200
ONE_BYTE = ("cp1252", "latin-1")
"""Encodings of one byte a character; the second knows all bytes."""
SEPARATOR = "\x1f"
"""What stands for a delimiter of several characters while a file is read."""
Column = str | int
"""A column by name or by position, from 0."""

_PROBE = '"a",..\n'
"""What any encoding of text writes and reads back byte by byte; those of host names do not."""
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_NUMBER = re.compile(r"\s*[-+]?[0-9]*[.,]?[0-9]+([eE][-+]?[0-9]+)?\s*")
DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]+,[0-9]+\s*")
_SAID = re.compile(r"sep=(.)\r?\n")


@dataclass(frozen=True)
class Told:
    """What a caller says about a csv file; None is to be found out."""

    delimiter: str | None = None
    encoding: str | None = None
    quote: str | None = None
    decimal: str | None = None
    header: bool | None = None
    ids: str | None = None
    """"text": ids are text, even if they look like numbers."""

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                text = _PROBE.encode(self.encoding)  # fails also for what makes no bytes of text
                reader = codecs.getincrementaldecoder(self.encoding)()
                back = "".join(reader.decode(text[at : at + 1]) for at in range(len(text)))
            except (LookupError, TypeError, ValueError):
                back = None
            if back != _PROBE:
                raise ParameterError(
                    f"encoding is {self.encoding!r}: give one of text that Python knows, such as "
                    "'latin-1'"
                )
        if self.delimiter is not None and not (
            isinstance(self.delimiter, str) and 1 <= len(self.delimiter.encode()) <= 8
        ):
            raise ParameterError(f"delimiter is {self.delimiter!r}: give a character, such as ';'")
        if self.quote not in (None, "", '"', "'"):
            raise ParameterError(f"quote is {self.quote!r}: choose '\"', \"'\" or '' for none")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal is {self.decimal!r}: choose '.' or ','")
        if self.ids not in (None, "text"):
            raise ParameterError(
                f"ids is {self.ids!r}: choose 'text', or None to find out what they are"
            )


@dataclass(frozen=True)
class Dialect:
    """How a csv file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str = ""
    decimal: str = "."
    header: bool = True
    skip: int = 0
    """Lines before the header."""
    ascii: bool = False
    """Whether what was looked at says nothing about the encoding."""
    quoted: frozenset[int] = frozenset()
    """Columns in which a field is in quotes."""


def found(sample: bytes, whole: bool, wanted: Sequence[Column | None], told: Told) -> Dialect:
    """The dialect of a file that begins with these bytes.

    wanted: the columns that are looked for: user, item, and perhaps rating and timestamp.
    """
    encoding = told.encoding or _encoding(sample)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)
    text = text.removeprefix("\ufeff")
    said = _SAID.match(text)
    if said:
        text = text[said.end() :]
    delimiter = told.delimiter or (said[1] if said else None)
    plain = Dialect(
        delimiter=delimiter or ",",
        encoding=encoding,
        quote='"' if told.quote is None else told.quote,
        skip=1 if said else 0,
        ascii=told.encoding is None and encoding == "utf-8" and text.isascii(),
    )
    tried = [plain] if delimiter else [replace(plain, delimiter=d) for d in DELIMITERS]
    if told.quote is None:
        tried += [replace(each, escape="\\") for each in tried if '\\"' in text]
        tried += [replace(each, quote="'") for each in tried if not each.escape and "'" in text]
    best = max(tried, key=lambda each: _fit(rows_of(text, each, whole), wanted, each, text))
    rows = rows_of(text, best, whole)
    header = _has_header(rows, wanted) if told.header is None else told.header
    numbers = [text for column in wanted[2:] for text in _column(rows, column)[header:]]
    return replace(
        best,
        header=header,
        decimal=told.decimal or ("," if _has_comma(numbers) else "."),
        quoted=_quoted(text, best, header),
    )


def rows_of(text: str, dialect: Dialect, whole: bool = True) -> list[list[str]]:
    """The first rows of a text; without the last one where the text goes on."""
    delimiter = dialect.delimiter
    if len(delimiter) > 1:
        text, delimiter = text.replace(delimiter, SEPARATOR), SEPARATOR
    if not whole:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    reader = csv.reader(
        io.StringIO(text.replace("\0", ""), newline=""),
        delimiter=delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape or None,
        doublequote=not dialect.escape,
    )
    rows: list[list[str]] = []
    try:
        for row in reader:
            rows += [row] if row else []
            if len(rows) == ROWS:
                break
    except csv.Error:  # a field of a size that csv does not take
        pass
    return rows


def place(column: Column, names: Sequence[str]) -> int:
    """Where a column is; −1 if it is not there."""
    if isinstance(column, int):
        return column if 0 <= column < len(names) else -1
    for spelled in (list(names), [name.strip() for name in names]):
        if column in spelled:
            return spelled.index(column)
    return -1


def _encoding(sample: bytes) -> str:
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        if not _BINARY.search(sample):
            return ONE_BYTE[0] if _decodes(sample, ONE_BYTE[0]) else ONE_BYTE[1]
    return "utf-8"


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _fit(
    rows: list[list[str]], wanted: Sequence[Column | None], dialect: Dialect, text: str
) -> tuple[bool, float, int, bool, bool]:
    """How well a dialect explains rows: columns that are there, rows of one width, and wide.

    Of those that do so alike, one whose fields end with their quotes, and then the plain one.
    """
    if not rows:
        return False, 0.0, 0, True, True
    width, count = Counter(map(len, rows)).most_common(1)[0]
    there = all(c is None or 0 <= place(c, rows[0]) < width for c in wanted) and bool(wanted)
    plain = dialect.quote == '"' and not dialect.escape
    if dialect.quote == "'" and not _in_single_quotes(rows):
        return False, 0.0, 0, False, False
    ends = '\\"' not in text or not _goes_on(text, dialect)
    return there, count / len(rows) if width > 1 or there else 0.0, width, ends, plain


def _in_single_quotes(rows: list[list[str]]) -> bool:
    """Whether single quotes open and close fields, rather than being apostrophes in them."""
    return not any("'" in field for row in rows for field in row)


def _has_header(rows: list[list[str]], wanted: Sequence[Column | None]) -> bool:
    """Whether the first row names the columns; by position it does if it has words for numbers."""
    if any(isinstance(column, str) for column in wanted) or not wanted:
        return True
    for column in [*wanted[2:], *wanted[:2]]:
        first, *rest = _column(rows, column) or [""]
        if rest and all(map(_NUMBER.fullmatch, rest)):
            return not _NUMBER.fullmatch(first)
    return False


def _column(rows: list[list[str]], column: Column | None) -> list[str]:
    if column is None or not rows:
        return []
    at = place(column, rows[0])
    return [row[at] for row in rows if 0 <= at < len(row)]


def _has_comma(numbers: list[str]) -> bool:
    return any(map(DECIMAL_COMMA.fullmatch, numbers)) and not any("." in text for text in numbers)


def _quoted(text: str, dialect: Dialect, header: bool) -> frozenset[int]:
    """The columns in which a field is in quotes, the header aside."""
    first = takewhile(lambda found: found[0] < ROWS, _fields(text, dialect))
    return frozenset(column for row, column, field in first if field[1] and row >= header)


def _goes_on(text: str, dialect: Dialect) -> bool:
    """Whether a field goes on after the quote that closes it: it was meant to be inside."""
    return any(field[1] and field[2].strip() for _, _, field in _fields(text, dialect))


def _fields(text: str, dialect: Dialect) -> Iterator[tuple[int, int, re.Match[str]]]:
    """The row and the column of each field, what of it is in quotes, and what follows on that."""
    quote = dialect.quote
    if not quote:
        return
    text = text.replace(dialect.delimiter, SEPARATOR)
    inner = rf"(?:\\.|[^\\{quote}])*+" if dialect.escape else f"(?:{quote}{quote}|[^{quote}])*+"
    pattern = re.compile(rf"({quote}{inner}{quote})?([^{SEPARATOR}\r\n]*)", re.DOTALL)
    at = column = row = 0
    while at < len(text):
        field = pattern.match(text, at)
        assert field is not None  # It may be empty.
        yield row, column, field
        at = field.end() + 1
        ended = text[field.end() : at] in ("\r", "\n", "")
        row += ended and (column > 0 or field.end() > field.start())
        column = 0 if ended else column + 1
