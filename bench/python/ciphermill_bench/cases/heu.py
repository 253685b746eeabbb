"""Paillier's matrix-vector product, compared with HEU's ZPaillier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from heu import numpy as heu_numpy
from heu import phe as heu_phe

from ciphermill import paillier
from ciphermill_bench.cases import Settings
from ciphermill_bench.harness import Timed
from ciphermill_bench.record import Case, Peer, Report

BITS = 2048
ROWS, COLS = 64, 64
WEIGHT_BITS, VALUE_BITS = 16, 32

Integers = npt.NDArray[np.int64]


class Ours(Timed):
    """`weights @ vector`."""

    name = "ciphermill"
    operations = ROWS * COLS

    def __init__(self, weights: Integers, values: Integers) -> None:
        super().__init__()
        public, self._secret = paillier.keygen(BITS)
        self._weights, self._vector, self._expected = weights, public.encrypt(values), weights @ values
        self._product = self._vector

    def run(self) -> None:
        self._product = self._weights @ self._vector

    def correct(self) -> bool:
        return np.array_equal(self._secret.decrypt(self._product), self._expected)


class Heu(Timed):
    """`matmul` of a plain matrix and an encrypted vector. Its pool has one thread, as the process has one core."""

    name = "sf-heu"
    operations = ROWS * COLS

    def __init__(self, weights: Integers, values: Integers) -> None:
        super().__init__()
        self._kit = heu_numpy.setup(heu_phe.SchemaType.ZPaillier, BITS)
        encoding = heu_phe.IntegerEncoderParams(scale=1)
        self._weights = self._kit.array(weights, encoding)
        self._vector = self._kit.encryptor().encrypt(self._kit.array(values, encoding))
        self._evaluator = self._kit.evaluator()
        self._expected = weights @ values
        self._product: Any = None

    def run(self) -> None:
        self._product = self._evaluator.matmul(self._weights, self._vector)

    def correct(self) -> bool:
        decrypted = self._kit.decryptor().decrypt(self._product)
        return np.array_equal(decrypted.to_numpy(self._kit.integer_encoder(scale=1)), self._expected)


def run(settings: Settings, report: Report) -> None:
    """One size; times are per term, a product and its part of a sum."""
    name = f"paillier/{BITS}/matvec/{ROWS}x{COLS}"
    if not settings.takes(name):
        return
    rng = np.random.default_rng(4)
    weights = rng.integers(-(2 ** (WEIGHT_BITS - 1)), 2 ** (WEIGHT_BITS - 1), (ROWS, COLS))
    values = rng.integers(-(2 ** (VALUE_BITS - 1)), 2 ** (VALUE_BITS - 1), COLS)
    stats = settings.measure(name, [Ours(weights, values), Heu(weights, values)], 12, 7, 25.0)
    params = {"bits": BITS, "rows": ROWS, "cols": COLS, "weight_bits": WEIGHT_BITS, "value_bits": VALUE_BITS}
    case = Case(name, params, settings.integers, "times are per term; both sides know the weights in clear")
    report.add(case, stats[0], Peer.package("sf-heu", "Apache-2.0"), stats[1], asked={"median_ratio": 100.0})
