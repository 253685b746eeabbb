"""Paillier on vectors, compared with phe on gmpy2, under one key."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import phe
import phe.util

from ciphermill import paillier
from ciphermill_bench.cases import Settings
from ciphermill_bench.harness import Contender, Timed
from ciphermill_bench.record import Case, Peer, Report

BITS = 2048

#: phe passes once over a vector in this number of samples, one after the other.
PARTS = 10

#: Ciphertexts of each of our results that phe decrypts.
CHECKED = 8


class Whole(Timed):
    """An operation of ours on a whole vector, or on its first part."""

    def __init__(self, operation: Callable[[], Any], check: Callable[[Any], bool], count: int) -> None:
        super().__init__()
        self.name = "ciphermill"
        self.operations = count
        self._operation = operation
        self._check = check
        self._result: Any = None

    def run(self) -> None:
        self._result = self._operation()

    def correct(self) -> bool:
        return self._check(self._result)


class Part(Timed):
    """An operation of phe, number by number, on one part of the vector in each sample."""

    def __init__(self, operation: Callable[[slice], list[Any]], check: Callable[[slice, list[Any]], bool], count: int):
        super().__init__()
        self.name = "phe"
        self.operations = count // PARTS
        self._operation = operation
        self._check = check
        self._part = slice(0)
        self._result: list[Any] = []

    def prepare(self, turn: int) -> None:
        start = turn % PARTS * self.operations
        self._part = slice(start, start + self.operations)

    def run(self) -> None:
        self._result = self._operation(self._part)

    def correct(self) -> bool:
        return self._check(self._part, self._result)


def shaped_keypair() -> tuple[phe.PaillierPublicKey, phe.PaillierPrivateKey]:
    """A key pair of phe whose primes have the shape that the blinding of Damgård, Jurik and Nielsen needs: 3 modulo 4, with 2 as
    the greatest common divisor of p - 1 and q - 1. One in seven or so has it."""
    while True:
        public, secret = phe.generate_paillier_keypair(n_length=BITS)
        p, q = int(secret.p), int(secret.q)
        if p % 4 == q % 4 == 3 and math.gcd(p - 1, q - 1) == 2:
            return public, secret


class Vectors:
    """The operands, under one key on both sides."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.peer_public, self.peer_secret = shaped_keypair()
        self.secret = paillier.SecretKey.from_primes(int(self.peer_secret.p), int(self.peer_secret.q))
        self.public = self.secret.public
        self._rng = np.random.default_rng(3)
        self.values = self._rng.integers(-(2**31), 2**31, count)
        self.factors = self._rng.integers(-(2**31), 2**31, count)
        self.encrypted = self.public.encrypt(self.values)
        raw = self.encrypted.ciphertexts().tolist()
        self.peer_encrypted = [phe.EncryptedNumber(self.peer_public, c) for c in raw]
        self.peer_values: list[int] = self.values.tolist()
        self.peer_factors: list[int] = self.factors.tolist()

    def theirs_hold(self, results: Sequence[phe.EncryptedNumber], expected: npt.NDArray[Any]) -> bool:
        """Whether our key decrypts all of phe's ciphertexts to the expected numbers."""
        raw = [result.ciphertext(be_secure=False) for result in results]
        encrypted = paillier.EncryptedVector.from_ciphertexts(self.public, raw, bits=64)
        found: list[int] = self.secret.decrypt(encrypted).tolist()
        wanted: list[int] = expected.tolist()
        return found == wanted

    def ours_hold(self, result: paillier.EncryptedVector, expected: npt.NDArray[Any]) -> bool:
        """Whether phe decrypts some of our ciphertexts to the expected numbers."""
        places = self._rng.choice(len(expected), CHECKED, replace=False)
        raw = result[places].ciphertexts().tolist()
        found: list[int] = [self.peer_secret.decrypt(phe.EncryptedNumber(self.peer_public, c)) for c in raw]
        wanted: list[int] = expected[places].tolist()
        return len(result) == len(expected) and found == wanted


def run(settings: Settings, report: Report) -> None:
    """Vectors of 10,000 numbers of 32 bits. Cases that share a peer's samples run together."""
    groups = [
        group
        for group, names in GROUPS.items()
        if any(settings.takes(f"paillier/{BITS}/{operation}") for operation in names)
    ]
    if not groups:
        return
    if not phe.util.HAVE_GMP:
        raise SystemExit("phe does not use gmpy2; install gmpy2 as bench/package-peers.txt lists it")
    vectors = Vectors(100 if settings.quick else 10_000)
    for group in groups:
        group(settings, report, vectors)


