"""ANMF, the mean of several fits, and what the mean of products means for all that uses it."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

import tastemix as tm
from tastemix.engine.cpu import CpuEngine
from tastemix.engine.objective import Objective
from tastemix.engine.sides import Held, Pair
from tastemix.engine.start import drawn
from tastemix.errors import DataError, ParameterError
from tastemix.methods import blend, default_method
from tastemix.methods.anmf import RANKING_STEPS
from tastemix.methods.averaged import lasting
from tastemix.methods.validation import SEED, SHARE, Validation
from tastemix.model import explain, fold_in
from tastemix.model.factors import Head
from tastemix.model.links import Weights, stars_by_user
from tastemix.model.ordering import Ordering
from tastemix.training.phase import Phase
from tests.conftest import random_ratings

RATINGS = random_ratings(70, 40, 0.3)
METHOD = tm.ANMF(3, members=3, steps=8)
EVERY = np.divmod(np.arange(70 * 40), 40)


def planted(seed: int = 0, users: int = 120, items: int = 60) -> tm.Ratings:
    """Stars of two tastes and offsets, a third of them known."""
    rng = np.random.default_rng(seed)
    truth = rng.exponential(size=(users, 2)) @ rng.exponential(size=(2, items)) / 2
    truth += rng.normal(1, 0.5, (users, 1)) + rng.normal(1, 0.5, items)
    stars = (truth + rng.normal(0, 0.5, truth.shape)).round().clip(1, 5)
    rows, columns = np.nonzero(rng.random(stars.shape) < 1 / 3)
    return tm.Ratings.from_arrays(rows, columns, stars[rows, columns], scale=(1, 5))


def judged(model: tm.Model, ratings: tm.Ratings) -> float:
    half = ratings.by_user
    pairs = ratings.users.take(half.rows), ratings.items.take(half.indices)
    return float(np.sqrt(np.mean((model.predict(*pairs) - half.values) ** 2)))


def by_itself(method: tm.ANMF, seed: int, ratings: tm.Ratings, **options: object) -> tm.Factors:
    """A member, fitted alone. The first one did a third of its steps on the learning part."""
    recipe = dataclasses.replace(method.recipe((1, 5)), seed=seed)
    if seed > 0:
        return recipe.fit(ratings, **options).factors
    learning = ratings.subset(~drawn(len(ratings), SEED, SHARE))
    begun = lasting(recipe, method.steps // 3).fit(learning).factors
    rest = lasting(recipe, method.steps - method.steps // 3)
    return rest.fit(ratings, start=(begun.users, begun.items), **options).factors


def same_but_for_the_order(one: tm.Factors, other: tm.Factors) -> bool:
    """Bit for bit the same tastes and offsets, wherever they are."""
    columns = [sorted(map(tuple, np.vstack([f.users, f.items]).T)) for f in (one, other)]
    return columns[0] == columns[1]


@pytest.fixture(scope="module")
def model() -> tm.Model:
    return METHOD.fit(RATINGS)


# The mean of products


def test_the_mean_of_factors_predicts_the_mean_of_their_predictions() -> None:
    rng = np.random.default_rng(0)
    held = Held(users=(3,), items=(1, 2))
    members = [
        tm.Factors(rng.random((20, 4), np.float32), rng.random((15, 4), np.float32), -1.5, held)
        for _ in range(5)
    ]
    mean = tm.Factors.mean(members)
    user, item = (rng.integers(0, n, 50).astype(np.int32) for n in (20, 15))
    expected = np.mean([member.pairs(user, item) for member in members], axis=0)
    np.testing.assert_allclose(mean.pairs(user, item), expected, rtol=1e-12)
    expected = np.mean([member.block(user) for member in members], axis=0)
    np.testing.assert_allclose(mean.block(user), expected, rtol=1e-5)
    for member, again in zip(members, mean.parts, strict=True):
        np.testing.assert_array_equal(again.users, member.users)
        np.testing.assert_array_equal(again.items, member.items)
        assert (again.shift, again.held, again.members) == (-1.5, held, 1)


def test_the_members_are_fits_of_their_own_seeds(model: tm.Model) -> None:
    recipe = METHOD.recipe((1, 5))
    members = model.factors.parts
    for seed, member in enumerate(members):
        assert same_but_for_the_order(member, by_itself(METHOD, seed, RATINGS))
    assert np.abs(members[0].users - members[1].users).max() > 0.1
    assert recipe.offsets
    assert recipe.phases == (Phase(Objective(l2=3.0, l2_per_rating=0.035, centre="average"), 8),)


def test_the_members_have_like_tastes_in_like_places() -> None:
    members = tm.ANMF(2, members=4).fit(planted()).factors.parts
    for other in members[1:]:
        rows = np.vstack([members[0].items[:, :2].T, other.items[:, :2].T])
        like = np.corrcoef(rows)[:2, 2:]
        assert np.trace(like) > np.trace(like[::-1])
    rng = np.random.default_rng(0)
    first = members[0]
    for order in (rng.permutation(2) for _ in range(4)):
        moved = [*order, 2, 3]  # the offsets stay
        other = dataclasses.replace(first, users=first.users[:, moved], items=first.items[:, moved])
        again = explain.aligned(first, other)
        np.testing.assert_array_equal(again.users, first.users)
        np.testing.assert_array_equal(again.items, first.items)


def test_a_taste_of_the_average_is_the_mean_of_the_members_tastes(model: tm.Model) -> None:
    members = model.factors.parts
    counts = RATINGS.by_item.counts
    means = [f.users[:, :3].mean(axis=0, dtype=float) for f in members]
    sizes = [np.average(f.items[:, :3], axis=0, weights=counts) for f in members]
    adds = np.mean(np.multiply(means, sizes), axis=0)
    pairs = zip(means, members, strict=True)
    weight = np.mean([mean * f.items[:, :3] for mean, f in pairs], axis=0)
    order = np.argsort(-adds)
    for row in model.explain(5, 9).to_pylist()[1:]:
        r = order[int(row["part"].removeprefix("taste ")) - 1]
        users, items = (
            [float(rows[at, r]) for rows in side]
            for side, at in (([f.users for f in members], 5), ([f.items for f in members], 9))
        )
        own = np.mean([w * size[r] for w, size in zip(users, sizes, strict=True)])
        assert row["user_weight"] == pytest.approx(own / adds[r])
        assert row["value"] == pytest.approx(np.mean(np.multiply(users, items)))
        assert row["value"] == pytest.approx(row["user_weight"] * row["item_weight"], rel=1e-12)
    for row in model.tastes(4).to_pylist():
        r = order[row["taste"] - 1]
        assert row["weight"] == pytest.approx(weight[row["item"], r], rel=1e-6)
    assert len(model.tastes(4)) == 3 * 4


def test_what_is_recommended_are_the_members_of_another_objective(model: tm.Model) -> None:
    objective = Objective(prior=1.0, weight=0.15, l2_per_rating=0.1)
    recipes = [tm.ANLS(9, [Phase(objective, RANKING_STEPS)], seed) for seed in (0, 1)]
    found = [recipe.fit(RATINGS).factors.block(np.arange(70, dtype=np.int32)) for recipe in recipes]
    assert model.ranking is not None
    everyone = model.ranking.factors.block(np.arange(70, dtype=np.int32))
    np.testing.assert_allclose(everyone, np.mean(found, axis=0), rtol=1e-5)


@pytest.mark.parametrize(
    "weights", [(2.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, 0.5), (2, 3, 0.5)]
)
def test_the_order_is_that_of_tastes_rated_items_and_popularity(
    model: tm.Model, weights: tuple[float, float, float]
) -> None:
    head = model.ranking
    assert head is not None
    model = dataclasses.replace(model, ranking=dataclasses.replace(head, weights=Weights(*weights)))
    stars, links = np.zeros((70, 40)), np.zeros((40, 40))
    half, linked = RATINGS.by_user, tm.Neighbours().links(RATINGS).by_target
    stars[half.rows, half.indices] = half.values
    links[linked.rows, linked.indices] = linked.values
    tastes = head.factors.users.astype(float) @ head.factors.items.T / 2
    expected = weights[0] * tastes + weights[1] * stars @ links.T + weights[2] * stars.sum(axis=0)
    unrated = np.flatnonzero(stars[7] == 0)
    best = unrated[np.argsort(-expected[7, unrated], kind="stable")[:5]]
    table = model.recommend(7, 5)
    assert table["item"].to_pylist() == best.tolist()
    np.testing.assert_allclose(table["score"], expected[7, best], rtol=1e-5)
    person = model.fold_in(dict(zip(*(part.tolist() for part in half.row(7)), strict=True)))
    folded = fold_in.folded(head, person.model.ratings.by_user, "users")
    tastes = folded.users.astype(float) @ folded.items.T / 2
    expected[7] += weights[0] * (tastes[0] - head.factors.users[7] @ head.factors.items.T / 2)
    best = unrated[np.argsort(-expected[7, unrated], kind="stable")[:5]]
    assert person.recommend(5)["item"].to_pylist() == best.tolist()


def liked_together() -> tm.Ratings:
    """Everyone likes five of the six items of a group of their own; all items as often."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(300), 5)
    item = np.concatenate([6 * (u % 10) + rng.choice(6, 5, replace=False) for u in range(300)])
    return tm.Ratings.from_arrays(user, item, np.full(len(user), 5.0), scale=(1, 5))


