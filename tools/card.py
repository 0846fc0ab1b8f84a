"""What runs on a card, once and small, for compute-sanitizer to watch.

compute-sanitizer --tool memcheck python tools/card.py
compute-sanitizer --tool racecheck python tools/card.py
"""

from __future__ import annotations

import cupy as cp
import numpy as np
import scipy.sparse

import tastemix as tm
from tastemix.data.ratings import Half
from tastemix.engine import RandomStart
from tastemix.engine.cuda.session import CudaEngine, CudaPlaced
from tastemix.engine.neighbours import Settings
from tastemix.engine.objective import Objective
from tastemix.engine.searching import Scored

RANKS = (5, 22, 40, 100)
OBJECTIVES = (
    Objective(l1=0.2),
    Objective(prior=3.0, weight=0.3, l2=1.0, centre="average"),
    Objective(prior="dynamic"),
    Objective(l2=2.0, l2_per_rating=0.03, centre="choices"),
    Objective(l2=0.05, centre="choices", noise=0.7),
)


def made(users: int, items: int, density: float) -> tm.Ratings:
    """Random stars."""
    drawn = scipy.sparse.random_array(
        (users, items),
        density=density,
        rng=0,
        data_sampler=lambda size: np.arange(size) % 5 + 1.0,
    )
    return tm.Ratings.from_sparse(drawn)


def steps(placed: CudaPlaced) -> None:
    """A step of every objective at every width, and what a session answers."""
    part = placed.split(1, 0.2)[1]
    for rank in RANKS:
        for objective in OBJECTIVES:
            session = placed.open(RandomStart(rank, 0, offsets=True))
            for side in ("items", "users"):
                session.half_step(side, objective, 1e-3)
            session.rmse(part), session.errors(part), session.spread("items"), session.factors()


def lists(engine: CudaEngine) -> None:
    """Lists of few and of many that are equal."""
    rng = np.random.default_rng(0)
    factors = [rng.random((count, 3)).astype(np.float32) for count in (20, 3000)]
    seen = Half(
        np.arange(21, dtype=np.int64), np.arange(20, dtype=np.int32), np.ones(20, np.float32)
    )
    links = Half(
        np.arange(3001, dtype=np.int64),
        np.arange(3000, dtype=np.int32)[::-1].copy(),
        np.ones(3000, np.float32),
    )
    for pair in (factors, [np.ones_like(factor) for factor in factors]):
        engine.best(Scored(3000, *pair, None, seen, links, 0.5), seen, None, 10)


def main() -> None:
    """All of it."""
    cp.cuda.set_allocator(None)  # every array is an allocation of its own
    engine = CudaEngine()
    steps(engine.place(made(2500, 12, 0.5)))  # items in pieces
    small = made(120, 40, 0.3)
    placed = engine.place(small)
    placed.neighbours(Settings(1.0, 0.3, 0.0, 12, 1e-5), lambda stars: stars)
    lists(engine)
    tm.CNMF(3, steps=2).fit(small, engine=engine).fold_in({1: 5.0, 2: 1.0}, engine=engine)
    cp.cuda.runtime.deviceSynchronize()
    print("done")


if __name__ == "__main__":
    main()
