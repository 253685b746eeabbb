"""Mini-batches of fixed membership: every pass has the same batches, so that their matrices stay prepared."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt


class Batches:
    """The batches of `samples` rows: all rows in one batch, or batches of `size` rows drawn by `seed`.

    All batches have the same length; the last one is filled up with zeros. Parties with the same seed have the same batches.
    """

    def __init__(self, samples: int, size: int | None, seed: int) -> None:
        self.samples = samples
        self.size = samples if size is None else min(size, samples)
        self.count = -(-samples // self.size)
        self._order = None if self.count == 1 else _order(samples, seed)

    def length(self, batch: int) -> int:
        """The rows of a batch, without the filling."""
        return min(self.size, self.samples - batch * self.size)

    def part(self, values: npt.NDArray[Any], batch: int) -> npt.NDArray[Any]:
        """The rows of an array that are in a batch, `size` of them."""
        if self._order is None:
            return values
        part = values[self._order[batch * self.size : (batch + 1) * self.size]]
        missing = self.size - len(part)
        return np.pad(part, [(0, missing)] + [(0, 0)] * (part.ndim - 1)) if missing else part


def _order(samples: int, seed: int) -> npt.NDArray[np.int64]:
    """A permutation that depends on the seed alone, on every machine and with every version of NumPy."""
    # SHAKE-128 as a stream of 64-bit words, sorted; equal words keep the order of the rows.
    stream = hashlib.shake_128(b"ciphermill batches" + seed.to_bytes(8, "little")).digest(8 * samples)
    return np.argsort(np.frombuffer(stream, "<u8"), kind="stable").astype(np.int64)
