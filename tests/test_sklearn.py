"""TasteNMF: scikit-learn's own checks, and the answers known from elsewhere."""

from __future__ import annotations

import importlib
import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import tastemix as tm
import tastemix.sklearn
from tastemix.sklearn import AUTO_L2, TasteNMF, _fifths

OBJECTIVES: dict[str, dict[str, Any]] = {
    "default": {},
    "no penalty": {"l2": 0.0},
    "l1, ridge per rating": {"l1": 0.05, "l2": 0.0, "l2_per_rating": 0.01},
    "static prior": {"prior": 1.0, "weight": 0.1},
    "dynamic prior": {"prior": "dynamic", "max_iter": 20},
    "offsets": {"offsets": True},
    "centred": {"centre": "average", "l2": 2.0},
    "offsets, centred": {"offsets": True, "centre": "average", "l2": 2.0, "l2_per_rating": 0.01},
}


def planted(
    seed: int = 0, rows: int = 120, columns: int = 40, noise: float = 0.2, missing: float = 0.4
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A noisy rank 4 matrix of mean 1 with missing entries, and the truth without noise."""
    rng = np.random.default_rng(seed)
    truth = rng.exponential(size=(rows, 4)) @ rng.exponential(size=(4, columns))
    truth /= truth.mean()
    X = np.maximum(truth + noise * rng.standard_normal(truth.shape), 0)
    X[rng.random(X.shape) < missing] = np.nan
    return X, truth


def stored(X: NDArray[np.float64]) -> sp.csr_array:
    """The observed entries as a sparse matrix, zeros among them."""
    where = np.nonzero(~np.isnan(X))
    return sp.coo_array((X[where], where), X.shape).tocsr()


def rmse(error: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.nanmean(error**2)))


@parametrize_with_checks(
    [
        TasteNMF(),
        TasteNMF(n_components=2, l2=0.0),
        TasteNMF(n_components=2, prior=1.0),
        TasteNMF(n_components=2, prior="dynamic"),
        TasteNMF(n_components=2, offsets=True),
        TasteNMF(n_components=2, offsets=True, centre="average"),
    ]
)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("seed", range(5))
def test_a_grid_search_finds_the_planted_rank(seed: int) -> None:
    X, _ = planted(seed)
    search = GridSearchCV(TasteNMF(random_state=seed), {"n_components": [1, 2, 3, 4, 5, 6, 8]})
    assert search.fit(X).best_params_ == {"n_components": 4}


@pytest.mark.parametrize("rank", [2, 4, 8])
def test_a_complete_matrix_is_fitted_as_well_as_by_scikit_learn(rank: int) -> None:
    X, _ = planted(missing=0)
    ours = TasteNMF(rank, l2=0.0, max_iter=50, tol=0, random_state=0).fit(X)
    theirs = NMF(rank, solver="cd", init="random", max_iter=50, tol=0, random_state=0).fit(X)
    assert ours.n_iter_ <= theirs.n_iter_
    assert ours.reconstruction_err_ * np.sqrt(X.size) <= 1.02 * theirs.reconstruction_err_


def test_missing_entries_are_filled_far_better_than_by_column_means() -> None:
    X, truth = planted()
    nmf = TasteNMF(4, random_state=0)
    filled = nmf.inverse_transform(nmf.fit_transform(X))
    missing = np.isnan(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    assert rmse((filled - truth)[missing]) < 0.2 * rmse((means - truth)[missing])
    assert nmf.reconstruction_err_ == pytest.approx(rmse(filled - X), rel=1e-6)


@pytest.mark.parametrize("options", OBJECTIVES.values(), ids=OBJECTIVES)
def test_fit_transform_is_fit_then_transform_bit_for_bit(options: dict[str, Any]) -> None:
    X, _ = planted()
    together = TasteNMF(4, random_state=0, **options).fit_transform(X)
    apart = TasteNMF(4, random_state=0, **options).fit(X).transform(X)
    assert together.any()
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("options", OBJECTIVES.values(), ids=OBJECTIVES)
def test_a_row_is_transformed_the_same_alone_and_among_others(options: dict[str, Any]) -> None:
    X, _ = planted()
    nmf = TasteNMF(4, random_state=0, **options).fit(X[:100])
    together = nmf.transform(X)
    alone = np.vstack([nmf.transform(X[[row]]) for row in range(len(X))])
    np.testing.assert_array_equal(together, alone)


UNKNOWN_IGNORED = [name for name in OBJECTIVES if "prior" not in name]


@pytest.mark.parametrize("name", UNKNOWN_IGNORED)
def test_transform_solves_the_penalised_problem_of_every_row(name: str) -> None:
    """With offsets, the last entry is one; λ₂ counts the distance to the centre."""
    X, _ = planted()
    nmf = TasteNMF(4, random_state=0, **OBJECTIVES[name]).fit(X)
    W = nmf.transform(X)
    free = len(nmf.components_) - nmf.offsets
    centre = nmf._factors.average("users")[:free] if nmf.centre == "average" else np.zeros(free)
    for row, w in zip(X, W, strict=True):
        seen = ~np.isnan(row)
        H, fixed = nmf.components_[:free, seen], nmf.components_[free:, seen].sum(axis=0)
        ridge = nmf.l2_ + nmf.l2_per_rating * seen.sum()
        root = np.linalg.cholesky(H @ H.T + ridge * np.eye(free))
        target = H @ (row[seen] - fixed) - nmf.l1 + nmf.l2_ * centre
        exact, _ = nnls(root.T, np.linalg.solve(root, target))
        np.testing.assert_allclose(w[:free], exact, atol=2e-5 * W.max())


def test_offsets_are_two_more_components() -> None:
    X, _ = planted()
    shifted = X + np.arange(40) / 10 + np.arange(120)[:, None] / 40
    nmf = TasteNMF(4, offsets=True, random_state=0)
    W, H = nmf.fit_transform(shifted), nmf.components_
    assert W.shape == (120, 6)
    assert H.shape == (6, 40)
    assert nmf.n_components_ == 6
    assert len(nmf.get_feature_names_out()) == 6
    np.testing.assert_array_equal(W[:, 5], 1)
    np.testing.assert_array_equal(H[4], 1)
    assert np.ptp(W[:, 4]) > 0.1  # the rows' offsets
    assert np.ptp(H[5]) > 0.1  # the columns'
    by_hand = W[:, :4] @ H[:4] + W[:, [4]] + H[5]
    np.testing.assert_allclose(nmf.inverse_transform(W), by_hand, rtol=1e-5)
    plain = TasteNMF(4, random_state=0).fit(shifted)
    assert nmf.reconstruction_err_ < plain.reconstruction_err_
    assert rmse(by_hand - shifted) == pytest.approx(nmf.reconstruction_err_, rel=1e-5)


def test_offsets_explain_rows_and_columns_that_differ_by_constants() -> None:
    """A matrix of rank two, with one component that is not needed."""
    X = 1 + np.arange(12.0)[:, None] + np.arange(7.0) / 2
    fits = [
        TasteNMF(1, l2=0.0, tol=0, offsets=offsets, random_state=0) for offsets in (True, False)
    ]
    exact, plain = (nmf.fit(X).reconstruction_err_ for nmf in fits)
    assert exact < 0.01
    assert plain > 0.1


@pytest.mark.parametrize("offsets", [False, True])
def test_with_an_average_centre_a_row_without_entries_is_the_average_one(offsets: bool) -> None:
    X, _ = planted()
    X[5] = np.nan
    nmf = TasteNMF(4, offsets=offsets, centre="average", random_state=0)
    W = nmf.fit_transform(X)
    np.testing.assert_allclose(W[5], nmf._factors.average("users"), rtol=1e-6)
    np.testing.assert_allclose(W[5], W.mean(axis=0), rtol=0.02)
    few = np.full((1, 40), np.nan)
    few[0, 3] = X[0, 3]
    pulled = TasteNMF(4, offsets=offsets, centre="average", l2=1e6, random_state=0).fit(X)
    np.testing.assert_allclose(
        pulled.transform(few)[0], pulled._factors.average("users"), rtol=1e-3
    )


def test_the_automatic_penalty_makes_the_fit_independent_of_the_unit() -> None:
    X, _ = planted()
    one, other = TasteNMF(4, random_state=0).fit(X), TasteNMF(4, random_state=0).fit(256 * X)
    assert one.l2_ == pytest.approx(AUTO_L2 * rmse(X), rel=1e-6)
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(16 * one.components_, other.components_)


@pytest.mark.parametrize(
    "kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array]
)
def test_sparse_is_the_same_as_dense_with_nan(kind: Any) -> None:
    X, _ = planted()
    assert (X == 0).any()
    sparse = kind(stored(X))
    dense = TasteNMF(4, random_state=0).fit(X)
    nmf = TasteNMF(4, random_state=0).fit(sparse)
    np.testing.assert_array_equal(nmf.components_, dense.components_)
    np.testing.assert_array_equal(nmf.transform(sparse), dense.transform(X))
    assert nmf.score(sparse) == dense.score(X)


def test_a_stored_zero_is_a_value_and_a_stored_nan_is_missing() -> None:
    ones = np.ones((3, 3))
    zero, unknown = ones.copy(), ones.copy()
    zero[1, 1], unknown[1, 1] = 0, np.nan
    options = {"n_components": 3, "l2": 0.0, "random_state": 0}
    with_zero = TasteNMF(**options).fit(stored(zero))
    assert with_zero.inverse_transform(with_zero.transform(zero))[1, 1] < 0.1
    with_nan = TasteNMF(**options).fit(sp.csr_array(unknown))
    np.testing.assert_array_equal(
        with_nan.components_, TasteNMF(**options).fit(unknown).components_
    )


def test_entries_stored_twice_are_summed_and_the_matrix_is_left_alone() -> None:
    X = sp.csr_array(
        (np.array([1.0, 1, 2, 1, 3]), np.array([0, 1, 1, 0, 1]), np.array([0, 3, 5])), shape=(2, 2)
    )
    summed = TasteNMF(2, random_state=0).fit(np.array([[1.0, 3.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(
        TasteNMF(2, random_state=0).fit(X).components_, summed.components_
    )
    assert X.nnz == 5


def test_frames_give_their_names_and_get_frames() -> None:
    X, _ = planted()
    frame = pd.DataFrame(X, columns=[f"item {column}" for column in range(X.shape[1])])
    nmf = TasteNMF(2, random_state=0).set_output(transform="pandas")
    W = nmf.fit_transform(frame)
    assert list(W.columns) == list(nmf.get_feature_names_out()) == ["tastenmf0", "tastenmf1"]
    assert list(nmf.feature_names_in_) == list(frame.columns)
    plain = TasteNMF(2, random_state=0)
    np.testing.assert_array_equal(W, plain.fit_transform(X))
    np.testing.assert_array_equal(
        nmf.inverse_transform(W), plain.inverse_transform(plain.transform(X))
    )


def test_the_type_of_the_numbers_is_kept() -> None:
    X, _ = planted()
    for dtype in (np.float32, np.float64):
        nmf = TasteNMF(2, random_state=0)
        W = nmf.fit_transform(X.astype(dtype))
        of = {part.dtype for part in (W, nmf.components_, nmf.inverse_transform(W))}
        assert of == {np.dtype(dtype)}
    assert get_tags(nmf).transformer_tags.preserves_dtype == ["float64", "float32"]
    whole = TasteNMF(2).fit(np.arange(12).reshape(3, 4))
    assert whole.components_.dtype == np.float64


def test_score_is_minus_the_rmse_on_what_was_hidden() -> None:
    X, _ = planted()
    nmf = TasteNMF(4, random_state=3).fit(X)
    chosen = _fifths(tm.Ratings.from_sparse(stored(X)), nmf._hiding_seed)
    hidden = np.zeros(X.shape, bool)
    hidden[~np.isnan(X)] = chosen
    predicted = nmf.inverse_transform(nmf.transform(np.where(hidden, np.nan, X)))
    assert nmf.score(X) == pytest.approx(-rmse((predicted - X)[hidden]), rel=1e-6)


def test_score_hides_a_fifth_of_each_row_but_never_all_of_it() -> None:
    counts = [0, 1, 2, 4, 5, 9, 10, 40]
    X = np.where(np.arange(40) < np.array(counts)[:, None], 1.0, np.nan)
    ratings = tm.Ratings.from_sparse(stored(X))
    hidden = _fifths(ratings, seed=0)
    rows = np.bincount(ratings.by_user.rows[hidden], minlength=len(counts))
    assert rows.tolist() == [0, 0, 1, 1, 1, 1, 2, 8]
    assert (hidden != _fifths(ratings, seed=1)).any()


def test_score_repeats_and_is_higher_for_the_better_model() -> None:
    X, _ = planted()
    train, test = X[:80], X[80:]
    score = TasteNMF(4, random_state=0).fit(train).score(test)
    assert score == TasteNMF(4, random_state=0).fit(train).score(test)
    assert score > TasteNMF(4, random_state=0, max_iter=1).fit(train).score(test)
    assert score > TasteNMF(1, random_state=0).fit(train).score(test)
    unseeded = TasteNMF(2).fit(train)
    assert unseeded.score(test) == unseeded.score(test)


def test_without_a_random_state_candidates_are_judged_on_the_same_entries() -> None:
    X, _ = planted()
    fits = [TasteNMF(1, tol=1e-7).fit(X) for _ in range(2)]
    assert fits[0].score(X) == pytest.approx(fits[1].score(X), rel=1e-3)
    other = TasteNMF(1, tol=1e-7, random_state=1).fit(X)
    assert other.score(X) != pytest.approx(fits[0].score(X), rel=1e-3)


def test_rank_may_exceed_the_data() -> None:
    X = np.array([[5.0, 1.0, np.nan], [4.0, np.nan, 2.0]])
    nmf = TasteNMF(7, l2=0.0, max_iter=500, tol=0, random_state=0)
    W = nmf.fit_transform(X)
    assert W.shape == (2, 7)
    assert nmf.components_.shape == (7, 3)
    assert nmf.reconstruction_err_ < 1e-3


def test_rows_and_columns_may_be_missing_altogether() -> None:
    X, _ = planted()
    X[5], X[:, 7] = np.nan, np.nan
    nmf = TasteNMF(4, random_state=0)
    W = nmf.fit_transform(X)
    assert not W[5].any()
    assert not nmf.components_[:, 7].any()
    assert np.isfinite(nmf.components_).all()
    assert not nmf.transform(np.full((2, 40), np.nan)).any()
    assert not nmf.transform(sp.csr_array((2, 40))).any()


def test_under_a_prior_a_row_without_entries_is_that_of_the_prior() -> None:
    X, _ = planted()
    nmf = TasteNMF(4, prior=1.0, l2=0.0, random_state=0).fit(X)
    W = nmf.transform(np.full((1, 40), np.nan))
    exact, _ = nnls(nmf.components_.T, np.ones(40))
    np.testing.assert_allclose(W[0], exact, atol=1e-5)


def test_under_a_dynamic_prior_a_row_without_entries_is_the_average_one() -> None:
    X, _ = planted()
    nmf = TasteNMF(4, l2=0.0, prior="dynamic", random_state=0)
    average = nmf.fit_transform(X).mean(axis=0)
    np.testing.assert_allclose(nmf.transform(np.full((1, 40), np.nan))[0], average, rtol=0.05)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((2, 3), np.nan), "X has no observed"),
        (sp.csr_array((2, 3)), "X has no observed"),
        (np.array([[1.0, np.nan], [-1.0, 2.0]]), "Negative values in data passed to TasteNMF"),
        (sp.csr_array(np.array([[0.0, -1.0]])), "Negative values in data passed to TasteNMF"),
        (np.array([[1.0, 1e16]]), "entries above 1e"),
        (np.array([[1.0, np.inf]]), "infinity"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TasteNMF(2).fit(X)


def test_what_cannot_be_transformed_or_scored_is_refused() -> None:
    nmf = TasteNMF(2, random_state=0).fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="Negative values"):
        nmf.transform([[1.0, -1.0]])
    with pytest.raises(ValueError, match="nothing to hide"):
        nmf.score([[1.0, np.nan], [np.nan, 1.0]])
    with pytest.raises(ValueError):
        nmf.inverse_transform(np.ones((3, 5)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"n_components": 2.5},
        {"max_iter": 0},
        {"tol": -1},
        {"tol": np.nan},
        {"l1": -1},
        {"l2": -1},
        {"l2": "none"},
        {"prior": "static"},
        {"weight": 2},
        {"offsets": "no"},
        {"centre": "median"},
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(tm.errors.ParameterError, match=f"^{name} is "):
        TasteNMF(**wrong).fit(np.ones((3, 2)))


def test_n_iter_says_when_the_objective_settled() -> None:
    X, _ = planted()
    steps = [TasteNMF(4, tol=tol, random_state=0).fit(X).n_iter_ for tol in (0.1, 1e-2, 1e-3)]
    assert 1 < steps[0] < steps[1] < steps[2] < 200
    assert TasteNMF(4, max_iter=3, random_state=0).fit(X).n_iter_ == 3
    assert TasteNMF(2).fit(np.zeros((3, 2))).n_iter_ == 2


def test_later_parameters_do_not_change_a_fitted_transform() -> None:
    X, _ = planted()
    nmf = TasteNMF(4, random_state=0).fit(X)
    before = nmf.transform(X), nmf.score(X)
    nmf.set_params(l1=5.0, l2=100.0, prior=3.0, max_iter=1, random_state=9)
    np.testing.assert_array_equal(nmf.transform(X), before[0])
    assert nmf.score(X) == before[1]


def test_clones_pickles_and_pipelines_give_the_same() -> None:
    X, _ = planted()
    nmf = TasteNMF(4, l1=0.01, prior="dynamic", weight=0.5, max_iter=10, random_state=0)
    W = nmf.fit_transform(X)
    copy = clone(nmf)
    assert copy.get_params() == nmf.get_params()
    assert not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit_transform(X), W)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(nmf)).transform(X), W)
    pipeline = make_pipeline(FunctionTransformer(lambda X: 2 * X), clone(nmf), MinMaxScaler())
    scaled = pipeline.fit_transform(X / 2)
    np.testing.assert_allclose(scaled, MinMaxScaler().fit_transform(W))


def test_without_scikit_learn_the_import_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "tastemix.sklearn")
    monkeypatch.setattr(tastemix, "sklearn", tastemix.sklearn)
    with pytest.raises(ImportError, match=r"needs scikit-learn.*pip install 'tastemix\[sklearn\]'"):
        importlib.import_module("tastemix.sklearn")


def test_rows_pulled_towards_choices_transform_as_they_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(1, 6, (60, 30)).astype(float)
    X[rng.random(X.shape) < 0.6] = np.nan
    nmf = TasteNMF(4, centre="choices", l2=1.0, offsets=True, random_state=0)
    W = nmf.fit_transform(X)
    np.testing.assert_array_equal(W, nmf.transform(X))
    plain = TasteNMF(4, l2=1.0, offsets=True, random_state=0).fit(X)
    assert nmf.reconstruction_err_ != plain.reconstruction_err_
