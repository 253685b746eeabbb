"""Estimators in the manner of scikit-learn. They need the extra `sklearn`.

`HeteroLogisticRegression` trains over the columns of two parties, one of which has the labels. Both run in one process. The
back end "bfv" exchanges the messages of the protocol of two keys, encrypted, masked and flooded. The back end "plain", the
default, computes the same integers without encryption. Attribute `report_` tells what each party learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ciphermill._checks import integer, mapping, optional, real
from ciphermill._hetero.numbers import Floats
from ciphermill._hetero.training import BACKENDS, SOLVERS, Setup, party, train_together
from ciphermill.errors import ParameterError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError('estimators need scikit-learn; install it with pip install "ciphermill[sklearn]"') from error

__all__ = ["HeteroLogisticRegression"]

#: The most iterations of a training.
MAX_ITERATIONS = 2**20

#: The most parties with columns.
MAX_PARTIES = 16

#: The most rows of a batch.
MAX_SAMPLES = 2**31

#: The name of the arbiter in reports of one process.
ARBITER = "arbiter"


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        use = ", ".join(f'"{choice}"' for choice in choices[:-1])
        raise ParameterError(f'{name}={value!r} is not supported; use {use} or "{choices[-1]}"')


class HeteroLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression over the columns of two parties, one of which has the labels.

    Parameters
    ----------
    columns : mapping of names to slices or index arrays, optional
        The columns of each party, of two by default. The first party is the guest; it owns the labels and the intercept. By
        default, the guest's columns are the first half.
    C : float, default 1.0
        The inverse of the strength of the penalty, as in `sklearn.linear_model.LogisticRegression`.
    fit_intercept : bool, default True
        Whether the guest adds an intercept, which has no penalty.
    tol : float, default 1e-6
        The relative norm of the gradient at which the solver ends.
    max_iter : int, default 200
        The greatest number of iterations. It also sizes the noise that hides the matrices.
    backend : {"plain", "bfv", "paillier"}, default "plain"
        "bfv" and "paillier" run the protocol encrypted, in one process. "plain" computes the same integers in clear: weights
        are equal in every bit. "paillier" is a baseline; it takes tens to thousands of times as long as "bfv".
    arbiter : bool, default False
        By default two parties have a key each. With an arbiter, a further party has the only key, sees no data, and there
        may be up to 16 parties with columns. "plain" has no keys and accepts both.
    solver : {"cg", "sgd", "nesterov", "adam"}, default "cg"
        Conjugate gradients need the fewest products. The others are rules of gradient descent; an iteration of them is a pass
        over all rows, and labels enter every product.
    learning_rate : float, optional
        The rate of the rule: by default 0.15 for "sgd", 0.05 for "nesterov" and "adam".
    batch_size : int, optional
        Rows of a mini-batch, by default all. Every pass has the same batches. Not for "cg".
    random_state : int, optional
        The seed of the membership of batches, by default 0.
    allow_label_leak : bool, default False
        Accept fewer samples than 16 times the features of a party for encrypted back ends. The party's gradients can then
        reveal the labels.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    n_iter_ : array of shape (1,)
    report_ : Report
        Seconds by step, bytes, guarantees, leaks.

    Notes
    -----
    The loss is the Taylor polynomial of degree 2 of the logistic loss. Data is rounded to 16 bits in each column; standardise
    columns of very different spread before.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> columns = {"bank": slice(0, 10), "shop": slice(10, 30)}
    >>> model = HeteroLogisticRegression(columns=columns, backend="bfv").fit(X, y)
    >>> round(float(model.score(X, y)), 2)
    0.97
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        C: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
        backend: Literal["plain", "bfv", "paillier"] = "plain",
        arbiter: bool = False,
        solver: Literal["cg", "sgd", "nesterov", "adam"] = "cg",
        learning_rate: float | None = None,
        batch_size: int | None = None,
        random_state: int | None = None,
        allow_label_leak: bool = False,
    ) -> None:
        self.columns = columns
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.backend = backend
        self.arbiter = arbiter
        self.solver = solver
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.allow_label_leak = allow_label_leak

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fit the weights of both parties.

        Raises `ParameterError` for unsuitable parameters before any computation.
        """
        data: Floats
        data, answers = validate_data(self, X, y, dtype=np.float64, order="F", ensure_min_samples=2)
        check_classification_targets(answers)
        classes, targets = np.unique(answers, return_inverse=True)
        if len(classes) != 2:
            raise ParameterError(
                f"Only binary classification is supported. The labels have {len(classes)} "
                f"class{'' if len(classes) == 1 else 'es'}; use two."
            )
        C, tol, max_iter, learning_rate = self._parameters()
        names, indices = self._parties(data.shape[1])
        labels = np.where(targets == 1, 1.0, -1.0)
        guest = names[0]
        setup = Setup(
            backend=self.backend,
            arbiter=ARBITER if self.arbiter and self.backend != "plain" else None,
            samples=len(labels),
            features={
                name: len(index) + (name == guest and bool(self.fit_intercept))
                for name, index in zip(names, indices, strict=True)
            },
            C=C,
            tol=tol,
            max_iter=max_iter,
            solver=self.solver,
            learning_rate=learning_rate,
            batch_size=optional(self.batch_size, "batch_size", 1, MAX_SAMPLES),
            seed=integer(self.random_state or 0, "random_state", 0, 2**63 - 1),
            allow_label_leak=bool(self.allow_label_leak),
        )
        setup.check()
        report = setup.report()
        parties = {
            name: party(
                setup, name, data[:, index], intercept=name == guest and bool(self.fit_intercept), report=report
            )
            for name, index in zip(names, indices, strict=True)
        }
        weights = train_together(setup, parties, labels, report)
        self.classes_ = classes
        self.coef_ = np.zeros((1, data.shape[1]))
        for name, index in zip(names, indices, strict=True):
            self.coef_[0, index] = weights[name][: len(index)]
        self.intercept_ = weights[guest][len(indices[0]) :].copy() if self.fit_intercept else np.zeros(1)
        self.n_iter_ = np.array([len(report.residuals)])
        self.report_ = report
        return self

    def _parameters(self) -> tuple[float, float, int, float | None]:
        """C, tol, max_iter and learning_rate as numbers of Python, whose arithmetic does not overflow."""
        C, tol = real(self.C, "C"), real(self.tol, "tol")
        rate = None if self.learning_rate is None else real(self.learning_rate, "learning_rate")
        for name, value in (("C", C), ("tol", tol), ("learning_rate", 1.0 if rate is None else rate)):
            if not value > 0:
                raise ParameterError(f"{name}={value} is not supported; use a number above 0")
        max_iter = integer(self.max_iter, "max_iter", 1, MAX_ITERATIONS)
        _require_choice("backend", self.backend, BACKENDS)
        _require_choice("solver", self.solver, SOLVERS)
        return C, tol, max_iter, rate

    def _parties(self, features: int) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
        """The names of the parties and the columns of each."""
        every = np.arange(features)
        columns: Mapping[str, Any] | None = self.columns
        if columns is not None:
            columns = mapping(columns, "the mapping of columns")
        if columns is None:
            half = (features + 1) // 2
            columns = {"guest": slice(0, half), "host": slice(half, features)}
        most = MAX_PARTIES if self.arbiter or self.backend == "plain" else 2
        if not 2 <= len(columns) <= most:
            raise ParameterError(f"columns name {len(columns)} parties; use {'two' if most == 2 else f'2 to {most}'}")
        if self.arbiter and ARBITER in columns:
            raise ParameterError(f'a party has the name "{ARBITER}", which is that of the arbiter; use another one')
        try:
            indices = [np.atleast_1d(every[selected]) for selected in columns.values()]
        except IndexError as error:
            raise ParameterError(f"columns go beyond the data: {error}; use columns 0 to {features - 1}") from error
        chosen = np.concatenate(indices)
        if len(np.unique(chosen)) != features or len(chosen) != features:
            raise ParameterError("columns leave out a column of X or name one twice; assign each to exactly one party")
        return list(columns), indices

    def decision_function(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The scores z; above 0 the second class is the likelier one."""
        check_is_fitted(self)
        data: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(data @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likelier class of each sample."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probabilities of both classes."""
        z = self.decision_function(X)
        # Of the sign that does not overflow.
        small = np.exp(-np.abs(z))
        likelier = 1.0 / (1.0 + small)
        second = np.where(z >= 0, likelier, 1.0 - likelier)
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The logarithms of the probabilities of both classes."""
        z = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
