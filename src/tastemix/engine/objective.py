"""What a step minimises, as data: a handful of numbers and one choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tastemix.errors import ParameterError

Prior = float | Literal["dynamic"] | None
Centre = Literal["zero", "average"]

LARGEST = 1e9
"""The largest penalty or prior: beyond it, squares leave the range of 32-bit numbers."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """½ Σ_Ω (a − b)² + (w/2) Σ_∉Ω (t − b)² + λ₁ Σ x + ½ Σ (λ₂ + λ₂′ |Ω_row|) ‖x‖², both factors.

    The prior t of an unknown rating is ignored (None, which is w = 0), one number on the ratings'
    own scale, or "dynamic": what the factors predicted just before the half-step.

    λ₂ pulls a row towards its `centre`: zero, or the average row of its side (just before the
    half-step), so that someone with few ratings is taken for an average person.
    """

    l1: float = 0.0
    l2: float = 0.0
    l2_per_rating: float = 0.0
    prior: Prior = None
    weight: float = 1.0
    centre: Centre = "zero"

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "l2_per_rating"):
            value = getattr(self, name)
            if not 0 <= value <= LARGEST:
                raise ParameterError(
                    f"{name} is {value!r}: it must be a number of 0 or more, {LARGEST:g} at most"
                )
            object.__setattr__(self, name, float(value))
        if not 0 <= self.weight <= 1:
            raise ParameterError(f"weight is {self.weight!r}: it must lie between 0 and 1")
        if isinstance(self.prior, str):
            if self.prior != "dynamic":
                raise ParameterError(f"prior is {self.prior!r}: give a number, 'dynamic' or None")
        elif self.prior is not None:
            if not abs(self.prior) <= LARGEST:
                raise ParameterError(
                    f"prior is {self.prior!r}: it must be a number within ±{LARGEST:g}"
                )
            object.__setattr__(self, "prior", float(self.prior))
        object.__setattr__(self, "weight", float(self.weight))
        if self.centre not in get_args(Centre):
            raise ParameterError(f"centre is {self.centre!r}: choose 'zero' or 'average'")

    @property
    def dynamic(self) -> bool:
        """Whether the prior follows the factors."""
        return self.prior == "dynamic"

    @property
    def centred(self) -> bool:
        """Whether λ₂ pulls towards the average row."""
        return self.centre == "average"

    @property
    def unknown_weight(self) -> float:
        """w, the weight of the unknown ratings: 0 where they are ignored."""
        return 0.0 if self.prior is None else self.weight

    def target(self, shift: float) -> float:
        """The static prior seen from a scale shifted to start at zero; 0 if there is none."""
        return self.prior - shift if isinstance(self.prior, float) else 0.0