def popular_alone() -> tm.Ratings:
    """Items are liked by chance, some more often than others."""
    rng = np.random.default_rng(1)
    often = 1 / (1 + np.arange(60.0))
    chosen = [rng.choice(60, 6, replace=False, p=often / often.sum()) for _ in range(400)]
    user, item = np.repeat(np.arange(400), 6), np.concatenate(chosen)
    return tm.Ratings.from_arrays(user, item, rng.integers(3, 6, len(user)), scale=(1, 5))


def test_popularity_counts_where_nothing_else_tells_what_people_like() -> None:
    method = dataclasses.replace(METHOD, members=1, steps=1)
    together, alone = (
        method.fit(ratings).ranking for ratings in (liked_together(), popular_alone())
    )
    assert together.weights.popularity == 0
    assert together.weights.rated > 0
    assert alone.weights.popularity > 0


@pytest.mark.parametrize("weights", [(0.5, 1.0, 0.0), (0.0, 1.0, 0.3), (1.0, 1.0, 3.0)])
def test_trial_lists_are_those_of_the_whole_catalogue(weights: tuple[float, float, float]) -> None:
    ratings = random_ratings(90, 150, 0.15, seed=6)
    validation = Validation(ratings)
    learning = validation.learning
    factors = METHOD.fit(learning).ranking.factors
    links = tm.Neighbours().links(learning)
    parts = blend._Parts(learning, factors, links)
    absolute = parts.absolute(Weights(*weights))
    whole = Ordering(factors, links, stars_by_user(learning), parts.popularity, absolute)
    found = blend._Tried(validation, parts).hits(Weights(*weights))
    assert found == validation.hits(whole) > 0
    spread = absolute.rated * parts.rated.block(np.arange(90, dtype=np.int32))
    assert spread.std() == pytest.approx(weights[1], rel=0.1)


