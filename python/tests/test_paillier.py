"""Paillier against NumPy and against phe."""

import pickle
from fractions import Fraction
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import phe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ciphermill as cm
from ciphermill import paillier

KEYS = paillier.keygen(2048)
PUBLIC, SECRET = KEYS


def test_integers_of_any_shape() -> None:
    x = np.arange(-6, 6).reshape(3, 4)
    encrypted = PUBLIC.encrypt(x)
    assert encrypted.shape == (3, 4)
    assert (encrypted.ndim, encrypted.size, len(encrypted), encrypted.step) == (2, 12, 3, 1.0)
    decrypted = SECRET.decrypt(encrypted)
    assert decrypted.dtype == np.int64
    np.testing.assert_array_equal(decrypted, x)
    np.testing.assert_array_equal(SECRET.decrypt(SECRET.encrypt(x)), x)


def test_arithmetic_is_numpys() -> None:
    x, w = np.arange(12).reshape(3, 4), np.array([[1, -2, 3]])
    c = PUBLIC.encrypt(x)
    for encrypted, expected in [
        (c + 5, x + 5),
        (5 + c, x + 5),
        (c - x, x - x),
        (7 - c, 7 - x),
        (-c, -x),
        (+c, x),
        (c * -3, x * -3),
        (np.arange(4) * c, np.arange(4) * x),
        (c + c[0], x + x[0]),
        (c - c[:, :1], x - x[:, :1]),
        (c + np.ones((2, 1, 1), int), x + np.ones((2, 1, 1), int)),
        (w @ c, w @ x),
        (w[0] @ c, w[0] @ x),
        (c @ np.arange(8).reshape(4, 2), x @ np.arange(8).reshape(4, 2)),
        (c @ np.arange(4), x @ np.arange(4)),
        (c[1] @ np.arange(4), x[1] @ np.arange(4)),
        (c.sum(), x.sum()),
        (c.sum(0), x.sum(0)),
        (c.sum(axis=1), x.sum(axis=1)),
        (c.sum(-1), x.sum(-1)),
        (c.T, x.T),
        (c[1, 2], x[1, 2]),
        (c[::-1, [0, 2]], x[::-1, [0, 2]]),
        (c.reshape(2, 6), x.reshape(2, 6)),
        (c.ravel(), x.ravel()),
        (c.rerandomise(), x),
    ]:
        assert encrypted.shape == expected.shape
        np.testing.assert_array_equal(SECRET.decrypt(encrypted), expected)


def test_floating_point_numbers_keep_their_step() -> None:
    x = np.array([0.5, -1.25, 3.0])
    c = PUBLIC.encrypt(x, step=2**-16)
    assert c.step == 2**-16
    np.testing.assert_array_equal(SECRET.decrypt(c), x)
    weights = np.array([[0.5, 2.0, -0.125], [1.0, 1.0, 1.0]])
    y = weights @ c + 1.5
    np.testing.assert_array_equal(SECRET.decrypt(y), weights @ x + 1.5)
    assert SECRET.decrypt(y, exact=True)[0] == Fraction(weights[0] @ x + 1.5)
    np.testing.assert_array_equal(SECRET.decrypt(c / 4), x / 4)
    third = PUBLIC.encrypt(1 / 3, step=2**-8)
    assert float(SECRET.decrypt(third)) == round(256 / 3) / 256
    secret_factor = paillier.plain([0.1, 0.2, 0.3], step=2**-20, bits=1)
    rounded = np.rint(np.array([0.1, 0.2, 0.3]) * 2**20) / 2**20
    np.testing.assert_array_equal(SECRET.decrypt(c * secret_factor), x * rounded)


@given(
    x=hnp.arrays(np.float64, 3, elements=st.floats(-1000, 1000)),
    w=hnp.arrays(np.float64, 3, elements=st.floats(-1000, 1000, width=32)),
)
@settings(max_examples=15, deadline=None)
def test_public_factors_are_exact(x: np.ndarray, w: np.ndarray) -> None:
    c = PUBLIC.encrypt(x, step=2**-30, bits=10)
    encoded = [Fraction(int(np.rint(value * 2**30)), 2**30) for value in x]
    product = SECRET.decrypt(c * w, exact=True)
    assert product.tolist() == [a * Fraction(float(b)) for a, b in zip(encoded, w, strict=True)]


@given(x=hnp.arrays(np.int64, hnp.array_shapes(max_dims=3, max_side=3), elements=st.integers(-(2**31), 2**31)))
@settings(max_examples=20, deadline=None)
def test_any_shape(x: np.ndarray) -> None:
    c = PUBLIC.encrypt(x)
    np.testing.assert_array_equal(SECRET.decrypt(c + x), 2 * x)
    np.testing.assert_array_equal(SECRET.decrypt(c.sum(0)), x.sum(0))


