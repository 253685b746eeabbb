"""Writes seal.json and seal.bin: what Microsoft SEAL makes of known inputs, for the tests of this crate.

    pip install tenseal==0.3.18 numpy==2.4.6      (TenSEAL brings SEAL 4.1 and its Python binding)
    python generate_seal.py

Inputs are numbers of SplitMix64. seal.json holds the parameters and the slots after each operation; seal.bin holds, as
little-endian 64-bit words in the order that seal.json lists: polynomials that SEAL's batch encoder makes, a secret key as
SEAL drew it, and ciphertexts under it, coefficient by coefficient, fresh and computed.
"""

import json
import pathlib

import numpy as np
import tenseal.sealapi as seal

HERE = pathlib.Path(__file__).parent
N = 4096
MASK = (1 << 64) - 1


def split_mix(seed: int, count: int, modulus: int) -> list[int]:
    """`count` numbers below `modulus`: the 64-bit outputs, reduced."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append((z ^ (z >> 31)) % modulus)
    return out


def minimal_root(q: int) -> int:
    """The least primitive 2N-th root of unity modulo q, which is the one SEAL uses."""
    for g in range(2, 1000):
        root = pow(g, (q - 1) // (2 * N), q)
        if pow(root, N, q) == q - 1:
            square = root * root % q
            best = current = root
            for _ in range(N - 1):
                current = current * square % q
                best = min(best, current)
            return best
    raise ValueError(f"no root modulo {q}")


def from_ntt(values: list[int], q: int) -> list[int]:
    """Coefficients of a polynomial that SEAL gives by its values: place brv(i) holds that at root^(2i+1)."""
    bits = N.bit_length() - 1
    root = minimal_root(q)
    inverse = pow(root, -1, q)
    natural = [values[int(format(i, f"0{bits}b")[::-1], 2)] for i in range(N)]
    # Σ_i natural_i·root^(−j(2i+1))/N, row by row; exact, with Python's integers.
    powers = [pow(inverse, e, q) for e in range(2 * N)]
    table = np.array(powers, dtype=object)
    column = np.array(natural, dtype=object)
    exponents = 2 * np.arange(N) + 1
    scale = pow(N, -1, q)
    return [int((table[exponents * j % (2 * N)] * column).sum() % q * scale % q) for j in range(N)]


def main() -> None:
    parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
    parameters.set_poly_modulus_degree(N)
    parameters.set_coeff_modulus(seal.CoeffModulus.BFVDefault(N, seal.SEC_LEVEL_TYPE.TC128))
    parameters.set_plain_modulus(seal.PlainModulus.Batching(N, 20))
    context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
    t = parameters.plain_modulus().value()
    chain = [modulus.value() for modulus in parameters.coeff_modulus()]
    words: list[int] = []
    sections: list[dict[str, object]] = []

    def add(name: str, values: list[int]) -> None:
        sections.append({"name": name, "words": len(values)})
        words.extend(values)

    generator = seal.KeyGenerator(context)
    public = seal.PublicKey()
    generator.create_public_key(public)
    relinearization = seal.RelinKeys()
    generator.create_relin_keys(relinearization)
    galois = seal.GaloisKeys()
    generator.create_galois_keys(galois)
    secret = generator.secret_key()
    encoder = seal.BatchEncoder(context)
    encryptor = seal.Encryptor(context, public)
    evaluator = seal.Evaluator(context)
    decryptor = seal.Decryptor(context, secret)

    spectrum = [int(secret.data()[i]) for i in range(N)]
    coefficients = from_ntt(spectrum, chain[0])
    ternary = [x - chain[0] if x > chain[0] // 2 else x for x in coefficients]
    assert set(ternary) == {-1, 0, 1}, "not the order or the root that was assumed"
    add("secret key", [x & MASK for x in ternary])

    inputs = {"x": split_mix(1, N, t), "y": split_mix(2, N, t)}
    plain = {}
    for name, values in inputs.items():
        plain[name] = seal.Plaintext()
        encoder.encode(values, plain[name])
        add(f"encoded {name}", [int(plain[name][i]) for i in range(N)])

    def encrypted(name: str) -> seal.Ciphertext:
        out = seal.Ciphertext()
        encryptor.encrypt(plain[name], out)
        return out

    x, y = encrypted("x"), encrypted("y")
    results = {"x": x}
    results["x + y"] = seal.Ciphertext()
    evaluator.add(x, y, results["x + y"])
    results["x - y"] = seal.Ciphertext()
    evaluator.sub(x, y, results["x - y"])
    results["x * plain y"] = seal.Ciphertext()
    evaluator.multiply_plain(x, plain["y"], results["x * plain y"])
    results["x * y"] = seal.Ciphertext()
    evaluator.multiply(x, y, results["x * y"])
    evaluator.relinearize_inplace(results["x * y"], relinearization)
    for steps in (1, -3, 1024):
        results[f"rotate {steps}"] = seal.Ciphertext()
        evaluator.rotate_rows(x, steps, galois, results[f"rotate {steps}"])
    results["swap rows"] = seal.Ciphertext()
    evaluator.rotate_columns(x, galois, results["swap rows"])

    slots = {}
    for name, ciphertext in results.items():
        decrypted = seal.Plaintext()
        decryptor.decrypt(ciphertext, decrypted)
        slots[name] = [int(value) for value in encoder.decode_uint64(decrypted)]
    for name in ("x", "x * y"):
        ciphertext = results[name]
        assert not ciphertext.is_ntt_form() and ciphertext.size() == 2
        add(f"ciphertext {name}", [int(ciphertext[i]) for i in range(2 * N * 2)])

    # The slots go into the binary file too: as text they would be the larger part.
    for name, values in slots.items():
        add(f"slots {name}", values)
    np.array(words, dtype="<u8").tofile(HERE / "seal.bin")
    record = {
        "library": "Microsoft SEAL by TenSEAL 0.3.18",
        "polynomial_size": N,
        "plaintext_modulus": t,
        "ciphertext_moduli": chain[:-1],
        "special_moduli": chain[-1:],
        "sections": sections,
    }
    (HERE / "seal.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
