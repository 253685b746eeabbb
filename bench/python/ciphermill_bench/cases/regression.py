"""Logistic regression over two parties: a fit in one process, and one exchange of a larger fit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.metrics import roc_auc_score

import ciphermill as cm
from ciphermill.linear_model import HeteroLogisticRegression
from ciphermill_bench.cases import Settings
from ciphermill_bench.datasets import BREAST_CANCER, Floats, Labels, load
from ciphermill_bench.harness import Contender, Sample, Timed
from ciphermill_bench.record import Case, Peer, Report

Backend = Literal["plain", "bfv", "paillier"]

#: The steps of an exchange; others are made once, or are local.
STEPS = ("encrypt", "multiply", "mask", "decrypt", "unmask")

#: The greatest difference of the area under the ROC curve from that of the optimum.
AUC_TOLERANCE = 1e-6

FIT_LIMIT_NS = 350e6
EXCHANGE_LIMIT_NS = 20e6


class Problem:
    """Data, the columns of both parties, and the fit in clear."""

    def __init__(self, X: Floats, y: Labels, guest: int) -> None:
        self.X, self.y = X, y
        self.columns = {"guest": slice(0, guest), "host": slice(guest, X.shape[1])}
        self._plain = self.model("plain").fit(X, y)

    def model(self, backend: Backend) -> HeteroLogisticRegression:
        """A model that is not fitted."""
        return HeteroLogisticRegression(columns=self.columns, backend=backend)

    def equals_plain(self, model: HeteroLogisticRegression) -> bool:
        """Whether a model converged to weights that equal those of the back end `plain` in every bit."""
        found, expected = (each.coef_.tobytes() + each.intercept_.tobytes() for each in (model, self._plain))
        return found == expected and bool(model.report_.converged)

    def optimum(self) -> Floats:
        """The minimum of the quadratic loss, by a direct solution; the intercept is last and has no penalty."""
        samples, features = self.X.shape
        A = np.column_stack([self.X, np.ones(samples)])
        penalty = np.diag(np.append(np.full(features, 1.0 / samples), 0.0))
        return np.linalg.solve(A.T @ A / (4 * samples) + penalty, A.T @ (2.0 * self.y - 1.0) / (2 * samples))

    def areas(self, model: HeteroLogisticRegression) -> tuple[float, float]:
        """The areas under the ROC curve of a model and of the optimum."""
        best = self.optimum()
        scores = (model.decision_function(self.X), self.X @ best[:-1] + best[-1])
        first, second = (float(roc_auc_score(self.y, score)) for score in scores)
        return first, second


class Fit(Timed):
    """A whole fit in one process, keys included."""

    def __init__(self, problem: Problem, backend: Backend) -> None:
        super().__init__()
        self.name = f"backend {backend}"
        self._problem = problem
        self.model = problem.model(backend)

    def run(self) -> None:
        self.model.fit(self._problem.X, self._problem.y)

    def correct(self) -> bool:
        found, best = self._problem.areas(self.model)
        return self._problem.equals_plain(self.model) and abs(found - best) <= AUC_TOLERANCE


class Exchange(Contender):
    """The mean time of an exchange in a fit: the steps between the parties, in both directions."""

    def __init__(self, problem: Problem, backend: Backend) -> None:
        self.name = f"exchange of backend {backend}"
        self._problem = problem
        self.model = problem.model(backend)

    def sample(self) -> Sample:
        self.model.fit(self._problem.X, self._problem.y)
        report = self.model.report_
        ns = 1e9 * sum(report.seconds.get(step, 0.0) for step in STEPS) / report.products
        return Sample(ns, ns)

    def correct(self) -> bool:
        return self._problem.equals_plain(self.model)


def _costs(model: HeteroLogisticRegression) -> dict[str, Any]:
    report = model.report_
    return {
        "products": report.products,
        "sent_bytes": sum(report.bytes.values()),
        "keys_bytes": sum(count for (_, _, kind), count in report.bytes.items() if kind == "keys"),
        "guarantees": report.guarantees,
    }


def _plain() -> Peer:
    return Peer("ciphermill, in clear", cm.__version__, "Apache-2.0")


def _params(problem: Problem) -> dict[str, int]:
    samples, features = problem.X.shape
    return {"samples": samples, "features": features + 1}


def run(settings: Settings, report: Report) -> None:
    """Both data sets."""
    if settings.takes("fit/breast-cancer"):
        _fit(settings, report)
    if settings.takes("exchange/4096x257"):
        _exchange(settings, report)


def _fit(settings: Settings, report: Report) -> None:
    problem = Problem(*load(BREAST_CANCER))
    ours, plain = Fit(problem, "bfv"), Fit(problem, "plain")
    stats = settings.measure("fit/breast-cancer", [ours, plain], 60, 15, 15.0)
    found, best = problem.areas(ours.model)
    weights, optimum = np.append(ours.model.coef_[0], ours.model.intercept_), problem.optimum()
    figures = {
        **_costs(ours.model),
        "auc": found,
        "auc_optimum": best,
        "relative_error_of_weights": float(np.abs(weights - optimum).max() / np.abs(optimum).max()),
    }
    note = "masked and flooded; both fits give the same weights in every bit; the features include the intercept"
    case = Case("fit/breast-cancer", _params(problem), settings.isa, note)
    report.add(case, stats[0], _plain(), stats[1], asked={"median_ns": FIT_LIMIT_NS}, figures=figures)


def _exchange(settings: Settings, report: Report) -> None:
    problem = Problem(*load("4096x257"))
    ours, plain = Exchange(problem, "bfv"), Exchange(problem, "plain")
    stats = settings.measure("exchange/4096x257", [ours, plain], 25, 9, 25.0)
    note = "both directions; the mean of the exchanges of a fit, without keys and local work; the fit has the weights of `plain`"
    case = Case("exchange/4096x257", _params(problem), settings.isa, note)
    report.add(case, stats[0], _plain(), stats[1], asked={"median_ns": EXCHANGE_LIMIT_NS}, figures=_costs(ours.model))