def test_integers_beyond_64_bits() -> None:
    big = np.array([2**200, -(2**100) + 1, 7], object)
    c = PUBLIC.encrypt(big, bits=201)
    assert SECRET.decrypt(c).tolist() == big.tolist()
    assert SECRET.decrypt(c + c).tolist() == (2 * big).tolist()
    fractions = np.array([Fraction(1, 4), Fraction(-3, 2)])
    assert SECRET.decrypt(PUBLIC.encrypt(fractions, step=0.25), exact=True).tolist() == fractions.tolist()


def test_packed_values() -> None:
    packing = paillier.Packing.fill(16, 16, PUBLIC)
    assert packing.slots == 63
    x = np.arange(-60, 60).reshape(2, 60)
    packed = PUBLIC.pack(x, packing)
    assert packed.shape == (2, 60)
    for encrypted, expected in [
        (packed, x),
        (packed + packed, 2 * x),
        (packed + x, 2 * x),
        (x + packed, 2 * x),
        (packed - x, 0 * x),
        (1 - packed, 1 - x),
        (-packed, -x),
        (packed * 9, 9 * x),
        (-9 * packed, -9 * x),
        (packed.rerandomise(), x),
        (pickle.loads(pickle.dumps(packed)), x),
    ]:
        np.testing.assert_array_equal(SECRET.decrypt(encrypted), expected)
    back = paillier.PackedVector.from_bytes(PUBLIC, packed.to_bytes())
    np.testing.assert_array_equal(SECRET.decrypt(back), x.ravel())
    with pytest.raises(cm.RangeError, match="guard bits"):
        packed * 100_000
    with pytest.raises(cm.RangeError, match="value bits"):
        PUBLIC.pack([1 << 15], packing)
    with pytest.raises(cm.ParameterError):
        packed + PUBLIC.pack(x, paillier.Packing(16, 16, 2))


