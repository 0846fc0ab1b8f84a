from numpy import float32, float64, int32, int64, uint8
from numpy.typing import NDArray

class Session:
    def __init__(
        self,
        user_pointers: NDArray[int64],
        user_indices: NDArray[int32],
        user_values: NDArray[float32],
        item_pointers: NDArray[int64],
        item_indices: NDArray[int32],
        item_values: NDArray[float32],
        rank: int,
        shift: float,
        /,
    ) -> None: ...
    def set_factor(self, side: int, rows: NDArray[float32], /) -> None: ...
    def get_factor(self, side: int, /) -> NDArray[float32]: ...
    def hold(self, side: int, coordinate: int, /) -> None: ...
    def half_step(
        self,
        side: int,
        l1: float,
        l2: float,
        l2_per_rating: float,
        prior: float,
        weight: float,
        dynamic: bool,
        centred: bool,
        tolerance: float,
        max_updates: int,
        /,
    ) -> tuple[float, int, float]: ...
    def row_grams(self, side: int, /) -> None: ...

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

def counting_sort(key: NDArray[int32], keys: int, /) -> tuple[NDArray[int64], NDArray[int32]]: ...
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
    tastes: NDArray[int64],
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
