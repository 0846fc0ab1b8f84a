"""What a step minimises, as data: a few numbers and two choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tastemix import checks
from tastemix.errors import ParameterError

Prior = float | Literal["dynamic"] | None
Centre = Literal["zero", "average", "choices"]

LARGEST = 1e9
"""The largest penalty or prior: beyond it, squares leave the range of 32-bit numbers."""
CHOICE_ITERATIONS = 2
"""Conjugate-gradient iterations on Z after a half-step: as good as an exact solve."""

PENALTIES = ("l1", "l2", "l2_per_rating", "choice_penalty", "choice_shrinkage", "noise")


@dataclass(frozen=True, kw_only=True)
class Objective:
    """½ Σ_Ω (a − b)² + (w/2) Σ_∉Ω (t − b)² + λ₁ Σ x + ½ Σ ρ ‖x‖², ρ = λ₂ + λ₂′|Ω|.

    The prior t is the value of unknown ratings: None to ignore them (w = 0), a number on the scale
    of the ratings, or "dynamic", what the factors predicted just before the half-step.

    A row is pulled towards its `centre`: "zero"; by λ₂, the "average" row of its side, so that a
    user with few ratings is nearly an average one; or, by all of ρ, what its "choices" suggest:
    μ + (|Ω| + choice_shrinkage)^(−½) Σ_{j∈Ω} z_j, with a ridge of choice_penalty on Z (relative to
    the mean ρ of the side). μ and Z are updated after every half-step.

    With `noise`, σ² of a rating, ρ is estimated, coordinate by coordinate: λ + Σ_{j∈Ω} v_j. λ is
    σ² over the variance of the side's rows around their centres, at least l2; v_j = σ² diag(Q⁻¹)
    is how uncertain the entries of row j of the other side are (before its first half-step, half of
    each is its standard deviation). Both follow the rows: each half-step has its own objective.
    """

    l1: float = 0.0
    l2: float = 0.0
    l2_per_rating: float = 0.0
    prior: Prior = None
    weight: float = 1.0
    centre: Centre = "zero"
    choice_penalty: float = 3.0
    choice_shrinkage: float = 10.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        for name in PENALTIES:
            object.__setattr__(self, name, checks.number(name, getattr(self, name), 0, LARGEST))
        object.__setattr__(self, "weight", checks.number("weight", self.weight, 0, 1))
        if isinstance(self.prior, str):
            if self.prior != "dynamic":
                raise ParameterError(f"prior is {self.prior!r}: give a number, 'dynamic' or None")
        elif self.prior is not None:
            prior = checks.number("prior", self.prior, -LARGEST, LARGEST)
            object.__setattr__(self, "prior", prior)
        if self.centre not in get_args(Centre):
            raise ParameterError(
                f"centre is {self.centre!r}: choose 'zero', 'average' or 'choices'"
            )
        if self.chosen and not (self.l2 > 0 and self.choice_penalty > 0):
            raise ParameterError("centre='choices' needs l2 and choice_penalty above 0: set both")
        if self.estimated and (not self.chosen or self.prior is not None or self.l2_per_rating):
            raise ParameterError(
                "noise above 0 estimates the ridges: it needs centre='choices', no prior and no "
                "l2_per_rating"
            )

    @property
    def dynamic(self) -> bool:
        """Whether the prior follows the factors."""
        return self.prior == "dynamic"

    @property
    def centred(self) -> bool:
        """Whether λ₂ pulls towards the average row."""
        return self.centre == "average"

    @property
    def chosen(self) -> bool:
        """Whether rows are pulled towards what their choices suggest."""
        return self.centre == "choices"

    @property
    def estimated(self) -> bool:
        """Whether ridges are estimated from the rows."""
        return self.noise > 0

    @property
    def unknown_weight(self) -> float:
        """w, the weight of the unknown ratings: 0 where they are ignored."""
        return 0.0 if self.prior is None else self.weight

    def target(self, shift: float) -> float:
        """The static prior on a scale shifted to start at zero; 0 if there is none."""
        return self.prior - shift if isinstance(self.prior, float) else 0.0