def test_phe_reads_our_ciphertexts_and_we_read_its() -> None:
    theirs = phe.PaillierPublicKey(PUBLIC.n)
    ours, secret = phe.generate_paillier_keypair(n_length=2048)
    x = [3, -5, 2**40]
    encrypted = PUBLIC.encrypt(x, bits=41)
    # phe has no import of a secret key by its primes other than this.
    own = paillier.SecretKey.from_primes(secret.p, secret.q)
    from_phe = [ours.raw_encrypt(value % ours.n) for value in x]
    vector = paillier.EncryptedVector.from_ciphertexts(own.public, np.array(from_phe, object), bits=41)
    np.testing.assert_array_equal(own.decrypt(vector), x)
    np.testing.assert_array_equal(own.decrypt(vector * 2 + 1), np.array(x) * 2 + 1)
    by_us = own.public.encrypt(x, bits=41).ciphertexts()
    decrypted = [secret.raw_decrypt(int(c)) for c in by_us]
    assert [value - ours.n if value > ours.n // 2 else value for value in decrypted] == x
    # phe adds to our ciphertexts.
    sums = [theirs.raw_encrypt(1) * int(c) % theirs.nsquare for c in encrypted.ciphertexts()]
    vector = paillier.EncryptedVector.from_ciphertexts(PUBLIC, np.array(sums, object), bits=42)
    np.testing.assert_array_equal(SECRET.decrypt(vector), np.array(x) + 1)
    modulus_only = paillier.PublicKey.from_modulus(PUBLIC.n)
    np.testing.assert_array_equal(SECRET.decrypt(modulus_only.encrypt(x, bits=41)), x)


def test_shapes_and_indices_are_checked() -> None:
    x = PUBLIC.encrypt(np.arange(9).reshape(3, 3))
    for shape in ((9,), (1, 9), (3, -1), (-1,)):
        assert x.reshape(*shape).shape == x.reshape(shape).shape == np.zeros((3, 3)).reshape(shape).shape
    for bad in ((8,), (2, -1), (-1, -1), (10,)):
        with pytest.raises(cm.ParameterError, match="use a shape of 9 elements|use -1 to 9"):
            x.reshape(bad)
    with pytest.raises(cm.ParameterError, match=r"the shape is \(2, 4\); use a shape of 9 elements"):
        paillier.EncryptedVector(x._native, (2, 4))
    with pytest.raises(cm.ParameterError, match="the axis is 2; use -2 to 1"):
        x.sum(2)
    with pytest.raises(cm.ParameterError, match=r"the weights have the shape \(2, 4\); use 3 columns"):
        np.ones((2, 4), int) @ x
    for index in ("a", 1.5, object(), (0, "a")):
        with pytest.raises(cm.DtypeError, match="an index is of type .*; use integers, slices or arrays"):
            x[index]
    with pytest.raises(IndexError):
        x[3]
    indices: list[Any] = [
        range(2),
        [2, 0],
        np.array([True, False, True]),
        (..., 1),
        None,
        np.int8(-1),
        slice(1),
        (0, None),
    ]
    for index in indices:
        expected = np.arange(9).reshape(3, 3)[index]
        np.testing.assert_array_equal(SECRET.decrypt(x[index]), expected)
    # Iteration ends by the IndexError of the last row.
    assert [SECRET.decrypt(row).tolist() for row in x] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_objects_travel() -> None:
    c = PUBLIC.encrypt([[1.5, 2.5]], step=0.5)
    public = paillier.PublicKey.from_bytes(PUBLIC.to_bytes())
    assert public == PUBLIC
    assert hash(public) == hash(PUBLIC)
    assert pickle.loads(pickle.dumps(PUBLIC)) == PUBLIC
    again = pickle.loads(pickle.dumps(c))
    assert (again.shape, again.step, again.bound) == (c.shape, c.step, c.bound)
    np.testing.assert_array_equal(SECRET.decrypt(again), [[1.5, 2.5]])
    read = paillier.EncryptedVector.from_bytes(public, c.to_bytes())
    np.testing.assert_array_equal(SECRET.decrypt(read), [1.5, 2.5])
    secret = paillier.SecretKey.from_secret_bytes(SECRET.to_secret_bytes())
    np.testing.assert_array_equal(secret.decrypt(c), [[1.5, 2.5]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PUBLIC.encrypt([float("nan")]), cm.ParameterError, "not finite"),
        (lambda: PUBLIC.encrypt([float("inf")]), cm.ParameterError, "not finite"),
        (lambda: PUBLIC.encrypt([2.0**33]), cm.RangeError, r"above 2\^32"),
        (lambda: PUBLIC.encrypt([1 << 40]), cm.RangeError, r"above 2\^32"),
        (lambda: PUBLIC.encrypt(["a"]), cm.DtypeError, "<U1"),
        (lambda: PUBLIC.encrypt([1j]), cm.DtypeError, "complex128"),
        (lambda: PUBLIC.encrypt([None]), cm.DtypeError, "NoneType"),
        (lambda: PUBLIC.encrypt([0.3], step=0.3), cm.ParameterError, "power of two"),
        (lambda: PUBLIC.encrypt([0.5], step=2), cm.ParameterError, "power of two"),
        (lambda: PUBLIC.encrypt(np.array([Fraction(1, 3)])), cm.ParameterError, "not a multiple"),
        (lambda: PUBLIC.encrypt([1]) * float("nan"), cm.ParameterError, "NaN"),
        (lambda: PUBLIC.encrypt([1, 2]) + [1, 2, 3], ValueError, "shape mismatch"),
        (lambda: PUBLIC.encrypt([1, 2]) @ [1, 2, 3], cm.ParameterError, r"shape \(3,\)"),
        (lambda: PUBLIC.encrypt([1]) * PUBLIC.encrypt([1]), TypeError, "use a plain factor"),
        (lambda: PUBLIC.encrypt([1], bits=2000) * (1 << 60), cm.RangeError, "larger key"),
        (lambda: np.array([1e-300]) @ PUBLIC.encrypt([1]), cm.RangeError, "use at most 63"),
        (lambda: PUBLIC.encrypt(np.zeros((0, 2), int)).sum(0), cm.ParameterError, "empty"),
        (lambda: SECRET.decrypt(paillier.keygen(2048)[0].encrypt([1])), cm.KeyMismatchError, "key"),
        (lambda: PUBLIC.encrypt([1]) + paillier.keygen(2048)[0].encrypt([1]), cm.KeyMismatchError, "key"),
        (lambda: paillier.keygen(1024), cm.ParameterError, "1024 bits is refused; 2048 to 4096"),
        (lambda: paillier.keygen(2050), cm.ParameterError, "multiples of 128"),
        (lambda: paillier.PublicKey.from_modulus(PUBLIC.n + 1), cm.ParameterError, "modulus"),
        (lambda: paillier.SecretKey.from_primes(15, 21), cm.CiphermillError, "."),
        (lambda: paillier.PublicKey.from_bytes(b"no key"), cm.WireError, "."),
        (lambda: paillier.EncryptedVector.from_bytes(PUBLIC, PUBLIC.to_bytes()), cm.WireError, "expected"),
        (lambda: paillier.EncryptedVector.from_ciphertexts(PUBLIC, [0]), cm.WireError, "outside"),
        (lambda: pickle.dumps(SECRET), cm.SecretError, "secret key"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_bytes_that_are_cut_or_longer() -> None:
    data = PUBLIC.encrypt([1, 2]).to_bytes()
    for bad in [data[:-1], data + b"\0", data[:40], b""]:
        with pytest.raises(cm.WireError):
            paillier.EncryptedVector.from_bytes(PUBLIC, bad)
