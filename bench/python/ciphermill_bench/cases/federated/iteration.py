"""Contenders of an iteration: the protocol of two keys under any scheme, step by step, and the products alone in clear."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.batches import Batches
from ciphermill._hetero.by_bfv import BfvTerms
from ciphermill._hetero.by_paillier import PaillierTerms
from ciphermill._hetero.messages import run_together
from ciphermill._hetero.numbers import DATA_BITS, Columns, Integers, part_bits
from ciphermill._hetero.party import Party
from ciphermill._hetero.schemes import Terms
from ciphermill._hetero.training import Setup
from ciphermill._hetero.two_keys import TwoKeys
from ciphermill_bench.harness import WARMED_NS, Contender, Sample, Timed

#: The steps of an iteration, in their order, and the remaining time: messages between the parties.
STEPS = ("encrypt", "add", "multiply", "mask", "decrypt", "unmask")
REST = "rest"

#: The steps whose time is proportional to the number of samples. That of the others is proportional to the columns.
BY_SAMPLES = ("encrypt", "add", "multiply")

#: Vectors that the samples of a contender use in turn.
TURNS = 4

#: Rows of a product in clear that are converted to binary64 at one time.
ROWS = 2**10

GUEST, HOST = "guest", "host"

#: Times by step, in nanoseconds.
Steps = dict[str, float]


@dataclass(frozen=True)
class Shape:
    """The size of a data set. The columns of the guest include the intercept."""

    samples: int
    guest: int
    host: int

    @property
    def name(self) -> str:
        """Samples and columns."""
        return f"{self.samples}x{self.guest + self.host}"

    @property
    def features(self) -> dict[str, int]:
        """The columns by party."""
        return {GUEST: self.guest, HOST: self.host}

    def head(self, samples: int) -> Shape:
        """The same columns of fewer samples."""
        return replace(self, samples=samples)

    def setup(self, backend: str) -> Setup:
        """A training with the defaults of `HeteroLogisticRegression`, which size the floods and the masks."""
        return Setup(backend, None, self.samples, self.features, C=1.0, tol=1e-6, max_iter=200, allow_label_leak=True)

    def bfv_terms(self) -> dict[str, BfvTerms]:
        """The terms of BFV for the matrix of each party."""
        answers = self.setup("bfv").answers
        return {name: BfvTerms(count, self.samples, answers) for name, count in self.features.items()}

    def paillier_terms(self, bits: int) -> dict[str, PaillierTerms]:
        """The terms of Paillier with keys of this length."""
        answers = self.setup("paillier").answers
        return {
            name: PaillierTerms(count, self.samples, answers, key_bits=bits) for name, count in self.features.items()
        }


@dataclass(frozen=True)
class Data:
    """Columns of both parties with entries of 16 bits, and their parts of d, all uniform and in their full range."""

    shape: Shape
    columns: dict[str, Columns]
    #: For each turn, the part of each party.
    parts: Sequence[dict[str, Integers]]
    _expected: dict[int, dict[str, Integers]] = field(default_factory=dict, repr=False)

    @staticmethod
    def draw(shape: Shape) -> Data:
        """Data of a shape, the same in each run."""
        rng = np.random.default_rng(8)
        limit, bound = (1 << (DATA_BITS - 1)) - 1, 1 << part_bits(len(shape.features))
        columns = {
            name: Columns(
                rng.integers(-limit, limit + 1, (shape.samples, count), dtype=np.int16), np.zeros(count, np.int64)
            )
            for name, count in shape.features.items()
        }
        parts = [{name: rng.integers(-bound, bound + 1, shape.samples) for name in columns} for _ in range(TURNS)]
        return Data(shape, columns, parts)

    def head(self, samples: int) -> Data:
        """The first samples."""
        if samples == self.shape.samples:
            return self
        columns = {name: Columns(each.integers[:samples], each.exponents) for name, each in self.columns.items()}
        parts = [{name: part[:samples] for name, part in turn.items()} for turn in self.parts]
        return Data(self.shape.head(samples), columns, parts)

    def d(self, turn: int) -> Integers:
        """The common vector."""
        guest, host = self.parts[turn].values()
        return np.asarray(guest + host)

    def expected(self, turn: int) -> dict[str, Integers]:
        """The products X_Pᵀd of both parties. Their terms are below 2^34, so sums of 2^19 of them are exact in binary64."""
        if turn not in self._expected:
            d = self.d(turn).astype(np.float64)
            found = {name: np.zeros(count) for name, count in self.shape.features.items()}
            for start in range(0, self.shape.samples, ROWS):
                rows = slice(start, start + ROWS)
                for name, columns in self.columns.items():
                    found[name] += d[rows] @ columns.integers[rows].astype(np.float64)
            self._expected[turn] = {name: sums.astype(np.int64) for name, sums in found.items()}
        return self._expected[turn]

    def equals(self, found: Mapping[str, Integers], turn: int) -> bool:
        """Whether the products of both parties are right."""
        return all(np.array_equal(found[name], expected) for name, expected in self.expected(turn).items())


class Iteration(Contender):
    """An iteration in both directions, masked, both parties in this process. Keys and matrices are prepared before.

    With `samples`, the iteration has only the first samples. Then the times of the steps in `BY_SAMPLES`, and of the messages,
    are multiplied to those of all samples.
    """

    def __init__(self, name: str, data: Data, terms: Mapping[str, Terms], samples: int | None = None) -> None:
        self.name = name
        self.terms = terms
        self._data = data.head(samples or data.shape.samples)
        self._factor = data.shape.samples / self._data.shape.samples
        setup = self._data.shape.setup("plain")
        self._report = setup.report()
        features = setup.features
        others = {GUEST: HOST, HOST: GUEST}
        self._exchanges = {
            name: TwoKeys(
                Party(name, self._data.columns[name], np.zeros(features[name]), Batches(setup.samples, None, 0)),
                others[name],
                features[others[name]],
                terms.__getitem__,
                self._report,
            )
            for name in features
        }
        run_together({name: exchange.rekey() for name, exchange in self._exchanges.items()})
        self._turn, self._warmed = 0, False
        self._found: dict[str, Integers] = {}
        #: The steps of each sample.
        self.steps: list[Steps] = []

    @property
    def computed(self) -> bool:
        """Whether times are multiplied."""
        return self._factor != 1

    def prepare(self, turn: int) -> None:
        self._turn = turn % TURNS

    def _run(self) -> float:
        """Nanoseconds of an iteration."""
        report, parts = self._report, self._data.parts[self._turn]
        report.seconds.clear()
        report.bytes.clear()
        start = time.perf_counter_ns()
        self._found = run_together(
            {name: exchange.product(parts[name], 0) for name, exchange in self._exchanges.items()},
            lambda sender, receiver, kind, payload: report.sent(sender, receiver, kind, len(payload)),
        )
        return float(time.perf_counter_ns() - start)

    def warm_up(self) -> None:
        self._warmed = self._run() < WARMED_NS

    def sample(self) -> Sample:
        if self._warmed:
            self._run()
        ns = self._run()
        steps = {step: 1e9 * self._report.seconds.get(step, 0.0) for step in STEPS}
        steps[REST] = ns - sum(steps.values())
        steps = {step: time * (self._factor if step in (*BY_SAMPLES, REST) else 1.0) for step, time in steps.items()}
        self.steps.append(steps)
        total = sum(steps.values())
        return Sample(total, total)

    def correct(self) -> bool:
        return self._data.equals(self._found, self._turn)

    def median_steps(self) -> Steps:
        """The median of each step."""
        return {step: float(np.median([each[step] for each in self.steps])) for step in self.steps[0]}

    def sent(self) -> dict[str, int]:
        """Bytes of the last iteration by kind of message, both directions together."""
        totals: dict[str, int] = {}
        for (_, _, kind), count in self._report.bytes.items():
            totals[kind] = totals.get(kind, 0) + count
        return totals


class Clear(Timed):
    """Both products by NumPy, of matrices in one type of numbers."""

    def __init__(self, data: Data, dtype: npt.DTypeLike) -> None:
        super().__init__()
        self.name = f"NumPy, {np.dtype(dtype).name}"
        self._data, self._dtype, self._turn = data, dtype, 0
        self._matrices = {
            name: np.ascontiguousarray(columns.integers.T.astype(dtype)) for name, columns in data.columns.items()
        }
        self._found: dict[str, npt.NDArray[np.generic]] = {}

    def prepare(self, turn: int) -> None:
        self._turn = turn % TURNS

    def run(self) -> None:
        d = self._data.d(self._turn).astype(self._dtype)
        self._found = {name: matrix @ d for name, matrix in self._matrices.items()}

    def correct(self) -> bool:
        return self._data.equals({name: sums.astype(np.int64) for name, sums in self._found.items()}, self._turn)
