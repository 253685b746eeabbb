"""Encrypted products by Paillier: the scheme of S. Hardy et al. (2017) and of FATE, as a baseline.

Each entry of a vector is one ciphertext. The mask of an entry is uniform and longer than the entry, so that the decrypted
sum reveals nothing about the entry, within a statistical distance.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ciphermill import paillier
from ciphermill._hetero.messages import Size
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Columns, Integers
from ciphermill._hetero.report import Report
from ciphermill._hetero.workers import Workers
from ciphermill.errors import PeerError, WireError

#: log2 of the statistical distance that all masks of a training may add up to.
DISTANCE_BITS = 40

#: Bits of the key's modulus.
KEY_BITS = 3072

#: More than the header of encrypted vectors and keys.
HEADER = 256

Shares = npt.NDArray[np.object_]


class PaillierTerms:
    """The sizes of a product with a matrix of `features` rows; `BfvTerms` has the same arguments. There is one block.

    With an arbiter, `rows` is the greatest number of columns of a party. So the masks of all parties have one length.
    """

    def __init__(
        self,
        features: int,
        samples: int,
        answers: int,
        summands: int = 0,
        blocks: int = 1,
        rows: int | None = None,
        key_bits: int = KEY_BITS,
    ) -> None:
        self.features = features = rows or features
        self.blocks = blocks
        self.samples = samples
        self.key_bits = key_bits
        # An entry of d, and a sum of products.
        self.vector_bits = VECTOR_BITS
        self.product_bits = DATA_BITS + VECTOR_BITS + samples.bit_length()
        self.mask_bits = self.product_bits + DISTANCE_BITS + math.ceil(math.log2(answers * features))
        self.guarantee = (
            f"the matrix is hidden within a statistical distance of 2^-{DISTANCE_BITS} over all answers, and the security of "
            f"Paillier with {key_bits} bits"
        )
        ciphertext = 2 * key_bits // 8
        # The modulus n, and an element modulo n².
        self.keys = Size(1, 3 * key_bits // 8 + HEADER)
        self.vector = Size(samples * ciphertext, samples * ciphertext + HEADER)
        # With an arbiter, a party may have fewer columns.
        self.masked = Size(ciphertext, features * ciphertext + HEADER)
        #: Bytes of a masked entry, with sign.
        self.width = (self.mask_bits + 2 + 7) // 8
        self.residues = Size(self.width, self.width * features)

    def key_holder(self, report: Report) -> PaillierKeyHolder:
        return PaillierKeyHolder(self, report)

    def matrix_holder(
        self, batches: Sequence[Columns], report: Report, workers: Workers | None = None
    ) -> PaillierMatrixHolder:
        return PaillierMatrixHolder(self, batches, report)


class PaillierKeyHolder:
    """The owner of the key."""

    def __init__(self, terms: PaillierTerms, report: Report) -> None:
        self._terms = terms
        self._report = report
        #: A digest of each ciphertext under this key.
        self._sent: set[bytes] = set()

    def keys(self) -> bytes:
        with self._report.step("keys"):
            public, self._secret = paillier.keygen(self._terms.key_bits)
            self._sent = set()
            return public.to_bytes()

    def encrypt(self, part: Integers) -> bytes:
        with self._report.step("encrypt"):
            encrypted = self._secret.encrypt(part, bits=self._terms.vector_bits)
            self._sent |= _digests(encrypted)
            return encrypted.to_bytes()

    def residues(self, masked: bytes, features: int | None = None, blocks: int | None = None) -> bytes:
        terms = self._terms
        features = terms.features if features is None else features
        with self._report.step("decrypt"):
            product = paillier.EncryptedVector.from_bytes(self._secret.public, masked)
            if not 1 <= len(product) <= features:
                raise WireError(f"the masked product has {len(product)} entries; use 1 to {features}")
            if not self._sent.isdisjoint(_digests(product)):
                raise PeerError(
                    "the masked product has entries of this party's own encrypted half; the protocol expects a product"
                )
            values = self._secret.decrypt(product, exact=True)
            limit = 1 << (8 * terms.width)
            # Modulo a power of two, so that no value is refused: a refusal would show a fact about the decryption.
            return b"".join((int(value) % limit).to_bytes(terms.width, "little") for value in values)


def _digests(vector: paillier.EncryptedVector) -> set[bytes]:
    """A digest of each ciphertext of a vector."""
    numbers: list[int] = vector.ciphertexts().tolist()
    return {
        hashlib.blake2b(number.to_bytes(-(-number.bit_length() // 8), "little"), digest_size=16).digest()
        for number in numbers
    }


class PaillierMatrixHolder:
    """The owner of the matrix."""

    def __init__(self, terms: PaillierTerms, batches: Sequence[Columns], report: Report) -> None:
        self._terms = terms
        self._report = report
        self._features = batches[0].features
        with report.step("prepare"):
            self._matrices = [np.ascontiguousarray(columns.integers.T) for columns in batches]

    def use_keys(self, keys: bytes) -> None:
        with self._report.step("keys"):
            public = paillier.PublicKey.from_bytes(keys)
            if public.bits != self._terms.key_bits:
                raise PeerError(f"the key has {public.bits} bits; the protocol expects {self._terms.key_bits}")
            self._public = public

    def encrypt(self, part: Integers) -> bytes:
        with self._report.step("encrypt"):
            return self._public.encrypt(part, bits=self._terms.vector_bits).to_bytes()

    def add(self, vectors: Sequence[bytes]) -> bytes:
        with self._report.step("add"):
            first, *others = (self._vector(vector) for vector in vectors)
            for other in others:
                first = first + other
            return first.to_bytes()

    def product(self, vector: bytes, part: Integers | None, batch: int) -> tuple[bytes, Shares]:
        terms, report = self._terms, self._report
        with report.step("add"):
            summed = self._vector(vector)
            if part is not None:
                summed = summed + paillier.plain(part, bits=terms.vector_bits)
        with report.step("multiply"):
            product = self._matrices[batch] @ summed
        with report.step("mask"):
            masks = np.array([secrets.randbits(terms.mask_bits) for _ in range(self._features)], dtype=object)
            masked = (product + paillier.plain(masks, bits=terms.mask_bits)).rerandomise()
            # The bound of the sum depends on the matrix; the message declares that of any matrix.
            declared = paillier.EncryptedVector.from_ciphertexts(
                self._public, masked.ciphertexts(), bits=terms.mask_bits + 1
            )
            return declared.to_bytes(), masks

    def unmask(self, residues: bytes, share: Shares) -> Integers:
        terms = self._terms
        with self._report.step("unmask"):
            if len(residues) != terms.width * self._features:
                raise WireError(f"the residues have {len(residues)} bytes; use {terms.width * self._features}")
            limit = 1 << (8 * terms.width)
            view = memoryview(residues)
            integers = []
            for i in range(self._features):
                masked = int.from_bytes(view[i * terms.width : (i + 1) * terms.width], "little")
                value = (masked - int(share[i])) % limit
                value -= limit if 2 * value >= limit else 0
                if value.bit_length() > terms.product_bits:
                    raise PeerError(
                        f"entry {i} of the decrypted product has {value.bit_length()} bits; the protocol expects at most "
                        f"{terms.product_bits}"
                    )
                integers.append(value)
            return np.array(integers, np.int64)

    def _vector(self, data: bytes) -> paillier.EncryptedVector:
        vector = paillier.EncryptedVector.from_bytes(self._public, data)
        samples = self._terms.samples
        if vector.shape != (samples,):
            raise WireError(f"the encrypted vector has the shape {vector.shape}; use ({samples},)")
        return vector
