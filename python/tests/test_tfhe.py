"""TFHE against integers."""

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ciphermill as cm
from ciphermill import tfhe

CLIENT = tfhe.keygen("TEST_SMALL_U64", insecure=True)
SERVER = tfhe.Server(CLIENT.evaluation())
# A set of full size, with 4 bits.
FULL = tfhe.keygen(bits=4)
FULL_SERVER = tfhe.Server(FULL.evaluation())
GATES: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "nand": lambda a, b: not (a and b),
    "or": lambda a, b: a or b,
    "nor": lambda a, b: not (a or b),
    "xor": lambda a, b: a != b,
    "xnor": lambda a, b: a == b,
}


def test_a_table_of_every_message_at_full_size() -> None:
    x = np.arange(16).reshape(4, 4)
    y = FULL_SERVER.apply(lambda v: (3 * v + 1) % 16, FULL.encrypt(x))
    assert y.shape == (4, 4)
    np.testing.assert_array_equal(FULL.decrypt(y), (3 * x + 1) % 16)
    # A result is refreshed: it enters the next table.
    z = FULL_SERVER.apply(np.arange(15, -1, -1), y)
    np.testing.assert_array_equal(FULL.decrypt(z), 15 - (3 * x + 1) % 16)


@pytest.mark.parametrize("bits", range(1, 7))
def test_every_recommended_set(bits: int) -> None:
    client = tfhe.keygen(bits=bits)
    assert client.parameters == tfhe.PARAMETER_SETS[bits]
    server = tfhe.Server(client.evaluation())
    x = np.array([0, 1, 2**bits - 1])
    y = server.apply(lambda v: 2**bits - 1 - v, client.encrypt(x))
    np.testing.assert_array_equal(client.decrypt(y), 2**bits - 1 - x)


