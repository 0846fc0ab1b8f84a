"""Search by the beginnings of words, the most rated first."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tastemix.data.ids import Indices
from tastemix.data.lookup import Texts

COMMON = 64
"""A word counts as common if one entry in so many has it: these are scanned, not sorted."""
AT_ONCE = 4096
"""Entries that are looked through before the next ones, when a search scans."""
WORDS = 8
"""Words of a query that count."""


class Finder:
    """The words of texts, by number, and which texts have them.

    Inside, texts go by rank: 0 is the one with most ratings. Words are sorted, so those that begin
    alike are neighbours, and `postings` has the ranks of each word's texts one word after another.
    """

    def __init__(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        self._order = np.argsort(-counts, kind="stable").astype(np.int32)
        lists = _words(texts.take(pa.array(self._order)))
        self._pointers = np.asarray(lists.offsets).astype(np.int64)
        encoded = lists.flatten().dictionary_encode()
        sorting = pc.sort_indices(encoded.dictionary)
        place = np.empty(len(sorting), np.int32)
        place[np.asarray(sorting)] = np.arange(len(sorting), dtype=np.int32)
        self._words = Texts(encoded.dictionary.take(sorting))
        self._tokens = place[np.asarray(encoded.indices)]
        ranks = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(self._pointers))
        self._postings = ranks[np.argsort(self._tokens, kind="stable")]
        counted = np.bincount(self._tokens, minlength=len(sorting))
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counted)])

    def find(self, query: str, after: int, n: int) -> tuple[Indices, int | None]:
        """The numbers of n texts that have words beginning with each word of the query, from rank
        `after` on, and the rank to go on from, if there are more.
        """
        spans = [self._span(word.encode()) for word in _words_of(query)[:WORDS]]
        found: list[int] = []
        for ranks in self._candidates(spans, after):
            found += ranks[self._have(ranks, spans)].tolist()
            if len(found) > n:
                break
        more = found[n] if len(found) > n else None
        return self._order[found[:n]], more

    def _span(self, prefix: bytes) -> tuple[int, int]:
        """The words that begin so: the first, and the one after the last."""
        low = bisect_left(self._words, prefix)
        return low, bisect_left(self._words, prefix + b"\xff", lo=low)

    def _candidates(self, spans: list[tuple[int, int]], after: int) -> Iterator[Indices]:
        """Ranks among which all that match are, ascending, in pieces."""
        sizes = [int(self._starts[high] - self._starts[low]) for low, high in spans]
        if sizes and min(sizes) * COMMON <= len(self._order):
            low, high = spans[int(np.argmin(sizes))]
            ranks = np.unique(self._postings[self._starts[low] : self._starts[high]])
            yield ranks[np.searchsorted(ranks, after) :]
            return
        for first in range(after, len(self._order), AT_ONCE):
            yield np.arange(first, min(first + AT_ONCE, len(self._order)), dtype=np.int32)

    def _have(self, ranks: Indices, spans: list[tuple[int, int]]) -> NDArray[np.bool_]:
        """Which of these texts have a word in each span."""
        begin, counts = self._pointers[ranks], self._pointers[ranks + 1] - self._pointers[ranks]
        owner = np.repeat(np.arange(len(ranks)), counts)
        skipped = np.repeat(begin - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        tokens = self._tokens[np.arange(len(owner)) + skipped]
        have = np.ones(len(ranks), np.bool_)
        for low, high in spans:
            inside = owner[(tokens >= low) & (tokens < high)]
            have &= np.bincount(inside, minlength=len(ranks)) > 0
        return have


def _words_of(query: str) -> list[str]:
    """The same words of one text, without Arrow, which takes milliseconds to begin."""
    plain = unicodedata.normalize("NFKD", query).lower()
    kinds = ((letter, unicodedata.category(letter)[0]) for letter in plain)
    return "".join(letter if kind in "LN" else " " for letter, kind in kinds if kind != "M").split()


def _words(texts: pa.Array) -> Any:
    """The words of each text, in lower case and without accents."""
    plain = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKD"))
    plain = pc.replace_substring_regex(plain, pattern=r"\p{M}+", replacement="")
    plain = pc.replace_substring_regex(plain, pattern=r"[^\p{L}\p{N}]+", replacement=" ")
    return pc.split_pattern(pc.utf8_trim(plain, characters=" "), " ")
