"""An iteration by phe, number by number: computed from the times of its operations, and once whole to test the computation."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import phe

from ciphermill._costs import timed
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Integers
from ciphermill_bench.cases.federated.iteration import GUEST, HOST, STEPS, TURNS, Data, Shape, Steps
from ciphermill_bench.cases.phe import BITS, Part
from ciphermill_bench.harness import Contender, Sample, Stats

#: The step of each operation. The owner of the matrix removes its mask by a subtraction of integers, which is left out.
STEP_OF = {
    "encrypt": "encrypt",
    "add_plain": "add",
    "multiply": "multiply",
    "add": "multiply",
    "mask": "mask",
    "decrypt": "decrypt",
}

#: Samples of the whole iteration that warms up.
FEW = 8


def counts(shape: Shape) -> dict[str, int]:
    """The number of each operation in an iteration, both directions together."""
    samples, columns = shape.samples, shape.guest + shape.host
    return {
        "encrypt": len(shape.features) * samples,
        "add_plain": len(shape.features) * samples,
        "multiply": samples * columns,
        "add": (samples - 1) * columns,
        "mask": columns,
        "decrypt": columns,
    }


def computed(operations: Mapping[str, Stats], shape: Shape) -> tuple[Stats, Steps]:
    """The times of an iteration, and of its steps by medians."""
    numbers = counts(shape)
    steps = dict.fromkeys(STEPS, 0.0)
    for name, stats in operations.items():
        steps[STEP_OF[name]] += numbers[name] * stats.median_ns

    def total(of: Callable[[Stats], float]) -> float:
        return sum(numbers[name] * of(stats) for name, stats in operations.items())

    quartiles = total(lambda stats: stats.quartiles_ns[0]), total(lambda stats: stats.quartiles_ns[1])
    samples = min(stats.samples for stats in operations.values())
    right = all(stats.correct for stats in operations.values())
    return Stats(total(lambda s: s.min_ns), total(lambda s: s.median_ns), quartiles, samples, right), steps


def masked(number: phe.EncryptedNumber, mask: int) -> phe.EncryptedNumber:
    """A sum with a mask, re-randomised."""
    result = number + mask
    result.obfuscate()
    return result


def contenders(count: int, mask_bits: int) -> dict[str, Contender]:
    """Each operation on vectors of `count` numbers of an iteration's sizes, a part of them in each sample, under one key."""
    public, secret = phe.generate_paillier_keypair(n_length=BITS)
    rng = np.random.default_rng(9)

    def integers(bits: int) -> list[int]:
        values: list[int] = rng.integers(-(1 << (bits - 1)) + 1, 1 << (bits - 1), count).tolist()
        return values

    # A part of d has a bit less than d.
    values, others, weights = integers(VECTOR_BITS - 1), integers(VECTOR_BITS - 1), integers(DATA_BITS)
    masks = [secrets.randbits(mask_bits) for _ in range(count)]
    encrypted, addends = ([public.encrypt(value) for value in each] for each in (values, others))

    def part(operation: Callable[[int], Any], expected: Callable[[int], int]) -> Part:
        def right(places: slice, results: list[Any]) -> bool:
            found = [each if isinstance(each, int) else secret.decrypt(each) for each in results]
            return found == [expected(i) for i in range(count)[places]]

        return Part(lambda places: [operation(i) for i in range(count)[places]], right, count)

    return {
        "encrypt": part(lambda i: public.encrypt(values[i]), lambda i: values[i]),
        "add_plain": part(lambda i: encrypted[i] + others[i], lambda i: values[i] + others[i]),
        "multiply": part(lambda i: encrypted[i] * weights[i], lambda i: values[i] * weights[i]),
        "add": part(lambda i: encrypted[i] + addends[i], lambda i: values[i] + others[i]),
        "mask": part(lambda i: masked(encrypted[i], masks[i]), lambda i: values[i] + masks[i]),
        "decrypt": part(lambda i: secret.decrypt(encrypted[i]), lambda i: values[i]),
    }


class Whole(Contender):
    """A whole iteration by phe, with the protocol and the numbers of the other contenders."""

    name = "a whole iteration of phe"

    def __init__(self, data: Data, mask_bits: int) -> None:
        self._all = self._data = data
        self._mask_bits, self._turn = mask_bits, 0
        self._keys = {name: phe.generate_paillier_keypair(n_length=BITS) for name in data.columns}
        self._found: dict[str, Integers] = {}
        self.steps: Steps = {}

    def prepare(self, turn: int) -> None:
        self._turn = turn % TURNS

    def warm_up(self) -> None:
        self._run(self._all.head(min(FEW, self._all.shape.samples)))

    def sample(self) -> Sample:
        self._run(self._all)
        total = sum(self.steps.values())
        return Sample(total, total)

    def correct(self) -> bool:
        return self._data.equals(self._found, self._turn)

    def _run(self, data: Data) -> None:
        seconds = dict.fromkeys(STEPS, 0.0)
        self._data = data
        self._found = {HOST: self._direction(GUEST, HOST, seconds), GUEST: self._direction(HOST, GUEST, seconds)}
        self.steps = {step: 1e9 * time for step, time in seconds.items()}

    def _direction(self, keys: str, matrix: str, seconds: dict[str, float]) -> Integers:
        """The product with the matrix of one party, under the key of the other."""
        public, secret = self._keys[keys]
        parts = self._data.parts[self._turn]
        own, others = parts[keys].tolist(), parts[matrix].tolist()
        with timed(seconds, "encrypt"):
            encrypted = [public.encrypt(value) for value in own]
        with timed(seconds, "add"):
            summed = [number + value for number, value in zip(encrypted, others, strict=True)]
        rows = self._data.columns[matrix].integers.T.tolist()
        with timed(seconds, "multiply"):
            product = [_dot(summed, row) for row in rows]
        with timed(seconds, "mask"):
            masks = [secrets.randbits(self._mask_bits) for _ in product]
            answers = [masked(number, mask) for number, mask in zip(product, masks, strict=True)]
        with timed(seconds, "decrypt"):
            decrypted = [secret.decrypt(number) for number in answers]
        with timed(seconds, "unmask"):
            return np.array([value - mask for value, mask in zip(decrypted, masks, strict=True)], np.int64)


def _dot(numbers: list[phe.EncryptedNumber], weights: list[int]) -> phe.EncryptedNumber:
    total = numbers[0] * weights[0]
    for number, weight in zip(numbers[1:], weights[1:], strict=True):
        total = total + number * weight
    return total


def operations_of(stats: Mapping[str, Stats]) -> dict[str, float]:
    """The median of each operation, in nanoseconds."""
    return {name: each.median_ns for name, each in stats.items()}
