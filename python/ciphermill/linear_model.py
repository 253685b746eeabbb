"""Estimators in the manner of scikit-learn. They need the extra `sklearn`.

`HeteroLogisticRegression` trains over the columns of several parties, one of which has the labels.
By default all parties run in one process. With `peer`, each party runs in its own process. The back
end "bfv" exchanges the messages of the protocol, encrypted, masked and flooded. The back end
"plain", the default, computes the same integers without encryption, in one process only. The
attribute `report_` lists the facts that each party learns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ciphermill._checks import instance, integer, mapping, optional, real
from ciphermill._hetero.calibration import calibrate, sigmoid
from ciphermill._hetero.numbers import Floats, fixed_order_scores
from ciphermill._hetero.report import Report
from ciphermill._hetero.training import (
    BACKENDS,
    MAX_BATCH,
    MAX_ITERATIONS,
    MAX_SEED,
    SOLVERS,
    Setup,
    party,
    train_together,
)
from ciphermill._hetero.workers import Workers
from ciphermill.errors import DtypeError, ParameterError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError('estimators need scikit-learn; install it with pip install "ciphermill[sklearn]"') from error

if TYPE_CHECKING:
    from ciphermill.federated import Network, RayWorkers

__all__ = ["HeteroLogisticRegression"]

#: The most parties with columns.
MAX_PARTIES = 16

#: The name of the arbiter in reports of one process.
ARBITER = "arbiter"


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        use = ", ".join(f'"{choice}"' for choice in choices[:-1])
        raise ParameterError(f'{name}={value!r} is not supported; use {use} or "{choices[-1]}"')


def _positive(value: object, name: str) -> float:
    number = real(value, name)
    if not number > 0:
        raise ParameterError(f"{name}={number} is not supported; use a number above 0")
    return number


class HeteroLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression over the columns of several parties, one of which has the labels.

    Parameters
    ----------
    columns : mapping of names to slices or index arrays, optional
        The columns of each party. The first party is the guest, which owns the labels and the
        intercept. By default there are two parties, and the guest's columns are the first half. Not
        used with `peer`.
    C : float, default 1.0
        The inverse of the strength of the penalty, as in `sklearn.linear_model.LogisticRegression`.
    fit_intercept : bool, default True
        Whether the guest adds an intercept, which has no penalty.
    tol : float, default 1e-6
        The norm of the gradient, relative to the start, at which the solver ends.
    max_iter : int, default 200
        The greatest number of iterations. It also sizes the noise that hides the matrices.
    backend : {"plain", "bfv", "paillier"}, default "plain"
        "bfv" and "paillier" run the protocol encrypted. "plain" computes the same integers in clear;
        its weights are equal in every bit. `peer` needs "bfv" or "paillier". "paillier" is a slow
        baseline.
    arbiter : bool, default False
        By default there are two parties, and each has a key. With an arbiter, a further party has the
        only key and no data, and up to 16 parties have columns. "plain" has no keys and accepts 2 to
        16 parties in both cases. With `peer`, the network determines whether there is an arbiter.
    solver : {"cg", "sgd", "nesterov", "adam"}, default "cg"
        Conjugate gradients need the fewest products. The others are rules of gradient descent: an
        iteration is a pass over all rows, and the labels enter every product.
    learning_rate : float, optional
        The rate of the rule: by default 0.15 for "sgd", 0.05 for "nesterov" and "adam". Not for
        "cg".
    batch_size : int, optional
        Rows of a mini-batch, by default all. Every pass has the same batches. Not for "cg".
    random_state : int, optional
        The seed of the membership of batches, by default 0.
    calibrate : bool, default False
        Fit the probabilities σ(az + b) to the labels after the training. With `peer`, the guest
        learns the scores of the training rows. All parties must then set `calibrate`, and the hosts
        also `allow_training_scores`.
    allow_label_leak : bool, default False
        Accept fewer samples, or samples of a batch, than 16 times the features of a party for
        encrypted back ends. The party's gradients can then reveal the labels.
    allow_training_scores : bool, default False
        With `peer`: let the guest learn this party's part of the scores of training rows.
    role : {"guest", "host"}, optional
        With `peer`: the role of this party, which must be that of the network.
    peer : ciphermill.federated.Network, optional
        The connections to the other parties. By default all parties are in one process.
    state : path, optional
        With `peer`: a directory from which the training resumes after a restart of this party. By
        default the state is in memory, and the training survives only cuts of the connection.
    workers : ciphermill.federated.RayWorkers, optional
        Processes that compute the products of "bfv" with the matrix of this party. Without `peer`,
        they compute the products of all parties. By default the threads of this process compute them.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        With `peer`, the weights of this party's columns.
    intercept_ : array of shape (1,)
        With `peer`, 0 at a host.
    classes_ : array of shape (2,)
        With `peer`, only at the guest.
    n_iter_ : array of shape (1,)
    calibration_ : tuple of two floats
        a and b of the probabilities; (1, 0) without calibration, and at a host.
    report_ : Report
        Seconds by step, bytes, guarantees, leaks.

    Notes
    -----
    The loss is the Taylor polynomial of degree 2 of the logistic loss. Each column is rounded to 16
    bits. Standardise columns of very different spread first.

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
        calibrate: bool = False,
        allow_label_leak: bool = False,
        allow_training_scores: bool = False,
        role: Literal["guest", "host"] | None = None,
        peer: Network | None = None,
        state: str | os.PathLike[str] | None = None,
        workers: RayWorkers | None = None,
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
        self.calibrate = calibrate
        self.allow_label_leak = allow_label_leak
        self.allow_training_scores = allow_training_scores
        self.role = role
        self.peer = peer
        self.state = state
        self.workers = workers

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, ids: npt.ArrayLike | None = None) -> Self:
        """Fit the weights.

        In one process, X has the columns of all parties. With `peer`, X has the columns of this
        party, and only the guest passes labels y. All parties pass the same rows in the same order.
        They compare a digest of `ids`, so either all parties pass `ids` or none does. Raises
        `ParameterError` for unsuitable parameters before any computation, and `PeerError` as
        `ciphermill.federated` describes.
        """
        if self.peer is not None:
            return self._fit_with_peers(X, y, ids)
        data: Floats
        data, answers = validate_data(self, X, y, dtype=np.float64, order="F", ensure_min_samples=2)
        labels = self._labels(answers)
        options = self._options(len(labels))
        workers = self._checked_workers()
        names, indices = self._parties(data.shape[1])
        guest = names[0]
        intercept = bool(self.fit_intercept)
        features = {
            name: len(index) + (name == guest and intercept) for name, index in zip(names, indices, strict=True)
        }
        setup = Setup(
            features=features,
            blocks={} if workers is None else {name: workers.blocks(count) for name, count in features.items()},
            arbiter=ARBITER if self.arbiter and self.backend != "plain" else None,
            **options,
        )
        setup.check()
        report = setup.report()
        parties = {
            name: party(setup, name, data[:, index], intercept=name == guest and intercept, report=report)
            for name, index in zip(names, indices, strict=True)
        }
        weights = train_together(setup, parties, labels, report, workers)
        self.coef_ = np.zeros((1, data.shape[1]))
        for name, index in zip(names, indices, strict=True):
            self.coef_[0, index] = weights[name][: len(index)]
        self.intercept_ = weights[guest][len(indices[0]) :].copy() if intercept else np.zeros(1)
        self._finish(report)
        if self.calibrate:
            self._calibrate(self._own_scores(data), labels)
        return self

    def _fit_with_peers(self, X: npt.ArrayLike, y: npt.ArrayLike | None, ids: npt.ArrayLike | None) -> Self:
        from ciphermill.federated import Network
        from ciphermill.federated._fit import fit, row_digests

        network = instance(self.peer, Network, "peer")
        if self.role not in (None, network.role) or network.role == "arbiter":
            raise ParameterError(
                f"role={self.role!r}, and {network.name} is the {network.role}; use its role, guest or host"
            )
        guest = network.role == "guest"
        if guest:
            data, answers = validate_data(self, X, y, dtype=np.float64, order="F", ensure_min_samples=2)
        else:
            data = validate_data(self, X, dtype=np.float64, order="F", ensure_min_samples=2)
            if y is not None:
                raise ParameterError("the host passes labels y, which only the guest has; use fit(X)")
        labels = self._labels(answers) if guest else None
        intercept = guest and bool(self.fit_intercept)
        options = self._options(len(data))
        weights, report = fit(
            network, options, data, labels, intercept, ids, self.state, workers=self._checked_workers()
        )
        features = data.shape[1]
        self.coef_ = weights[None, :features].copy()
        self.intercept_ = weights[features:].copy() if intercept else np.zeros(1)
        self._finish(report)
        self._training_rows = row_digests(data)
        if self.calibrate:
            scores = self._joint_scores(data, "training")
            if guest:
                self._calibrate(scores, labels)
        return self

    def _labels(self, answers: npt.NDArray[Any]) -> Floats:
        """Labels as ±1."""
        check_classification_targets(answers)
        classes, targets = np.unique(answers, return_inverse=True)
        if len(classes) != 2:
            raise ParameterError(
                f"Only binary classification is supported. The labels have {len(classes)} "
                f"class{'' if len(classes) == 1 else 'es'}; use two."
            )
        self.classes_ = classes
        return np.where(targets == 1, 1.0, -1.0)

    def _finish(self, report: Report) -> None:
        self.n_iter_ = np.array([len(report.residuals)])
        self.report_ = report
        self.calibration_ = (1.0, 0.0)

    def _calibrate(self, scores: Floats, labels: Floats | None) -> None:
        assert labels is not None
        self.calibration_ = calibrate(scores, labels)

    def _checked_workers(self) -> Workers | None:
        workers: object = self.workers
        if workers is None:
            return None
        if not isinstance(workers, Workers):
            raise DtypeError(f"workers are of type {type(workers).__name__}; use ciphermill.federated.RayWorkers")
        if self.backend != "bfv":
            raise ParameterError(f'workers do not go with backend="{self.backend}"; use "bfv", or workers=None')
        return workers

    def _options(self, samples: int) -> dict[str, Any]:
        """The options of the training as numbers of Python, whose arithmetic does not overflow."""
        _require_choice("backend", self.backend, BACKENDS)
        _require_choice("solver", self.solver, SOLVERS)
        return {
            "backend": self.backend,
            "samples": samples,
            "C": _positive(self.C, "C"),
            "tol": _positive(self.tol, "tol"),
            "max_iter": integer(self.max_iter, "max_iter", 1, MAX_ITERATIONS),
            "solver": self.solver,
            "learning_rate": None if self.learning_rate is None else _positive(self.learning_rate, "learning_rate"),
            "batch_size": optional(self.batch_size, "batch_size", 1, MAX_BATCH),
            "seed": integer(self.random_state or 0, "random_state", 0, MAX_SEED),
            "allow_label_leak": bool(self.allow_label_leak),
        }

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
        """The scores; above 0 the second class is likelier.

        With `peer`, all parties call it at the same time with their columns of the same rows. The
        hosts send their parts of the scores to the guest. The guest returns the scores, and a host
        returns its part. If a host knows one of the rows from its training, the host sends
        nothing, unless it has set `allow_training_scores`. It then raises `ParameterError`, and the
        guest `PeerError`.
        """
        check_is_fitted(self)
        data: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        if self.peer is None:
            scores = self._own_scores(data)
        else:
            scores = self._joint_scores(data, "prediction")
        slope, offset = self.calibration_
        return np.asarray(slope * scores + offset)

    def _own_scores(self, data: Floats) -> Floats:
        """The scores in one process. With `peer`, this party's part of them."""
        return np.asarray(fixed_order_scores(data, self.coef_[0]) + self.intercept_[0])

    def _joint_scores(self, data: Floats, purpose: str) -> Floats:
        from ciphermill.federated import Network
        from ciphermill.federated._fit import joint_scores

        network = instance(self.peer, Network, "peer")
        rows = None if self.allow_training_scores else self._training_rows
        return joint_scores(network, data, self._own_scores(data), purpose, rows)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likelier class of each sample.

        With `peer`, only the guest calls it. The hosts call `decision_function`.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probabilities of both classes. With `peer`, as `predict`."""
        second = sigmoid(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The logarithms of the probabilities of both classes. With `peer`, as `predict`."""
        z = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
