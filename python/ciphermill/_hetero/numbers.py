"""Fixed-point numbers: columns with a power of two each, vectors with one power of two.

All products of such numbers are exact integers, so that every back end computes the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ciphermill.errors import RangeError

#: Bits of an entry of the data, with sign.
DATA_BITS = 16

#: Bits of an entry of the common vector d, the sum of the parts of all parties, with sign.
VECTOR_BITS = 20

#: Rows whose columns fit a cache.
ROWS = 2**10

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """The columns of one party: entry (i, j) is `integers[i, j]` · 2^-`exponents[j]`."""

    integers: npt.NDArray[np.int16]
    exponents: npt.NDArray[np.int64]

    @staticmethod
    def encode(values: Floats) -> Columns:
        """The nearest numbers of 16 bits, with the greatest exponent that each column allows."""
        greatest = np.abs(values).max(axis=0, initial=0.0)
        # frexp: greatest < 2^power, so that entries stay below 2^15 in magnitude; rounding up to 2^15 is clipped.
        _, power = np.frexp(greatest)
        exponents = np.where(greatest > 0, DATA_BITS - 1 - power.astype(np.int64), 0)
        scaled = np.rint(np.ldexp(values, exponents))
        limit = (1 << (DATA_BITS - 1)) - 1
        return Columns(np.clip(scaled, -limit, limit).astype(np.int16), exponents)

    @property
    def samples(self) -> int:
        """The number of rows."""
        return int(self.integers.shape[0])

    @property
    def features(self) -> int:
        """The number of columns."""
        return int(self.integers.shape[1])

    def unscale(self, sums: Integers, exponent: int) -> Floats:
        """Sums of entries times multiples of 2^-`exponent`, as numbers."""
        return np.ldexp(sums.astype(np.float64), -(self.exponents + exponent))


def fixed_order_scores(values: Floats, weights: Floats) -> Floats:
    """X·w with the columns added from the first to the last: the same bits on every machine, unlike a product of BLAS."""
    total = np.zeros(len(values))
    for start in range(0, len(values), ROWS):
        block = total[start : start + ROWS]
        for column, weight in zip(np.asfortranarray(values[start : start + ROWS]).T, weights, strict=True):
            block += column * weight
    return total


def part_bits(parties: int) -> int:
    """The bits of one party's part of d, without sign: the sum of all parts fits `VECTOR_BITS`."""
    return VECTOR_BITS - 1 - (parties - 1).bit_length()


def exponent_of(values: Floats, parties: int) -> int:
    """The greatest exponent e with which |v|·2^e stays below 2^`part_bits`: the scale of one part of d."""
    greatest = float(np.abs(values).max(initial=0.0))
    if greatest == 0.0:
        return 1074
    return part_bits(parties) - math.frexp(greatest)[1]


def encode_part(values: Floats, exponent: int, parties: int) -> Integers:
    """The nearest multiples of 2^-`exponent`."""
    bits = part_bits(parties)
    scaled = np.rint(np.ldexp(values, exponent)).astype(np.int64)
    if scaled.size and int(np.abs(scaled).max()) > 1 << bits:
        raise RangeError(
            f"a part of the common vector needs more than {bits + 1} bits at the exponent {exponent}; use the smallest "
            "exponent of all parties"
        )
    return scaled
