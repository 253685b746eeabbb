"""Encrypted products by BFV.

A vector of one entry for each sample is cut into slices of at most 16384 entries. The owner of the matrix masks the product
with each slice separately. The owner of the key adds the decrypted slices before it returns them, so that the owner of the
matrix learns one sum and no part of it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Columns, Integers
from ciphermill._hetero.report import Report
from ciphermill._hetero.schemes import Size
from ciphermill._hetero.tiles import Tiles
from ciphermill.errors import ParameterError, PeerError, WireError

Residues = npt.NDArray[np.uint64]

#: log2 of the statistical distance that all answers of a training may add up to.
DISTANCE_BITS = 40

_LENGTH = struct.Struct("<I")


class BfvTerms:
    """The plan of the products with a matrix of `features` rows, and the sizes of its messages.

    `answers` is the greatest number of products of the whole training, of all parties. A vector is the sum of `summands`
    vectors that were encrypted under the public key; with 0, the owner of the key encrypts it.
    """

    def __init__(self, features: int, samples: int, answers: int, summands: int = 0) -> None:
        self.features = features
        self.tiles = Tiles(samples)
        bits = DISTANCE_BITS + math.log2(answers * self.tiles.count)
        # The sum over the slices must fit the plaintext modulus too.
        carry = (self.tiles.count - 1).bit_length()
        self.plan, self.guarantee = _flooded_plan(features, self.tiles.size, VECTOR_BITS + carry, summands, bits)
        costs = self.plan.explain()
        self.vector = Size.exactly(self.tiles.count * int(costs["vector_bytes"]))
        product = int(costs["product_bytes"])
        # A masked product is a product with another header.
        self.masked = Size(1, self.tiles.count * (product + 64))
        self.residues = Size.exactly(8 * features)
        # A public key is a ciphertext; stored evaluation keys are smaller than loaded ones.
        self.keys = Size(_LENGTH.size, 2 * product + int(costs["key_bytes"]) + 4096)

    def key_holder(self, report: Report) -> BfvKeyHolder:
        return BfvKeyHolder(self, report)

    def matrix_holder(self, batches: Sequence[Columns], report: Report) -> BfvMatrixHolder:
        return BfvMatrixHolder(self, batches, report)

    def split(self, payload: bytes, what: str) -> list[memoryview]:
        """The equal parts of a message, one for each slice. Raises `WireError` for a length that is not a multiple."""
        size, rest = divmod(len(payload), self.tiles.count)
        if rest:
            raise WireError(f"{what} has {len(payload)} bytes; use a multiple of {self.tiles.count}")
        view = memoryview(payload)
        return [view[i * size : (i + 1) * size] for i in range(self.tiles.count)]


class BfvKeyHolder:
    """The owner of the key."""

    def __init__(self, terms: BfvTerms, report: Report) -> None:
        self._terms = terms
        self._report = report
        self._sent: list[_native.EncryptedVector] = []

    def keys(self) -> bytes:
        with self._report.step("keys"):
            self._client = self._terms.plan.keygen()
            self._sent = []
            public = self._client.public.to_bytes()
            return _LENGTH.pack(len(public)) + public + self._client.evaluation.to_bytes()

    def encrypt(self, part: Integers) -> bytes:
        with self._report.step("encrypt"):
            self._sent = [self._client.encrypt(tile) for tile in self._terms.tiles.vectors(part)]
            return b"".join(vector.to_bytes() for vector in self._sent)

    def residues(self, masked: bytes) -> bytes:
        terms = self._terms
        modulus = np.uint64(terms.plan.plaintext_modulus)
        with self._report.step("decrypt"):
            total = np.zeros(terms.features, np.uint64)
            for part in terms.split(masked, "the masked product"):
                product = _native.MaskedProduct.from_bytes(terms.plan, part)
                if any(product.echoes(vector) for vector in self._sent):
                    raise PeerError(
                        "the masked product is this party's own encrypted half; the protocol expects a product"
                    )
                # Both are below 2^62, so that the sum fits 64 bits.
                total = (total + self._client.decrypt_masked(product)) % modulus
            return total.astype("<u8").tobytes()


class BfvMatrixHolder:
    """The owner of the matrix."""

    def __init__(self, terms: BfvTerms, batches: Sequence[Columns], report: Report) -> None:
        self._terms = terms
        self._report = report
        self._features = batches[0].features
        with report.step("prepare"):
            self._matrices = [self._prepare(columns) for columns in batches]

    def use_keys(self, keys: bytes) -> None:
        plan = self._terms.plan
        (length,) = _LENGTH.unpack_from(keys)
        view = memoryview(keys)[_LENGTH.size :]
        with self._report.step("keys"):
            self._public = _native.BfvPublicKey.from_bytes(plan, view[:length])
            server = plan.server(_native.EvaluationKeys.from_bytes(plan, view[length:]))
            if self._public.tag != server.tag:
                raise PeerError("the public key and the evaluation keys are of two key sets; the protocol expects one")
            self._prepared = [[matrix.for_server(server) for matrix in batch] for batch in self._matrices]

    def _prepare(self, columns: Columns) -> list[_native.PreparedMatrix]:
        """The slices of a batch. With an arbiter, parties with fewer columns than the plan has rows fill up with zeros."""
        missing = self._terms.features - columns.features
        integers = np.pad(columns.integers, ((0, 0), (0, missing))) if missing else columns.integers
        return [self._terms.plan.prepare(matrix) for matrix in self._terms.tiles.matrices(integers)]

    def encrypt(self, part: Integers) -> bytes:
        terms = self._terms
        with self._report.step("encrypt"):
            return b"".join(terms.plan.encrypt(self._public, tile).to_bytes() for tile in terms.tiles.vectors(part))

    def add(self, vectors: Sequence[bytes]) -> bytes:
        terms = self._terms
        with self._report.step("add"):
            split = [terms.split(vector, "the encrypted vector") for vector in vectors]
            sums = []
            for parts in zip(*split, strict=True):
                first, *others = (_native.EncryptedVector.from_bytes(terms.plan, part) for part in parts)
                for other in others:
                    first = first.add(other)
                sums.append(first.to_bytes())
            return b"".join(sums)

    def product(self, vector: bytes, part: Integers | None, batch: int) -> tuple[bytes, Residues]:
        terms, report = self._terms, self._report
        modulus = np.uint64(terms.plan.plaintext_modulus)
        tiles = terms.split(vector, "the encrypted vector")
        parts = [None] * len(tiles) if part is None else list(terms.tiles.vectors(part))
        masked, share = [], np.zeros(terms.features, np.uint64)
        for tile, own, matrix in zip(tiles, parts, self._prepared[batch], strict=True):
            with report.step("add"):
                summed = _native.EncryptedVector.from_bytes(terms.plan, tile)
                if own is not None:
                    summed = summed.add_plain(own)
            with report.step("multiply"):
                product = matrix @ summed
            with report.step("mask"):
                response, own_share = product.mask(self._public)
                share = (share + own_share) % modulus
                masked.append(response.to_bytes())
        return b"".join(masked), share

    def unmask(self, residues: bytes, share: Residues) -> Integers:
        with self._report.step("unmask"):
            received = np.frombuffer(residues, "<u8")
            return _native.reconstruct(received, share, self._terms.plan.plaintext_modulus)[: self._features]


def _flooded_plan(rows: int, cols: int, vector_bits: int, summands: int, bits: float) -> tuple[_native.MatVecPlan, str]:
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
            encryption="public" if summands else "secret",
            summands=max(summands, 1),
        )
        _, guarantee, hidden = plan.assess()
        missing = bits - (hidden or 0.0)
        if missing <= 0:
            return plan, guarantee
        flooding += math.ceil(missing)
    raise ParameterError(
        f"no plan hides a matrix of shape ({rows}, {cols}) within 2^-{bits:.1f} an answer; use fewer columns or samples"
    )
