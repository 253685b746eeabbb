"""Slices of rows that are multiplied one by one.

A plan multiplies matrices of at most `MOST` columns, which are the rows of the data here. Longer vectors are cut into slices
of equal length, the last one filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ciphermill._hetero.numbers import Integers

#: The most rows of a slice.
MOST = 16384


class Tiles:
    """The slices of `samples` rows."""

    def __init__(self, samples: int, most: int = MOST) -> None:
        self.samples = samples
        self.count = -(-samples // most)
        self.size = -(-samples // self.count)

    def vectors(self, values: Integers) -> Iterator[Integers]:
        """The slices of a vector of one entry for each row."""
        for start in range(0, self.count * self.size, self.size):
            part = values[start : start + self.size]
            yield (
                part if len(part) == self.size else np.concatenate([part, np.zeros(self.size - len(part), part.dtype)])
            )

    def matrices(self, integers: np.ndarray) -> Iterator[np.ndarray]:
        """The transposed slices of a matrix of one row for each sample, of shape (features, size)."""
        for start in range(0, self.count * self.size, self.size):
            part = integers[start : start + self.size]
            if len(part) < self.size:
                part = np.concatenate([part, np.zeros((self.size - len(part), part.shape[1]), part.dtype)])
            yield np.ascontiguousarray(part.T)
