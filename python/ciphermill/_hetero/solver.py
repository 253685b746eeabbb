"""Solvers for the quadratic loss, over the columns of several parties.

The loss of a sample is ln 2 − sz/2 + z²/8 with the label s = ±1 and the score z (S. Hardy et al., "Private federated learning
on vertically partitioned data", 2017). Its gradient is Xᵀd/m + λw with d = z/4 − s/2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ciphermill._hetero.batches import Batches
from ciphermill._hetero.exchange import Exchange
from ciphermill._hetero.messages import Program
from ciphermill._hetero.numbers import Floats, encode_part, exponent_of
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.scalars import Scalars


@dataclass
class State:
    """A party's part of the solver between two iterations. It holds neither keys nor masks."""

    #: Vectors of the party's columns. All solvers have "weights".
    vectors: dict[str, Floats]
    #: The squared norm of the gradient over all parties, now and at the start.
    rho: float
    first: float
    #: As in the report.
    products: int
    losses: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    #: Whether no further step is possible.
    stalled: bool = False

    @property
    def iterations(self) -> int:
        """The number of finished iterations."""
        return len(self.residuals)

    def advance(self, rho: float) -> None:
        """The norm after a further iteration."""
        self.rho = rho
        self.residuals.append(math.sqrt(max(rho, 0.0) / self.first) if self.first > 0 else 0.0)


@dataclass(frozen=True)
class Stop:
    """The end of a training: a relative norm of the gradient, or a number of iterations."""

    tol: float
    max_iter: int

    def converged(self, state: State) -> bool:
        return state.rho <= self.tol * self.tol * state.first

    def reached(self, state: State) -> bool:
        return self.converged(state) or state.stalled or state.iterations >= self.max_iter


class Solver(ABC):
    """One party's part. The guest has `labels`, ±1; other parties have none."""

    def __init__(
        self,
        party: Party,
        labels: Floats | None,
        batches: Batches,
        exchange: Exchange,
        scalars: Scalars,
        report: Report,
        stop: Stop,
    ) -> None:
        self.party = party
        self.labels = np.zeros(party.columns.samples) if labels is None else labels
        self.batches = batches
        self.exchange = exchange
        self.scalars = scalars
        self.report = report
        self._stop = stop

    def solve(self, state: State | None = None, checkpoint: Callable[[State], None] | None = None) -> Program[Floats]:
        """The weights of the party, from the start or from a state. `checkpoint` is called after each iteration."""
        yield from self.exchange.rekey()
        if state is None:
            state = yield from self.start()
            if checkpoint is not None:
                checkpoint(state)
        self._tell(state)
        while not self._stop.reached(state):
            yield from self.iterate(state)
            self._tell(state)
            if checkpoint is not None:
                checkpoint(state)
        yield from self.exchange.end()
        return state.vectors["weights"]

    @abstractmethod
    def start(self) -> Program[State]:
        """The state before the first iteration."""

    @abstractmethod
    def iterate(self, state: State) -> Program[None]:
        """One iteration, which changes the state."""

    def gradient(self, part: Floats, batch: int, exponent: int | None = None) -> Program[Floats]:
        """Xᵀd/m of one batch, where `part` is the party's part of d. By default the parties agree on its exponent."""
        parties = self.scalars.parties
        if exponent is None:
            exponent = yield from self.scalars.least("exponent", exponent_of(part, parties))
        with self.report.step("local"):
            integers = encode_part(part, exponent, parties)
        sums = yield from self.exchange.product(integers, batch)
        return self.party.columns.unscale(sums, exponent) / self.batches.length(batch)

    def _tell(self, state: State) -> None:
        report = self.report
        report.products, report.losses, report.residuals = state.products, state.losses, state.residuals
        report.converged = self._stop.converged(state)
