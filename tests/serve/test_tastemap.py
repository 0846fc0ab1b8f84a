"""Where tastes and items lie on the map."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.serve import tastemap


def around(alike: np.ndarray, tour: list[int]) -> float:
    """How alike neighbours are, once around."""
    return sum(alike[a, b] for a, b in zip(tour, [*tour[1:], tour[0]], strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_on_the_circle_are_nearly_as_alike_as_can_be(seed: int) -> None:
    draw = np.random.default_rng(seed).random((7, 7))
    alike = (draw + draw.T) / 2
    tour = np.argsort(tastemap.turns(alike)).tolist()
    assert tour[0] == 0
    best = max(around(alike, [0, *rest]) for rest in permutations(range(1, 7)))
    assert around(alike, tour) >= 0.9 * best


def test_tastes_that_form_a_ring_are_found_in_its_order() -> None:
    ring = [0, 3, 1, 5, 2, 4]
    alike = np.zeros((6, 6))
    for a, b in zip(ring, [*ring[1:], 0], strict=True):
        alike[a, b] = alike[b, a] = 0.5
    tour = np.argsort(tastemap.turns(alike)).tolist()
    assert tour in (ring, [0, *ring[:0:-1]])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_tastes_have_places(count: int) -> None:
    found = tastemap.places(np.eye(count))
    assert found.shape == (count, 2)
    assert np.linalg.norm(found - 0.5, axis=1) == pytest.approx(0.5)
    assert len({tuple(place) for place in found.round(6).tolist()}) == count


def test_items_lie_within_towards_the_taste_they_have_most_of() -> None:
    tastes = tm.CNMF(6).fit(demo.ratings()).tastes_of("rating")
    where = tastemap.places(tastemap.similarities(tastes))
    found, main = tastemap.points(tastes, np.arange(240, dtype=np.int32), where)
    far = np.linalg.norm(found - 0.5, axis=1)
    assert far.max() <= 0.5
    assert np.mean(far < 0.25) == pytest.approx(0.25, abs=0.05)  # as much as the area there
    directions = (found - 0.5) / far[:, None]
    nearest = np.argmax(directions @ (where - 0.5).T, axis=1)
    pure = far > 0.4
    assert np.mean(nearest[pure] == main[pure]) > 0.95
    assert np.mean(nearest == main) > 0.7
