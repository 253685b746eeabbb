"""A training: the configuration that all parties share, and the part of each party."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ciphermill._hetero.exchange import Exchange, Plain
from ciphermill._hetero.messages import Program, run_together
from ciphermill._hetero.numbers import Columns, Floats
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.scalars import Scalars
from ciphermill._hetero.solver import Solver
from ciphermill._hetero.two_keys import TwoKeys
from ciphermill.errors import ParameterError, RangeError

#: A party with fewer samples than this many times its features may solve for the labels; a heuristic.
SAMPLES_PER_FEATURE = 16


@dataclass(frozen=True)
class Setup:
    """The facts that all parties of a training must agree on."""

    backend: str
    samples: int
    #: Columns by party, the guest first. Those of the guest include the intercept.
    features: dict[str, int]
    C: float
    tol: float
    max_iter: int
    #: Restarts of parties, each of which may repeat one product.
    restarts: int = 0
    #: Whether samples may be fewer than 16 times the features of a party.
    allow_label_leak: bool = False

    @property
    def names(self) -> list[str]:
        """The parties, the guest first."""
        return list(self.features)

    @property
    def answers(self) -> int:
        """The greatest number of products of the whole training, of all parties."""
        return len(self.features) * (self.max_iter + 1 + self.restarts)

    def as_dict(self) -> dict[str, Any]:
        """All facts, for JSON."""
        return asdict(self)

    def require_samples(self) -> None:
        """Raises `ParameterError` if the gradients of a party may reveal labels, for encrypted back ends."""
        if self.backend == "plain" or self.allow_label_leak:
            return
        name, features = max(self.features.items(), key=lambda item: item[1])
        needed = SAMPLES_PER_FEATURE * features
        if self.samples < needed:
            raise ParameterError(
                f"{self.samples} samples are fewer than {SAMPLES_PER_FEATURE} times the {features} features of {name}, so its "
                f"gradients may reveal labels; use {needed} samples or more, or set allow_label_leak=True"
            )

    def report(self) -> Report:
        """An empty report."""
        return Report(self.backend, self.samples, dict(self.features))


def party(name: str, values: Floats, *, C: float, intercept: bool, report: Report) -> Party:
    """The columns of a party, encoded. `values` has the shape (samples, features), without the intercept."""
    samples = len(values)
    penalties = np.full(values.shape[1], 1.0 / (C * samples))
    if intercept:
        values = np.column_stack([values, np.ones(samples)])
        penalties = np.append(penalties, 0.0)
    if np.abs(values).max(initial=0.0) > 1e300:
        raise RangeError(f"the columns of {name} have entries above 1e300; use -1e300 to 1e300")
    with report.step("encode"):
        columns = Columns.encode(values)
    with report.step("precondition"):
        return Party(name, columns, penalties)


def solver(setup: Setup, own: Party, labels: Floats | None, report: Report) -> Solver:
    """The part of one party, with its exchange."""
    exchange = _exchange(setup, own, report)
    report.guarantees.update(exchange.guarantees)
    scalars = Scalars(own.name, setup.names)
    return Solver(own, labels, exchange, scalars, report, tol=setup.tol, max_iter=setup.max_iter)


def _exchange(setup: Setup, own: Party, report: Report) -> Exchange:
    if setup.backend == "plain":
        return Plain(own, setup.names, report)
    (peer,) = (name for name in setup.names if name != own.name)
    return TwoKeys(own, peer, setup.features[peer], setup.answers, report)


def train_together(setup: Setup, parties: Mapping[str, Party], labels: Floats, report: Report) -> dict[str, Floats]:
    """Train in one process. Returns the weights by party."""
    guest = setup.names[0]
    programs: dict[str, Program[Floats]] = {
        name: solver(setup, own, labels if name == guest else None, report).solve() for name, own in parties.items()
    }

    def observe(sender: str, receiver: str, kind: str, payload: bytes) -> None:
        report.sent(sender, receiver, kind, len(payload))

    return run_together(programs, observe)