def test_half_of_the_weight_that_tastes_had_in_trials_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blend, "_best", lambda tried: Weights(1.0, 1.0, 0.3))
    head = METHOD.fit(RATINGS).ranking
    parts = blend._Parts(RATINGS, head.factors, head.links)
    assert head.weights == pytest.approx(parts.absolute(Weights(0.5, 1.0, 0.3)), rel=1e-3)


def test_the_weights_follow_a_stretched_scale() -> None:
    half = RATINGS.by_user
    longer = tm.Ratings.from_numbers(
        RATINGS.users, RATINGS.items, half.rows, half.indices, half.values * 10 - 40, (-30, 10)
    )
    one, other = (METHOD.fit(ratings).ranking for ratings in (RATINGS, longer))
    assert other.weights.rated == pytest.approx(one.weights.rated, rel=1e-4)
    assert other.weights.popularity == pytest.approx(one.weights.popularity, rel=1e-4)
    # The tastes start at random from the same numbers, however long the scale is.
    assert 10 * other.weights.tastes == pytest.approx(one.weights.tastes, rel=0.1)


def test_an_update_keeps_the_links_of_the_items_there_were(model: tm.Model) -> None:
    new = tm.Ratings.from_arrays([0, 1], [-5, -5], [5, 4])  # before all the others
    updated = model.update(new, steps=0)
    before, after = model.ranking.links.by_target, updated.ranking.links.by_target
    np.testing.assert_array_equal(after.indices, before.indices + 1)
    np.testing.assert_array_equal(after.rows, before.rows + 1)
    np.testing.assert_array_equal(after.values, before.values)
    assert updated.recommend(5).num_rows == 10


