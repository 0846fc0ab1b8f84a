"""Colours: the same for the same name, and apart for people who see fewer of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tastemix.evaluation.metrics.facts import NINE, labels
from tastemix.evaluation.metrics.facts import SCORES as CUMULATIVE
from tastemix.experiments.ranks import METHODS as RANKED
from tastemix.experiments.settings import NAMED
from tastemix.report.style import KNOWN, PAPER, contrast, heat, ink, look, looks
from tests.report.made import METRICS

LARGEST = ("NMF", "RNMF(0.1)", "RNMF(0.2)", "PR(mid)", "PRD", "MIXR(20)", "MIXD(20)")
SCORES = ("RankScore", "ClassScore", "RatingScore")
FOLDS = tuple(f"{count} folds" for count in (3, 4, 5, 6))
SEEN_BY = {
    "all": np.eye(3),
    # Machado, Oliveira, Fernandes (2009), severity 1, on linear RGB.
    "deuteranopes": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "protanopes": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}


def lab(colour: str, seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB of a colour as it is seen."""
    share = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(seen @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen_by", SEEN_BY)
@pytest.mark.parametrize("names", [tuple(RANKED), LARGEST, METRICS, SCORES, FOLDS])
def test_lines_of_one_chart_differ_for_everyone(names: tuple[str, ...], seen_by: str) -> None:
    seen = SEEN_BY[seen_by]
    for one, other in combinations(names, 2):
        apart = np.linalg.norm(lab(look(one).colour, seen) - lab(look(other).colour, seen))
        assert apart > 14, f"{one} and {other}"


def test_every_method_and_metric_of_the_experiments_has_a_colour_of_its_own() -> None:
    expected = {*NAMED, *labels(*NINE, *CUMULATIVE), "RANDOM", "Popular", "Baseline"}
    assert expected <= set(KNOWN)
    methods = [KNOWN[name] for name in (*NAMED, "RANDOM", "Popular", "Baseline")]
    assert len(set(methods)) == len(methods)


def test_unknown_names_get_a_stable_look_and_relatives_their_familys() -> None:
    assert look("PR(7)") == look("PR(mid)")
    assert look("RNMF(0.3)") == look("RNMF(0.2)")
    assert look("9 folds") == look("6 folds")
    assert look("My method").colour == "#b0413e"  # pinned: it must not change between runs
    assert look("My method") == look("My method") != look("Another one")


def test_names_that_would_share_a_colour_get_two_in_one_chart() -> None:
    names = ["ANMF", "rank 46", "MIXD", "rank 6", "rank 14"]
    assert look("ANMF").colour == look("rank 46").colour
    found = looks(names)
    assert len({each.colour for each in found}) == len(names)
    assert found[0] == look("ANMF")
    assert found[2] == look("MIXD")


def test_more_folds_are_darker() -> None:
    contrasts = [contrast(look(name).colour, PAPER) for name in FOLDS]
    assert contrasts == sorted(contrasts)


def test_labels_can_be_read_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    for name in (*KNOWN, *FOLDS, "x", "y", "z"):
        assert contrast(ink(look(name).colour), PAPER) >= 4.5
    assert ink("#081f3d") == "#081f3d"


def test_numbers_on_the_heat_map_can_be_read() -> None:
    for value in np.linspace(-1, 1, 201):
        assert max(contrast(heat(value), "#000000"), contrast(heat(value), PAPER)) >= 4.5


def test_the_heat_scale_is_blue_above_zero_orange_below_and_grey_without_a_value() -> None:
    assert (heat(1.0), heat(0.95), heat(-1.0)) == ("#0b3f77", "#1f6cb0", "#a84a00")
    assert heat(1.0000000002) == heat(1.0)
    assert heat(0.6) == "#cce1f2"  # half way from .5 to .7
    grey = heat(float("nan"))
    assert grey not in {heat(value) for value in np.linspace(-1, 1, 201)}
