"""Counters in memory that all workers share, and how Prometheus reads them."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Sequence

CLASSES = 6
"""Classes of status, 0xx to 5xx."""
BOUNDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)
"""Seconds of processing that the histogram tells apart."""
_WIDTH = CLASSES + len(BOUNDS) + 2
"""Counters of a route: by class of status, by duration, and the sum of microseconds."""


class Counts:
    """A block of counters for every slot. Each worker writes to a slot of its own; sums are over
    all slots, so they are right whichever worker is asked, and go on when a worker is replaced.
    """

    def __init__(self, routes: Sequence[str], slots: int) -> None:
        self.routes, self.slots = tuple(routes), slots
        self._block = len(self.routes) * _WIDTH
        self._shared = mmap.mmap(-1, 8 * slots * self._block)
        self._all = memoryview(self._shared).cast("q")

    def of(self, slot: int) -> Slot:
        """The counters that one worker writes."""
        return Slot(self._all[slot * self._block : (slot + 1) * self._block])

    def total(self) -> list[int]:
        """The sums over all slots."""
        blocks = (
            self._all[at : at + self._block].tolist()
            for at in range(0, self.slots * self._block, self._block)
        )
        return [sum(column) for column in zip(*blocks, strict=True)]

    def text(self, facts: dict[str, float]) -> bytes:
        """The counters as Prometheus reads them, with some facts that are numbers."""
        lines = []
        for name, value in facts.items():
            lines += [f"# TYPE tastemix_{name} gauge", f"tastemix_{name} {value:g}"]
        total = self.total()
        lines.append("# TYPE tastemix_requests_total counter")
        for at, route in enumerate(self.routes):
            for status in range(1, CLASSES):
                if count := total[at * _WIDTH + status]:
                    labels = f'route="{route}",status="{status}xx"'
                    lines.append(f"tastemix_requests_total{{{labels}}} {count}")
        lines.append("# TYPE tastemix_request_seconds histogram")
        for at, route in enumerate(self.routes):
            lines += _histogram(route, total[at * _WIDTH : (at + 1) * _WIDTH])
        return ("\n".join(lines) + "\n").encode()


class Slot:
    """The counters of one worker."""

    def __init__(self, block: memoryview) -> None:
        self._block = block

    def add(self, route: int, status: int, seconds: float) -> None:
        """Count an answer."""
        block, at = self._block, route * _WIDTH
        block[at + status // 100] += 1
        block[at + CLASSES + bisect_left(BOUNDS, seconds)] += 1
        block[at + _WIDTH - 1] += int(seconds * 1e6)


def _histogram(route: str, counters: list[int]) -> list[str]:
    durations = counters[CLASSES : CLASSES + len(BOUNDS) + 1]
    if not sum(durations):
        return []
    name, lines, below = "tastemix_request_seconds", [], 0
    for bound, count in zip((*BOUNDS, "+Inf"), durations, strict=True):
        below += count
        lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {below}')
    lines.append(f'{name}_sum{{route="{route}"}} {counters[-1] / 1e6:.6f}')
    lines.append(f'{name}_count{{route="{route}"}} {below}')
    return lines
