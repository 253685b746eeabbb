"""Conjugate gradients for the quadratic loss, over the columns of several parties.

The loss of a sample is ln 2 − sz/2 + z²/8 with the label s = ±1 and the score z (S. Hardy et al., "Private federated learning
on vertically partitioned data", 2017). Its gradient is Xᵀd/m + λw with d = z/4 − s/2. The optimum solves a linear system, for
which conjugate gradients need one pair of products Xᵀd an iteration (M. R. Hestenes, E. Stiefel, 1952). The preconditioner is
block Jacobi: each party inverts its own block of the Hessian, in clear and alone, so that only the blocks between the parties
cost iterations. The labels enter the first product only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ciphermill._hetero.exchange import Exchange
from ciphermill._hetero.messages import Program
from ciphermill._hetero.numbers import Floats, Integers, encode_half, exponent_of
from ciphermill._hetero.party import Party, dot
from ciphermill._hetero.report import Report
from ciphermill._hetero.scalars import Scalars

#: The exponent of d in the first product: ±1/2 is ±2^17.
LABEL_EXPONENT = 18


@dataclass
class State:
    """A party's part of the solver between two iterations. It holds neither keys nor masks."""

    weights: Floats
    residual: Floats
    direction: Floats
    #: rᵀM⁻¹r over all parties, now and at the start.
    rho: float
    first: float
    #: As in the report.
    products: int = 1
    losses: list[float] = field(default_factory=lambda: [math.log(2.0)])
    residuals: list[float] = field(default_factory=list)
    #: Whether rounding has used up the tolerance that was asked for.
    stalled: bool = False

    @property
    def iterations(self) -> int:
        """The number of finished iterations."""
        return len(self.residuals)


class Solver:
    """One party's part. The guest has `labels`, ±1; other parties have none.

    Ends at a relative norm of the gradient of `tol`, in the norm of the preconditioner, or after `max_iter` iterations.
    """

    def __init__(
        self,
        party: Party,
        labels: Floats | None,
        exchange: Exchange,
        scalars: Scalars,
        report: Report,
        *,
        tol: float,
        max_iter: int,
    ) -> None:
        self._party = party
        self._labels = labels
        self._exchange = exchange
        self._scalars = scalars
        self._report = report
        self._tol = tol
        self._max_iter = max_iter

    def solve(self, state: State | None = None, checkpoint: Callable[[State], None] | None = None) -> Program[Floats]:
        """The weights of the party, from the start or from a state. `checkpoint` is called after each iteration."""
        yield from self._exchange.rekey()
        if state is None:
            state = yield from self._start()
            # No ciphertext of labels stays under a key that answers further products.
            yield from self._exchange.rekey()
            if checkpoint is not None:
                checkpoint(state)
        while not self._converged(state) and not state.stalled and state.iterations < self._max_iter:
            yield from self._iterate(state)
            if checkpoint is not None:
                checkpoint(state)
        self._tell(state)
        return state.weights

    def _converged(self, state: State) -> bool:
        return state.rho <= self._tol * self._tol * state.first

    def _start(self) -> Program[State]:
        samples = self._party.columns.samples
        labels = np.zeros(samples) if self._labels is None else self._labels
        gradient = yield from self._product(encode_half(-0.5 * labels, LABEL_EXPONENT), LABEL_EXPONENT)
        self._report.products = 1
        residual = -gradient
        direction = self._party.precondition(residual)
        rho = yield from self._scalars.total("norm", dot(residual, direction))
        return State(np.zeros_like(residual), residual, direction, rho, rho)

    def _iterate(self, state: State) -> Program[None]:
        party, report, scalars = self._party, self._report, self._scalars
        with report.step("local"):
            scores = 0.25 * party.scores(state.direction)
        exponent = yield from scalars.least("exponent", exponent_of(scores))
        with report.step("local"):
            half = encode_half(scores, exponent)
        gradient = yield from self._product(half, exponent)
        state.products += 1
        with report.step("local"):
            image = gradient + party.penalties * state.direction
            own = dot(state.direction, image)
        curvature = yield from scalars.total("curvature", own)
        if not curvature > 0.0:
            state.stalled = True
            return
        with report.step("local"):
            step = state.rho / curvature
            # Along a conjugate direction the quadratic falls by half of the step times the residual's norm.
            state.losses.append(state.losses[-1] - 0.5 * step * state.rho)
            state.weights += step * state.direction
            state.residual -= step * image
            own_step = party.precondition(state.residual)
            own = dot(state.residual, own_step)
        following = yield from scalars.total("norm", own)
        with report.step("local"):
            state.direction = own_step + (following / state.rho) * state.direction
        state.rho = following
        state.residuals.append(math.sqrt(max(following, 0.0) / state.first) if state.first > 0 else 0.0)
        self._tell(state)

    def _tell(self, state: State) -> None:
        report = self._report
        report.products, report.losses, report.residuals = state.products, state.losses, state.residuals
        report.converged = self._converged(state)

    def _product(self, half: Integers, exponent: int) -> Program[Floats]:
        sums = yield from self._exchange.product(half)
        return self._party.gradient(sums, exponent)
