"""The paper's methods, and the floors below them, as recipes.

A recipe is data. The factorisations say which phases they are (`recipe`), and one function fits
them all; `ANLS` is the general form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tastemix import anls, draws, svd
from tastemix.anls import EarlyStop, OnStep
from tastemix.engine.base import Engine, Held, Pair, Session
from tastemix.engine.cpu import CpuEngine
from tastemix.errors import DataError, ParameterError
from tastemix.factors import Factors, Floats
from tastemix.ids import Indices
from tastemix.model import NOTHING_TO_LEARN, Model
from tastemix.objective import Objective, Phase
from tastemix.ratings import Half, Ratings, Scale
from tastemix.topn import Allowed, best_items


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
    on_step: called with each anls.Step and the session; return True to stop.
    """
    recipe = self.recipe(ratings.scale)
    scores, history = trained(recipe, ratings, start, held_out, patience, on_step, engine)
    return Model.of(self, scores, ratings, tuple(recipe.phases), tuple(history))


def trained(
    recipe: ANLS,
    ratings: Ratings,
    start: Pair | None = None,
    held_out: Ratings | None = None,
    patience: int = 5,
    on_step: OnStep | None = None,
    engine: Engine | None = None,
) -> tuple[Factors, list[anls.Step]]:
    """The factors a recipe gives and the steps it took; see `fit` for the options."""
    first, held = _opening(recipe, ratings, start)
    session = (engine or CpuEngine()).open(ratings, first, held)
    stop = None if held_out is None else EarlyStop(ratings, held_out, recipe.phases, patience)

    def watch(step: anls.Step, session: Session) -> bool:
        ended = on_step is not None and bool(on_step(step, session))
        return (stop is not None and stop(step, session)) or ended

    history = anls.run(session, recipe.phases, watch)
    factors = session.factors() if stop is None or stop.best is None else stop.best[1]
    return Factors(*factors, ratings.shift, held), history


def _opening(recipe: ANLS, ratings: Ratings, start: Pair | None) -> tuple[Pair, Held]:
    """The factors a run starts from and the coordinates it holds."""
    wanted = tuple((len(ids), recipe.rank) for ids in (ratings.users, ratings.items))
    first = anls.start(ratings, recipe.rank, recipe.seed) if start is None else Pair(*start)
    widened = anls.with_offsets(first) if recipe.offsets else (first, Held())
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


def _check_prior_steps(prior_steps: int, steps: int) -> None:
    if not 0 <= prior_steps <= steps:
        raise ParameterError(
            f"prior_steps is {prior_steps} and steps {steps}: the steps include the prior steps"
        )


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


@dataclass(frozen=True)
class NMF:
    """Least squares on the known ratings alone."""

    rank: int
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """Unknown ratings ignored, no penalty."""
        return ANLS(self.rank, [Phase(Objective(), self.steps)], self.seed)

    fit = _fit


@dataclass(frozen=True)
class RNMF:
    """NMF with an L1 penalty on both factors."""

    rank: int
    l1: float = 0.2
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """Unknown ratings ignored, λ₁ = l1."""
        return ANLS(self.rank, [Phase(Objective(l1=self.l1), self.steps)], self.seed)

    fit = _fit


@dataclass(frozen=True)
class PR:
    """Every unknown rating is given the same value, the middle of the scale if None."""

    rank: int
    prior: float | None = None
    weight: float = 1.0
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A static prior."""
        prior = sum(scale) / 2 if self.prior is None else self.prior
        objective = Objective(prior=prior, weight=self.weight)
        return ANLS(self.rank, [Phase(objective, self.steps)], self.seed)

    fit = _fit


@dataclass(frozen=True)
class PRD:
    """Every unknown rating is given what the factors predict for it, step by step."""

    rank: int
    weight: float = 1.0
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A dynamic prior."""
        objective = Objective(prior="dynamic", weight=self.weight)
        return ANLS(self.rank, [Phase(objective, self.steps)], self.seed)

    fit = _fit


@dataclass(frozen=True)
class MIXR:
    """PR for the first `prior_steps` steps, then RNMF from there."""

    rank: int
    prior_steps: int = 20
    l1: float = 0.2
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A static prior at the middle, then none and λ₁ = l1."""
        _check_prior_steps(self.prior_steps, self.steps)
        phases = [
            Phase(Objective(prior=sum(scale) / 2), self.prior_steps),
            Phase(Objective(l1=self.l1), self.steps - self.prior_steps),
        ]
        return ANLS(self.rank, phases, self.seed)

    fit = _fit


@dataclass(frozen=True)
class MIXD:
    """PR for the first `prior_steps` steps, then PRD from there."""

    rank: int
    prior_steps: int = 20
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A static prior at the middle, then a dynamic one."""
        _check_prior_steps(self.prior_steps, self.steps)
        phases = [
            Phase(Objective(prior=sum(scale) / 2), self.prior_steps),
            Phase(Objective(prior="dynamic"), self.steps - self.prior_steps),
        ]
        return ANLS(self.rank, phases, self.seed)

    fit = _fit


