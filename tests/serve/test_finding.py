"""Search by the beginnings of words, against a search that looks at every text."""

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tastemix.serve import finding
from tastemix.serve.finding import Finder

LETTERS = st.text(alphabet="abAB éß-0٣中, ", max_size=12)


def words(text: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", plain.lower())


def looked_through(texts: list[str], counts: list[int], query: str) -> list[int]:
    ranked = sorted(range(len(texts)), key=lambda at: -counts[at])
    wanted = words(query)
    return [
        at
        for at in ranked
        if all(any(word.startswith(want) for word in words(texts[at])) for want in wanted)
    ]


@settings(deadline=None)
@given(st.lists(st.tuples(LETTERS, st.integers(0, 5)), min_size=1, max_size=20), LETTERS)
def test_the_found_are_those_whose_words_begin_so(texts: list[tuple[str, int]], query: str) -> None:
    titles, counts = [text for text, _ in texts], [count for _, count in texts]
    finder = Finder(pa.array(titles, pa.large_string()), np.array(counts))
    found, more = finder.find(query, 0, 100)
    assert found.tolist() == looked_through(titles, counts, query)
    assert more is None


@pytest.mark.parametrize("common", [1, 64, 10**9])
def test_pages_join_to_the_whole(common: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "COMMON", common)
    monkeypatch.setattr(finding, "AT_ONCE", 7)
    titles = [f"{'even' if at % 2 == 0 else 'odd'} number {at}" for at in range(100)]
    counts = [at * 37 % 101 for at in range(100)]
    finder = Finder(pa.array(titles, pa.large_string()), np.array(counts))
    pages, after = [], 0
    while after is not None:
        found, after = finder.find("num ev", after, 8)
        pages += found.tolist()
    assert pages == looked_through(titles, counts, "num ev")
    assert len(pages) == 50


def test_accents_and_case_do_not_matter() -> None:
    finder = Finder(pa.array(["Amélie", "Das Boot", "Boot Camp"], pa.large_string()), np.zeros(3))
    assert finder.find("AMELIE", 0, 5)[0].tolist() == [0]
    assert finder.find("boot", 0, 5)[0].tolist() == [1, 2]
    assert finder.find("boot das", 0, 5)[0].tolist() == [1]
    assert finder.find("  ", 0, 5)[0].tolist() == [0, 1, 2]
    assert finder.find("boots", 0, 5)[0].tolist() == []
