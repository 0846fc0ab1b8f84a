from collections.abc import Sequence
from typing import overload

from numpy import bool_, float32, float64, int32, int64, uint8
from numpy.typing import NDArray

class Turn:
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *raised: object) -> None: ...

class Half:
    def __init__(
        self,
        pointers: NDArray[int64],
        indices: NDArray[int32],
        values: NDArray[float32],
        columns: int,
        codes: NDArray[uint8] | None = None,
        mapped: bool = False,
    ) -> None: ...

CHUNK_ROWS: int
SPAN_ROWS: int

class Rows:
    @property
    def rank(self) -> int: ...
    @overload
    def __init__(self, values: NDArray[float32], /) -> None: ...
    @overload
    def __init__(self, count: int, rank: int, /) -> None: ...
    def set(self, values: NDArray[float32], /) -> None: ...
    @overload
    def put(self, first: int, values: NDArray[float32], /) -> None: ...
    @overload
    def put(self, first: int, other: Rows, numbers: NDArray[int32] | None = ...) -> None: ...
    @overload
    def get(self) -> NDArray[float32]: ...
    @overload
    def get(self, into: NDArray[float32], /) -> None: ...
    def take(self, numbers: NDArray[int32], /) -> NDArray[float32]: ...
    def sums(
        self, half: Half | None, centres: Rows | None, gram: bool, group: int = ...
    ) -> NDArray[float64]: ...

class Workspace:
    def __init__(self) -> None: ...
    def release(self) -> None: ...

class Mover:
    def __init__(self, half: Half, moving: Rows, shift: float, work: Workspace, /) -> None: ...
    def hold(self, coordinate: int, /) -> None: ...
    def survey(
        self,
        fixed: Rows,
        l2: float,
        l2_per_rating: float,
        prior: float,
        weight: float,
        dynamic: bool,
        gram: NDArray[float32],
        linear: NDArray[float32],
        centres: Rows | None,
        ridges: Rows | None,
        variances: Rows | None,
        variance: float,
    ) -> tuple[NDArray[float64], float]: ...
    def descend(
        self, threshold: float, max_updates: int, /
    ) -> tuple[NDArray[float64], int, float]: ...
    def row_grams(self, fixed: Rows, /) -> None: ...

class Centres:
    centres: Rows
    suggested: Rows
    def __init__(self, own: Half, rank: int, group: int, /) -> None: ...
    def weigh(self, scale: NDArray[float32], share: NDArray[float32], /) -> None: ...
    def place(self, mean: NDArray[float64], z: Rows, /) -> None: ...
    def left(self, rows: Rows, /) -> NDArray[float64]: ...
    def leave(self, rows: Rows, shift: NDArray[float32], /) -> None: ...
    def suggest(self, direction: Rows, /) -> None: ...
    def bend(self) -> NDArray[float64]: ...
    def step(self, length: NDArray[float32], /) -> None: ...
    def spread(self, rows: Rows, variances: Rows, /) -> NDArray[float64]: ...

class Suggestions:
    z: Rows
    direction: Rows
    def __init__(self, other: Half, rank: int, group: int, /) -> None: ...
    def weigh(
        self, weight: NDArray[float32], scale: NDArray[float32], ridge: float, /
    ) -> NDArray[float64]: ...
    def begin(self, away: Rows, weight: NDArray[float32], /) -> NDArray[float64]: ...
    def image(self, suggested: Rows, weight: NDArray[float32], /) -> NDArray[float64]: ...
    def step(self, length: NDArray[float32], /) -> NDArray[float64]: ...
    def turn(self, keep: NDArray[float32], /) -> None: ...
    def bend(self) -> NDArray[float64]: ...
    def finish(self, length: NDArray[float32], /) -> None: ...
    def squares(self) -> NDArray[float64]: ...

class Ridges:
    each: Rows
    variances: Rows
    def __init__(self, own: Half, rank: int, /) -> None: ...
    def estimate(self, other_variances: Rows, least: NDArray[float64], /) -> None: ...

class Catalogue:
    def __init__(self, rows: NDArray[float32], /) -> None: ...
    def top(
        self,
        users: NDArray[float32],
        user: NDArray[int32],
        pointers: NDArray[int64],
        seen: NDArray[int32],
        allowed: NDArray[uint8] | None,
        n: int,
    ) -> NDArray[int32]: ...
    def top_weighed(
        self,
        users: NDArray[float32],
        user: NDArray[int32],
        pointers: NDArray[int64],
        seen: NDArray[int32],
        allowed: NDArray[uint8] | None,
        n: int,
        tastes: float,
        links: float,
        popular: float,
        popularity: NDArray[float32],
        linked: Linked | None,
        rated_pointers: NDArray[int64],
        rated: NDArray[int32],
        stars: NDArray[float32],
    ) -> tuple[NDArray[int32], NDArray[float64]]: ...

class Linked:
    def __init__(
        self, pointers: NDArray[int64], indices: NDArray[int32], weights: NDArray[float32], /
    ) -> None: ...
    def add(
        self,
        pointers: NDArray[int64],
        items: NDArray[int32],
        values: NDArray[float32],
        scale: float,
        scores: NDArray[float32],
        /,
    ) -> None: ...
    def pairs(
        self,
        pointers: NDArray[int64],
        items: NDArray[int32],
        values: NDArray[float32],
        user: NDArray[int32],
        item: NDArray[int32],
        /,
    ) -> NDArray[float64]: ...

def neighbours(
    by_user: Half,
    by_item: Half,
    l2: float,
    l2_per_rating: float,
    l1: float,
    candidates: int,
    max_updates: int,
    tolerance: float,
    gram_floats: int,
) -> tuple[NDArray[int64], NDArray[int32], NDArray[float32]]: ...
def best_items(
    scores: NDArray[float32],
    pointers: NDArray[int64],
    seen: NDArray[int32],
    allowed: NDArray[uint8] | None,
    n: int,
) -> NDArray[int32]: ...
def fold(
    fixed: Rows,
    pointers: NDArray[int64],
    indices: NDArray[int32],
    values: NDArray[float32],
    start: NDArray[float32],
    held: Sequence[int],
    shift: float,
    l2: float,
    l2_per_rating: float,
    prior: float,
    weight: float,
    dynamic: bool,
    gram: NDArray[float32],
    linear: NDArray[float32],
    centres: NDArray[float32] | None,
    ridges: NDArray[float32] | None,
    max_updates: int,
    times: int,
) -> NDArray[float32]: ...
def mark(
    places: NDArray[int64], columns: NDArray[int32], gone: NDArray[bool_], bits: NDArray[uint8]
) -> None: ...
def row_errors(
    half: Half, moving: Rows, fixed: Rows, shift: float, low: float, high: float, /
) -> NDArray[float64]: ...
def pair_products(
    users: NDArray[float32],
    items: NDArray[float32],
    user: NDArray[int32],
    item: NDArray[int32],
    /,
) -> NDArray[float64]: ...
def parts(
    user: NDArray[float32],
    items: NDArray[float32],
    item: int,
    rated: NDArray[int32],
    members: int,
    taste: NDArray[int32],
    user_unit: NDArray[float64],
    item_unit: NDArray[float64],
    tastes: int,
    shift: float,
    baseline: bool,
    examples: int,
    /,
) -> tuple[
    NDArray[int64],
    NDArray[float64],
    NDArray[float64],
    NDArray[float64],
    NDArray[int32],
    NDArray[int32],
]: ...
def threads() -> int: ...
def set_threads(n: int, /) -> None: ...
def available_isas() -> list[str]: ...
def current_isa() -> str: ...
def use_isa(name: str, /) -> None: ...
