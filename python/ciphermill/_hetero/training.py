"""A training: the configuration that all parties share, and the part of each party."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ciphermill._hetero.arbiter import WithArbiter, arbitrate
from ciphermill._hetero.batches import Batches
from ciphermill._hetero.by_bfv import BfvTerms
from ciphermill._hetero.by_paillier import PaillierTerms
from ciphermill._hetero.conjugate import ConjugateGradients
from ciphermill._hetero.descent import KINDS, GradientDescent
from ciphermill._hetero.exchange import Exchange, Plain
from ciphermill._hetero.messages import Program, run_together
from ciphermill._hetero.numbers import Columns, Floats
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.scalars import Scalars
from ciphermill._hetero.schemes import Terms
from ciphermill._hetero.solver import Solver, Stop
from ciphermill._hetero.tiles import least_blocks
from ciphermill._hetero.two_keys import TwoKeys
from ciphermill._hetero.workers import Workers
from ciphermill.errors import ParameterError, RangeError

#: The schemes by back end.
SCHEMES: dict[str, type[BfvTerms | PaillierTerms]] = {"bfv": BfvTerms, "paillier": PaillierTerms}

#: The back ends: one in clear, and one for each scheme.
BACKENDS = ("plain", *SCHEMES)

#: The solvers: conjugate gradients, and rules of descent.
SOLVERS = ("cg", *KINDS)

#: The greatest number of iterations, the most rows of a batch, and the greatest seed.
MAX_ITERATIONS, MAX_BATCH, MAX_SEED = 2**20, 2**31, 2**63 - 1

#: A party with fewer samples than this many times its features may solve for the labels; a heuristic.
SAMPLES_PER_FEATURE = 16


@dataclass(frozen=True)
class Setup:
    """The facts that all parties of a training must agree on."""

    backend: str
    #: The name of the arbiter, or `None` for two keys.
    arbiter: str | None
    samples: int
    #: The number of columns of each party, the guest first. The guest's number includes the intercept.
    features: dict[str, int]
    C: float
    tol: float
    max_iter: int
    solver: str = "cg"
    #: The rate of a rule of descent, or `None` for its default.
    learning_rate: float | None = None
    #: Rows of a mini-batch, or `None` for all.
    batch_size: int | None = None
    #: The membership of the batches.
    seed: int = 0
    #: The greatest number of restarts of parties.
    restarts: int = 0
    #: Whether samples may be fewer than 16 times the features of a party.
    allow_label_leak: bool = False
    #: Blocks of the matrix by party, for "bfv"; other parties have as few as possible.
    blocks: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The parties with columns, the guest first."""
        return list(self.features)

    @property
    def batches(self) -> Batches:
        """The batches."""
        return Batches(self.samples, self.batch_size, self.seed)

    @property
    def most_products(self) -> int:
        """The greatest number of products with the matrix of one party. A restart may repeat two iterations."""
        return (self.max_iter + 1 + 2 * self.restarts) * self.batches.count

    @property
    def answers(self) -> int:
        """The greatest number of products with the matrices of all parties."""
        return len(self.features) * self.most_products

    @property
    def masked_products(self) -> int:
        """The greatest number of masked products of all parties for one tile: each block of a product is one."""
        return sum(map(self.blocks_of, self.features)) * self.most_products

    def blocks_of(self, name: str) -> int:
        """The blocks of a party's matrix."""
        return self.blocks.get(name, least_blocks(self.features[name])) if self.backend == "bfv" else 1

    def check(self) -> None:
        """Raises `ParameterError` for options that do not go together, and if the gradients of a party may reveal labels."""
        if self.solver == "cg" and self.batch_size is not None and self.batch_size < self.samples:
            raise ParameterError(
                f'batch_size={self.batch_size} does not go with solver="cg"; use batch_size=None, or solver="sgd", "nesterov" or '
                '"adam"'
            )
        if self.solver == "cg" and self.learning_rate is not None:
            raise ParameterError(
                f'learning_rate={self.learning_rate} does not go with solver="cg"; use learning_rate=None, or solver="sgd", '
                '"nesterov" or "adam"'
            )
        if self.backend == "plain" or self.allow_label_leak:
            return
        name, features = max(self.features.items(), key=lambda item: item[1])
        needed = SAMPLES_PER_FEATURE * features
        rows = min(self.samples, self.batch_size or self.samples)
        if rows < needed:
            what = "samples" if rows == self.samples else "samples of a batch"
            raise ParameterError(
                f"{rows} {what} are fewer than {SAMPLES_PER_FEATURE} times the {features} features of {name}, so its "
                f"gradients may reveal labels; use {needed} samples or more, or set allow_label_leak=True"
            )

    def report(self) -> Report:
        """An empty report."""
        return Report(self.backend, self.samples, dict(self.features), arbiter=self.arbiter, solver=self.solver)


