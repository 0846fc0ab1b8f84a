"""One colour and one marker per name, the same in every figure and table.

Methods of one family share a hue, and so do metrics of one kind; what methods are measured against
(random, popular, SVD) is grey. Hues keep apart under red-green blindness, and within a family so do
lightness and marker.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise


@dataclass(frozen=True)
class Look:
    """How a name is drawn."""

    colour: str
    marker: str = "o"


INK, MUTED, RULE, GRID, PAPER = "#1c2126", "#59616b", "#a9b0b8", "#e4e7ea", "#ffffff"

METHODS = {
    "RANDOM": Look("#b9bfc6"),
    "Popular": Look("#8b949e", "s"),
    "Baseline": Look("#5c6670", "^"),
    "PSVD": Look("#3b3829", "s"),
    "SSVD(mid)": Look("#a79c76", "D"),
    "PR(0)": Look("#6db6ea", "s"),
    "PR(mid)": Look("#1b72c4"),
    "PR(1)": Look("#0f4c8f", "^"),
    "PR(2)": Look("#0a2f5e", "D"),
    "PRD": Look("#00806a", "^"),
    "NMF": Look("#6b2a00", "s"),
    "RNMF(0.1)": Look("#f2a93b", "^"),
    "RNMF(0.2)": Look("#d55400"),
    "RNMF(0.5)": Look("#a34100", "D"),
    "MIXD(20)": Look("#5b1f80", "D"),
    "MIXR(20)": Look("#e0559f", "v"),
}
METRICS = {
    "RMSE": Look("#d55400"),
    "MAE": Look("#f2a93b", "s"),
    "F1": Look("#00806a", "^"),
    "Accuracy": Look("#52c3a0", "v"),
    "MAP": Look("#1b72c4"),
    "AUC": Look("#6db6ea", "s"),
    "NDCG": Look("#081f3d", "D"),
    "F1@10": Look("#5b1f80", "^"),
    "NDCG@10": Look("#e0559f", "D"),
    "RankScore": Look("#1b72c4"),
    "ClassScore": Look("#00806a", "^"),
    "RatingScore": Look("#d55400", "s"),
}
KNOWN = {**METHODS, **METRICS}
_FAMILIES = {name.split("(")[0]: name for name in METHODS} | {
    "PR": "PR(mid)",
    "RNMF": "RNMF(0.2)",
    "Random": "RANDOM",
}
"""Family → the method whose look others of it share."""
_OTHERS = ("#8c6d1f", "#3f7f3a", "#b0413e", "#4b5fa5", "#7a6a58", "#2f7f8f", "#9a4f7f", "#5f7a1f")
_RAMP = ("#a5cd90", "#54b08f", "#1f7f8c", "#2b4a7b")
"""From 3 folds to 6."""


def look(name: str) -> Look:
    """The colour and marker of a name; an unknown one gets its family's, or a stable pick."""
    if name in KNOWN:
        return KNOWN[name]
    if folds := re.fullmatch(r"(\d+) folds", name):
        count = min(max(int(folds[1]), 3), 6)
        return Look(_RAMP[count - 3], "os^D"[count - 3])
    if (family := name.split("(")[0]) in _FAMILIES:
        return METHODS[_FAMILIES[family]]
    pick = zlib.crc32(name.encode())
    return Look(_OTHERS[pick % len(_OTHERS)], "os^Dv"[pick // len(_OTHERS) % 5])


def looks(names: Sequence[str]) -> list[Look]:
    """Those of `look`; of names without a colour of their own, each another as far as there are."""
    found = [look(name) for name in names]
    free = [colour for colour in _OTHERS if colour not in {each.colour for each in found}]
    for at, each in enumerate(found):
        if free and each.colour in _OTHERS and each.colour in {f.colour for f in found[:at]}:
            found[at] = replace(each, colour=free.pop(0))
    return found


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two: `share` of the second."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio, 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink(colour: str, readable: float = 4.5) -> str:
    """The colour, darkened until text in it can be read on white."""
    shades = (mixed(colour, INK, step / 20) for step in range(20))
    return next((shade for shade in shades if contrast(shade, PAPER) >= readable), INK)


_HEAT = {
    -1.0: "#a84a00",
    -0.4: "#f0b27a",
    0.0: "#f8f4ef",
    0.5: "#e6eff7",
    0.7: "#b3d3ec",
    0.85: "#5fa3d6",
    0.95: "#1f6cb0",
    1.0: "#0b3f77",
}
"""One scale for all data sets, with its contrast where correlations are: from .5 to 1."""


def heat(value: float) -> str:
    """The colour of a correlation: orange below zero, blue above; grey if there is none."""
    if value != value:
        return GRID
    value = min(max(value, -1.0), 1.0)
    low, high = next(pair for pair in pairwise(_HEAT) if value <= pair[1])
    return mixed(_HEAT[low], _HEAT[high], (value - low) / (high - low))


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    shares = (channel / 255 for channel in _channels(colour))
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
