"""Exact sums and sums of products of integers below 2^48 in magnitude.

Integers are split into limbs of 20 bits. Products of limbs are below 2^40, and sums of 2^12 of them below 2^52: they are
exact in binary64 in any order, so matrix products may use BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]

LIMB = 20
#: Rows of a product in binary64.
ROWS = 2**12
#: Rows whose sums of products of limbs fit 64 bits.
BLOCK = 2**22


def _limbs(values: Ints, bits: int) -> list[Ints]:
    """The limbs of numbers of magnitude up to 2^bits, the lowest first; all but the last are at least 0."""
    count = bits // LIMB + 1
    low = [values >> (LIMB * i) & (2**LIMB - 1) for i in range(count - 1)]
    return [*low, values >> (LIMB * (count - 1))]


def _total(shape: tuple[int, ...]) -> Objects:
    """Zeros of Python's integers."""
    out = np.empty(shape, dtype=object)
    out.fill(0)
    return out


def sums(values: Ints, bits: int) -> Objects:
    """The sum of each column, for numbers of magnitude up to 2^bits."""
    total = _total(values.shape[1:])
    for i, limb in enumerate(_limbs(values, bits)):
        total += limb.sum(axis=0).astype(object) << (LIMB * i)
    return total


def squares(values: Ints, bits: int) -> Objects:
    """The sum of the squares of each column."""
    total = _total(values.shape[1:])
    for start in range(0, len(values), BLOCK):
        limbs = _limbs(values[start : start + BLOCK], bits)
        for i, first in enumerate(limbs):
            for j, second in enumerate(limbs[: i + 1]):
                part = (first * second).sum(axis=0).astype(object)
                total += part << (LIMB * (i + j) + (i != j))
    return total


def products(values: Ints, bits: int) -> Objects:
    """The sums of the products of each pair of columns."""
    columns = values.shape[1]
    total = _total((columns, columns))
    for start in range(0, len(values), BLOCK):
        limbs = _limbs(values[start : start + BLOCK], bits)
        for i, first in enumerate(limbs):
            for j, second in enumerate(limbs[: i + 1]):
                part = _cross(first, second).astype(object) << (LIMB * (i + j))
                total += part if i == j else part + part.T
    return total


def _cross(first: Ints, second: Ints) -> Ints:
    """The sums of the products of the columns of two matrices of limbs."""
    out = np.zeros((first.shape[1], second.shape[1]), np.int64)
    for start in range(0, len(first), ROWS):
        rows = slice(start, start + ROWS)
        product: npt.NDArray[Any] = first[rows].astype(np.float64).T @ second[rows].astype(np.float64)
        out += product.astype(np.int64)
    return out
