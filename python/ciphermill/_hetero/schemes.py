"""The seam of the schemes: the sides of an encrypted product, and the sizes of its messages.

The vector is one entry for each sample, the matrix is the transposed columns of a party. The owner of the key encrypts and
decrypts. The owner of the matrix multiplies and masks. The decrypted values are uniform, or within a stated
distance of uniform values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ciphermill._hetero.messages import Size
from ciphermill._hetero.numbers import Columns, Integers
from ciphermill._hetero.report import Report
from ciphermill._hetero.workers import Workers


class KeyHolder(Protocol):
    """The owner of the key."""

    def keys(self) -> bytes:
        """New public keys, for the owner of the matrix."""
        ...

    def encrypt(self, part: Integers) -> bytes:
        """The own vector, encrypted."""
        ...

    def residues(self, masked: bytes, features: int | None = None, blocks: int | None = None) -> bytes:
        """The decrypted product with its mask. Implausible values count too: a refusal would show a fact about them.

        `features` and `blocks` describe the matrix. By default they are the values of the terms. Raises `PeerError` for the own
        vector in place of a product.
        """
        ...


class MatrixHolder(Protocol):
    """The owner of the matrix."""

    def use_keys(self, keys: bytes) -> None:
        """The keys of the other side."""
        ...

    def encrypt(self, part: Integers) -> bytes:
        """A vector, encrypted under the public key."""
        ...

    def add(self, vectors: Sequence[bytes]) -> bytes:
        """The sum of encrypted vectors."""
        ...

    def product(self, vector: bytes, part: Integers | None, batch: int) -> tuple[bytes, Any]:
        """The masked product of a batch with the sum of the encrypted vector and `part`, and the mask's share."""
        ...

    def unmask(self, residues: bytes, share: Any) -> Integers:
        """The integers of the product."""
        ...


class Terms(Protocol):
    """The agreement on a product. Both sides derive it from public numbers."""

    #: Blocks of the matrix.
    blocks: int
    guarantee: str
    keys: Size
    vector: Size
    masked: Size
    residues: Size

    def key_holder(self, report: Report) -> KeyHolder:
        """The side of the key."""
        ...

    def matrix_holder(self, batches: Sequence[Columns], report: Report, workers: Workers | None = None) -> MatrixHolder:
        """The side of the matrix, which has the columns by batch. By default this process computes the products."""
        ...
