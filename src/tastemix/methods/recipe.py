"""What a method is, and how its phases are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tastemix import checks
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine import placed_by
from tastemix.engine.base import Engine, Session
from tastemix.engine.sides import MOST_ENTRY, SIDES, Held, Pair, bounded
from tastemix.engine.start import RandomStart, Start, with_offsets
from tastemix.errors import ParameterError
from tastemix.model.factors import Factors
from tastemix.model.fold_in import takes_average
from tastemix.model.model import Model, Unknown
from tastemix.training import loop
from tastemix.training.early_stop import EarlyStop, part_of
from tastemix.training.loop import OnStep, Step
from tastemix.training.phase import Phase

ANY_SCALE = (1.0, 5.0)
"""To look at a recipe without ratings: no parameter is right on one scale and wrong on another."""


class Method(Protocol):
    """An object that fits a model to ratings."""

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """The model fitted to these ratings."""
        ...


@runtime_checkable
class Stepwise(Protocol):
    """A method that is fitted in a known number of steps."""

    @property
    def total_steps(self) -> int:
        """The number of steps of a fit that is not stopped early."""
        ...

    def fit(
        self,
        ratings: Ratings,
        *,
        on_step: OnStep | None = None,
        engine: Engine | str | None = None,
    ) -> Model:
        """The model fitted to these ratings; on_step is called after every step."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A method that can adapt its settings to ratings."""

    def tuned_for(self, ratings: Ratings) -> Method:
        """The method with settings that suit these ratings."""
        ...


class Phased:
    """What every method that is a sequence of phases does: check its parameters, count, fit."""

    def recipe(self, scale: Scale) -> ANLS:
        """The phases, for ratings of this scale."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        self.recipe(ANY_SCALE)

    @property
    def total_steps(self) -> int:
        """The number of steps of a fit that is not stopped early."""
        return sum(phase.steps for phase in self.recipe(ANY_SCALE).phases)

    def fit(
        self,
        ratings: Ratings,
        *,
        start: Pair | None = None,
        held_out: Ratings | None = None,
        patience: int = 5,
        on_step: OnStep | None = None,
        engine: Engine | str | None = None,
    ) -> Model:
        """Fit to ratings.

        start: initial factors, instead of random ones (a warm start).
        held_out: ratings over the same ids. Stop when their RMSE has not improved for `patience`
            steps of the last phase, and keep the factors of the best step.
        on_step: called with each Step and the session; return True to stop.
        engine: where the work is done: "cpu", "cuda", "dask", "reference" or an engine object; by
            default the one named by TASTEMIX_ENGINE, or "cpu".
        """
        recipe = self.recipe(ratings.scale)
        first, held = _opening(recipe, ratings, start)
        with placed_by(engine, ratings) as placed:
            part = None if held_out is None else part_of(placed, ratings, held_out)
            shift = recipe.counted_from(ratings)
            session = placed.open(first, held, shift=shift)
            history = trained(session, recipe, part, patience, on_step)
            factors = Factors.of(session, shift, held)
        del session, placed, part  # they hold as much as the factors
        unknown: Unknown = "average" if takes_average(recipe.phases) else "mean"
        return Model.of(
            self, factors, ratings, tuple(recipe.phases), tuple(history), unknown=unknown
        )


def trained(
    session: Session,
    recipe: ANLS,
    part: Any = None,
    patience: int = 5,
    on_step: OnStep | None = None,
) -> list[Step]:
    """Run the phases of a recipe on a session; with a part, keep the factors of the best step."""
    stop = None if part is None else EarlyStop(part, recipe.phases, patience)

    def watch(step: Step, session: Session) -> bool:
        ended = on_step is not None and bool(on_step(step, session))
        return (stop is not None and stop(step, session)) or ended

    history = loop.run(session, recipe.phases, watch)
    if stop is not None:
        stop.end(session)
    return history


def _opening(recipe: ANLS, ratings: Ratings, start: Pair | None) -> tuple[Start, Held]:
    """The initial factors of a run, and the coordinates it holds."""
    if start is None:
        return recipe.start, recipe.start.held
    first, held, rank = Pair(*start), recipe.start.held, recipe.rank
    if recipe.offsets and first.users.shape[1] == rank + 2:
        rank += 2  # Factors of a model with offsets: hold the same coordinates, keep their values.
    elif recipe.offsets:
        first = Pair(*(with_offsets(first.of(side), side) for side in SIDES))
    for side in SIDES:
        factor, shape = Pair(*start).of(side), (len(ratings.ids(side)), rank)
        if factor.shape != shape:
            raise ParameterError(f"start.{side} has shape {factor.shape}: it must be {shape}")
        if not (np.isfinite(factor).all() and (factor >= 0).all()):
            raise ParameterError(f"start.{side} has negative or non-finite entries: replace them")
        if not bounded(factor):
            raise ParameterError(
                f"start.{side} has entries beyond {MOST_ENTRY:g} / rank, whose squares overflow: "
                "scale the start and the ratings down"
            )
    return first, held


@dataclass(frozen=True)
class ANLS(Phased):
    """Any sequence of phases.

    With `offsets`, a prediction is p_u + q_i + w_u·h_i, all nonnegative: two more coordinates, each
    fixed at one on the other side.

    Users start uniform on (0, size), items at `level`, offsets at `offset`. Ratings are counted
    from `shift`, by default from zero, or from the lowest possible one where that is negative.
    """

    rank: int
    phases: Sequence[Phase]
    seed: int = 0
    offsets: bool = False
    size: float = 1.0
    level: float = 0.0
    offset: float = 0.0
    shift: float | None = None

    def __post_init__(self) -> None:
        checks.whole("rank", self.rank)
        checks.seed(self.seed)
        object.__setattr__(self, "phases", tuple(self.phases))

    @property
    def start(self) -> RandomStart:
        """The initial factors."""
        return RandomStart(self.rank, self.seed, self.offsets, self.size, self.level, self.offset)

    def counted_from(self, ratings: Ratings) -> float:
        """What ratings are counted from."""
        return ratings.shift if self.shift is None else self.shift

    def recipe(self, scale: Scale) -> ANLS:
        """Itself."""
        return self