def test_without_a_ranking_the_prediction_orders() -> None:
    model = dataclasses.replace(METHOD, ranking=0).fit(RATINGS)
    assert model.ranking is None
    table = model.recommend(7, 40, seen=[])
    items = table["item"].to_pylist()
    raw = model.predict([7] * 40, items, clip=False, fallback=None)
    np.testing.assert_array_equal(table["score"], raw)
    assert (np.diff(raw) <= 0).all()


def test_an_explanation_is_a_sum_of_nonnegative_parts(model: tm.Model) -> None:
    scores = {
        (user, row["item"]): row["score"]
        for user in range(5)
        for row in model.recommend(user, 40, seen=[]).to_pylist()
    }
    assert len(scores) == 5 * 40
    for (user, item), score in scores.items():
        raw = model.predict([user], [item], clip=False, fallback=None)[0]
        for of, whole, tastes in (("rating", raw, 3), ("score", score, 9)):
            parts = model.explain(user, item, of=of)
            values = parts["value"].to_pylist()
            assert min(values) >= 0
            assert sum(values) == pytest.approx(whole, abs=1e-6)
            kinds = [part.split()[0] for part in parts["part"].to_pylist()]
            assert kinds.count("taste") == tastes
            assert set(kinds) <= {"baseline", "taste", "rated", "popularity"}
            assert of == "rating" or values == sorted(values, reverse=True)
    with pytest.raises(ParameterError, match="of is 'rank': choose 'rating' or 'score'"):
        model.explain(0, 0, of="rank")


def test_a_seed_decides_every_bit(model: tm.Model) -> None:
    again, other = METHOD.fit(RATINGS), dataclasses.replace(METHOD, seed=1).fit(RATINGS)
    expected = model.predict(*EVERY, return_std=True)
    np.testing.assert_array_equal(again.predict(*EVERY, return_std=True), expected)
    assert again.recommend(7).equals(model.recommend(7))
    assert np.abs(other.predict(*EVERY) - expected[0]).max() > 0.01
    assert not other.recommend(7).equals(model.recommend(7))
    for ours, theirs in itertools.product(model.factors.parts, other.factors.parts):
        assert not same_but_for_the_order(ours, theirs)


def test_the_average_is_better_than_its_members() -> None:
    train, test = tm.holdout(planted())
    model = tm.ANMF(8, members=6, l2=1.0).fit(train)
    singles = [judged(dataclasses.replace(model, scores=f), test) for f in model.factors.parts]
    assert judged(model, test) < min(singles)
    assert judged(model, test) < judged(tm.Baseline().fit(train), test)


# The average row


def test_someone_without_ratings_is_average(model: tm.Model) -> None:
    """User 3 and item 4 have none; a row's centre is the average before the last half-step."""
    objective = model.phases[0].objective
    longer = dataclasses.replace(METHOD, steps=60).fit(RATINGS)
    for member in longer.factors.parts:
        for rows, empty in ((member.users, 3), (member.items, 4)):
            others = np.delete(rows, empty, axis=0).mean(axis=0)
            np.testing.assert_allclose(rows[empty], others, atol=0.01 * others.max())
        session = CpuEngine().place(RATINGS).open(Pair(member.users, member.items), member.held)
        session.half_step("users", objective, 0.0)
        expected = member.users.mean(axis=0)
        np.testing.assert_allclose(session.factors().users[3], expected, rtol=1e-5)


def test_an_unknown_id_is_taken_for_an_average_one(model: tm.Model) -> None:
    """A product of averages is an average of products."""
    table = np.mean([f.users @ f.items.T for f in model.factors.parts], axis=0)
    raw = model.predict([99, 5, 99], [7, 99, 99], clip=False)
    np.testing.assert_allclose(raw, [table[:, 7].mean(), table[5].mean(), table.mean()], rtol=1e-5)
    np.testing.assert_array_equal(model.predict([99], [7]), raw[:1].clip(1, 5))
    assert np.isnan(model.predict([99, 5], [7, 99], clip=False, fallback=None)).all()


