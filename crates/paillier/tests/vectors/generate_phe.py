"""Writes phe.json: keys, ciphertexts and what phe computes with them, for the tests of this crate.

    .venv/bin/python crates/paillier/tests/vectors/generate_phe.py      (phe and gmpy2 of scripts/python-tools.txt)

Primes, plaintexts and the r of every ciphertext come from a seeded generator: the file is the same at each run. Such keys
are for these tests only. Numbers are hexadecimal, with a sign where it is negative.
"""

import json
import pathlib
import random

import gmpy2
from phe import paillier

HERE = pathlib.Path(__file__).parent
SEED = 20250909
KEY_BITS = (512, 1024, 2048, 3072)


def prime(generator: random.Random, bits: int) -> int:
    """A prime whose two highest bits are set, so that a product of two has twice as many bits."""
    while True:
        start = generator.getrandbits(bits) | 3 << (bits - 2)
        found = int(gmpy2.next_prime(start))
        if found.bit_length() == bits:
            return found


def record(bits: int) -> dict[str, object]:
    generator = random.Random(SEED + bits)
    p, q = prime(generator, bits // 2), prime(generator, bits // 2)
    public = paillier.PaillierPublicKey(p * q)
    private = paillier.PaillierPrivateKey(public, p, q)
    n, max_int = public.n, public.max_int

    # Raw plaintexts, with edges; then signed ones, which phe encodes as residues.
    raw = [0, 1, 2, n - 1, n - 2, n // 2, n // 2 + 1, 1 << (bits - 2), generator.randrange(n)]
    signed = [-1, max_int, -max_int, 0x7FFFFFFFFFFFFFFF, -0x8000000000000000, generator.randrange(max_int)]
    # The edges of r, too: 1 makes a ciphertext that hides nothing, but a valid one.
    r_values = [1, n - 1, 2] + [generator.randrange(1, n) for _ in range(len(raw) + len(signed) - 3)]
    ciphertexts = []
    numbers = []
    for i, r in enumerate(r_values):
        m = raw[i] if i < len(raw) else signed[i - len(raw)]
        c = public.raw_encrypt(m, r) if i < len(raw) else public.encrypt(m, r_value=r).ciphertext(be_secure=False)
        assert private.raw_decrypt(c) == m % n
        ciphertexts.append({"m": f"{m:x}", "r": f"{r:x}", "c": f"{c:x}"})
        numbers.append(paillier.EncryptedNumber(public, c))

    def done(result: paillier.EncryptedNumber, **fields: object) -> dict[str, object]:
        c = result.ciphertext(be_secure=False)
        return {**fields, "c": f"{c:x}", "m": f"{private.raw_decrypt(c):x}"}

    last = len(numbers) - 1
    pairs = [(0, 0), (1, 3), (3, 3), (5, 6), (8, 9), (10, 11), (12, 13), (8, last)]
    scalars = [1, 2, -1, -2, 0xFFFFFFFFFFFFFFFF, -0xFFFFFFFFFFFFFFFF, generator.randrange(max_int), max_int, -max_int]
    plain = [0, 1, -1, max_int, -max_int, generator.randrange(max_int)]
    return {
        "bits": bits,
        "n": f"{n:x}",
        "p": f"{p:x}",
        "q": f"{q:x}",
        "ciphertexts": ciphertexts,
        "sums": [done(numbers[a] + numbers[b], a=a, b=b) for a, b in pairs],
        "differences": [done(numbers[a] - numbers[b], a=a, b=b) for a, b in pairs],
        "plain_sums": [done(numbers[8] + value, a=8, plain=f"{value:x}") for value in plain],
        "products": [done(numbers[8] * value, a=8, scalar=f"{value:x}") for value in scalars],
    }


def main() -> None:
    keys = [record(bits) for bits in KEY_BITS]
    (HERE / "phe.json").write_text(json.dumps(keys, indent=1) + "\n")


if __name__ == "__main__":
    main()
