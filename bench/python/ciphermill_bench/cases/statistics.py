"""Secure statistics: the time of a client that encrypts the sums over a million values, or a million totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill.statistics import SecureStatistics, Statistics
from ciphermill_bench.cases import Settings
from ciphermill_bench.harness import Timed
from ciphermill_bench.record import Case, Peer, Report

Integers = npt.NDArray[np.int64]

#: Parties for which the totals are laid out. Two of them contribute here, as the total of one is refused.
PARTIES = 10

LIMIT_NS = 60e6


@dataclass(frozen=True)
class Problem:
    """Columns of integers from 0 to `greatest`, their products if there are several, and histograms if there are edges."""

    rows: int
    columns: int
    greatest: int
    #: The edges of the histogram of every column.
    edges: range | None
    note: str

    def agreement(self) -> SecureStatistics:
        """The declaration that all roles share."""
        names = [f"column {index}" for index in range(self.columns)]
        return SecureStatistics(
            dict.fromkeys(names, (0, self.greatest)),
            parties=PARTIES,
            max_rows=self.rows,
            covariances=self.columns > 1,
            histograms=dict.fromkeys(names, self.edges) if self.edges else None,
        )

    def draw(self, rng: np.random.Generator) -> Integers:
        """The rows of a party."""
        return rng.integers(0, self.greatest + 1, (self.rows, self.columns))

    def in_clear(self, rows: Integers) -> list[npt.NDArray[Any]]:
        """The statistics by NumPy: sums and covariances, then histograms."""
        found: list[npt.NDArray[Any]] = [rows.sum(axis=0), np.cov(rows.T)]
        if self.edges:
            edges = np.array(self.edges)
            found += [np.histogram(column, edges)[0] for column in rows.T]
        return found

    def agree(self, found: Statistics, expected: list[npt.NDArray[Any]]) -> bool:
        """Whether decrypted statistics are those of NumPy: integers exactly, covariances nearly."""
        names = found.columns
        sums = np.array([found.sum(name) for name in names])
        counts = [found.histogram(name)[0] for name in names] if self.edges else []
        right = np.array_equal(sums, expected[0])
        right &= all(np.array_equal(ours, theirs) for ours, theirs in zip(counts, expected[2:], strict=True))
        if self.columns > 1:
            right &= np.allclose(found.covariance(), expected[1], rtol=1e-9)
        return right


class Client(Timed):
    """The contribution of a party: its sums, encrypted under the public key of the key holder."""

    name = "ciphermill"

    def __init__(self, problem: Problem, rows: Integers, others: Integers) -> None:
        super().__init__()
        self._problem, self._rows = problem, rows
        self._agreement = problem.agreement()
        self._holder = self._agreement.keygen()
        self._other = self._agreement.encrypt(self._holder.public, others).to_bytes()
        self._expected = problem.in_clear(np.concatenate([rows, others]))
        self._contribution = self._agreement.encrypt(self._holder.public, rows)

    def run(self) -> None:
        self._contribution = self._agreement.encrypt(self._holder.public, self._rows)

    def correct(self) -> bool:
        """Whether the totals of two parties are right after decryption."""
        aggregator = self._agreement.aggregator()
        aggregator.add("other", self._other)
        aggregator.add("client", self._contribution.to_bytes())
        return self._problem.agree(self._holder.decrypt(aggregator.total().to_bytes()), self._expected)

    def figures(self) -> dict[str, Any]:
        """Bytes and ciphertexts of a contribution, and the time of its encryption alone in the last sample."""
        return {
            "sent_bytes": len(self._contribution.to_bytes()),
            "ciphertexts": self._agreement.plan.ciphertexts,
            "encrypt_ns": round(1e9 * self._contribution.report.seconds["encrypt"]),
        }


class Clear(Timed):
    """The statistics of the same rows by NumPy."""

    name = "numpy"

    def __init__(self, problem: Problem, rows: Integers) -> None:
        super().__init__()
        self._problem, self._rows = problem, rows
        self._found = self._expected = problem.in_clear(rows)

    def run(self) -> None:
        self._found = self._problem.in_clear(self._rows)

    def correct(self) -> bool:
        return all(np.array_equal(found, first) for found, first in zip(self._found, self._expected, strict=True))


PROBLEMS = {
    "statistics/moments/100000x10": Problem(100_000, 10, 999, None, "a client's sums and products of 10^6 values"),
    "statistics/all/100000x10": Problem(
        100_000, 10, 999, range(0, 1001, 10), "a client's sums, products and histograms of 100 bins of 10^6 values"
    ),
    "statistics/totals/1000000": Problem(
        100_000, 1, 999_999, range(1_000_001), "a client's histogram of 10^6 bins, all encrypted, of 10^5 values"
    ),
}


def run(settings: Settings, report: Report) -> None:
    """Both sides of the protocol's cost: values that are summed before the encryption, and totals that are encrypted."""
    for name, problem in PROBLEMS.items():
        if not settings.takes(name):
            continue
        rng = np.random.default_rng(7)
        rows, others = problem.draw(rng), problem.draw(rng)
        client, clear = Client(problem, rows, others), Clear(problem, rows)
        stats = settings.measure(name, [client, clear], 60, 15, 8.0)
        params = {
            "rows": problem.rows,
            "columns": problem.columns,
            "greatest": problem.greatest,
            "bins": len(problem.edges) - 1 if problem.edges else 0,
            "parties": PARTIES,
        }
        case = Case(name, params, settings.isa, problem.note)
        peer, asked = Peer.package("numpy", "BSD-3-Clause"), {"median_ns": LIMIT_NS}
        report.add(case, stats[0], peer, stats[1], asked=asked, figures=client.figures())
