"""Encrypted products by BFV.

A matrix is cut into cells: blocks of features and tiles of samples (`tiles`). All cells have one plan and one key set. Each tile
of the vector is encrypted once, for all blocks. The owner of the matrix masks the product of each cell separately. The owner of
the key adds the decrypted tiles of each block before it returns them, so that the owner of the matrix learns one sum and no part
of it.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._hetero.messages import Size
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Columns, Integers
from ciphermill._hetero.report import Report
from ciphermill._hetero.tiles import Cells
from ciphermill._hetero.workers import Local, Workers
from ciphermill.errors import ParameterError, PeerError, WireError

Residues = npt.NDArray[np.uint64]

#: log2 of the statistical distance that all answers of a training may add up to.
DISTANCE_BITS = 40

_LENGTH = struct.Struct("<I")

#: The bytes of a vector or a masked product (docs/hmvp.md): a head, the length of the plan, the plan, a key tag and the form,
#: the ciphertexts, a checksum. A vector under its owner's key has a seed and one polynomial in each ciphertext.
_PLAN, _TAG_AND_FORM, _CHECKSUM, _SEED = struct.Struct("<24xH"), 16, 4, 32

#: The bytes that identify a polynomial of uniform residues.
_IDENTITY = 32


class BfvTerms:
    """The plan of the products with a matrix of `features` rows, and the sizes of its messages.

    The matrix has `blocks` blocks of `rows` rows each, by default as few rows as the blocks need. With an arbiter, the blocks of
    all parties have the same number of rows, so that all parties have one plan. A vector is the sum of `summands` vectors that
    were encrypted under the public key; with 0, the owner of the key encrypts it.

    `answers` is the greatest number of masked products of the whole training for one tile: one for each product, party and
    block. It sizes the floods, so that all masked products together hide all matrices within 2^-40. The flood of each cell is
    drawn independently. So the distance of all masked products together is at most the sum of the distances of each one, and
    this sum must count every one: all products of the training, all tiles, and all blocks. Blocks count although no row is in
    two of them. The secret is the whole matrix, and the owner of the key sees the masked products of all blocks of it. The
    distance of a single masked product is a sum over its rows for the same reason, so a matrix in one block of all rows needs
    as much.
    """

    def __init__(
        self, features: int, samples: int, answers: int, summands: int = 0, blocks: int = 1, rows: int | None = None
    ) -> None:
        self.features = features
        self.blocks = blocks
        self.cells = Cells(rows or -(-features // blocks), samples, blocks)
        tiles = self.cells.tiles
        bits = DISTANCE_BITS + math.log2(answers * tiles)
        # The sum over the tiles must fit the plaintext modulus too.
        carry = (tiles - 1).bit_length()
        self.plan, self.guarantee = _flooded_plan(
            self.cells.rows, self.cells.columns, VECTOR_BITS + carry, summands, bits
        )
        costs = self.plan.explain()
        self.vector = Size.exactly(tiles * int(costs["vector_bytes"]))
        product = int(costs["product_bytes"])
        # A masked product is a product with another header.
        self.masked = Size(1, len(self.cells) * (product + 64))
        self.residues = Size.exactly(8 * features)
        # A public key is a ciphertext; stored evaluation keys are smaller than loaded ones.
        self.keys = Size(_LENGTH.size, 2 * product + int(costs["key_bytes"]) + 4096)

    def key_holder(self, report: Report) -> BfvKeyHolder:
        return BfvKeyHolder(self, report)

    def matrix_holder(
        self, batches: Sequence[Columns], report: Report, workers: Workers | None = None
    ) -> BfvMatrixHolder:
        return BfvMatrixHolder(self, batches, report, workers or Local())

    @staticmethod
    def split(payload: bytes, count: int, what: str) -> list[memoryview]:
        """The `count` equal parts of a message. Raises `WireError` for a length that is not a multiple."""
        size, rest = divmod(len(payload), count)
        if rest:
            raise WireError(f"{what} has {len(payload)} bytes; use a multiple of {count}")
        view = memoryview(payload)
        return [view[i * size : (i + 1) * size] for i in range(count)]


class BfvKeyHolder:
    """The owner of the key."""

    def __init__(self, terms: BfvTerms, report: Report) -> None:
        self._terms = terms
        self._report = report
        self._sent: list[_native.EncryptedVector] = []
        #: The identities of all vectors under this key.
        self._identities: set[bytes] = set()

    def keys(self) -> bytes:
        with self._report.step("keys"):
            client = self._terms.plan.keygen()
            # The other keys take most of the memory of a client.
            self._secret = client.secret
            self._sent = []
            self._identities = set()
            public = client.public.to_bytes()
            return _LENGTH.pack(len(public)) + public + client.evaluation.to_bytes()

    def encrypt(self, part: Integers) -> bytes:
        with self._report.step("encrypt"):
            self._sent = [self._secret.encrypt(self._terms.plan, tile) for tile in self._terms.cells.vectors(part)]
            sealed = [vector.to_bytes() for vector in self._sent]
            for data in sealed:
                ciphertext = _ciphertexts(data)
                self._polynomial = len(ciphertext) - _SEED
                self._identities.add(bytes(ciphertext[_SEED : _SEED + _IDENTITY]))
            return b"".join(sealed)

    def residues(self, masked: bytes, features: int | None = None, blocks: int | None = None) -> bytes:
        terms, cells = self._terms, self._terms.cells
        features = terms.features if features is None else features
        blocks = terms.blocks if blocks is None else blocks
        modulus = np.uint64(terms.plan.plaintext_modulus)
        with self._report.step("decrypt"):
            parts = terms.split(masked, blocks * cells.tiles, "the masked product")
            total = np.zeros((blocks, cells.rows), np.uint64)
            for index, part in enumerate(parts):
                product = _native.MaskedProduct.from_bytes(terms.plan, part)
                if any(product.echoes(vector) for vector in self._sent) or self._sent_before(part):
                    raise PeerError(
                        "the masked product is this party's own encrypted half; the protocol expects a product"
                    )
                # Both are below 2^62, so that the sum fits 64 bits.
                block = index // cells.tiles
                total[block] = (total[block] + self._secret.decrypt_masked(product)) % modulus
            # The rows that fill up the last block would be further equations in d.
            return total.reshape(-1)[:features].astype("<u8").tobytes()

    def _sent_before(self, masked: memoryview) -> bool:
        """Whether a masked product has a polynomial of any vector under this key."""
        if not self._identities:
            return False
        ciphertexts = _ciphertexts(masked)
        starts = range(0, len(ciphertexts), self._polynomial)
        return any(bytes(ciphertexts[start : start + _IDENTITY]) in self._identities for start in starts)


class BfvMatrixHolder:
    """The owner of the matrix."""

    def __init__(self, terms: BfvTerms, batches: Sequence[Columns], report: Report, workers: Workers) -> None:
        self._terms = terms
        self._report = report
        with report.step("prepare"):
            self._products = workers.prepare(terms.plan, terms.cells, batches)

    def use_keys(self, keys: bytes) -> None:
        plan = self._terms.plan
        (length,) = _LENGTH.unpack_from(keys)
        view = memoryview(keys)[_LENGTH.size :]
        with self._report.step("keys"):
            self._public = _native.BfvPublicKey.from_bytes(plan, view[:length])
            evaluation = _native.EvaluationKeys.from_bytes(plan, view[length:])
            if self._public.tag != evaluation.tag:
                raise PeerError("the public key and the evaluation keys are of two key sets; the protocol expects one")
            self._products.use_keys(evaluation, view[length:])

    def encrypt(self, part: Integers) -> bytes:
        terms = self._terms
        with self._report.step("encrypt"):
            return b"".join(terms.plan.encrypt(self._public, tile).to_bytes() for tile in terms.cells.vectors(part))

    def add(self, vectors: Sequence[bytes]) -> bytes:
        terms = self._terms
        with self._report.step("add"):
            split = [terms.split(vector, terms.cells.tiles, "the encrypted vector") for vector in vectors]
            sums = []
            for parts in zip(*split, strict=True):
                first, *others = (_native.EncryptedVector.from_bytes(terms.plan, part) for part in parts)
                for other in others:
                    first = first.add(other)
                sums.append(first.to_bytes())
            return b"".join(sums)

    def product(self, vector: bytes, part: Integers | None, batch: int) -> tuple[bytes, Residues]:
        terms, cells, report = self._terms, self._terms.cells, self._report
        modulus = np.uint64(terms.plan.plaintext_modulus)
        with report.step("add"):
            vectors = [
                _native.EncryptedVector.from_bytes(terms.plan, tile)
                for tile in terms.split(vector, cells.tiles, "the encrypted vector")
            ]
            if part is not None:
                vectors = [summed.add_plain(own) for summed, own in zip(vectors, cells.vectors(part), strict=True)]
        masked, share = [], np.zeros((cells.blocks, cells.rows), np.uint64)
        products = self._products.multiply(vectors, batch)
        for block, _ in cells:
            with report.step("multiply"):
                product = next(products)
            with report.step("mask"):
                response, own_share = product.mask(self._public)
                share[block] = (share[block] + own_share) % modulus
                masked.append(response.to_bytes())
        return b"".join(masked), share.reshape(-1)[: terms.features]

    def unmask(self, residues: bytes, share: Residues) -> Integers:
        with self._report.step("unmask"):
            received = np.frombuffer(residues, "<u8")
            return _native.reconstruct(received, share, self._terms.plan.plaintext_modulus)


def _ciphertexts(data: bytes | memoryview) -> memoryview:
    """The ciphertexts of a sealed vector or masked product."""
    (plan,) = _PLAN.unpack_from(data)
    return memoryview(data)[_PLAN.size + plan + _TAG_AND_FORM : -_CHECKSUM]


@functools.lru_cache(maxsize=16)
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
