"""Labels at the ends of lines, moved apart as little as possible."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart within [low, high], nearest to the wanted ones.

    Least squares under z₀ ≤ z₁ ≤ … for zᵢ = position − i·gap, with the wanted ones sorted: pool
    adjacent violators. Among equals the earlier comes first. The room must hold them all.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    pools: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        mean, count = wanted[index] - rank * gap, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        pools.append((mean, count))
    highest = high - (len(wanted) - 1) * gap
    offsets = [min(max(mean, low), highest) for mean, count in pools for _ in range(count)]
    placed = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        placed[index] = offsets[rank] + rank * gap
    return placed