def by_hand(member: tm.Factors, items: list[int], stars: list[float]) -> np.ndarray:
    """A new user's row by scipy: half the squares of the errors and of the penalty."""
    free, rows = 4, member.items[items].astype(float)
    average = member.users.mean(axis=0).astype(float)
    a = np.array(stars) - rows[:, free]  # their entry is held at one
    design = [rows[:, :free], 3**0.5 * np.eye(free), (0.035 * len(items)) ** 0.5 * np.eye(free)]
    target = [a, 3**0.5 * average[:free], np.zeros(free)]
    row, _ = nnls(np.vstack(design), np.hstack(target))
    return np.append(row, 1.0)


@pytest.mark.parametrize("given", [{7: 5}, {0: 1, 1: 5, 2: 4, 9: 3, 17: 1, 33: 2}])
def test_a_new_row_solves_its_problem_in_every_member(
    model: tm.Model, given: dict[int, float]
) -> None:
    person = model.fold_in(given)
    assert person.model.factors.members == 3
    for folded, member in zip(person.model.factors.parts, model.factors.parts, strict=True):
        expected = by_hand(member, list(given), list(given.values()))
        np.testing.assert_allclose(folded.users[0], expected, atol=1e-4)


def test_a_new_person_is_predicted_by_the_mean_of_the_members(model: tm.Model) -> None:
    given = {0: 1, 1: 5, 2: 4}
    person, items = model.fold_in(given), list(range(40))
    alone = [
        dataclasses.replace(model, scores=member, ranking=None).fold_in(given)
        for member in model.factors.parts
    ]
    raw = {"clip": False, "fallback": None}
    expected = np.mean([one.predict(items, **raw) for one in alone], axis=0)
    np.testing.assert_allclose(person.predict(items, **raw), expected, rtol=1e-6)
    new = model.fold_in_item(given)
    alone = [
        dataclasses.replace(model, scores=member, ranking=None).fold_in_item(given)
        for member in model.factors.parts
    ]
    expected = np.mean([one.predict(list(range(70)), **raw) for one in alone], axis=0)
    np.testing.assert_allclose(new.predict(list(range(70)), **raw), expected, rtol=1e-6)


def test_who_gave_one_rating_is_nearly_average(model: tm.Model) -> None:
    average = model.factors.users.mean(axis=0)
    usual = np.linalg.norm(model.factors.users - average, axis=1).mean()

    def off(given: dict[int, float]) -> float:
        return float(np.linalg.norm(model.fold_in(given).model.factors.users[0] - average))

    expected = model.predict(list(range(70)), [7] * 70, clip=False).mean()
    assert off({7: expected}) < 0.1 * usual  # it tells nothing new
    for stars in (1, 5):
        assert 0.1 * usual < off({7: stars}) < off(dict.fromkeys(range(5, 15), stars))


def test_a_comparison_judges_the_catalogue_by_what_is_recommended() -> None:
    train, test = split = tm.holdout(planted())
    results = tm.cross_validate([METHOD], planted(), [split], catalogue=True)
    model = METHOD.fit(train)
    liked: dict[int, set[int]] = {}
    for row in test.to_table().to_pylist():
        if row["rating"] >= 4:
            liked.setdefault(row["user"], set()).add(row["item"])
    hits = [
        len(items & set(model.recommend(user, 10)["item"].to_pylist()))
        for user, items in liked.items()
    ]
    found = results.values("ANMF", "catalogue_precision_at_10")
    assert found[0] == pytest.approx(np.mean(hits) / 10)


# Updates


def test_an_update_goes_on_in_every_member() -> None:
    split = tm.holdout(planted())
    before = tm.ANMF(3, members=3, steps=8).fit(split.train)
    after = before.update(split.test, steps=4)
    assert after.factors.members == 3
    assert after.ranking is not None
    assert after.ranking.factors.members == 2
    assert judged(after, split.test) < judged(before, split.test) - 0.05
    assert [step.number for step in after.history] == list(range(1, 3 * 8 + 3 * 4 + 1))
    both = after.ratings
    assert both is not None
    phases = [dataclasses.replace(before.phases[0], steps=4)]
    for old, new in zip(before.factors.parts, after.factors.parts, strict=True):
        recipe = tm.ANLS(3, phases, offsets=True)
        warm = recipe.fit(both, start=(old.users, old.items)).factors
        np.testing.assert_array_equal(new.users, warm.users)
        np.testing.assert_array_equal(new.items, warm.items)


