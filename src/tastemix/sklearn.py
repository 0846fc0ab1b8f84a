"""Nonnegative factorisation of a matrix with missing entries, as a scikit-learn transformer.

from tastemix.sklearn import TasteNMF

filled = (nmf := TasteNMF(n_components=4)).inverse_transform(nmf.fit_transform(X))
GridSearchCV(TasteNMF(), {"n_components": range(1, 9)}).fit(X).best_params_
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tastemix.data.ratings import Ratings
from tastemix.engine import engine_of, placed_by
from tastemix.engine.base import Engine, Session
from tastemix.engine.objective import Centre, Objective, Prior
from tastemix.engine.sides import Matrix
from tastemix.engine.start import RandomStart
from tastemix.errors import DataError, ParameterError
from tastemix.model import fold_in
from tastemix.model.factors import Factors
from tastemix.training import loop
from tastemix.training.phase import Phase

try:
    from sklearn.base import (  # type: ignore[import-untyped]
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        TransformerMixin,
    )
    from sklearn.utils import check_array, check_random_state  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        check_is_fitted,
        validate_data,
    )
except ImportError as error:
    raise ImportError(
        "tastemix.sklearn needs scikit-learn 1.6 or newer: pip install 'tastemix[sklearn]'"
    ) from error

AUTO_L2 = 0.1
"""l2="auto", in units of the root mean square of the observed entries."""
LARGEST = 1e15
"""Above this, float32 may overflow in sums of squares."""

Array = NDArray[Any]


class TasteNMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """X ≈ W H on the observed entries of X, with nonnegative W and H.

    Missing entries are NaN in an array or a frame. In a sparse matrix they are those not stored (or
    stored as NaN); a stored zero is a value. scikit-learn's NMF treats them as zeros. Whole rows
    and columns may be missing. Negative entries are an error, as in scikit-learn's NMF.

    n_components: the rank; it may exceed both dimensions of X.
    max_iter: the maximum number of steps; each moves all columns of H, then all rows of W.
    tol: stop after a step that lowers the objective by at most tol times its value.
    l1, l2, l2_per_rating, prior, weight, centre: see tastemix.Objective. l2="auto" is a tenth of
        the root mean square of the observed entries, so that without offsets the fit does not
        depend on their unit.
    offsets: add two components, so that X ≈ p + q + W H with a number p for each row and q for
        each column: components_ ends with a row of ones and the row q, W with the columns p and 1.
    random_state: seed of the initial W, and of the entries that `score` hides.
    engine: where the work is done: "cpu", "cuda", "reference" or an engine object.

    After fit: components_ (H: n_components, or two more, × n_features), n_components_ (its rows),
    n_iter_, l2_, n_features_in_, feature_names_in_ (for a frame), and reconstruction_err_, the root
    mean square error on the observed entries. Computations use float32; results have X's dtype.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-4,
        l1: float = 0.0,
        l2: float | Literal["auto"] = "auto",
        l2_per_rating: float = 0.0,
        prior: Prior = None,
        weight: float = 1.0,
        offsets: bool = False,
        centre: Centre = "zero",
        random_state: Any = None,
        engine: Engine | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.l1 = l1
        self.l2 = l2
        self.l2_per_rating = l2_per_rating
        self.prior = prior
        self.weight = weight
        self.offsets = offsets
        self.centre = centre
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the components; y is ignored."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit the components and return W, bit-identical to `fit` followed by `transform`."""
        ratings, dtype = self._read(X, reset=True)
        if len(ratings) == 0:
            raise DataError("X has no observed entries: give at least one")
        size = _rms(ratings.by_user.values)
        objective = self._objective(size)
        seed, hiding_seed = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        # The start follows the unit of X, as l2 does: 100 X takes the steps of X.
        first = RandomStart(self.n_components, int(seed), bool(self.offsets), math.sqrt(size))
        with placed_by(self.engine, ratings) as placed:
            session = placed.open(first)
            history = loop.run(session, [Phase(objective, self.max_iter)], _settled(self.tol))
            factors = Factors.of(session, 0.0, first.held)

        self.n_iter_ = len(history)
        self.l2_ = objective.l2
        self.components_ = factors.items.T.astype(dtype)
        self.n_components_ = len(self.components_)
        self._phases = [Phase(objective, self.n_iter_)]
        self._factors = factors
        self._hiding_seed = 0 if self.random_state is None else int(hiding_seed)
        rows = self._rows(ratings)
        self.reconstruction_err_ = _rms(self._errors(ratings, rows))
        return rows.astype(dtype)

    def transform(self, X: Any) -> Array:
        """The W of these rows, with H fixed; each row is computed independently.

        A row without entries is zero. Under a static prior it fits the prior; under a dynamic prior
        it stays near the average row of training, and with centre="average" it is that row. With
        offsets its last entry is one.
        """
        check_is_fitted(self)
        ratings, dtype = self._read(X)
        return self._rows(ratings).astype(dtype)

    def inverse_transform(self, X: Any) -> Array:
        """The product X H, for rows X of W: all entries, including the missing ones."""
        check_is_fitted(self)
        return np.asarray(check_array(X, dtype=[np.float64, np.float32]) @ self.components_)

    def score(self, X: Any, y: Any = None) -> float:
        """The negative RMSE on a fifth of each row's entries, hidden while the rest is folded in.

        A fifth is rounded down, but at least one entry of two or more. Which ones depends only on
        random_state and the pattern of observed entries, so a grid search compares all candidates
        on the same entries.
        """
        check_is_fitted(self)
        ratings, _ = self._read(X)
        hidden = _fifths(ratings, self._hiding_seed)
        if not hidden.any():
            raise DataError("no row of X has two observed entries: there is nothing to hide")
        rows = self._rows(ratings.subset(~hidden))
        return -_rms(self._errors(ratings.subset(hidden), rows))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _objective(self, size: float) -> Objective:
        """What is minimised, for entries of this root mean square, all parameters checked."""
        for name in ("n_components", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ParameterError(f"{name} is {value!r}: it must be a whole number of 1 or more")
        if not isinstance(self.offsets, bool | np.bool_):
            raise ParameterError(f"offsets is {self.offsets!r}: choose True or False")
        if not self.tol >= 0:
            raise ParameterError(f"tol is {self.tol!r}: it must be a number of 0 or more")
        if isinstance(self.l2, str) and self.l2 != "auto":
            raise ParameterError(f"l2 is {self.l2!r}: give a number or 'auto'")
        return Objective(
            l1=self.l1,
            l2=AUTO_L2 * size if self.l2 == "auto" else self.l2,
            l2_per_rating=self.l2_per_rating,
            prior=self.prior,
            weight=self.weight,
            centre=self.centre,
        )

    def _read(self, X: Any, reset: bool = False) -> tuple[Ratings, np.dtype[Any]]:
        """The observed entries of X, rows as users, and the type of its numbers."""
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        observed = _observed(X)
        if len(observed.data) == 0:
            anything = sp.coo_array(([0.0], ([0], [0])), X.shape)
            return Ratings.from_sparse(anything).subset(np.array([])), X.dtype
        if observed.data.min() < 0:
            raise DataError(
                "Negative values in data passed to TasteNMF: shift them to start at zero"
            )
        if observed.data.max() > LARGEST:
            raise DataError(f"X has entries above {LARGEST:g}, which may overflow: scale them down")
        return Ratings.from_sparse(observed), X.dtype

    def _rows(self, ratings: Ratings) -> Matrix:
        return fold_in.rows(
            ratings.by_user, self._factors, "users", self._phases, engine_of(self.engine)
        )

    def _errors(self, ratings: Ratings, rows: Matrix) -> Array:
        half = ratings.by_user
        return Factors(rows, self._factors.items).pairs(half.rows, half.indices) - half.values


def _observed(X: Any) -> Any:
    """The entries of an array that are not NaN, or those stored in a sparse matrix, as COO."""
    if not sp.issparse(X):
        where = np.nonzero(~np.isnan(X))
        return sp.coo_array((X[where], where), X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    stored = X.tocoo()
    known = ~np.isnan(stored.data)
    return sp.coo_array((stored.data[known], (stored.row[known], stored.col[known])), X.shape)


def _settled(tol: float) -> loop.OnStep:
    """True once a step gains no more than `tol` times the objective."""
    last = math.inf

    def stop(step: loop.Step, session: Session) -> bool:
        nonlocal last
        gain, last = last - step.objective, step.objective
        return gain <= tol * step.objective

    return stop


def _fifths(ratings: Ratings, seed: int) -> NDArray[np.bool_]:
    """Which entries to hide: a fifth of each row."""
    half = ratings.by_user
    fifth = np.where(half.counts > 1, np.maximum(half.counts // 5, 1), 0)
    order = np.lexsort((np.random.PCG64(seed).random_raw(len(ratings)), half.rows))
    place = np.arange(len(ratings)) - half.pointers[half.rows]
    hidden = np.zeros(len(ratings), np.bool_)
    hidden[order[place < fifth[half.rows]]] = True
    return hidden


def _rms(values: Array) -> float:
    return math.sqrt(np.square(values, dtype=np.float64).mean())
