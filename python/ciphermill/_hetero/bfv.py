"""The two sides of an encrypted product by BFV: the owner of the key and the owner of the matrix.

A vector of one entry for each sample is cut into slices of at most 16384 entries. The owner of the matrix masks the product
with each slice separately. The owner of the key adds the decrypted slices before it returns them, so that the owner of the
matrix learns one sum and no part of it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Columns, Integers
from ciphermill._hetero.report import Report
from ciphermill._hetero.tiles import Tiles
from ciphermill.errors import ParameterError, PeerError, WireError

Residues = npt.NDArray[np.uint64]

#: log2 of the statistical distance that all answers of a training may add up to.
DISTANCE_BITS = 40


class Terms:
    """The plan of the products with the matrix of one party, which both sides make alike, and the sizes of its messages.

    `answers` is the greatest number of products of the whole training, of all parties.
    """

    def __init__(self, features: int, samples: int, answers: int) -> None:
        self.features = features
        self.tiles = Tiles(samples)
        bits = DISTANCE_BITS + math.log2(answers * self.tiles.count)
        # The sum over the slices must fit the plaintext modulus too.
        carry = (self.tiles.count - 1).bit_length()
        self.plan, self.guarantee = _flooded_plan(features, self.tiles.size, VECTOR_BITS + carry, bits)
        costs = self.plan.explain()
        self._vector_bytes = int(costs["vector_bytes"])
        self.vector_bytes = self.tiles.count * self._vector_bytes
        # A masked product is a product with another header.
        self._most_masked_bytes = int(costs["product_bytes"]) + 64
        self.most_masked_bytes = self.tiles.count * self._most_masked_bytes
        self.residue_bytes = 8 * features
        self.most_public_bytes = 2 * int(costs["product_bytes"])
        # Stored keys are half the size of loaded ones.
        self.most_evaluation_bytes = int(costs["key_bytes"]) + 4096

    def split(self, payload: bytes, what: str) -> list[memoryview]:
        """The equal parts of a message, one for each slice. Raises `WireError` for a length that is not a multiple."""
        size, rest = divmod(len(payload), self.tiles.count)
        if rest:
            raise WireError(f"{what} has {len(payload)} bytes; use a multiple of {self.tiles.count}")
        view = memoryview(payload)
        return [view[i * size : (i + 1) * size] for i in range(self.tiles.count)]


class KeyHolder:
    """The owner of the key: encrypts its vector, decrypts masked products with the other party's matrix."""

    def __init__(self, terms: Terms, report: Report) -> None:
        self._terms = terms
        self._report = report
        self._sent: set[bytes] = set()

    def keys(self) -> tuple[bytes, bytes]:
        """New keys: the public key and the evaluation keys, for the owner of the matrix."""
        with self._report.step("keys"):
            self._client = self._terms.plan.keygen()
            self._sent = set()
            return self._client.public.to_bytes(), self._client.evaluation.to_bytes()

    def encrypt(self, half: Integers) -> bytes:
        """The encrypted vector."""
        with self._report.step("encrypt"):
            return b"".join(self._client.encrypt(part).to_bytes() for part in self._terms.tiles.vectors(half))

    def residues(self, masked: bytes) -> bytes:
        """The decrypted product, which its mask makes uniform.

        The result is returned whatever it is: it must not depend on its plausibility.
        """
        terms = self._terms
        with self._report.step("decrypt"):
            total = np.zeros(terms.features, np.uint64)
            for part in terms.split(masked, "the masked product"):
                product = _native.MaskedProduct.from_bytes(terms.plan, part)
                total += self._client.decrypt_masked(product)
                # Below 2^62 each, so that the sum fits 64 bits.
                total %= np.uint64(terms.plan.plaintext_modulus)
            return total.astype("<u8").tobytes()


class MatrixHolder:
    """The owner of the matrix: multiplies, masks, and removes its mask from the decrypted product."""

    def __init__(self, terms: Terms, columns: Columns, report: Report) -> None:
        self._terms = terms
        self._report = report
        with report.step("prepare"):
            self._matrices = [terms.plan.prepare(matrix) for matrix in terms.tiles.matrices(columns.integers)]

    def use_keys(self, public: bytes, evaluation: bytes) -> None:
        """The keys of the other party."""
        plan = self._terms.plan
        with self._report.step("keys"):
            self._public = _native.BfvPublicKey.from_bytes(plan, public)
            server = plan.server(_native.EvaluationKeys.from_bytes(plan, evaluation))
            if self._public.tag != server.tag:
                raise PeerError("the public key and the evaluation keys are of two key sets; the protocol expects one")
            self._prepared = [matrix.for_server(server) for matrix in self._matrices]

    def product(self, vector: bytes, half: Integers) -> tuple[bytes, Residues]:
        """The masked product with the sum of the encrypted vector and the own half, and the share of the mask."""
        terms, report = self._terms, self._report
        parts = terms.split(vector, "the half")
        masked, share = [], np.zeros(terms.features, np.uint64)
        for part, own, matrix in zip(parts, terms.tiles.vectors(half), self._prepared, strict=True):
            with report.step("add"):
                summed = _native.EncryptedVector.from_bytes(terms.plan, part).add_plain(own)
            with report.step("multiply"):
                product = matrix @ summed
            with report.step("mask"):
                response, own_share = product.mask(self._public)
                share = (share + own_share) % np.uint64(terms.plan.plaintext_modulus)
                masked.append(response.to_bytes())
        return b"".join(masked), share

    def unmask(self, residues: bytes, share: Residues) -> Integers:
        """The integers of the product."""
        with self._report.step("unmask"):
            return _native.reconstruct(np.frombuffer(residues, "<u8"), share, self._terms.plan.plaintext_modulus)


def _flooded_plan(rows: int, cols: int, vector_bits: int, bits: float) -> tuple[_native.MatVecPlan, str]:
    """The plan whose floods hide the matrix within 2^-`bits` an answer, and the guarantee in words."""
    flooding = math.ceil(bits)
    for _ in range(4):
        plan = _native.MatVecPlan(
            rows,
            cols,
            matrix_bits=DATA_BITS,
            vector_bits=vector_bits,
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
