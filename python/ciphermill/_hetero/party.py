"""One party: its columns, its weights, its part of the solver's vectors."""

from __future__ import annotations

import math

import numpy as np

from ciphermill import _native
from ciphermill._hetero.batches import Batches
from ciphermill._hetero.numbers import Columns, Floats

#: The most columns whose Hessian is inverted; the time grows with the third power.
MAX_INVERTED = 1024

#: Rows that are converted to binary64 at one time.
ROWS = 2**14

#: The ridge, relative to the diagonal of the Hessian. With it, dependent columns have an inverse too.
RIDGE = 2.0**-30


class Party:
    """The columns of a party. Every operation is exact, or in one fixed order on every machine."""

    def __init__(self, name: str, columns: Columns, penalties: Floats, batches: Batches) -> None:
        self.name = name
        self.columns = columns
        #: λ per column; 0 for the intercept.
        self.penalties = penalties
        #: The columns by batch.
        self.parts = [
            Columns(batches.part(columns.integers, batch), columns.exponents) for batch in range(batches.count)
        ]

    def scores(self, weights: Floats, batch: int = 0) -> Floats:
        """The party's part of z = X·w, for the rows of a batch."""
        columns = self.parts[batch]
        return _native.fixed_order_product(columns.integers, np.ldexp(weights, -columns.exponents))


class Preconditioner:
    """The inverse of a party's block of the Hessian. It ignores the columns of the other parties."""

    def __init__(self, party: Party) -> None:
        self._columns = party.columns
        self._penalties = party.penalties
        inverted = party.columns.features <= MAX_INVERTED
        self._matrix = self._inverse() if inverted else self._diagonal()

    def __call__(self, residual: Floats) -> Floats:
        if self._matrix.ndim == 1:
            return np.asarray(self._matrix * residual)
        # Row by row, unlike a product of BLAS.
        return np.asarray(np.add.reduce(self._matrix * residual[:, None], axis=0))

    def _diagonal(self) -> Floats:
        """The inverse of the Hessian's diagonal, 1 for a column of zeros without a penalty."""
        columns = self._columns
        squares = np.einsum("ij,ij->j", columns.integers, columns.integers, dtype=np.int64)
        curvature = np.ldexp(squares.astype(np.float64), -2 * columns.exponents) / (4.0 * columns.samples)
        diagonal = curvature + self._penalties
        return np.asarray(1.0 / np.where(diagonal > 0, diagonal, 1.0))

    def _inverse(self) -> Floats:
        """The inverse of the party's block of the Hessian, XᵀX/4m + λ."""
        columns = self._columns
        # A slice's sums of 16-bit integers' products are exact in binary64 in any order; slices are added in a fixed order.
        gram = np.zeros((columns.features, columns.features))
        for start in range(0, columns.samples, ROWS):
            rows = columns.integers[start : start + ROWS].astype(np.float64)
            gram += rows.T @ rows
        # In units of 2^-exponent for each column, so that columns of any size stay finite.
        penalties = np.ldexp(self._penalties, 2 * columns.exponents)
        hessian = gram / (4.0 * columns.samples)
        diagonal = np.diagonal(hessian) + penalties
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        if not np.isfinite(diagonal).all():
            return self._diagonal()
        # Scaled by powers of two, so that the diagonal is between 1/4 and about 1.
        halves = -np.frexp(diagonal)[1] // 2
        np.fill_diagonal(hessian, diagonal + RIDGE * diagonal)
        inverted = inverse(np.ldexp(hessian, halves[:, None] + halves))
        places = halves + columns.exponents
        result = np.ldexp(inverted, places[:, None] + places)
        return result if np.isfinite(result).all() else self._diagonal()


def inverse(matrix: Floats) -> Floats:
    """The inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination in a fixed order."""
    work = matrix.copy()
    for k in range(len(work)):
        row = work[k] / work[k, k]
        row[k] = 1.0 / work[k, k]
        column = work[:, k].copy()
        work[:, k] = 0.0
        work -= column[:, None] * row
        work[k] = row
    return np.asarray(0.5 * (work + work.T))


def dot(left: Floats, right: Floats) -> float:
    """The correctly rounded sum of the products; it does not depend on the order."""
    return math.fsum((left * right).tolist())
