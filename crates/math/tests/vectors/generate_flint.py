"""Writes flint.json and flint.bin: transforms and products of polynomials by FLINT, for the tests of this crate.

    pip install python-flint==0.9.0
    python generate_flint.py

For each prime p and size N: the values of a(X) at all odd powers of a primitive 2N-th root of unity, sorted, and a·b modulo
X^N + 1, each as N little-endian 64-bit words. a and b are the numbers of SplitMix64 from seeds 1 and 2, modulo p.
"""

import array
import json
import pathlib
import sys

import flint

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1
CASES = [
    (256, (1 << 30) - (1 << 18) + 1),
    (4096, (1 << 34) + (1 << 27) + 1),
    (4096, (1 << 34) + (1 << 19) + 1),
    (4096, (1 << 38) + (1 << 23) + 1),
    (4096, 70368743669761),
    (4096, 1125899906826241),
    (4096, 4611686018427322369),
    (16384, (1 << 64) - (1 << 32) + 1),
]


def split_mix(seed: int, count: int, modulus: int) -> list[int]:
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append((z ^ (z >> 31)) % modulus)
    return out


def main() -> None:
    words = array.array("Q")
    for n, p in CASES:
        assert flint.fmpz(p).is_prime() and p % (2 * n) == 1, (n, p)
        a, b = (flint.nmod_poly(split_mix(seed, n, p), p) for seed in (1, 2))
        root = next(r for g in range(2, 100) if pow(r := pow(g, (p - 1) // (2 * n), p), n, p) == p - 1)
        values, point, square = [], root, root * root % p
        for _ in range(n):
            values.append(int(a(point)))
            point = point * square % p
        words.extend(sorted(values))
        product = (a * b) % flint.nmod_poly([1] + [0] * (n - 1) + [1], p)
        words.extend(int(product[i]) for i in range(n))
    if sys.byteorder == "big":
        words.byteswap()
    (HERE / "flint.bin").write_bytes(words.tobytes())
    lines = ",\n ".join(json.dumps({"polynomial_size": n, "modulus": p}) for n, p in CASES)
    (HERE / "flint.json").write_text(f"[\n {lines}\n]\n")


if __name__ == "__main__":
    main()
