"""Cells of a matrix that are multiplied one by one.

The matrix has one row for each feature and one column for each sample. A plan multiplies matrices of at most `MOST` rows and
columns. So the samples are cut into tiles of equal length, and the features into blocks of equal length. The last tile and the
last block are filled up with zeros. A cell is the part of the matrix in one block and one tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ciphermill._hetero.numbers import Integers

#: The most rows and columns of a cell.
MOST = 16384

#: The most blocks of a matrix.
MOST_BLOCKS = 256


def least_blocks(features: int) -> int:
    """The number of blocks that `features` rows need."""
    return max(1, -(-features // MOST))


@dataclass(frozen=True)
class Cells:
    """The cells of a matrix: `blocks` blocks of `rows` features each, and the tiles of `samples` samples."""

    rows: int
    samples: int
    blocks: int = 1

    @property
    def tiles(self) -> int:
        """The number of tiles."""
        return -(-self.samples // MOST)

    @property
    def columns(self) -> int:
        """Samples of a tile."""
        return -(-self.samples // self.tiles)

    def __len__(self) -> int:
        return self.blocks * self.tiles

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Block and tile of each cell, in the order of the messages: all tiles of a block one after the other."""
        return ((block, tile) for block in range(self.blocks) for tile in range(self.tiles))

    def vectors(self, values: Integers) -> Iterator[Integers]:
        """The tiles of a vector of one entry for each sample."""
        for tile in range(self.tiles):
            part = values[tile * self.columns : (tile + 1) * self.columns]
            missing = self.columns - len(part)
            yield np.concatenate([part, np.zeros(missing, part.dtype)]) if missing else part

    def matrix(self, integers: np.ndarray, block: int, tile: int) -> np.ndarray:
        """One cell of data with a row for each sample and a column for each feature: an array of shape (rows, columns)."""
        part = integers[tile * self.columns : (tile + 1) * self.columns, block * self.rows : (block + 1) * self.rows]
        missing = (self.rows - part.shape[1], self.columns - part.shape[0])
        if missing == (0, 0):
            return np.ascontiguousarray(part.T)
        return np.pad(part.T, [(0, missing[0]), (0, missing[1])])