def peer() -> Peer:
    """phe with its version and that of the integers below it."""
    found = Peer.package("phe", "LGPL-3.0")
    return Peer(found.name, f"{found.version}, gmpy2 {gmpy2.version()}, {gmpy2.mp_version()}", found.licence)


def _case(settings: Settings, operation: str, vectors: Vectors, note: str) -> Case:
    return Case(f"paillier/{BITS}/{operation}", {"bits": BITS, "count": vectors.count}, settings.integers, note)


def _encrypt(settings: Settings, report: Report, vectors: Vectors) -> None:
    values, first = vectors.values, vectors.values[: vectors.count // PARTS]
    ours: dict[str, Contender] = {
        "encrypt": Whole(lambda: vectors.public.encrypt(values), lambda r: vectors.ours_hold(r, values), vectors.count),
        "encrypt_owner": Whole(
            lambda: vectors.secret.encrypt(values), lambda r: vectors.ours_hold(r, values), vectors.count
        ),
        "encrypt_strict": Whole(
            lambda: vectors.public.encrypt(first, strict=True), lambda r: vectors.ours_hold(r, first), len(first)
        ),
    }
    theirs = Part(
        lambda part: [vectors.peer_public.encrypt(m) for m in vectors.peer_values[part]],
        lambda part, results: vectors.theirs_hold(results, values[part]),
        vectors.count,
    )
    stats = settings.measure("paillier encrypt", [theirs, *ours.values()], PARTS, PARTS, 0.0)
    notes = {
        "encrypt": "phe blinds with r^n, ours by Damgård, Jurik and Nielsen",
        "encrypt_owner": "phe blinds with r^n under the public key, ours with the secret key",
        "encrypt_strict": "both blind with r^n; ours encrypts a tenth of the vector",
    }
    for (operation, note), found in zip(notes.items(), stats[1:], strict=True):
        asked = {"median_ratio": 60.0} if operation == "encrypt" else None
        report.add(_case(settings, operation, vectors, note), found, peer(), stats[0], asked=asked)


def _pair(
    settings: Settings, report: Report, vectors: Vectors, operation: str, pair: list[Contender], ratio: float, note: str
) -> None:
    least = PARTS if operation == "decrypt" else 3 * PARTS
    ours, theirs = settings.measure(f"paillier {operation}", pair, least, least, 0.0)
    case = _case(settings, operation, vectors, note)
    report.add(case, ours, peer(), theirs, asked={"median_ratio": ratio})


def _add(settings: Settings, report: Report, vectors: Vectors) -> None:
    encrypted, peers, values = vectors.encrypted, vectors.peer_encrypted, vectors.values
    reverse, peers_reverse, sums = encrypted[::-1], peers[::-1], values + values[::-1]
    ours = Whole(lambda: encrypted + reverse, lambda r: vectors.ours_hold(r, sums), vectors.count)
    theirs = Part(
        lambda part: [a + b for a, b in zip(peers[part], peers_reverse[part], strict=True)],
        lambda part, results: vectors.theirs_hold(results, sums[part]),
        vectors.count,
    )
    _pair(settings, report, vectors, "add", [ours, theirs], 5.0, "sums of two vectors, not blinded again")


def _multiply(settings: Settings, report: Report, vectors: Vectors) -> None:
    encrypted, peers, factors, peer_factors = (
        vectors.encrypted,
        vectors.peer_encrypted,
        vectors.factors,
        vectors.peer_factors,
    )
    products = vectors.values * factors
    ours = Whole(lambda: encrypted * factors, lambda r: vectors.ours_hold(r, products), vectors.count)
    theirs = Part(
        lambda part: [c * w for c, w in zip(peers[part], peer_factors[part], strict=True)],
        lambda part, results: vectors.theirs_hold(results, products[part]),
        vectors.count,
    )
    _pair(settings, report, vectors, "mul32", [ours, theirs], 40.0, "public factors of 32 bits with sign")


def _decrypt(settings: Settings, report: Report, vectors: Vectors) -> None:
    values = vectors.values
    ours = Whole(lambda: vectors.secret.decrypt(vectors.encrypted), lambda r: np.array_equal(r, values), vectors.count)
    theirs = Part(
        lambda part: [vectors.peer_secret.decrypt(c) for c in vectors.peer_encrypted[part]],
        lambda part, results: results == vectors.peer_values[part],
        vectors.count,
    )
    _pair(settings, report, vectors, "decrypt", [ours, theirs], 6.0, "both decrypt the same ciphertexts")


#: The operations of each group.
GROUPS: dict[Callable[[Settings, Report, Vectors], None], tuple[str, ...]] = {
    _encrypt: ("encrypt", "encrypt_owner", "encrypt_strict"),
    _add: ("add",),
    _multiply: ("mul32",),
    _decrypt: ("decrypt",),
}