def test_an_update_takes_new_people_and_keeps_the_errors() -> None:
    before = METHOD.fit(RATINGS)
    new = tm.Ratings.from_arrays([70, 70, 5], [0, 40, 0], [5, 4, 1], scale=(1, 5))
    after = before.update(new, steps=2)
    assert (len(after.users.ids), len(after.items.ids)) == (71, 41)
    assert before.noise is not None
    assert after.noise is not None
    np.testing.assert_array_equal(after.noise.users, [*before.noise.users, 0.0])
    np.testing.assert_array_equal(after.noise.items, [*before.noise.items, 0.0])
    assert np.isfinite(after.predict([70, 5], [40, 0], return_std=True)).all()
    assert len(after.recommend(70, 3)) == 3


# The fit


def test_history_and_steps_count_from_one() -> None:
    seen: list[int] = []
    model = METHOD.fit(RATINGS, on_step=lambda step, session: seen.append(step.number))
    assert METHOD.total_steps == 3 * 8 + 2 * RANKING_STEPS
    assert seen == list(range(1, METHOD.total_steps + 1))
    assert [step.number for step in model.history] == list(range(1, 3 * 8 + 1))
    for begin, end in ((0, 2), (2, 8), (8, 16), (16, 24)):  # the first begins on a part
        objectives = [step.objective for step in model.history[begin:end]]
        assert objectives == sorted(objectives, reverse=True)


def test_few_ratings_tell_no_steps_but_those_of_the_fit() -> None:
    few, seen = random_ratings(10, 8, 0.4, seed=0), []
    assert len(few) < 50
    method = tm.ANMF(2, members=1, steps=9, ranking=0)
    method.fit(few, on_step=lambda step, session: seen.append(step.number))
    assert seen == list(range(1, method.total_steps + 1))


def test_on_step_ends_the_member_that_is_fitted() -> None:
    model = METHOD.fit(RATINGS, on_step=lambda step, session: True)
    assert [step.number for step in model.history] == [1, 2, 3]
    assert model.factors.members == 3


def test_held_out_ratings_end_each_member_at_its_best() -> None:
    train, held_out = tm.holdout(RATINGS)  # pure noise: the first steps are the best
    method = tm.ANMF(6, members=2, steps=60, l2=0.1, l2_per_rating=0.0, ranking=0)
    model = method.fit(train, held_out=held_out, patience=2)
    assert len(model.history) < 30
    for seed, member in enumerate(model.factors.parts):
        alone = by_itself(method, seed, train, held_out=held_out, patience=2)
        assert same_but_for_the_order(member, alone)


@pytest.mark.parametrize("unit", [0.5, 2.0, 25.0])
def test_the_penalties_follow_the_scale(unit: float) -> None:
    """Not bit for bit: a penalty on offsets and the start know the unit."""
    ratings = planted()
    half = ratings.by_user
    other = tm.Ratings.from_arrays(
        half.rows, half.indices, unit * half.values, scale=(unit, 5 * unit)
    )
    objective = tm.ANMF().recipe(other.scale).phases[0].objective
    assert (objective.l2, objective.l2_per_rating) == pytest.approx((3 * unit, 0.035 * unit))
    errors = [
        judged(tm.ANMF(3).fit(split.train), split.test)
        for split in map(tm.holdout, (ratings, other))
    ]
    assert errors[1] / unit == pytest.approx(errors[0], rel=0.02)


def test_a_scale_below_zero_is_shifted_inside_and_back_outside() -> None:
    half = RATINGS.by_user
    zero = tm.Ratings.from_arrays(half.rows, half.indices, half.values - 1)
    below = tm.Ratings.from_arrays(half.rows, half.indices, half.values - 11)
    straight = METHOD.fit(zero).predict(half.rows, half.indices, return_std=True)
    shifted = METHOD.fit(below).predict(half.rows, half.indices, return_std=True)
    np.testing.assert_allclose(shifted[0] + 10, straight[0], atol=1e-4)
    np.testing.assert_allclose(shifted[1], straight[1], atol=1e-4)


