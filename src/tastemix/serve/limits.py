"""How much a request may ask for, and how much may be under way at once."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True)
class Limits:
    """The bounds of a service."""

    body: int = 256 * KIB
    """Bytes of a request's body: more is 413."""
    head: int = 16 * KIB
    """Bytes of a request's line and headers: more is 431."""
    n: int = 1000
    """Entries that can be asked for."""
    pairs: int = 10_000
    """Pairs of a batch of predictions: more is 413."""
    users: int = 100
    """Users of a batch of recommendations: more is 413."""
    entries: int = 10_000
    """Users times n of a batch of recommendations: more is 413."""
    ratings: int = 1000
    """Ratings of a new person: more is 413."""
    connections: int = 1024
    """Connections at once to a worker: more is 503."""
    requests: int = 256
    """Requests at once that a worker is still reading: more is 429."""
    seconds: float = 10.0
    """Time that a request may take to arrive: more is 408."""
    idle: float = 60.0
    """Time that a connection may be idle."""
    cached: int = 8192
    """Answers that a worker keeps."""
    cached_bytes: int = 16 * KIB * KIB
    """Bytes of the answers that a worker keeps."""
