"""ANMF: the mean of several fits with offsets and penalties that grow with the row.

docs/beyond-the-paper.md has the alternatives that were tried, with figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tastemix import checks
from tastemix.data.ratings import Duplicates, Ratings, Scale, as_ratings
from tastemix.engine.base import Engine, Placed, Session
from tastemix.engine.objective import Objective
from tastemix.errors import DataError
from tastemix.methods.recipe import ANLS, placed_by, trained
from tastemix.model import explain, uncertainty
from tastemix.model.factors import Factors, Head
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training.early_stop import part_of
from tastemix.training.loop import OnStep, Step
from tastemix.training.phase import Phase

RANKING_RANK = 62
RANKING_STEPS = 10
RANKING_WEIGHT = 0.15
RANKING_L2_PER_RATING = 0.1
LEAST_RANK, MOST_RANK = 4, 22


@dataclass(frozen=True)
class ANMF:
    """Averaged NMF: the mean of `members` factorisations with offsets, which is what `tm.fit` uses.

    A member predicts p_u + q_i + w_u·h_i. Its L2 penalty pulls every row towards the average row of
    its side, and towards zero the more ratings the row has. Members differ in their initial
    factors; averaging reduces their individual errors. The tastes of the members are matched, and
    shown as one set of tastes.

    `recommend` uses the mean of `ranking` further factorisations, with more tastes, which take an
    unknown rating as weak evidence of dislike. With ranking=0 it uses the predictions.

    The penalties are those for a scale from 1 to 5, and are scaled with the length of the scale.
    """

    rank: int = MOST_RANK
    members: int = 8
    steps: int = 20
    l2: float = 3.0
    l2_per_rating: float = 0.035
    ranking: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rank", 1), ("members", 1), ("ranking", 0)):
            checks.whole(name, getattr(self, name), least)
        checks.seed(self.seed)
        self.recipe((1.0, 5.0))

    def recipe(self, scale: Scale) -> ANLS:
        """One member; the others differ in their seeds."""
        unit = _unit(scale)
        penalty = Objective(
            l2=self.l2 * unit, l2_per_rating=self.l2_per_rating * unit, centre="average"
        )
        return ANLS(self.rank, [Phase(penalty, self.steps)], self.seed, offsets=True)

    def ranking_recipe(self, scale: Scale) -> ANLS:
        """One member of what `recommend` orders by."""
        objective = Objective(
            prior=scale[0],
            weight=RANKING_WEIGHT,
            l2_per_rating=RANKING_L2_PER_RATING * _unit(scale),
        )
        rank = min(3 * self.rank, RANKING_RANK)
        return ANLS(rank, [Phase(objective, RANKING_STEPS)], self.seed)

    def tuned_for(self, ratings: Ratings) -> ANMF:
        """With a rank and λ₂ for these ratings: √ratings / 20 tastes per member, from 4 to 22.

        Where rows are short λ₂ is smaller, √(ratings per row) / 2.5, so that it does not outweigh
        the ratings of a row.
        """
        rank = min(max(round(len(ratings) ** 0.5 / 20), LEAST_RANK), MOST_RANK)
        a_row = 2 * len(ratings) / (len(ratings.users) + len(ratings.items))
        return replace(self, rank=rank, l2=min(ANMF.l2, round(a_row**0.5 / 2.5, 2)))

    @property
    def total_steps(self) -> int:
        """The steps of a whole fit: members, ranking, and a trial fit for the uncertainty."""
        return self.members * self.steps + (self.steps + 1) // 2 + self.ranking * RANKING_STEPS

    def fit(
        self,
        ratings: Ratings,
        *,
        held_out: Ratings | None = None,
        patience: int = 5,
        on_step: OnStep | None = None,
        engine: Engine | str | None = None,
    ) -> Model:
        """Fit to ratings; see `MIXD.fit` for the options.

        held_out stops each member separately. on_step counts the steps of all members; True ends
        the member that is being fitted.
        """
        if len(ratings) == 0:
            raise DataError(NOTHING_TO_LEARN)
        watch = None if on_step is None else _Counter(on_step)
        recipe, ordering = self.recipe(ratings.scale), self.ranking_recipe(ratings.scale)
        with placed_by(engine, ratings) as placed:
            part = None if held_out is None else part_of(placed, ratings, held_out)
            fits = _Fits(placed, ratings.shift, watch)
            scores, history = fits.mean(recipe, self.members, part, patience)
            ranking = None
            if self.ranking:
                found, _ = fits.mean(ordering, self.ranking)
                ranking = Head(found, tuple(ordering.phases))
            half = [replace(phase, steps=(phase.steps + 1) // 2) for phase in recipe.phases]
            trial = replace(recipe, phases=half)
            errors = uncertainty.estimate(
                placed,
                scores,
                ratings.scale,
                lambda seen: _Fits(seen, ratings.shift, watch).one(trial)[0],
            )
        phases = tuple(recipe.phases)
        return Model.of(
            *(self, scores, ratings, phases, tuple(history), ranking, errors), unknown="average"
        )


@dataclass(frozen=True)
class _Fits:
    """Fits of several recipes to ratings that were placed once."""

    placed: Placed
    shift: float
    watch: OnStep | None

    def one(self, recipe: ANLS, part: Any = None, patience: int = 5) -> tuple[Factors, list[Step]]:
        """The factors of one fit, and its steps."""
        session = self.placed.open(recipe.start)
        history = trained(session, recipe, part, patience, self.watch)
        return Factors.of(session, self.shift, recipe.start.held), history

    def mean(
        self, recipe: ANLS, count: int, part: Any = None, patience: int = 5
    ) -> tuple[Factors, list[Step]]:
        """The mean of fits from different seeds, with their tastes matched, and all their steps."""
        members: list[Factors] = []
        history: list[Step] = []
        for number in range(count):
            seed = (int(recipe.seed) * int(count) + number) % checks.SEEDS
            factors, steps = self.one(replace(recipe, seed=seed), part, patience)
            members.append(explain.aligned(members[0], factors) if members else factors)
            history += [replace(step, number=len(history) + at) for at, step in enumerate(steps, 1)]
        return Factors.mean(members), history


class _Counter:
    """Numbers the steps of several fits consecutively."""

    def __init__(self, on_step: OnStep) -> None:
        self.on_step, self.done = on_step, 0

    def __call__(self, step: Step, session: Session) -> bool | None:
        self.done += 1
        return self.on_step(replace(step, number=self.done), session)


def default(ratings: Ratings) -> ANMF:
    """The method `fit` uses."""
    return ANMF().tuned_for(ratings)


def fit(
    data: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    scale: Scale | None = None,
    duplicates: Duplicates | None = None,
    **options: Any,
) -> Model:
    """Fit ANMF with settings that suit the ratings; see `ANMF.fit` for further options.

    data: ratings, or a table, a path or a sparse matrix to read them from.
    user, item, rating, scale, duplicates: how to read it, as in `Ratings.from_table`.
    """
    ratings = as_ratings(
        data, user=user, item=item, rating=rating, scale=scale, duplicates=duplicates
    )
    return default(ratings).fit(ratings, **options)


def _unit(scale: Scale) -> float:
    """The length of the scale, relative to one from 1 to 5."""
    low, high = scale
    return (high - low) / 4 if high > low else 1.0
