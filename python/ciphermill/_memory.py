"""Memory of a client's objects under a matrix-vector plan, from the facts of the plan.

A client stores a residue in a word of 64 bits. Sent bytes, and the keys of a server, are packed.
"""

from __future__ import annotations

import math

from ciphermill._plans import Explanation

#: Bits and bytes of a word.
WORD_BITS, WORD_BYTES = 64, 8


def _primes(facts: Explanation) -> tuple[int, float]:
    """The number of primes of ciphertexts, and their mean length in bits. The special prime is the longest."""
    bits = float(facts["ciphertext_bits"])
    count = math.ceil(bits / (float(facts["chain_bits"]) - bits))
    return count, bits / count


def vector_memory(facts: Explanation) -> int:
    """Bytes of memory of an encrypted vector, at most: of two polynomials, one of which is sent, packed."""
    _, bits = _primes(facts)
    return math.ceil(2 * int(facts["vector_bytes"]) * WORD_BITS / bits)


def key_set_memory(facts: Explanation) -> int:
    """Bytes of memory of a client's key set, at most: its secret key, its public key, and the keys for the server.

    The secret key is one polynomial of integers and one over all primes, the public key two over all primes.
    """
    count, bits = _primes(facts)
    polynomials = 1 + 3 * (count + 1)
    # The server packs each word to whole bytes.
    packed = math.ceil(round(bits) / 8)
    return math.ceil(int(facts["key_bytes"]) * WORD_BYTES / packed) + polynomials * WORD_BYTES * int(
        facts["polynomial_size"]
    )
