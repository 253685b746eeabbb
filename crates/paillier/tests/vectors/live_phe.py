"""The other side of tests/phe_live.rs: phe in a process of its own. One JSON object per line in, one per line out.

    {"do": "key", "bits": B}                              a fresh key: {"n", "p", "q"}
    {"do": "encrypt", "n": N, "values": [...]}            {"ciphertexts"}: encrypted under n
    {"do": "encrypt_floats", "n": N, "values": [...]}     {"ciphertexts", "exponents"}: a number is m·16^exponent
    {"do": "compute", "n": N, "a": C, "b": C, "scalar": K}   {"sum", "difference", "product", "plain_sum"}
    {"do": "decrypt", "p": P, "q": Q, "ciphertexts": [...]}  {"values"}: with their signs

Integers are hexadecimal strings, with a sign where they are negative.
"""

import json
import sys
from collections.abc import Callable

from phe import paillier

Fields = dict[str, object]


def number(value: object) -> int:
    return int(str(value), 16)


def numbers(value: object) -> list[int]:
    assert isinstance(value, list)
    return [number(item) for item in value]


def public(fields: Fields) -> paillier.PaillierPublicKey:
    return paillier.PaillierPublicKey(number(fields["n"]))


def key(fields: Fields) -> Fields:
    _, private = paillier.generate_paillier_keypair(n_length=int(str(fields["bits"])))
    return {"n": f"{private.public_key.n:x}", "p": f"{private.p:x}", "q": f"{private.q:x}"}


def encrypt(fields: Fields) -> Fields:
    encrypted = [public(fields).encrypt(value) for value in numbers(fields["values"])]
    return {"ciphertexts": [f"{item.ciphertext():x}" for item in encrypted]}


def encrypt_floats(fields: Fields) -> Fields:
    values = fields["values"]
    assert isinstance(values, list)
    encrypted = [public(fields).encrypt(float(value)) for value in values]
    return {
        "ciphertexts": [f"{item.ciphertext():x}" for item in encrypted],
        "exponents": [item.exponent for item in encrypted],
    }


def compute(fields: Fields) -> Fields:
    a, b = (paillier.EncryptedNumber(public(fields), number(fields[name])) for name in ("a", "b"))
    scalar = number(fields["scalar"])
    results = {"sum": a + b, "difference": a - b, "product": a * scalar, "plain_sum": a + scalar}
    return {name: f"{item.ciphertext():x}" for name, item in results.items()}


def decrypt(fields: Fields) -> Fields:
    p, q = number(fields["p"]), number(fields["q"])
    private = paillier.PaillierPrivateKey(paillier.PaillierPublicKey(p * q), p, q)
    n = p * q
    raw = [private.raw_decrypt(item) for item in numbers(fields["ciphertexts"])]
    return {"values": [f"{value - n if value > n // 2 else value:x}" for value in raw]}


VERBS: dict[str, Callable[[Fields], Fields]] = {
    "key": key,
    "encrypt": encrypt,
    "encrypt_floats": encrypt_floats,
    "compute": compute,
    "decrypt": decrypt,
}


def main() -> None:
    for line in sys.stdin:
        fields = json.loads(line)
        print(json.dumps(VERBS[fields["do"]](fields)), flush=True)


if __name__ == "__main__":
    main()
