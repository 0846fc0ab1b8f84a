"""Someone new: the others' means as long as little is known, the tastes from then on."""

from pathlib import Path

import numpy as np
import pytest

import tastemix as tm
from tastemix.engine import CpuEngine
from tastemix.model import fold_in
from tests.conftest import random_ratings

RATINGS = random_ratings(120, 60, 0.3)
MODEL = tm.CNMF(rank=4, steps=10, noise=0.6, choice_penalty=3.0).fit(RATINGS)
FADE, MEAN = 4.0, 5.0
OFFSET = {"users": 5.0, "items": 2.0}


def shrunk_means(side: str) -> np.ndarray:
    """Means of the rows of one side, drawn to what the usual row of the other predicts."""
    found = []
    for other in range(len(RATINGS.ids(side))):
        values = RATINGS.half(side).row(other)[1].astype(float)
        pair = (-1, other) if side == "items" else (other, -1)
        usual = MODEL.factors.pairs_or_average(*(np.array([at], np.int32) for at in pair))[0]
        found.append((values.sum() + MEAN * usual) / (len(values) + MEAN))
    return np.array(found)


def test_the_unknown_are_predicted_by_means() -> None:
    users, items = len(RATINGS.users), len(RATINGS.items)
    found = MODEL.predict([-1] * items, np.arange(items), clip=False)
    np.testing.assert_allclose(found, shrunk_means("items"), rtol=1e-5)
    found = MODEL.predict(np.arange(users), [-1] * users, clip=False)
    np.testing.assert_allclose(found, shrunk_means("users"), rtol=1e-5)


@pytest.mark.parametrize("side", ["users", "items"])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_new_rows_go_from_the_means_to_the_tastes(side: str, count: int) -> None:
    other = "items" if side == "users" else "users"
    given = {at: float(1 + (2 * at) % 5) for at in range(count)}
    ratings = fold_in.given(given, MODEL.population(other).ids, MODEL.scale)
    row = fold_in.rows(ratings.half(side), MODEL.factors, side, MODEL.phases, CpuEngine())[0]
    means, trust = shrunk_means(other), count / (count + FADE)
    offset = sum(value - means[at] for at, value in given.items()) / (count + OFFSET[side])
    by_tastes = MODEL.factors.side(other) @ row + MODEL.factors.shift
    expected = trust * by_tastes + (1 - trust) * (means + offset)
    new = MODEL.fold_in(given) if side == "users" else MODEL.fold_in_item(given)
    found = new.predict(np.arange(len(expected)), clip=False)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_parts_of_someone_new_add_up() -> None:
    person = MODEL.fold_in({0: 5.0, 1: 1.0})
    parts = person.explain(7)
    assert sum(parts["value"].to_pylist()) == pytest.approx(person.predict(7, clip=False), abs=1e-5)
    assert parts.num_rows == 1 + 4
    known = MODEL.tastes()["name"].to_pylist()
    assert set(parts["name"].to_pylist()[1:]) <= set(known)


def test_recommendations_are_made_of_the_tastes_of_the_ratings(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    for model in (MODEL, tm.load(tmp_path / "m")):
        assert model.tastes(of="score").equals(model.tastes(of="rating"))
        best = model.recommend(3, 5)
        assert best.equals(MODEL.recommend(3, 5))
        for item, score in zip(best["item"].to_pylist(), best["score"].to_pylist(), strict=True):
            parts = model.explain(3, item, of="score")
            assert sum(parts["value"].to_pylist()) == pytest.approx(score, rel=1e-5)
            assert min(parts["value"].to_pylist()) >= 0
    for derived in (MODEL.update(RATINGS, steps=1), MODEL.fold_in({0: 5.0}).model):
        assert derived.shares_tastes
