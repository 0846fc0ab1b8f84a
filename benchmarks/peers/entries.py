"""What is fitted beside what: each entry with its library's defaults and a small grid to tune it.

Every setting is written down here and in the result; a setting holds only what differs from the
library's own default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Setting = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One method of one library. `library` names a class of libraries.py."""

    name: str
    peer: str
    library: str
    default: Setting
    grid: Sequence[Setting] = ()
    nonnegative: bool = False
    note: str = ""


def grid(**choices: Sequence[Any]) -> list[Setting]:
    """All combinations of the choices."""
    return [dict(zip(choices, chosen, strict=True)) for chosen in product(*choices.values())]


def _with(fixed: Setting, settings: list[Setting]) -> list[Setting]:
    return [fixed | setting for setting in settings]


def _pairs(choices: list[tuple[float, float]], k: int) -> list[Setting]:
    """LIBMF's rank with an L2 penalty and a learning rate."""
    return [{"k": k, "lambda_p2": l2, "lambda_q2": l2, "eta": eta} for l2, eta in choices]


_NONNEGATIVE = {"nonneg": True, "center": False}
"""cmfrec's manual advises against centring with nonnegative factors."""
_NMF = _NONNEGATIVE | {"user_bias": False, "item_bias": False, "k": 10}
_L2 = {"lambda_p1": 0.0, "lambda_q1": 0.0}
"""The Python package of LIBMF sets L1 penalties where LIBMF itself has L2 ones."""

PEERS = [
    Entry("Cornac MF", "cornac", "CornacMF", {}, grid(k=[20, 40, 80], lambda_reg=[0.02, 0.03])),
    Entry(
        "Cornac NMF",
        "cornac",
        "CornacNMF",
        {},
        grid(k=[8, 15], lambda_reg=[0.01, 0.02, 0.04], use_bias=[True]),
        nonnegative=True,
    ),
    Entry("cmfrec", "cmfrec", "Cmfrec", {}, grid(k=[20, 40], lambda_=[15.0, 20.0, 30.0])),
    Entry(
        "cmfrec nonneg",
        "cmfrec",
        "Cmfrec",
        _NONNEGATIVE,
        _with(_NONNEGATIVE, grid(k=[4, 6, 10], lambda_=[3.0, 5.0])),
        nonnegative=True,
        note="center=False, as its manual advises",
    ),
    Entry(
        "cmfrec NMF",
        "cmfrec",
        "Cmfrec",
        _NMF,
        _with(_NMF, grid(k=[6, 10], lambda_=[5.0, 7.0])),
        nonnegative=True,
        note="nonneg of rank 10 without centring and biases",
    ),
    Entry(
        "cmfrec nonneg L1",
        "cmfrec",
        "Cmfrec",
        _NONNEGATIVE | {"k": 10, "l1_lambda": 0.1},
        _with(_NONNEGATIVE, grid(k=[6, 10], lambda_=[3.0, 5.0], l1_lambda=[0.05])),
        nonnegative=True,
        note="l1_lambda has no default of its own; the default rank of 40 takes long",
    ),
    Entry(
        "cmfrec scaled λ",
        "cmfrec",
        "Cmfrec",
        {"scale_lam": True, "lambda_": 0.05},
        _with({"scale_lam": True}, grid(k=[20, 40], lambda_=[0.08, 0.1, 0.13])),
        note="scale_lam asks for a λ of its own order, not the default 10",
    ),
    Entry(
        "Surprise SVD",
        "surprise",
        "SurpriseSVD",
        {},
        grid(n_factors=[100], n_epochs=[40], reg_all=[0.06, 0.08, 0.1]),
    ),
    Entry(
        "Surprise NMF",
        "surprise",
        "SurpriseNMF",
        {},
        grid(n_factors=[15, 30], reg_pu=[0.1], reg_qi=[0.1, 0.2]),
        nonnegative=True,
    ),
    Entry(
        "Surprise baseline",
        "surprise",
        "SurpriseBaseline",
        {},
        grid(method=["als"], reg_u=[3, 8], reg_i=[2, 5]),
    ),
    Entry(
        "implicit ALS",
        "implicit",
        "ImplicitALS",
        {"factors": 20, "iterations": 15},
        note="ranks items and predicts no rating: seconds only",
    ),
    Entry(
        "LensKit ALS",
        "lenskit",
        "LensKitALS",
        {},
        grid(embedding_size=[10, 25], regularization=[0.06, 0.08, 0.1]),
    ),
    Entry(
        "LIBMF",
        "libmf",
        "Libmf",
        {},
        _with(_L2, _pairs([(0.03, 0.1), (0.05, 0.1), (0.03, 0.05), (0.05, 0.05)], k=32)),
        note="without the package's predict, which mixes up the pairs",
    ),
    Entry(
        "LIBMF NMF",
        "libmf",
        "Libmf",
        {"do_nmf": True},
        _with(
            _L2 | {"do_nmf": True},
            _pairs([(0.03, 0.1), (0.05, 0.1), (0.03, 0.05), (0.05, 0.05)], k=32),
        ),
        nonnegative=True,
    ),
    Entry(
        "myFM",
        "myfm",
        "MyFM",
        {"rank": 10, "n_iter": 100},
        grid(rank=[6, 14], n_iter=[100], grouped=[True]),
    ),
    Entry(
        "scikit-learn NMF",
        "sklearn",
        "SklearnNMF",
        {"n_components": 10},
        grid(n_components=[5, 20]),
        nonnegative=True,
        note="takes an unknown rating for a 0; without n_components it would keep 3,706",
    ),
    Entry(
        "Spark ALS nonneg",
        "spark",
        "SparkALS",
        {},
        grid(rank=[10, 20], regParam=[0.05, 0.07]),
        nonnegative=True,
        note="rank 10 and 10 iterations by default; no answer for new items",
    ),
]
