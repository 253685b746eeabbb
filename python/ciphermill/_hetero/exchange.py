"""The products X_Pᵀ(d_A + d_B) of both parties, by a back end.

`Plain` computes them in clear. `TwoKeys` is the protocol without an arbiter: each party encrypts its half of d under its own
key, the other adds its half, multiplies its matrix, masks and floods. Both return the same integers.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ciphermill import _native
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Integers
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill.errors import ParameterError

#: log2 of the statistical distance that all answers of a training may add up to.
DISTANCE_BITS = 40


class Exchange(Protocol):
    """A back end: the integers X_Pᵀ(d_A + d_B), for both parties."""

    def products(self, halves: tuple[Integers, Integers]) -> tuple[Integers, Integers]: ...

    def rekey(self) -> None:
        """Make new keys; what was encrypted under the old ones is of no further use."""
        ...


class Plain:
    """The integer oracle: one process sees everything."""

    def __init__(self, parties: tuple[Party, Party], report: Report) -> None:
        # Exact: products of 16 and 20 bits, summed over at most 2^16 samples, are below 2^53.
        self._matrices = [party.columns.integers.astype(np.float64).T for party in parties]
        self._report = report
        samples, most = parties[0].columns.samples, 1 << (53 - DATA_BITS - VECTOR_BITS + 2)
        if samples > most:
            raise ParameterError(f"X has {samples} samples; use at most {most}, whose sums are exact in binary64")

    def products(self, halves: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
        with self._report.step("multiply"):
            d = (halves[0] + halves[1]).astype(np.float64)
            first, second = (np.asarray(matrix @ d).astype(np.int64) for matrix in self._matrices)
        return first, second

    def rekey(self) -> None:
        pass


class TwoKeys:
    """Two keys, no arbiter. In each direction one party owns the key and the vector, the other the matrix."""

    def __init__(self, parties: tuple[Party, Party], report: Report, answers: int) -> None:
        self._report = report
        with report.step("plan"):
            # Half of all answers come from each party.
            bits = DISTANCE_BITS + math.log2(2 * answers)
            self._directions = [
                _Direction(owner, other, bits, report)
                for owner, other in (parties, parties[::-1])
                if other.columns.features
            ]
        self._parties = parties
        self._bits = bits
        self.rekey()

    def rekey(self) -> None:
        with self._report.step("keys"):
            for direction in self._directions:
                direction.rekey()

    def products(self, halves: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
        found = {party.name: np.zeros(party.columns.features, np.int64) for party in self._parties}
        by_name = {party.name: half for party, half in zip(self._parties, halves, strict=True)}
        for direction in self._directions:
            found[direction.other.name] = direction.product(
                by_name[direction.owner.name], by_name[direction.other.name]
            )
        return found[self._parties[0].name], found[self._parties[1].name]

    @property
    def guarantees(self) -> dict[str, str]:
        """By the owner of the matrix: what masks and floods hide of it."""
        return {direction.other.name: direction.guarantee for direction in self._directions}


class _Direction:
    """`owner` encrypts its half, `other` multiplies its matrix."""

    def __init__(self, owner: Party, other: Party, bits: float, report: Report) -> None:
        self.owner = owner
        self.other = other
        self._report = report
        self._plan, self.guarantee = _flooded_plan(other.columns.features, other.columns.samples, bits)
        # Prepared once: the matrix does not depend on keys.
        self._matrix = np.ascontiguousarray(other.columns.integers.T)
        self._vector_bytes = int(self._plan.explain()["vector_bytes"])

    def rekey(self) -> None:
        self._client = self._plan.keygen()
        public, evaluation = self._client.public, self._client.evaluation
        sent = len(public.to_bytes()) + len(evaluation.to_bytes())
        self._report.sent(self.owner.name, self.other.name, "keys", sent)
        self._public = public
        self._prepared = self._plan.server(evaluation).prepare(self._matrix)

    def product(self, owners_half: Integers, others_half: Integers) -> Integers:
        report, owner, other = self._report, self.owner.name, self.other.name
        with report.step("encrypt"):
            vector = self._client.encrypt(owners_half)
        report.sent(owner, other, "half", self._vector_bytes)
        with report.step("multiply"):
            product = self._prepared @ vector.add_plain(others_half)
        with report.step("mask"):
            masked, others_share = product.mask(self._public)
        report.sent(other, owner, "masked product", masked.nbytes)
        with report.step("decrypt"):
            owners_share = self._client.decrypt_masked(masked)
        report.sent(owner, other, "residues", owners_share.nbytes)
        with report.step("unmask"):
            return _native.reconstruct(owners_share, others_share, self._plan.plaintext_modulus)


def _flooded_plan(rows: int, cols: int, bits: float) -> tuple[_native.MatVecPlan, str]:
    """The plan whose floods hide the matrix within 2^-`bits` an answer, and the guarantee in words."""
    flooding = math.ceil(bits)
    for _ in range(4):
        plan = _native.MatVecPlan(
            rows,
            cols,
            matrix_bits=DATA_BITS,
            vector_bits=VECTOR_BITS,
            unsplit=True,
            flooding_bits=flooding,
        )
        _, guarantee, hidden = plan.assess()
        missing = bits - (hidden or 0.0)
        if missing <= 0:
            return plan, guarantee
        flooding += math.ceil(missing)
    raise ParameterError(
        f"no plan hides a matrix of shape ({rows}, {cols}) within 2^-{bits:.1f} an answer; use fewer columns or samples"
    )
