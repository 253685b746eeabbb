"""Integers for real numbers: symmetric ranges, scales, quantisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ciphermill.errors import DtypeError, ParameterError, RangeError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: The least and the greatest number of bits of weights and activations.
MIN_BITS, MAX_BITS = 2, 16

#: The greatest magnitude of a real number, and the least magnitude that a range of numbers may have unless it is 0.
GREATEST, LEAST = 1e30, 1e-30

#: Integers below 2^53 are exact in binary64, so scaling a sum rounds once.
EXACT_BITS = 53


def reals(values: npt.ArrayLike, what: str) -> Floats:
    """The values as binary64.

    Raises `DtypeError` unless they are real numbers, `ParameterError` for NaN and infinity, `RangeError` above 1e30.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ParameterError(f"{what} is not an array: {error}; use rows of one length") from error
    if array.dtype.kind not in "biuf":
        raise DtypeError(f"{what} has elements of type {array.dtype}; use real numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ParameterError(f"{what} has an element that is NaN or infinite; use finite numbers")
    greatest = float(np.abs(array).max(initial=0.0))
    if greatest > GREATEST:
        raise RangeError(f"{what} has an element of magnitude {greatest:.3g}; use {-GREATEST:g} to {GREATEST:g}")
    return array


def limit(bits: int) -> int:
    """The greatest integer of `bits` bits; the range is symmetric."""
    return (1 << (bits - 1)) - 1


def scale_for(greatest: float, bits: int, what: str) -> float:
    """The scale with which magnitudes up to `greatest` fill the range. The scale of zeros is 1.

    Raises `RangeError` below 1e-30 and above 1e30, so that products of scales stay finite.
    """
    if greatest == 0:
        return 1.0
    if not LEAST <= greatest <= GREATEST:
        raise RangeError(f"{what} have magnitudes up to {greatest:.3g}; use {LEAST:g} to {GREATEST:g}")
    return greatest / limit(bits)


@dataclass(frozen=True, eq=False)
class Quantiser:
    """Integers q for real numbers v: the nearest to (v - offset)/scale, clipped to the symmetric range of `bits` bits.

    `scale` and `offset` are numbers (shape `()`), or one for each feature (shape (n,)).
    """

    scale: Floats
    offset: Floats
    bits: int

    @staticmethod
    def over(greatest: float, bits: int, what: str) -> Quantiser:
        """One scale for all values, of which `greatest` is the greatest magnitude, and no offset: 0 stays 0."""
        return Quantiser(np.asarray(scale_for(greatest, bits, what)), np.asarray(0.0), bits)

    @staticmethod
    def by_feature(least: Floats, greatest: Floats, bits: int, what: str) -> Quantiser:
        """The range of each feature, from its least to its greatest value, both of shape (n,)."""
        offset, half = least / 2 + greatest / 2, greatest / 2 - least / 2
        # A constant feature, but for rounding, has the widest range: a narrow one would clip other values, and any fixed one
        # could make its weights the greatest of the layer.
        constant = half <= 1e-12 * np.abs(offset) + LEAST
        if constant.all():
            return Quantiser.over(float(np.abs(offset).max()), bits, what)
        half = np.where(constant, half.max(initial=0.0, where=~constant), half)
        return Quantiser(np.asarray([scale_for(float(each), bits, what) for each in half]), offset, bits)

    def __call__(self, values: Floats) -> tuple[Integers, int]:
        """The integers, and how many of them were clipped."""
        nearest = np.rint((values - self.offset) / self.scale)
        most = limit(self.bits)
        clipped = int(np.count_nonzero(np.abs(nearest) > most))
        return np.clip(nearest, -most, most).astype(np.int64), clipped
