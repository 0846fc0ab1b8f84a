"""Pieces of work that Dask gives to whichever worker is free, and again if it is lost."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tastemix.engine.dask.cluster import Cluster, LostWorkerError
from tastemix.errors import EngineError

_BEGUN: dict[str, tuple[Any]] = {}
_ENDED: deque[str] = deque(maxlen=1000)
"""What was ended last: what is begun of it afterwards is not kept."""
_BEGINNING = threading.Lock()
_LOCK = threading.Lock()
"""Of what is above. It is never held for long: a worker hears nothing while it forgets."""


def spread(
    cluster: Cluster,
    begin: Callable[[Any], Any],
    about: Any,
    work: Callable[[Any, Any], Any],
    pieces: Sequence[Any],
) -> list[Any]:
    """See Spreading.spread."""
    key = uuid.uuid4().hex
    futures = cluster.share(partial(_done, key, begin, about, work), pieces)
    try:
        return cluster.results(futures, ())
    except LostWorkerError:
        raise EngineError(
            "workers were lost again and again over the same piece of work: give them more memory"
        ) from None
    finally:
        cluster.end(futures, partial(_forget, key))


def _done(key: str, begin: Any, about: Any, work: Any, piece: Any) -> Any:
    with _BEGINNING:
        begun = _BEGUN.get(key) or (begin(about),)
        with _LOCK:
            if key in _ENDED:
                return None  # nobody waits for it
            _BEGUN[key] = begun
    return work(*begun, piece)


def _forget(key: str) -> None:
    with _LOCK:
        _ENDED.append(key)
        _BEGUN.pop(key, None)
