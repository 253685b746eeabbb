"""Every bad input is a typed error, at the call that causes it, that names the bound."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Parties

import ciphermill as cm
from ciphermill import _native

X = np.zeros(7, int)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (np.zeros(8, int), cm.ParameterError, r"shape \(8,\).*use \(7,\)"),
        (np.zeros((7, 0), int), cm.ParameterError, r"shape \(7, 0\)"),
        (np.zeros((2, 7), int), cm.ParameterError, r"shape \(2, 7\)"),
        (np.zeros((7, 1, 1), int), cm.ParameterError, r"shape \(7, 1, 1\)"),
        (np.int64(3), cm.ParameterError, r"shape \(\)"),
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
        (np.full(7, 128), cm.RangeError, "128; use -128 to 127"),
        (np.full(7, -129), cm.RangeError, "-129; use -128 to 127"),
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
        (np.zeros((7, 5), int), cm.ParameterError, r"shape \(7, 5\).*use \(5, 7\)"),
        (np.zeros(35, int), cm.ParameterError, r"shape \(35,\)"),
        (np.zeros((5, 7)), cm.DtypeError, "float64"),
        (np.full((5, 7), 200), cm.RangeError, "200; use -128 to 127"),
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
        (lambda: cm.MatVecPlan(0, 7), "number of rows is 0; use 1 to 16384"),
        (lambda: cm.MatVecPlan(1, 16385), "number of columns is 16385"),
        (lambda: cm.MatVecPlan(1, 1, matrix_bits=33), "bits of a matrix entry is 33; use 2 to 32"),
        (lambda: cm.MatVecPlan(1, 16384, matrix_bits=32, vector_bits=32), "use 4 to 50"),
        (lambda: cm.MatVecPlan(1, 1, security=100), "use 128, 192 or 256"),
        (lambda: cm.MatVecPlan(1, 1, encryption="both"), 'use "secret" or "public"'),
        (lambda: cm.MatVecPlan(1, 1, strategy="best"), "use one of .*row-packed"),
        (lambda: cm.MatVecPlan(1, 1, parameters="NONE"), "NONE"),
        (lambda: cm.MatVecPlan(1, 1, parameters="TEST_32"), "TEST_32"),
        (lambda: cm.MatVecPlan(1, 1, log2_failure=float("nan")), "use -1000 to -1"),
        (lambda: cm.MatVecPlan(1, 1, flooding_bits=257), "257; use 0 to 256"),
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
    with pytest.raises(cm.KeyMismatchError):
        small.client.secret.encrypt(wide, X)
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
    for other in (X, None, 3, "text"):
        with pytest.raises(TypeError, match="unsupported operand|does not support ufuncs"):
            small.matrix @ other
    calls: list[tuple[Callable[[Any], object], str, str]] = [
        (small.client.decrypt, "product", "EncryptedProduct"),
        (small.client.decrypt_masked, "product", "MaskedProduct"),
        (small.plan.server, "evaluation", "EvaluationKeys"),
        (small.plan.client, "secret", "BfvSecretKey"),
        (lambda other: small.plan.encrypt(other, X), "public", "BfvPublicKey"),
        (lambda other: small.server.multiply(small.array, other), "vector", "EncryptedVector"),
        (lambda other: cm.EncryptedVector.stack([other]), "vectors", "EncryptedVector"),
        (lambda other: cm.EncryptedVector.from_bytes(other, b""), "plan", "MatVecPlan"),
    ]
    for call, argument, accepted in calls:
        for other in (X, None, 3, "text"):
            with pytest.raises(TypeError, match=f"is not an instance of '{accepted}'") as refusal:
                call(other)
            assert refusal.value.__notes__ == [f"while processing '{argument}'"]


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
        for same in [bytearray(data), memoryview(data), memoryview(b"-" + data)[1:], np.frombuffer(data, np.uint8)]:
            load(same)
        objects = np.array([None] * len(data), object)
        for other in ["text", None, 3, [1, 2], memoryview(data * 2)[::2], objects]:
            with pytest.raises(cm.DtypeError, match="use bytes, bytearray or another contiguous bytes-like object"):
                load(other)


def test_bytes_like_objects_in_other_classes() -> None:
    sums, conv = cm.SumPlan([(3, 10)], 2), cm.Conv2dPlan((1, 8, 8), (1, 3, 3))
    holder, image = sums.keygen(), conv.keygen().encrypt(np.zeros((1, 8, 8), int))
    secret = _native.PaillierSecretKey.generate(1024, insecure=True)
    packed = secret.public.pack(_native.PaillierPacking(8, 8, 2), [1, 2, 3])
    plain = _native.PaillierPlain.from_integers([1, 2], 8, 0)
    loads: list[tuple[bytes, Callable[[Any], object]]] = [
        (sums.to_bytes(), cm.SumPlan.from_bytes),
        (holder.public.to_bytes(), lambda data: cm.SumPublicKey.from_bytes(sums, data)),
        (holder.public.encrypt([[1, 2, 3]]).to_bytes(), lambda data: cm.EncryptedSums.from_bytes(sums, data)),
        (holder.to_secret_bytes(), sums.key_holder),
        (bytes(32), lambda label: cm.SumPlan([(3, 10)], 2, label=label)),
        (image.to_bytes()[0], lambda data: cm.EncryptedImage.from_bytes(conv, [data])),
        (image.to_bytes()[0], lambda data: cm.EncryptedImage.from_bytes(conv, (data,))),
        (secret.to_secret_bytes(), lambda data: _native.PaillierSecretKey.from_secret_bytes(data, insecure=True)),
        (secret.public.to_bytes(), lambda data: _native.PaillierPublicKey.from_bytes(data, insecure=True)),
        (packed.to_bytes(), lambda data: _native.PaillierPacked.from_bytes(secret.public, data)),
        (secret.encrypt(plain).to_bytes(), lambda data: _native.PaillierVector.from_bytes(secret.public, data)),
    ]
    for data, load in loads:
        for same in [data, bytearray(data), memoryview(data)]:
            load(same)
        for other in ["text", 3, 1.5, memoryview(data * 2)[::2]]:
            with pytest.raises(cm.DtypeError, match="bytes-like object"):
                load(other)
    for parts in ["text", b"bytes", bytearray(b"x"), None, 3, {"a": b""}]:
        with pytest.raises(cm.DtypeError, match="use a list whose elements are bytes"):
            cm.EncryptedImage.from_bytes(conv, parts)


def test_shares(small: Parties) -> None:
    assert cm.reconstruct([1, 12], [2, 5], 13).tolist() == [3, 4]
    assert cm.reconstruct(np.array([1, 12], np.uint64), np.array([2, 5], np.int8), 13).tolist() == [3, 4]
    for first, error, words in [
        ([13], cm.RangeError, "13; use 0 to 12"),
        ([-1], cm.RangeError, "the first share has the entry -1; use residues from 0 on"),
        ([1.5], cm.DtypeError, "the first share has the dtype float64; use integers"),
        ([[1]], cm.ParameterError, r"shape \(1, 1\); use one axis"),
        ([1, 2], cm.ParameterError, "number of values"),
        ("text", cm.DtypeError, "use integers"),
    ]:
        with pytest.raises(error, match=words):
            cm.reconstruct(first, [1], 13)
    unsplit = cm.MatVecPlan(5, 7, unsplit=True)
    vector = unsplit.keygen().encrypt(X)
    for values, error, words in [
        (np.zeros(6, int), cm.ParameterError, r"shape \(6,\) does not fit the plan; use \(7,\)"),
        (np.full(7, 128), cm.RangeError, "entry of the array is 128; use -128 to 127"),
        (np.full(7, -129), cm.RangeError, "-129; use -128 to 127"),
        (np.zeros(7), cm.DtypeError, "float64"),
    ]:
        with pytest.raises(error, match=words):
            vector.add_plain(values)
    with pytest.raises(cm.ParameterError, match="ask for an unsplit plan"):
        small.client.encrypt(X).add_plain(X)


def test_sums_of_other_plans_with_the_same_parameters() -> None:
    ours, other = (cm.SumPlan([(3, 10)], 2, label=bytes([label] * 32)) for label in (1, 2))
    assert ours.parameters == other.parameters
    holder = ours.keygen()
    with pytest.raises(cm.KeyMismatchError, match="the public key is of another plan"):
        cm.SumPublicKey.from_bytes(other, holder.public.to_bytes())
    assert cm.SumPublicKey.from_bytes(ours, holder.public.to_bytes()).tag == holder.tag
    # The same secret key for both plans.
    theirs = other.key_holder(holder.to_secret_bytes()).public.encrypt([[1, 2, 3]])
    assert theirs.tag == holder.tag
    with pytest.raises(cm.KeyMismatchError, match="the sum is of another plan"):
        holder.decrypt(theirs)


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


def test_the_refusal_to_pickle_names_what_the_class_offers(small: Parties) -> None:
    holders: list[Any] = [
        small.client.secret,
        small.client,
        cm.SumPlan([(1, 1)], 2).keygen(),
        _native.PaillierSecretKey.generate(1024, insecure=True),
        cm.Conv2dPlan((1, 8, 8), (1, 3, 3)).keygen(),
        cm.Conv3dPlan((1, 4, 8, 8), (1, 2, 3, 3)).keygen(),
    ]
    for holder in holders:
        with pytest.raises(cm.SecretError) as refusal:
            pickle.dumps(holder)
        words = str(refusal.value)
        assert words.startswith(f"a {type(holder).__name__} is not pickled")
        # A method that the message names exists.
        assert ("write its to_secret_bytes()" in words) == hasattr(holder, "to_secret_bytes")
        assert ("its secret.to_secret_bytes()" in words) == hasattr(holder, "secret")


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
        cm.StateError: OSError,
        cm.WorkerError: RuntimeError,
    }
    for ours, theirs in builtin.items():
        assert issubclass(ours, theirs)
    for name in cm.errors.__all__:
        assert issubclass(getattr(cm.errors, name), cm.CiphermillError)
        assert pickle.loads(pickle.dumps(getattr(cm.errors, name)("text"))).args == ("text",)


def test_flat_arrays_name_their_lengths() -> None:
    key = _native.TfheClientKey.generate("TEST_SMALL_U64", insecure=True)
    three, two = (key.encrypt(np.zeros(count, int), 0, 1, 0, 1) for count in (3, 2))
    for place in (3, -1):
        with pytest.raises(cm.ParameterError, match=f"place {place} is outside of an array of 3 elements; use 0 to 2"):
            three.gather([place])
    with pytest.raises(cm.ParameterError, match="an array of 0 elements; use an array with elements"):
        three.gather(np.zeros(0, int)).gather([0])
    for pair in (lambda: three.add(two), lambda: three.scale([1, 2])):
        with pytest.raises(cm.ParameterError, match="3 elements cannot be paired with 2; use arrays of one length"):
            pair()
    secret = _native.PaillierSecretKey.generate(1024, insecure=True)
    numbers = secret.encrypt(_native.PaillierPlain.from_integers([1, 2], 8, 0))
    with pytest.raises(cm.ParameterError, match=r"weights of shape \(2,\) are not a matrix; use two axes"):
        numbers.matrix_product([1, 2], 0)
