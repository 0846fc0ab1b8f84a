"""Neighbours, lists and draws on a card, against the native ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tastemix as tm
from tastemix import draws
from tastemix.data.ratings import Half
from tastemix.engine import Engine, RandomStart, scoring
from tastemix.engine.neighbours import Linking, Settings, neighbours
from tastemix.engine.searching import Scored, Searching
from tastemix.engine.start import drawn
from tastemix.model import lists
from tastemix.model.links import in_stars
from tests.conftest import random_ratings
from tests.engine.problems import engine

SETTINGS = Settings(l2=0.5, l2_per_rating=0.3, l1=0.0, candidates=10**4, tolerance=1e-10)
MANY = random_ratings(2000, 300, 0.1, seed=1)


@pytest.fixture
def judged() -> Iterator[Engine]:
    with engine("cuda") as found:
        yield found


def dense(half: Half, columns: int) -> np.ndarray:
    out = np.zeros((len(half.counts), columns))
    out[half.rows, half.indices] = half.values
    return out


def native(ratings: tm.Ratings, settings: Settings, **options: int) -> np.ndarray:
    square = float(np.square(ratings.by_user.values, dtype=np.float64).mean())
    absolute = settings._replace(l2=settings.l2 * square, l1=settings.l1 * square)
    found = neighbours(ratings.by_user, ratings.by_item, **absolute._asdict(), **options)
    return dense(found, len(ratings.items))


def same(values: np.ndarray) -> np.ndarray:
    return values


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        SETTINGS._replace(l1=2.0),
        SETTINGS._replace(candidates=7, tolerance=1e-4),
    ],
)
def test_neighbours_are_the_native_ones(settings: Settings, judged: Engine) -> None:
    placed = judged.place(MANY)
    assert isinstance(placed, Linking)
    found = placed.neighbours(settings, same)
    assert (found.values > 0).all()
    np.testing.assert_allclose(dense(found, 300), native(MANY, settings), atol=2e-5)


@pytest.mark.parametrize("floats", [0, 300 * 200])
def test_the_same_entries_of_a_large_gram_matrix_count(floats: int, judged: Engine) -> None:
    from tastemix.engine.cuda import neighbours as on_card

    placed = judged.place(MANY)
    both = placed.halves["users"], placed.halves["items"]
    settings = SETTINGS._replace(l2_per_rating=1.0, tolerance=1e-9)
    found = on_card.neighbours(*both, settings, same, gram_floats=floats)
    expected = native(MANY, settings, gram_floats=floats)
    assert np.abs(expected - native(MANY, settings)).max() > 1e-3  # it matters
    np.testing.assert_allclose(dense(found, 300), expected, atol=1e-4)


def test_columns_of_the_gram_matrix_come_in_parts(
    judged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tastemix.engine.cuda import neighbours as on_card

    placed = judged.place(MANY)
    whole = placed.neighbours(SETTINGS._replace(candidates=50), same)
    monkeypatch.setattr(on_card, "_shared", lambda: 2 * (on_card.STATIC + 4 * 70))
    monkeypatch.setattr(on_card, "_fits", lambda items, room: True)
    parts = placed.neighbours(SETTINGS._replace(candidates=50), same)
    for name in ("pointers", "indices", "values"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_stars_are_those_of_the_scale(judged: Engine) -> None:
    half = MANY.by_user
    values = half.values * 5 - 7
    stretched = tm.Ratings.from_numbers(
        MANY.users, MANY.items, half.rows, half.indices, values, (-2, 18)
    )
    one = tm.Neighbours(candidates=20).fit(stretched, engine=judged)
    other = tm.Neighbours(candidates=20).fit(MANY, engine="cpu")
    weights = [dense(model.scores.links.by_target, 300) for model in (one, other)]
    np.testing.assert_allclose(*weights, atol=2e-5)
    assert in_stars(np.array([-2.0]), stretched.scale) == 1


@pytest.mark.parametrize(("n", "kind"), [(10, "any"), (256, "any"), (45, "few"), (10, "equal")])
def test_lists_are_the_native_ones(n: int, kind: str, judged: Engine) -> None:
    """Of few possible scores, of which many are equal, and the lower number comes first."""
    assert isinstance(judged, Searching)
    rng = np.random.default_rng(0)
    users = rng.integers(0, 3, (70, 2)).astype(np.float32)
    items = rng.integers(0, 4, (5000, 2)).astype(np.float32)
    if kind == "equal":
        users[:] = 1
        items[:] = 2
    pointers = np.arange(71, dtype=np.int64) * 4
    seen = np.concatenate([rng.choice(5000, 4, replace=False) for _ in range(70)]).astype(np.int32)
    allowed = (rng.random(5000) < (0.005 if kind == "few" else 0.8)).astype(np.uint8)
    left_out = Half(pointers, seen, np.empty(0, np.float32))
    found = judged.best(Scored(5000, users, items), left_out, allowed, n)
    scores = users @ items.T
    np.testing.assert_array_equal(
        found.items, scoring.best_items(scores, pointers, seen, allowed, n)
    )
    u, k = np.nonzero(found.items >= 0)
    np.testing.assert_array_equal(found.scores[u, k], scores[u, found.items[u, k]])


def test_everybody_gets_the_same_list_from_a_card(
    judged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tastemix.engine.cuda import lists as on_card

    model, everybody = tm.CNMF(4, steps=5).fit(MANY), list(range(2000))
    here = model.recommend(everybody, deny=[3, 4], engine="cpu")
    monkeypatch.setattr(lists, "MANY", 1)
    monkeypatch.setattr(on_card, "SCORES", 300 * 170)
    there = model.recommend(everybody, deny=[3, 4], engine=judged)
    assert there.schema == here.schema
    for name in ("user", "score", "rating"):
        a, b = (table[name].to_numpy().astype(float) for table in (here, there))
        np.testing.assert_allclose(a, b, rtol=1e-5)
    apart = here["item"].to_numpy() != there["item"].to_numpy()
    assert apart.mean() < 1e-3  # equal but for rounding


def test_words_are_those_of_numpy(judged: Engine) -> None:
    from tastemix.engine.cuda import draws as on_card

    found = on_card.words(7, 300_000, skip=12_345).get()
    np.testing.assert_array_equal(found, draws.words(7, 300_000, skip=12_345))
    np.testing.assert_array_equal(on_card.taken(10_000, 3, 0.2).get(), drawn(10_000, 3, 0.2))
    np.testing.assert_array_equal(on_card.taken(3, 0, 1e-9).get(), drawn(3, 0, 1e-9))


@pytest.mark.parametrize("offsets", [False, True])
def test_random_starts_are_those_of_the_processor(
    offsets: bool, judged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tastemix.engine.cuda import draws as on_card

    monkeypatch.setattr(on_card, "AT_ONCE", 1000)
    start = RandomStart(5, 9, offsets, 0.7, 0.3, 0.1)
    found = judged.place(MANY).open(start).factors()
    for one, other in zip(found, start.pair(2000, 300), strict=True):
        np.testing.assert_array_equal(one, other)
