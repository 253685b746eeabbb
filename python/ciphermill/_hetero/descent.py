"""Gradient descent: plain, with Nesterov's momentum, and Adam, over mini-batches.

An iteration is a pass over all batches. The labels enter every product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ciphermill._hetero.messages import Program
from ciphermill._hetero.numbers import Floats
from ciphermill._hetero.party import dot
from ciphermill._hetero.solver import Solver, State
from ciphermill.errors import RangeError

Vectors = dict[str, Floats]

#: The greatest entry of a gradient.
MOST = 1e100


class Descent:
    """w ← w − η·g."""

    def __init__(self, rate: float) -> None:
        self._rate = rate

    def vectors(self, features: int) -> Vectors:
        """The vectors at the start."""
        return {"weights": np.zeros(features)}

    def point(self, vectors: Vectors) -> Floats:
        """The weights at which the gradient is taken."""
        return vectors["weights"]

    def step(self, vectors: Vectors, gradient: Floats, count: int) -> None:
        """Step `count`, from 1 on."""
        vectors["weights"] = vectors["weights"] - self._rate * gradient


class Nesterov(Descent):
    """Y. Nesterov, "A method of solving a convex programming problem with convergence rate O(1/k²)", 1983; here with constant
    momentum: v ← μv − η·g(w + μv), w ← w + v."""

    MOMENTUM = 0.9

    def vectors(self, features: int) -> Vectors:
        return {"weights": np.zeros(features), "velocity": np.zeros(features)}

    def point(self, vectors: Vectors) -> Floats:
        return np.asarray(vectors["weights"] + self.MOMENTUM * vectors["velocity"])

    def step(self, vectors: Vectors, gradient: Floats, count: int) -> None:
        vectors["velocity"] = self.MOMENTUM * vectors["velocity"] - self._rate * gradient
        vectors["weights"] = vectors["weights"] + vectors["velocity"]


class Adam(Descent):
    """D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, with the constants of its algorithm 1."""

    FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8

    def vectors(self, features: int) -> Vectors:
        return {name: np.zeros(features) for name in ("weights", "mean", "square")}

    def step(self, vectors: Vectors, gradient: Floats, count: int) -> None:
        vectors["mean"] = self.FIRST * vectors["mean"] + (1 - self.FIRST) * gradient
        vectors["square"] = self.SECOND * vectors["square"] + (1 - self.SECOND) * gradient * gradient
        mean = vectors["mean"] / (1 - self.FIRST**count)
        square = vectors["square"] / (1 - self.SECOND**count)
        vectors["weights"] = vectors["weights"] - self._rate * mean / (np.sqrt(square) + self.EPSILON)


@dataclass(frozen=True)
class Kind:
    """A rule with its default rate."""

    rule: Callable[[float], Descent]
    rate: float


#: The rules by the name of the solver.
KINDS = {"sgd": Kind(Descent, 0.15), "nesterov": Kind(Nesterov, 0.05), "adam": Kind(Adam, 0.05)}


class GradientDescent(Solver):
    """Descent by one rule."""

    def __init__(self, *args: Any, rule: Descent) -> None:
        super().__init__(*args)
        self._rule = rule

    def start(self) -> Program[State]:
        yield from ()
        return State(self._rule.vectors(self.party.columns.features), 1.0, 1.0, products=0)

    def iterate(self, state: State) -> Program[None]:
        norm = 0.0
        for batch in range(self.batches.count):
            gradient = yield from self._gradient(self._rule.point(state.vectors), batch)
            state.products += 1
            # Their squares fit binary64.
            if not np.abs(gradient).max(initial=0.0) < MOST:
                raise RangeError(f"the gradient exceeds {MOST:g}, so the weights diverge; use a smaller learning_rate")
            with self.report.step("local"):
                norm += dot(gradient, gradient)
                self._rule.step(state.vectors, gradient, state.products)
        rho = yield from self.scalars.total("norm", norm)
        if not state.residuals:
            state.first = rho
        state.advance(rho)

    def _gradient(self, weights: Floats, batch: int) -> Program[Floats]:
        with self.report.step("local"):
            scores = self.party.scores(weights, batch)
            part = 0.25 * scores - 0.5 * self.batches.part(self.labels, batch)
        gradient = yield from self.gradient(part, batch)
        return gradient + self.party.penalties * weights
