"""Methods: the paper's, the baselines and our own."""

from tastemix.methods.anmf import ANMF
from tastemix.methods.averaged import Averaged
from tastemix.methods.baselines import Baseline, Popular, Random
from tastemix.methods.cnmf import CNMF
from tastemix.methods.default import default_method
from tastemix.methods.implicit import Implicit
from tastemix.methods.neighbours import Neighbours
from tastemix.methods.paper import MIXD, MIXR, NMF, PR, PRD, PSVD, RNMF, SSVD
from tastemix.methods.recipe import ANLS, Method

__all__ = [
    "ANLS",
    "ANMF",
    "CNMF",
    "MIXD",
    "MIXR",
    "NMF",
    "PR",
    "PRD",
    "PSVD",
    "RNMF",
    "SSVD",
    "Averaged",
    "Baseline",
    "Implicit",
    "Method",
    "Neighbours",
    "Popular",
    "Random",
    "default_method",
]
