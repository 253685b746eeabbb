"""Square roots of exact fractions, correctly rounded."""

from __future__ import annotations

import math
from fractions import Fraction

#: Bits of the integer root: more than the 54 that tell a binary64 number from its neighbours' middles.
BITS = 64


def nearest_root(value: Fraction) -> float:
    """The binary64 number nearest to the square root of a fraction of 0 or more."""
    above, below = value.numerator, value.denominator
    shift = BITS - (above.bit_length() - below.bit_length()) // 2
    scaled, rest = divmod(above << max(2 * shift, 0), below << max(-2 * shift, 0))
    root = math.isqrt(scaled)
    # The last bit states whether digits follow, so that the division rounds as it would with all of them.
    inexact = rest != 0 or root * root != scaled
    return float(Fraction(2 * root + inexact) / Fraction(2) ** (shift + 1))
