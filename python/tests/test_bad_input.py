"""Every bad input is a typed error, at the call that causes it, that names the bound."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Parties

import ciphermill as cm

X = np.zeros(7, int)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (np.zeros(8, int), cm.ParameterError, r"shape \[8\].*use \(7,\)"),
        (np.zeros((7, 0), int), cm.ParameterError, r"shape \[7, 0\]"),
        (np.zeros((2, 7), int), cm.ParameterError, r"shape \[2, 7\]"),
        (np.zeros((7, 1, 1), int), cm.ParameterError, r"shape \[7, 1, 1\]"),
        (np.int64(3), cm.ParameterError, r"shape \[\]"),
        ([], cm.DtypeError, "float64"),
        (np.zeros(7), cm.DtypeError, "float64; use integers"),
        (np.full(7, np.nan), cm.DtypeError, "float64"),
        (np.full(7, np.inf), cm.DtypeError, "float64"),
        (np.zeros(7, complex), cm.DtypeError, "complex128"),
        (np.zeros(7, "M8[s]"), cm.DtypeError, "datetime64"),
        (["a"] * 7, cm.DtypeError, "<U1"),
        ([1 << 70] * 7, cm.DtypeError, "dtype object; use integers from -9223372036854775808"),
        ([[1, 2], [3]], cm.ParameterError, "inhomogeneous"),
        (None, cm.DtypeError, "dtype object"),
        (np.full(7, 128), cm.RangeError, "128, allowed are -128 to 127"),
        (np.full(7, -129), cm.RangeError, "-129, allowed are -128 to 127"),
        (np.full(7, 1 << 63, np.uint64), cm.RangeError, "entry 9223372036854775808; use"),
        (np.full(7, (1 << 64) - 1, np.uint64), cm.RangeError, "18446744073709551615"),
    ],
)
def test_vectors(small: Parties, values: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        small.client.encrypt(values)


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (np.zeros((7, 5), int), cm.ParameterError, r"shape \[7, 5\].*use \(5, 7\)"),
        (np.zeros(35, int), cm.ParameterError, r"shape \[35\]"),
        (np.zeros((5, 7)), cm.DtypeError, "float64"),
        (np.full((5, 7), 200), cm.RangeError, "200, allowed are -128 to 127"),
        (np.full((5, 7), np.iinfo(np.uint64).max), cm.RangeError, "18446744073709551615"),
    ],
)
def test_matrices(small: Parties, matrix: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        small.server.prepare(matrix)
    with pytest.raises(error, match=words):
        small.server.multiply(matrix, small.client.encrypt(X))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (lambda: cm.MatVecPlan(0, 7), "number of rows is 0, allowed are 1 to 16384"),
        (lambda: cm.MatVecPlan(1, 16385), "number of columns is 16385"),
        (lambda: cm.MatVecPlan(1, 1, matrix_bits=33), "bits of a matrix entry is 33, allowed are 2 to 32"),
        (lambda: cm.MatVecPlan(1, 16384, matrix_bits=32, vector_bits=32), "allowed are 4 to 50"),
        (lambda: cm.MatVecPlan(1, 1, security=100), "use 128, 192 or 256"),
        (lambda: cm.MatVecPlan(1, 1, encryption="both"), 'use "secret" or "public"'),
        (lambda: cm.MatVecPlan(1, 1, strategy="best"), "use one of .*row-packed"),
        (lambda: cm.MatVecPlan(1, 1, parameters="NONE"), "NONE"),
        (lambda: cm.MatVecPlan(1, 1, parameters="TEST_32"), "TEST_32"),
        (lambda: cm.MatVecPlan(1, 1, log2_failure=float("nan")), "allowed are -1000 to -1"),
        (lambda: cm.MatVecPlan(1, 1, flooding_bits=257), "257, allowed are 0 to 256"),
        (lambda: cm.set_threads(0), "0 threads are not supported; use 1 to 1024"),
    ],
)
def test_plans(request_: Callable[[], object], words: str) -> None:
    with pytest.raises(cm.ParameterError, match=words):
        request_()


def test_numbers_beyond_the_machine_are_overflows() -> None:
    with pytest.raises(OverflowError):
        cm.MatVecPlan(-1, 1)
    with pytest.raises(OverflowError):
        cm.MatVecPlan(1 << 70, 1)
    with pytest.raises(TypeError):
        cm.MatVecPlan(1.5, 1)


def test_objects_of_other_keys_and_plans(small: Parties) -> None:
    stranger = small.plan.keygen()
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        small.matrix @ stranger.encrypt(X)
    product = small.matrix @ small.client.encrypt(X)
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        stranger.decrypt(product)
    other = cm.MatVecPlan(5, 8).keygen()
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        small.matrix @ other.encrypt(np.zeros(8, int))
    wide = cm.MatVecPlan(5000, 7, matrix_bits=16, vector_bits=16)
    with pytest.raises(cm.KeyMismatchError):
        wide.server(small.client.evaluation)
    with pytest.raises(cm.KeyMismatchError, match="key sets"):
        cm.EncryptedVector.stack([small.client.encrypt(X), stranger.encrypt(X)])
    with pytest.raises(cm.KeyMismatchError, match="different plans"):
        cm.EncryptedVector.stack([small.client.encrypt(X), other.encrypt(np.zeros(8, int))])
    with pytest.raises(cm.ParameterError, match="nothing to stack"):
        cm.EncryptedVector.stack([])
    with pytest.raises(cm.ParameterError, match="public-key encryption"):
        small.plan.encrypt(small.client.public, X)


def test_operands_of_other_types(small: Parties) -> None:
    with pytest.raises(TypeError, match="PreparedMatrix"):
        small.matrix @ X
    with pytest.raises(TypeError):
        small.client.decrypt(X)


def test_malformed_bytes(small: Parties) -> None:
    product = small.matrix @ small.client.encrypt(X)
    good: list[tuple[bytes, Callable[[bytes], object]]] = [
        (small.plan.to_bytes(), cm.MatVecPlan.from_bytes),
        (small.client.encrypt(X).to_bytes(), lambda data: cm.EncryptedVector.from_bytes(small.plan, data)),
        (product.to_bytes(), lambda data: cm.EncryptedProduct.from_bytes(small.plan, data)),
        (small.client.public.to_bytes(), lambda data: cm.BfvPublicKey.from_bytes(small.plan, data)),
        (small.client.evaluation.to_bytes(), lambda data: cm.EvaluationKeys.from_bytes(small.plan, data)),
        (small.client.secret.to_secret_bytes(), cm.BfvSecretKey.from_secret_bytes),
    ]
    for index, (data, load) in enumerate(good):
        load(data)
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        other_kind = good[(index + 1) % len(good)][0]
        for bad in [b"", data[:-1], data + b"\0", bytes(flipped), other_kind, b"\xff" * len(data), data * 2]:
            with pytest.raises((cm.WireError, cm.KeyMismatchError, cm.ParameterError, cm.RangeError)):
                load(bad)
        with pytest.raises(TypeError):
            load("text")


def test_several_columns_have_no_bytes(small: Parties) -> None:
    with pytest.raises(cm.ParameterError, match=r"columns\(\)"):
        small.client.encrypt(np.zeros((7, 2), int)).to_bytes()


def test_secrets_are_neither_pickled_nor_printed(small: Parties) -> None:
    secret = small.client.secret
    shown = secret.to_secret_bytes().hex()
    for holder in [secret, small.client]:
        for attempt in [pickle.dumps, copy.copy, copy.deepcopy]:
            with pytest.raises(cm.SecretError, match="secret key"):
                attempt(holder)
        for text in [repr(holder), str(holder), f"{holder}"]:
            assert secret.tag in text
            assert not any(text[i : i + 16] in shown for i in range(len(text) - 16))


def test_the_memory_limit_is_told_before_the_allocation(small: Parties) -> None:
    limit = small.matrix.nbytes - 1
    assert limit < small.server.matrix_nbytes
    with pytest.raises(cm.MemoryLimitError, match=f"at most {limit}"):
        small.server.prepare(small.array, memory=limit)
    assert small.server.prepare(small.array, memory=limit + 1).nbytes == limit + 1
    with pytest.raises(MemoryError):
        small.server.prepare(small.array, memory=0)


def test_every_class_is_the_builtin_that_fits() -> None:
    builtin = {
        cm.ParameterError: ValueError,
        cm.DtypeError: TypeError,
        cm.RangeError: OverflowError,
        cm.MemoryLimitError: MemoryError,
        cm.ForkError: RuntimeError,
        cm.SecretError: TypeError,
    }
    for ours, theirs in builtin.items():
        assert issubclass(ours, theirs)
    for name in cm.errors.__all__:
        assert issubclass(getattr(cm.errors, name), cm.CiphermillError)
        assert pickle.loads(pickle.dumps(getattr(cm.errors, name)("text"))).args == ("text",)
