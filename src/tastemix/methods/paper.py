"""The paper's methods as recipes.

A recipe is data. The factorisations say which phases they are (`recipe`), and one function fits
them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from tastemix import checks
from tastemix.data.ratings import Ratings, Scale
from tastemix.engine.base import Engine
from tastemix.engine.objective import LARGEST, Objective
from tastemix.errors import DataError, ParameterError
from tastemix.methods.recipe import ANLS, Phased
from tastemix.model.factors import Factors
from tastemix.model.model import NOTHING_TO_LEARN, Model
from tastemix.training import svd
from tastemix.training.phase import Phase


@dataclass(frozen=True)
class NMF(Phased):
    """Least squares on the known ratings only."""

    rank: int
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """Unknown ratings ignored, no penalty."""
        return ANLS(self.rank, [Phase(Objective(), self.steps)], self.seed)


@dataclass(frozen=True)
class RNMF(Phased):
    """NMF with an L1 penalty on both factors."""

    rank: int
    l1: float = 0.2
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """Unknown ratings ignored, λ₁ = l1."""
        return ANLS(self.rank, [Phase(Objective(l1=self.l1), self.steps)], self.seed)


@dataclass(frozen=True)
class PR(Phased):
    """Every unknown rating is set to `prior`, by default the middle of the scale."""

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


@dataclass(frozen=True)
class PRD(Phased):
    """Every unknown rating is set to what the factors predict for it, updated at every step."""

    rank: int
    weight: float = 1.0
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A dynamic prior."""
        objective = Objective(prior="dynamic", weight=self.weight)
        return ANLS(self.rank, [Phase(objective, self.steps)], self.seed)


@dataclass(frozen=True)
class MIXR(Phased):
    """PR for the first `prior_steps` steps, then RNMF for the rest of `steps`."""

    rank: int
    prior_steps: int = 20
    l1: float = 0.2
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A static prior at the middle, then none and λ₁ = l1."""
        steps = checks.whole("steps", self.steps, least=0)
        checks.whole("prior_steps", self.prior_steps, least=0, most=steps)
        phases = [
            Phase(Objective(prior=sum(scale) / 2), self.prior_steps),
            Phase(Objective(l1=self.l1), self.steps - self.prior_steps),
        ]
        return ANLS(self.rank, phases, self.seed)


@dataclass(frozen=True)
class MIXD(Phased):
    """PR for the first `prior_steps` steps, then PRD for the rest of `steps`."""

    rank: int
    prior_steps: int = 20
    steps: int = 100
    seed: int = 0

    def recipe(self, scale: Scale) -> ANLS:
        """A static prior at the middle, then a dynamic one."""
        steps = checks.whole("steps", self.steps, least=0)
        checks.whole("prior_steps", self.prior_steps, least=0, most=steps)
        phases = [
            Phase(Objective(prior=sum(scale) / 2), self.prior_steps),
            Phase(Objective(prior="dynamic"), self.steps - self.prior_steps),
        ]
        return ANLS(self.rank, phases, self.seed)


@dataclass(frozen=True)
class PSVD:
    """Truncated SVD with 0 for unknown ratings."""

    rank: int
    seed: int = 0

    def __post_init__(self) -> None:
        checks.whole("rank", self.rank)
        checks.seed(self.seed)

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings. The engine is ignored: the SVD always runs on this machine."""
        return _fit_svd(self, ratings, 0.0)


@dataclass(frozen=True)
class SSVD:
    """Truncated SVD with `shift` for unknown ratings, by default the middle of the scale."""

    rank: int
    shift: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        checks.whole("rank", self.rank)
        checks.seed(self.seed)
        if self.shift is not None:
            checks.number("shift", self.shift, -LARGEST, LARGEST)

    def fit(self, ratings: Ratings, *, engine: Engine | str | None = None) -> Model:
        """Fit to ratings. The engine is ignored: the SVD always runs on this machine."""
        return _fit_svd(self, ratings, ratings.mid if self.shift is None else float(self.shift))


def _fit_svd(method: PSVD | SSVD, ratings: Ratings, shift: float) -> Model:
    most = min(len(ratings.users), len(ratings.items))
    if method.rank > most:
        raise ParameterError(
            f"rank is {method.rank}, but {len(ratings.users):,} users and "
            f"{len(ratings.items):,} items allow at most {most}: choose a smaller rank"
        )
    if len(ratings) == 0:
        raise DataError(NOTHING_TO_LEARN)
    factors = svd.truncated(ratings, method.rank, shift, method.seed)
    return Model.of(method, Factors(*factors, shift=shift), ratings)
