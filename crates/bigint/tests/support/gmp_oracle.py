"""Modular products and powers by GMP (gmpy2), for tests in another process.

Reads requests from standard input, writes answers to standard output, until the input ends. All integers are little-endian.

request: u32 operation (0 product, 1 power), u32 count, u32 bytes per modulus and operand, u32 bytes per exponent,
         the modulus, then per case: a and b (product), or base and exponent (power)
answer:  per case the result, as wide as the modulus
"""

import struct
import sys

import gmpy2

HEAD = struct.Struct("<4I")


def main() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(HEAD.size):
        operation, count, width, exponent_width = HEAD.unpack(head)
        modulus = gmpy2.mpz(int.from_bytes(source.read(width), "little"))
        second = exponent_width if operation else width
        cases = memoryview(source.read(count * (width + second)))
        answers = []
        for start in range(0, len(cases), width + second):
            a = gmpy2.mpz(int.from_bytes(cases[start : start + width], "little"))
            b = gmpy2.mpz(int.from_bytes(cases[start + width : start + width + second], "little"))
            result = gmpy2.powmod(a, b, modulus) if operation else a * b % modulus
            answers.append(int(result).to_bytes(width, "little"))
        sink.write(b"".join(answers))
        sink.flush()


if __name__ == "__main__":
    main()
