"""Methods: the paper's, the baselines and ANMF."""

from tastemix.methods.anmf import ANMF
from tastemix.methods.baselines import Baseline, Popular, Random
from tastemix.methods.paper import MIXD, MIXR, NMF, PR, PRD, PSVD, RNMF, SSVD
from tastemix.methods.recipe import ANLS, Method

__all__ = [
    "ANLS",
    "ANMF",
    "MIXD",
    "MIXR",
    "NMF",
    "PR",
    "PRD",
    "PSVD",
    "RNMF",
    "SSVD",
    "Baseline",
    "Method",
    "Popular",
    "Random",
]
