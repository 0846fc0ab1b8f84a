"""What this machine has: cards, and what is missing to use them."""

from __future__ import annotations

import importlib.util
from typing import Any

LEAST_CAPABILITY = 80
"""Ampere: the first with the tensor-core products and warp reductions of the kernels."""


def missing() -> str | None:
    """What is missing to fit on a card, with the way out; None if nothing is."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed, so pip install 'tastemix[cuda]' or use engine 'cpu'"
    import cupy

    try:
        capability = int(cupy.cuda.Device().compute_capability)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        said = str(error).partition(": ")[2] or str(error)
        return f"no CUDA card can be used ({said}), so install its driver or use engine 'cpu'"
    if capability < LEAST_CAPABILITY:
        return (
            f"the card has compute capability {capability / 10}, and at least "
            f"{LEAST_CAPABILITY / 10} is needed, so use engine 'cpu'"
        )
    return None


def described() -> list[str]:
    """A line for every card."""
    if missing():
        return []
    import cupy

    runtime = cupy.cuda.runtime
    return [_line(runtime.getDeviceProperties(i)) for i in range(runtime.getDeviceCount())]


def _line(card: dict[str, Any]) -> str:
    capability = f"{card['major']}.{card['minor']}"
    memory = card["totalGlobalMem"] / 2**30
    return f"{card['name'].decode()}, {memory:.0f} GiB, compute capability {capability}"


def driver() -> str:
    """The newest CUDA version that the driver knows."""
    import cupy

    version = cupy.cuda.runtime.driverGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}"
