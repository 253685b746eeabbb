"""One party: its columns, its weights, its part of the solver's vectors."""

from __future__ import annotations

import math

import numpy as np

from ciphermill import _native
from ciphermill._hetero.numbers import Columns, Floats, Integers


class Party:
    """The local arithmetic of a party. Every operation is exact, or in one fixed order on every machine."""

    def __init__(self, name: str, columns: Columns, penalties: Floats) -> None:
        self.name = name
        self.columns = columns
        #: λ per column; 0 for the intercept.
        self.penalties = penalties
        squares = np.einsum("ij,ij->j", columns.integers, columns.integers, dtype=np.int64)
        curvature = np.ldexp(squares.astype(np.float64), -2 * columns.exponents) / (4.0 * columns.samples)
        diagonal = curvature + penalties
        #: The inverse of the diagonal of the Hessian, 1 for a column of zeros without a penalty.
        self.preconditioner = 1.0 / np.where(diagonal > 0, diagonal, 1.0)

    def scores(self, weights: Floats) -> Floats:
        """The party's part of z = X·w."""
        return _native.fixed_order_product(self.columns.integers, np.ldexp(weights, -self.columns.exponents))

    def gradient(self, sums: Integers, exponent: int) -> Floats:
        """Xᵀd/m of the integers Xᵀd."""
        return self.columns.unscale(sums, exponent) / self.columns.samples


def dot(left: Floats, right: Floats) -> float:
    """The correctly rounded sum of the products; it does not depend on the order."""
    return math.fsum((left * right).tolist())
