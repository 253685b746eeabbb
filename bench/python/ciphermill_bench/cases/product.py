"""Encrypted products from Python, compared with the command's own time of the same product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import ciphermill as cm
from ciphermill_bench.cases import Settings, bench
from ciphermill_bench.harness import Contender, Sample, Series, Timed
from ciphermill_bench.record import Case, Peer, Report

SIZES = [(1024, 256), (4096, 4096)]

#: Python may take 1.25 times as long as the command.
LEAST_RATIO = 1 / 1.25


class Product(Timed):
    """A product with a prepared matrix, `matrix @ vector`."""

    name = "ciphermill"

    def __init__(self, matrix: npt.NDArray[np.int64], vectors: npt.NDArray[np.int64]) -> None:
        super().__init__()
        rows, cols = matrix.shape
        self.plan = cm.MatVecPlan(rows, cols)
        self.client = self.plan.keygen()
        self._matrix = self.plan.server(self.client.evaluation).prepare(matrix)
        self._vectors = [self.client.encrypt(vector) for vector in vectors]
        self._expected = [matrix @ vector for vector in vectors]
        self._turn = 0
        self.product = self._matrix @ self._vectors[0]

    def prepare(self, turn: int) -> None:
        self._turn = turn % len(self._vectors)

    def run(self) -> None:
        self.product = self._matrix @ self._vectors[self._turn]

    def correct(self) -> bool:
        return np.array_equal(self.client.decrypt(self.product), self._expected[self._turn])


class Products(Product, Series):
    """Series of products, as the command takes them."""


class Command(Contender):
    """`ciphermill bench hmvp`, which times the same product in its own process on numbers that it draws and checks."""

    name = "the command"

    def __init__(self, command: Path, rows: int, cols: int) -> None:
        self._command = command
        self._shape = ["--rows", str(rows), "--cols", str(cols)]
        self.record = bench(command, "hmvp", *self._shape)

    def sample(self) -> Sample:
        self.record = bench(self._command, "hmvp", *self._shape, samples=Series.length)
        return Sample(self.record["min_ns"], self.record["median_ns"])

    def correct(self) -> bool:
        return bool(self.record["correct"])


def plan_params(plan: cm.MatVecPlan) -> dict[str, object]:
    """The numbers of a plan that a row records."""
    rows, cols = plan.shape
    explained = plan.explain()
    names = ("polynomial_size", "chain_bits", "plaintext_modulus", "security_bits")
    return {
        "rows": rows,
        "cols": cols,
        "set": plan.parameters,
        "strategy": plan.strategy,
        **{name: explained[name] for name in names},
    }


def run(settings: Settings, report: Report) -> None:
    """Both sizes. The planner must choose the same plan on both sides."""
    rng = np.random.default_rng(1)
    for rows, cols in SIZES:
        name = f"product/{rows}x{cols}"
        if not settings.takes(name):
            continue
        ours = Products(rng.integers(-128, 128, (rows, cols)), rng.integers(-128, 128, (4, cols)))
        command = Command(settings.command, rows, cols)
        theirs = command.record["plan"]
        if (theirs["parameters"], theirs["strategy"]) != (ours.plan.parameters, ours.plan.strategy):
            raise SystemExit(f"{name}: the command was built from other sources than the package; their plans differ")
        least, budget = (30, 15.0) if rows < 4096 else (10, 25.0)
        stats = settings.measure(name, [ours, command], 100, least, budget)
        peer = Peer("ciphermill bench hmvp", cm.__version__, "Apache-2.0")
        case = Case(
            name,
            plan_params(ours.plan),
            settings.isa,
            f"the command is a separate process; a sample of either side is a series of {Series.length} products after an "
            "untimed one",
        )
        report.add(case, stats[0], peer, stats[1], asked={"median_ratio": LEAST_RATIO})
