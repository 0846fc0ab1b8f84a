"""What a method is, and how the phases of one become factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.base import Engine, Held, Pair, Session
from tastemix.engine.cpu import CpuEngine
from tastemix.errors import ParameterError
from tastemix.model.factors import Factors
from tastemix.model.fold_in import takes_average
from tastemix.model.model import Model, Unknown
from tastemix.training import loop
from tastemix.training.early_stop import EarlyStop
from tastemix.training.loop import OnStep
from tastemix.training.phase import Phase


class Method(Protocol):
    """Anything that turns ratings into a model."""

    def fit(self, ratings: Ratings) -> Model:
        """The model of these ratings."""
        ...


class Recipe(Protocol):
    """A method that is a sequence of ANLS phases."""

    def recipe(self, scale: Scale) -> ANLS:
        """The phases, for ratings of this scale."""
        ...


def _fit(
    self: Recipe,
    ratings: Ratings,
    *,
    start: Pair | None = None,
    held_out: Ratings | None = None,
    patience: int = 5,
    on_step: OnStep | None = None,
    engine: Engine | None = None,
) -> Model:
    """Fit to ratings.

    start: factors to start from instead of random ones (a warm start).
    held_out: ratings over the same ids; stop when their RMSE has not improved for `patience` steps
        of the last phase, and keep the best step's factors.
    on_step: called with each loop.Step and the session; return True to stop.
    """
    recipe = self.recipe(ratings.scale)
    scores, history = trained(recipe, ratings, start, held_out, patience, on_step, engine)
    unknown: Unknown = "average" if takes_average(recipe.phases) else "mean"
    return Model.of(self, scores, ratings, tuple(recipe.phases), tuple(history), unknown=unknown)


def trained(
    recipe: ANLS,
    ratings: Ratings,
    start: Pair | None = None,
    held_out: Ratings | None = None,
    patience: int = 5,
    on_step: OnStep | None = None,
    engine: Engine | None = None,
) -> tuple[Factors, list[loop.Step]]:
    """The factors a recipe gives and the steps it took; see `fit` for the options."""
    first, held = _opening(recipe, ratings, start)
    session = (engine or CpuEngine()).open(ratings, first, held)
    stop = None if held_out is None else EarlyStop(ratings, held_out, recipe.phases, patience)

    def watch(step: loop.Step, session: Session) -> bool:
        ended = on_step is not None and bool(on_step(step, session))
        return (stop is not None and stop(step, session)) or ended

    history = loop.run(session, recipe.phases, watch)
    factors = session.factors() if stop is None or stop.best is None else stop.best[1]
    return Factors(*factors, ratings.shift, held), history


def _opening(recipe: ANLS, ratings: Ratings, start: Pair | None) -> tuple[Pair, Held]:
    """The factors a run starts from and the coordinates it holds."""
    wanted = tuple((len(ids), recipe.rank) for ids in (ratings.users, ratings.items))
    first = loop.start(ratings, recipe.rank, recipe.seed) if start is None else Pair(*start)
    widened = loop.with_offsets(first) if recipe.offsets else (first, Held())
    if start is None:
        return widened
    if recipe.offsets and start[0].shape[1] == recipe.rank + 2:
        # Factors of a model with offsets: hold the same coordinates, keep their values.
        wanted = tuple((rows, recipe.rank + 2) for rows, _ in wanted)
        widened = first, Held(users=(recipe.rank + 1,), items=(recipe.rank,))
    for name, factor, shape in zip(("users", "items"), start, wanted, strict=True):
        if factor.shape != shape:
            raise ParameterError(f"start.{name} has shape {factor.shape}, the ratings need {shape}")
        if not (np.isfinite(factor).all() and (factor >= 0).all()):
            raise ParameterError(f"start.{name} has entries that are negative or not finite")
    return widened


def _check_rank(rank: int) -> None:
    if not isinstance(rank, int | np.integer) or rank < 1:
        raise ParameterError(f"rank is {rank!r}: it must be a whole number of 1 or more")


@dataclass(frozen=True)
class ANLS:
    """Any sequence of phases at one rank.

    With offsets, a prediction is p_u + q_i + w_u·h_i, all nonnegative: two more coordinates, each
    held at one on the other side.
    """

    rank: int
    phases: Sequence[Phase]
    seed: int = 0
    offsets: bool = False

    def __post_init__(self) -> None:
        _check_rank(self.rank)
        object.__setattr__(self, "phases", tuple(self.phases))

    def recipe(self, scale: Scale) -> ANLS:
        """Itself."""
        return self

    fit = _fit
