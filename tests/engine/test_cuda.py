"""The engine on a card: what it does beyond what every engine is judged by."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import tastemix as tm
from tastemix.engine import Engine, Pair, RandomStart, Session
from tastemix.engine.cuda import card
from tastemix.engine.objective import Objective
from tests.conftest import random_ratings
from tests.engine.problems import NO_CARD, OBJECTIVES, engine, half_of_squares, steps
from tests.engine.test_estimated import OBJECTIVE as ESTIMATED

SOURCES = Path(tm.__file__).parent / "engine" / "cuda"
LONG = tm.Ratings.from_sparse(
    scipy.sparse.random_array(
        (9000, 40), density=0.5, rng=0, data_sampler=lambda size: np.arange(size) % 5 + 1.0
    )
)
"""Items of 4,500 ratings, which a card cuts into pieces."""


@pytest.fixture
def judged() -> Iterator[Engine]:
    with engine("cuda") as found:
        yield found


def compiler() -> ctypes.CDLL:
    """NVRTC, from wherever it was installed; it needs no card."""
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else ():
        for path in Path(folder).rglob("libnvrtc.so.*"):
            return ctypes.CDLL(str(path))
    pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("kernels", ["-DPIECE=1024", f"-DW={width}"]) for width in (8, 24, 32, 72)),
        ("neighbours", []),
        ("lists", []),
        ("draws", ["--device-int128"]),
    ],
)
def test_the_kernels_compile(name: str, options: list[str], architecture: str) -> None:
    """One and several warps a row; whole vectors, and what is left over."""
    nvrtc, program, size = compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    told = ["--std=c++17", *options, f"--gpu-architecture={architecture}"]
    source = b"".join((SOURCES / each).read_bytes() for each in ("common.cuh", f"{name}.cu"))
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, 0, 0) == 0
    options = (ctypes.c_char_p * len(told))(*(each.encode() for each in told))
    failed = nvrtc.nvrtcCompileProgram(program, len(told), options)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert not failed, log.value.decode()
    assert "warning" not in log.value.decode()


def test_without_cupy_a_sentence_tells_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tm.errors.EngineError, match=r"pip install 'tastemix\[cuda\]' or use"):
        tm.NMF(2).fit(LONG, engine="cuda")


@pytest.mark.skipif(NO_CARD is None or "CuPy" in NO_CARD, reason="needs CuPy and no card")
def test_without_a_card_a_sentence_tells_the_way_out() -> None:
    with pytest.raises(tm.errors.EngineError, match="no CUDA card can be used"):
        tm.NMF(2).fit(LONG, engine="cuda")


def test_cupy_is_not_imported_unless_it_is_asked_for() -> None:
    tm.NMF(2, steps=1).fit(random_ratings(5, 5, 0.5))
    if NO_CARD:
        assert "cupy" not in sys.modules or importlib.util.find_spec("cupy")
        assert "tastemix.engine.cuda.session" not in sys.modules


def values(session: Session, objective: Objective, count: int) -> list[float]:
    found = []
    for _ in range(count):
        for side in ("items", "users"):
            found.append(session.half_step(side, objective, 1e-3).objective)
    return found


@pytest.mark.parametrize("rank", [5, 20, 70, 128])
@pytest.mark.parametrize("name", ["l1", "weak prior", "weak dynamic", "towards choices", "noise"])
def test_rows_in_pieces_agree_with_the_cpu(name: str, rank: int, judged: Engine) -> None:
    objective = ESTIMATED if name == "noise" else OBJECTIVES[name]
    start = RandomStart(rank, 0, False, 0.5, 0.3)
    found = values(judged.place(LONG).open(start), objective, 2)
    with engine("plain") as native:
        expected = values(native.place(LONG).open(start), objective, 2)
    np.testing.assert_allclose(found, expected, atol=2e-4 * half_of_squares(LONG))


@pytest.mark.parametrize("rank", [3, 22, 40, 100])
def test_the_same_bits_from_run_to_run(rank: int, judged: Engine) -> None:
    for objective in (OBJECTIVES["l1"], OBJECTIVES["weak prior"], ESTIMATED):
        one, other = (steps(judged, LONG, rank, objective, 2).factors() for _ in range(2))
        for factor, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(factor, same)


def test_pieces_run_by_the_column_where_they_begin(
    judged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tastemix.engine.cuda.halves.TOGETHER", 50)
    half = judged.place(LONG).halves["items"]
    assert (half.longs, half.pieces) == (40, 200)
    for begin, end in ((0, 40), (10, 30)):
        run = half.run(begin, end).get()
        np.testing.assert_array_equal(np.sort(run), np.arange(5 * begin, 5 * end))
        rows = half.order.get()[run // 5]
        entries = half.pointers.get()[rows] + 1024 * (run % 5)
        columns = half.indices.get()[entries]
        assert (np.diff(run // 50 * 9000 + columns) >= 0).all()


def test_many_levels_are_kept_as_they_are(judged: Engine) -> None:
    half, rng = LONG.by_user, np.random.default_rng(0)
    stars = (half.values + rng.random(len(LONG), np.float32)).astype(np.float32)
    ratings = tm.Ratings.from_arrays(half.rows, half.indices, stars)
    found = steps(judged, ratings, 4, OBJECTIVES["l1"], 3)
    with engine("plain") as native:
        expected = steps(native, ratings, 4, OBJECTIVES["l1"], 3)
    part = judged.place(ratings).part(ratings)
    np.testing.assert_array_equal(found.errors(part).truth, stars)
    squared = (found.errors(part).prediction - stars) ** 2
    assert found.rmse(part) == pytest.approx(np.sqrt(squared.mean()), rel=1e-5)
    np.testing.assert_allclose(found.factors().items, expected.factors().items, atol=2e-2)


def test_halves_are_those_of_the_ratings(judged: Engine) -> None:
    placed = judged.place(LONG)
    seen, unseen = placed.split(3, 0.2)
    with engine("plain") as native:
        other, part = native.place(LONG).split(3, 0.2)
    for side in ("users", "items"):
        for there, here in ((placed, LONG), (seen, other.ratings)):
            half, expected = there.halves[side], here.half(side)
            np.testing.assert_array_equal(half.pointers.get(), expected.pointers)
            np.testing.assert_array_equal(half.indices.get(), expected.indices)
            found = half.values.of(0, len(here)).get()
            np.testing.assert_array_equal(found, expected.values)
    np.testing.assert_array_equal(unseen.by_user.indices.get(), part.ratings.by_user.indices)


@pytest.mark.parametrize("name", ["CNMF", "MIXD", "PR", "ANMF"])
def test_fits_and_folded_rows_agree_with_the_cpu(name: str, judged: Engine) -> None:
    ratings = random_ratings(300, 80, 0.3, seed=2)
    method = tm.ANMF(4, members=2) if name == "ANMF" else getattr(tm, name)(4)
    on_card, here = method.fit(ratings, engine="cuda"), method.fit(ratings, engine="cpu")
    users, items = np.arange(300), np.arange(300) % 80
    apart = on_card.predict_numbers(users, items) - here.predict_numbers(users, items)
    assert np.sqrt((apart**2).mean()) < 0.05
    given = {0: 5.0, 7: 1.0, 11: 4.0}
    one = here.fold_in(given, engine="cuda").predict([1, 2, 3])
    other = here.fold_in(given, engine="cpu").predict([1, 2, 3])
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_ranks_that_are_too_large_are_refused(judged: Engine) -> None:
    with pytest.raises(tm.errors.EngineError, match="up to 128 coordinates"):
        judged.place(LONG).open(RandomStart(129))


def test_ratings_larger_than_the_card_are_refused(
    judged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (1000, 2000))
    cupy.get_default_memory_pool().free_all_blocks()
    with pytest.raises(tm.errors.EngineError, match=r"the ratings need [\d,]+ bytes on the card"):
        judged.place(LONG)


def test_an_enormous_row_is_summed_to_the_precision_of_its_ratings(judged: Engine) -> None:
    """One item of 2 million ratings: its best level is their mean."""
    count = 1 << 21
    stars = np.arange(count) % 7 + 1.0
    ratings = tm.Ratings.from_arrays(np.arange(count), np.zeros(count, np.int64), stars)
    start = Pair(np.ones((count, 1), np.float32), np.zeros((1, 1), np.float32))
    session = judged.place(ratings).open(start)
    session.half_step("items", Objective(), 1e-9)
    assert session.factors().items[0, 0] == pytest.approx(stars.mean(), rel=1e-6)


def test_cards_are_described() -> None:
    assert bool(card.described()) == (NO_CARD is None)
