"""Writes fft32.bin: transforms of complex f32 numbers by exact arithmetic and one rounding per operation, for fft_reference32.rs.

    python generate_fft32.py

For each size N, forward and then inverse: N values in natural order, each as the bits of its real and of its imaginary part,
little-endian 32-bit words. The inputs are the numbers of SplitMix64 from seed N. Operations are those of rational numbers,
rounded to nearest with ties to even by what is written here, and sines and cosines are sums of their series: nothing rests on
the floating-point unit or on a mathematical library. The transform is the textbook recursion into even and odd places.
"""

import pathlib
import struct
from fractions import Fraction

SIZES = [1, 2, 4, 8, 64, 512]
MASK = (1 << 64) - 1
Point = tuple[Fraction, Fraction]

# π by Machin's formula, to 2^-200.
ONE = 1 << 220


def arctan_of_inverse(x: int) -> int:
    total, term, k = 0, ONE // x, 0
    while term:
        total += (-1) ** k * (term // (2 * k + 1))
        term //= x * x
        k += 1
    return total


PI = Fraction(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)), ONE)


def rounded(x: Fraction) -> Fraction:
    """The nearest binary32 number, ties to even; zero stays zero, and no result here is subnormal or beyond the range."""
    if x == 0:
        return x
    exponent = abs(x).numerator.bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    assert -126 <= exponent <= 126, exponent
    # Python rounds fractions to even, too.
    return round(x / unit) * unit


def sine_and_cosine(angle: Fraction) -> Point:
    """Sums of the series, within 2^-100."""
    parts, term, k = [Fraction(0), Fraction(0)], Fraction(1), 0
    while abs(term) > Fraction(1, 1 << 110):
        parts[k % 2] += term if k % 4 < 2 else -term
        k += 1
        # Denominators are kept short.
        term = Fraction(round(term * angle / k * (1 << 130)), 1 << 130)
    return parts[1], parts[0]


def root(index: int, size: int, sign: int) -> Point:
    """e^(±2πi·index/size), index < size/2, both parts rounded."""
    if 4 * index == size:
        return Fraction(0), Fraction(sign)
    sine, cosine = sine_and_cosine(2 * PI * index / size)
    return rounded(cosine), rounded(sign * sine)


def transform(x: list[Point], sign: int) -> list[Point]:
    n = len(x)
    if n == 1:
        return x
    even, odd = transform(x[0::2], sign), transform(x[1::2], sign)
    out: list[Point] = [(Fraction(0), Fraction(0))] * n
    for k in range(n // 2):
        (wr, wi), (br, bi), (ar, ai) = root(k, n, sign), odd[k], even[k]
        tr = rounded(rounded(wr * br) - rounded(wi * bi))
        ti = rounded(rounded(wr * bi) + rounded(wi * br))
        out[k] = rounded(ar + tr), rounded(ai + ti)
        out[k + n // 2] = rounded(ar - tr), rounded(ai - ti)
    return out


def split_mix(seed: int, count: int) -> list[int]:
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(z ^ (z >> 31))
    return out


def inputs(n: int) -> list[Point]:
    """From each word two parts of 24 bits, (word >> 40) − 2^23 and ((word >> 16) mod 2^24) − 2^23, over 2^23."""
    half = 1 << 23
    return [
        (Fraction((word >> 40) - half, half), Fraction((word >> 16) % (1 << 24) - half, half))
        for word in split_mix(n, n)
    ]


def main() -> None:
    out = b""
    for n in SIZES:
        for sign in (-1, 1):
            for point in transform(inputs(n), sign):
                # Exact: each part is a binary32 number.
                out += struct.pack("<ff", float(point[0]), float(point[1]))
    (pathlib.Path(__file__).parent / "fft32.bin").write_bytes(out)


if __name__ == "__main__":
    main()