@pytest.mark.parametrize("stars", [[3.0, 3.0, 3.0], [3.0]])
def test_equal_ratings_and_a_single_one_can_be_learnt(stars: list[float]) -> None:
    numbers = list(range(len(stars)))
    model = tm.fit(tm.Ratings.from_arrays(numbers, numbers, stars), feedback="explicit")
    prediction, std = model.predict(numbers, numbers, return_std=True)
    np.testing.assert_allclose(prediction, stars)
    assert np.isfinite(std).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": 0}, "members is 0: .* 1 or more"),
        ({"members": 2.5}, "members is 2.5: .* 1 or more"),
        ({"ranking": -1}, "ranking is -1: .* 0 or more"),
        ({"rank": 0}, "rank is 0: .* 1 or more"),
        ({"steps": -1}, "steps is -1: .* 0 or more"),
        ({"l2": -1}, "l2 is -1: it must be a number of 0 or more"),
        ({"seed": -1}, "seed is -1: it must be a whole number from 0"),
        ({"seed": "x"}, "seed is 'x': it must be a whole number"),
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_named(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        tm.ANMF(**options).fit(RATINGS)
    assert "\n" not in str(raised.value)


def test_numpy_numbers_are_numbers() -> None:
    method = tm.ANMF(np.int64(3), members=np.int64(3), steps=np.int64(8), ranking=np.int64(2))
    expected = METHOD.fit(RATINGS).predict(*EVERY)
    np.testing.assert_array_equal(method.fit(RATINGS).predict(*EVERY), expected)


def test_nothing_can_be_learnt_from_nothing() -> None:
    empty = RATINGS.subset(np.array([], int))
    with pytest.raises(DataError, match="there are no ratings to learn from"):
        METHOD.fit(empty)
    with pytest.raises(DataError, match="there are no ratings to learn from"):
        tm.fit(empty)


# The default


@pytest.mark.parametrize(
    ("count", "rows", "expected"),
    [
        (400, 80, tm.ANMF(4, l2=1.26)),
        (90_000, 3_000, tm.ANMF(15)),
        (200_000, 50_000, tm.ANMF(22, l2=1.13)),
        (1_000_000, 9_700, tm.ANMF(22)),
        (9_000_000, 90_000, tm.ANMF(22)),
    ],
)
def test_anmf_has_more_tastes_for_more_ratings_and_trusts_short_rows_more(
    count: int, rows: int, expected: tm.ANMF
) -> None:
    class Many:
        users, items = range(rows // 4), range(rows - rows // 4)

        def __len__(self) -> int:
            return count

    assert tm.ANMF().tuned_for(Many()) == expected


def test_the_default_finds_planted_tastes_in_a_few_hundred_ratings() -> None:
    """Of the page's own example: 259 ratings by 24 people, made of three tastes."""
    ratings = tm.read(Path(__file__).parents[2] / "docs" / "ratings.csv")
    found = tm.cross_validate([default_method(), tm.Baseline()], ratings, 5).summary()
    rmse = dict(zip(found["method"].to_pylist(), found["rmse"].to_pylist(), strict=True))
    assert rmse["CNMF"] < 0.8
    assert rmse["Baseline"] > 1.2


def test_fit_needs_no_choice_of_method() -> None:
    model = tm.fit(RATINGS, on_step=lambda step, session: step.number == 20)
    assert model.method == "CNMF"
    assert model.factors.members == 1
    assert [step.number for step in model.history] == list(range(1, 20 + 1))


def test_a_single_member_is_a_model_of_its_own() -> None:
    model = tm.ANMF(3, members=1, steps=8, ranking=1).fit(RATINGS)
    alone = by_itself(METHOD, 0, RATINGS)
    np.testing.assert_array_equal(model.factors.users, alone.users)
    given = fold_in.folded(Head(alone, model.phases), RATINGS.by_user, "users")
    again = fold_in.folded(Head(model.factors, model.phases), RATINGS.by_user, "users")
    np.testing.assert_array_equal(again.users, given.users)


def test_the_largest_seed_fits() -> None:
    """Members have seeds of their own; none of them leaves the range."""
    assert (
        tm.ANMF(2, members=3, steps=1, ranking=0, seed=2**63 - 1).fit(RATINGS).factors.members == 3
    )


@pytest.mark.parametrize("wrong", [{"members": True}, {"rank": -3}, {"steps": 1.5}])
def test_wrong_parameters_make_no_method(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} is"):
        tm.ANMF(**wrong)