@dataclass(frozen=True)
class PSVD:
    """Truncated SVD with 0 for the unknown ratings."""

    rank: int
    seed: int = 0

    def fit(self, ratings: Ratings) -> Model:
        """Fit to ratings."""
        return _fit_svd(self, ratings, 0.0)


@dataclass(frozen=True)
class SSVD:
    """Truncated SVD with `shift` for the unknown ratings, the middle of the scale if None."""

    rank: int
    shift: float | None = None
    seed: int = 0

    def fit(self, ratings: Ratings) -> Model:
        """Fit to ratings."""
        return _fit_svd(self, ratings, ratings.mid if self.shift is None else self.shift)


def _fit_svd(method: PSVD | SSVD, ratings: Ratings, shift: float) -> Model:
    _check_rank(method.rank)
    most = min(len(ratings.users), len(ratings.items))
    if method.rank > most:
        raise ParameterError(
            f"rank is {method.rank}, but {len(ratings.users):,} users and "
            f"{len(ratings.items):,} items have an SVD of rank {most} at most"
        )
    if len(ratings) == 0:
        raise DataError(NOTHING_TO_LEARN)
    factors = svd.truncated(ratings, method.rank, shift, method.seed)
    return Model.of(method, Factors(*factors, shift=shift), ratings)


@dataclass(frozen=True)
class Random:
    """A random rating for every pair, rounded to integers: the floor of every metric."""

    seed: int = 0

    def fit(self, ratings: Ratings) -> Model:
        """Nothing is learnt but the scale."""
        return Model.of(self, RandomScores(self.seed, ratings.scale, len(ratings.items)), ratings)


@dataclass(frozen=True)
class RandomScores:
    """U[low − 1, high + 1] rounded to integers, a hash of (seed, user, item)."""

    seed: int
    scale: Scale
    items: int

    def pairs(self, user: Indices, item: Indices) -> Floats:
        """See Scores.pairs."""
        pair = np.asarray(user, np.uint64) << np.uint64(32) | np.asarray(item, np.uint64)
        bits = _mixed(pair ^ _mixed(np.array([draws.checked(self.seed) + 1], np.uint64)))
        low, high = self.scale
        uniform = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.rint(low - 1 + (high - low + 2) * uniform)

    def block(self, user: Indices) -> NDArray[Any]:
        """See Scores.block."""
        return self.pairs(np.asarray(user)[:, None], np.arange(self.items, dtype=np.int32)[None, :])

    def best(self, user: Indices, seen: Half, allowed: Allowed, n: int) -> Indices:
        """See Scores.best."""
        return best_items(self.block, user, seen, allowed, n)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True)
class Popular:
    """Items by their number of ratings, the same for everyone: a ranking, not a rating."""

    def fit(self, ratings: Ratings) -> Model:
        """Count."""
        counts = ratings.by_item.counts.astype(np.float32)[:, None]
        ones = np.ones((len(ratings.users), 1), np.float32)
        return Model.of(self, Factors(ones, counts), ratings)


@dataclass(frozen=True)
class Baseline:
    """The mean plus a user's and an item's offset, each shrunk by `shrinkage` imagined ratings."""

    shrinkage: float = 5.0
    sweeps: int = 10

    def fit(self, ratings: Ratings) -> Model:
        """Alternate over items and users; the last sweep changes next to nothing."""
        half = ratings.by_user
        user, item = half.rows, half.indices
        centred = half.values - half.values.mean(dtype=np.float64)
        b_user, b_item = np.zeros(len(ratings.users)), np.zeros(len(ratings.items))
        for _ in range(self.sweeps):
            left = np.bincount(item, centred - b_user[user], len(b_item))
            b_item = left / (ratings.by_item.counts + self.shrinkage)
            left = np.bincount(user, centred - b_item[item], len(b_user))
            b_user = left / (half.counts + self.shrinkage)
        users = np.stack([b_user, np.ones_like(b_user)], axis=1).astype(np.float32)
        items = np.stack([np.ones_like(b_item), b_item], axis=1).astype(np.float32)
        mean = float(half.values.mean(dtype=np.float64))
        return Model.of(self, Factors(users, items, mean, Held(users=(1,), items=(0,))), ratings)