def test_linear_arithmetic_states_ranges() -> None:
    x = CLIENT.encrypt([1, 2, 3], within=(0, 5))
    y = CLIENT.encrypt([[4], [5]], within=(0, 5))
    assert (x + y).shape == (2, 3)
    assert (x + y).range == (0, 10)
    np.testing.assert_array_equal(CLIENT.decrypt(x + y), [[5, 6, 7], [6, 7, 8]])
    np.testing.assert_array_equal(CLIENT.decrypt(x - y), [[-3, -2, -1], [-4, -3, -2]])
    assert (x - y).range == (-5, 5)
    np.testing.assert_array_equal(CLIENT.decrypt(x * [2, -1, 0]), [2, -2, 0])
    np.testing.assert_array_equal(CLIENT.decrypt(3 * x), [3, 6, 9])
    np.testing.assert_array_equal(CLIENT.decrypt(-x), [-1, -2, -3])
    np.testing.assert_array_equal(CLIENT.decrypt((x + y)[1, ::2]), [6, 8])
    product = SERVER.apply(lambda v: v // 2, x + x)
    np.testing.assert_array_equal(CLIENT.decrypt(product), [1, 2, 3])


def test_signed_integers() -> None:
    x = CLIENT.encrypt([-8, -1, 7], signed=True)
    y = SERVER.apply(abs, x, bits=4)
    np.testing.assert_array_equal(CLIENT.decrypt(y), [8, 1, 7])
    z = SERVER.apply(lambda v: -v // 2, x, bits=4, signed=True)
    np.testing.assert_array_equal(CLIENT.decrypt(z), [4, 0, -4])


@pytest.mark.parametrize("name", GATES)
def test_gates(name: str) -> None:
    pairs = list(itertools.product([False, True], repeat=2))
    left, right = (CLIENT.encrypt_bits([pair[side] for pair in pairs]) for side in (0, 1))
    result = CLIENT.decrypt_bits(SERVER.gate(name, left, right))
    assert result.dtype == np.bool_
    assert result.tolist() == [GATES[name](*pair) for pair in pairs]
    assert CLIENT.decrypt_bits(SERVER.invert(left)).tolist() == [not pair[0] for pair in pairs]
    grid = SERVER.gate(name, left.reshape(4, 1), right.reshape(1, 4))
    expected = [[GATES[name](a[0], b[1]) for b in pairs] for a in pairs]
    assert CLIENT.decrypt_bits(grid).tolist() == expected
    assert CLIENT.decrypt_bits(left[2:]).tolist() == [True, True]


def test_a_function_of_14_bits() -> None:
    client = tfhe.keygen("WORD_2M64")
    server = tfhe.Server(client.evaluation())
    for value in [0, 1, 9999, 2**14 - 1]:
        word = tfhe.EncryptedWord.from_bytes(client.encrypt_word(value).to_bytes())
        assert word.digits == 7
        assert client.decrypt_word(server.look_up(lambda v: v * v % 2**14, word)) == value**2 % 2**14
    parity = server.look_up(
        [v.bit_count() % 2 for v in range(16)], client.encrypt_word(7, bits=4), bits=4, output_bits=1
    )
    assert client.decrypt_word(pickle.loads(pickle.dumps(parity))) == 1


def test_objects_travel() -> None:
    x = CLIENT.encrypt([[1, 2]])
    assert tfhe.EncryptedIntegers.from_bytes(x.to_bytes()).shape == (2,)
    again = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(CLIENT.decrypt(again), [[1, 2]])
    client = tfhe.ClientKey.from_secret_bytes(CLIENT.to_secret_bytes(), insecure=True)
    np.testing.assert_array_equal(client.decrypt(x), [[1, 2]])
    keys = FULL.evaluation()
    parts = tfhe.EvaluationKeys.from_parts(keys.parts())
    assert parts.nbytes == keys.nbytes
    server = tfhe.Server(pickle.loads(pickle.dumps(parts)))
    np.testing.assert_array_equal(FULL.decrypt(server.apply(lambda v: v, FULL.encrypt([9]))), [9])
    bits = tfhe.EncryptedBits.from_bytes(CLIENT.encrypt_bits([True, False]).to_bytes())
    assert CLIENT.decrypt_bits(bits).tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tfhe.keygen(bits=7), cm.ParameterError, "use 1 to 6 bits"),
        (lambda: tfhe.keygen("NONE"), cm.ParameterError, "NONE"),
        (lambda: tfhe.keygen("TEST_SMALL_U64"), cm.ParameterError, "128"),
        (lambda: CLIENT.encrypt([16]), cm.RangeError, "16"),
        (lambda: CLIENT.encrypt([-1]), cm.RangeError, "-1"),
        (lambda: CLIENT.encrypt([0.5]), cm.DtypeError, "float64"),
        (lambda: CLIENT.encrypt([9], within=(0, 8)), cm.RangeError, "9"),
        (lambda: CLIENT.encrypt([9], within=(0, 16)), cm.ParameterError, "0 to 15"),
        (lambda: CLIENT.encrypt([1], bits=21), cm.ParameterError, "use 1 to 20"),
        (lambda: CLIENT.encrypt_bits([2]), cm.RangeError, "use 0 and 1"),
        (lambda: CLIENT.encrypt([15]) + CLIENT.encrypt([15]) + CLIENT.encrypt([15]), cm.RangeError, "places"),
        (lambda: CLIENT.encrypt([1]) * 2**40, cm.RangeError, "factor"),
        (lambda: CLIENT.encrypt([1]) * 100, cm.RangeError, "places"),
        (lambda: CLIENT.encrypt([1]) * CLIENT.encrypt([1]), TypeError, "table"),
        (lambda: CLIENT.encrypt([1]) + 1, TypeError, "encrypt the other operand"),
        (lambda: SERVER.apply(lambda v: 0, CLIENT.encrypt([1]) + CLIENT.encrypt([1])), cm.RangeError, "1 to 16 values"),
        (lambda: SERVER.apply(lambda v: v + 1, CLIENT.encrypt([1])), cm.RangeError, "use 0 to 15"),
        (lambda: SERVER.apply(lambda v: v / 2, CLIENT.encrypt([1])), cm.DtypeError, "float64"),
        (lambda: SERVER.apply([1, 2, 3], CLIENT.encrypt([1])), cm.ParameterError, "values at 0 to 15"),
        (lambda: SERVER.apply(lambda v: v, FULL.encrypt([1])), cm.CiphermillError, "."),
        (lambda: CLIENT.decrypt(FULL.encrypt([1])), cm.CiphermillError, "."),
        (lambda: CLIENT.encrypt([1]) + FULL.encrypt([1]), cm.CiphermillError, "."),
        (lambda: SERVER.gate("mux", CLIENT.encrypt_bits([1]), CLIENT.encrypt_bits([1])), cm.ParameterError, "xnor"),
        (lambda: CLIENT.decrypt(CLIENT.encrypt_bits([1])), cm.DtypeError, "use EncryptedIntegers"),
        (lambda: SERVER.look_up(lambda v: v, FULL.encrypt_word(1)), cm.ParameterError, "words"),
        (lambda: tfhe.Server(CLIENT.evaluation(), memory=1000), cm.MemoryLimitError, "1000"),
        (lambda: tfhe.Server(tfhe.EvaluationKeys.from_parts([b"", b""])), cm.WireError, "truncated"),
        (lambda: tfhe.EvaluationKeys.from_parts([b""]), cm.ParameterError, "use 2 or 3"),
        (lambda: tfhe.EncryptedIntegers.from_bytes([b"abc"]), cm.WireError, "."),
        (lambda: tfhe.ClientKey.from_secret_bytes(CLIENT.to_secret_bytes()), cm.ParameterError, "128"),
        (lambda: pickle.dumps(CLIENT), cm.SecretError, "secret key"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