def party(setup: Setup, name: str, values: Floats, *, intercept: bool, report: Report) -> Party:
    """The columns of a party, encoded. `values` has the shape (samples, features), without the intercept."""
    penalties = np.full(values.shape[1], 1.0 / (setup.C * setup.samples))
    if intercept:
        values = np.column_stack([values, np.ones(setup.samples)])
        penalties = np.append(penalties, 0.0)
    if np.abs(values).max(initial=0.0) > 1e300:
        raise RangeError(f"the columns of {name} have entries above 1e300; use -1e300 to 1e300")
    with report.step("encode"):
        return Party(name, Columns.encode(values), penalties, setup.batches)


def solver(setup: Setup, own: Party, labels: Floats | None, report: Report, workers: Workers | None = None) -> Solver:
    """The part of one party, with its exchange. `workers` compute the products of "bfv", by default in this process."""
    exchange = _exchange(setup, own, report, workers)
    report.guarantees.update(exchange.guarantees)
    scalars = Scalars(own.name, setup.names)
    arguments = own, labels, setup.batches, exchange, scalars, report, Stop(setup.tol, setup.max_iter)
    if setup.solver == "cg":
        return ConjugateGradients(*arguments)
    kind = KINDS[setup.solver]
    rate = kind.rate if setup.learning_rate is None else setup.learning_rate
    return GradientDescent(*arguments, rule=kind.rule(rate))


def _exchange(setup: Setup, own: Party, report: Report, workers: Workers | None) -> Exchange:
    if setup.backend == "plain":
        return Plain(own, setup.names, report)
    if setup.arbiter is not None:
        with report.step("plan"):
            terms = _terms(setup, own.name)
        return WithArbiter(own, setup.names, setup.arbiter, terms, report, workers)
    (peer,) = (name for name in setup.names if name != own.name)
    return TwoKeys(own, peer, setup.features[peer], lambda name: _terms(setup, name), report, workers)


def _terms(setup: Setup, name: str) -> Terms:
    """The terms of the products with the matrix of a party. With an arbiter, the blocks of all parties have the rows of the
    greatest block."""
    scheme, blocks = SCHEMES[setup.backend], setup.blocks_of(name)
    arguments = setup.features[name], setup.batches.size, setup.masked_products
    if setup.arbiter is None:
        return scheme(*arguments, blocks=blocks)
    rows = max(-(-features // setup.blocks_of(party)) for party, features in setup.features.items())
    return scheme(*arguments, summands=len(setup.features), blocks=blocks, rows=rows)


def arbiters_part(setup: Setup, report: Report) -> Program[None]:
    """The part of the arbiter, which has no data."""
    with report.step("plan"):
        terms = {name: _terms(setup, name) for name in setup.features}
    return arbitrate(setup.features, terms, setup.most_products, report)


def train_together(
    setup: Setup, parties: Mapping[str, Party], labels: Floats, report: Report, workers: Workers | None = None
) -> dict[str, Floats]:
    """Train in one process. Returns the weights by party."""
    guest = setup.names[0]
    programs: dict[str, Program[Any]] = {
        name: solver(setup, own, labels if name == guest else None, report, workers).solve()
        for name, own in parties.items()
    }
    if setup.arbiter is not None:
        programs[setup.arbiter] = arbiters_part(setup, report)

    def observe(sender: str, receiver: str, kind: str, payload: bytes) -> None:
        report.sent(sender, receiver, kind, len(payload))

    results = run_together(programs, observe)
    return {name: results[name] for name in parties}
