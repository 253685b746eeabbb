"""TFHE: encrypted integers of a few bits, any function of them by tables, gates on bits, and tables of words.

    client = tfhe.keygen(bits=4)                   # the owner of the data
    server = tfhe.Server(client.evaluation())      # computes
    x = client.encrypt([1, 2, 3])
    y = server.apply(lambda v: v * v % 16, x + 1)
    client.decrypt(y)                              # array([4, 9, 0])

Each encrypted integer states its range and its noise. Sums, differences and products with plain integers take no key; their
range must fit the places of the encoding, else they raise `RangeError`. A table takes one bootstrap an element. An operation
whose result would be wrong with a probability above 2^-64 raises `RangeError` too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._arrays import EncryptedArray
from ciphermill._checks import instance, integer, items
from ciphermill.errors import DtypeError, ParameterError, RangeError

__all__ = [
    "PARAMETER_SETS",
    "ClientKey",
    "EncryptedBits",
    "EncryptedIntegers",
    "EncryptedWord",
    "EvaluationKeys",
    "Server",
    "keygen",
]

#: The recommended set for messages of 1 to 6 bits; a result is wrong with a probability of at most 2^-128.
PARAMETER_SETS: dict[int, str] = dict(enumerate(_native.recommended_tfhe_sets(), start=1))

#: The most bits of a message or a word.
MAX_BITS = 20

EvaluationKeys = _native.TfheEvaluationKeys


def keygen(parameters: str | None = None, *, bits: int = 4, insecure: bool = False) -> ClientKey:
    """Generate the secret keys of a client, by the recommended set for messages of `bits` bits or a named set."""
    if parameters is None:
        if bits not in PARAMETER_SETS:
            raise ParameterError(f"messages of {bits} bits have no recommended set; use 1 to 6 bits, or words")
        parameters = PARAMETER_SETS[bits]
    return ClientKey(_native.TfheClientKey.generate(parameters, insecure=insecure))


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    bits = integer(bits, "the number of bits of a message", 1, MAX_BITS)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _part(within: tuple[int, int], low: int, high: int) -> tuple[int, int]:
    """A part of a range."""
    try:
        least, greatest = map(operator.index, within)
    except (TypeError, ValueError):
        raise ParameterError(f"within is {within!r}; use two integers, {low} to {high}") from None
    if not low <= least <= greatest <= high:
        raise ParameterError(f"within is {within}; use a part of {low} to {high}")
    return least, greatest


Combination = Callable[[_native.TfheCiphertexts, _native.TfheCiphertexts], _native.TfheCiphertexts]


class _Array(EncryptedArray[_native.TfheCiphertexts]):
    _kind = _native.TfheCiphertexts

    def to_bytes(self) -> list[bytes]:
        """The bytes of each element in C order, as `ciphermill tfhe encrypt` writes them."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, elements: Sequence[bytes]) -> Self:
        """Read elements. Raises `WireError` if one is not a ciphertext."""
        parts = items(elements, "the list of elements", "a list of bytes")
        return cls(_native.TfheCiphertexts.from_bytes(parts), (len(parts),))

    def __repr__(self) -> str:
        return f"<tfhe.{type(self).__name__} of shape {self._shape}, key set {self._native.tag}>"


class EncryptedIntegers(_Array):
    """An array of encrypted integers, of any shape: `+` and `-` with encrypted arrays, `*` with plain integers."""

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the greatest integer that an element may be."""
        stated = self._native.range
        if stated is None:
            raise ParameterError("the elements do not state their range; use elements that ClientKey.encrypt made")
        return stated[1], stated[2]

    def __add__(self, other: EncryptedIntegers) -> EncryptedIntegers:
        return self._combine(other, lambda left, right: left.add(right))

    def __sub__(self, other: EncryptedIntegers) -> EncryptedIntegers:
        return self._combine(other, lambda left, right: left.subtract(right))

    def __neg__(self) -> EncryptedIntegers:
        return self * -1

    def __mul__(self, factors: Any) -> EncryptedIntegers:
        if isinstance(factors, _Array):
            raise TypeError("two encrypted integers are multiplied by a table of their sum and difference, not by *")
        array = np.asarray(factors)
        shape = np.broadcast_shapes(self._shape, array.shape)
        scaled = self._broadcast(shape).scale(np.broadcast_to(array, shape).reshape(-1))
        return EncryptedIntegers(scaled, shape)

    __rmul__ = __mul__

    def _combine(self, other: Any, combine: Combination) -> EncryptedIntegers:
        if not isinstance(other, EncryptedIntegers):
            raise TypeError(
                f"an encrypted array and a {type(other).__name__} cannot be combined; encrypt the other operand"
            )
        shape = np.broadcast_shapes(self._shape, other._shape)
        return EncryptedIntegers(combine(self._broadcast(shape), other._broadcast(shape)), shape)


class EncryptedBits(_Array):
    """An array of encrypted bits, of any shape, for the gates of a server."""


class EncryptedWord:
    """An encrypted integer of up to 20 bits, as the argument of tables of all its values."""

    def __init__(self, native: _native.TfheWord) -> None:
        self._native = instance(native, _native.TfheWord, "the native word")

    @property
    def digits(self) -> int:
        """The number of digits of two bits."""
        return self._native.digits

    def to_bytes(self) -> bytes:
        """The word as `ciphermill tfhe encrypt --word` writes it."""
        return self._native.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> EncryptedWord:
        """Read a word. Raises `WireError` if the bytes are not one."""
        return EncryptedWord(_native.TfheWord.from_bytes(data))

    def __repr__(self) -> str:
        return f"<tfhe.EncryptedWord of {self.digits} digits, key set {self._native.tag}>"


class ClientKey:
    """The secret keys of a client: encrypts and decrypts. It is neither printed nor pickled."""

    def __init__(self, native: _native.TfheClientKey) -> None:
        self._native = instance(native, _native.TfheClientKey, "the native key")

    @staticmethod
    def from_secret_bytes(data: bytes, *, insecure: bool = False) -> ClientKey:
        """Read keys. Raises `WireError` if the bytes are not such."""
        return ClientKey(_native.TfheClientKey.from_secret_bytes(data, insecure=insecure))

    def to_secret_bytes(self) -> bytes:
        """The keys in clear, as `ciphermill tfhe keygen` writes them."""
        return self._native.to_secret_bytes()

    @property
    def parameters(self) -> str:
        """The name of the parameter set."""
        return self._native.parameters

    @property
    def tag(self) -> str:
        """The name that all objects of this key set carry."""
        return self._native.tag

    def evaluation(self) -> EvaluationKeys:
        """Generate the public keys for a server."""
        return self._native.evaluation()

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        bits: int | None = None,
        signed: bool = False,
        within: tuple[int, int] | None = None,
    ) -> EncryptedIntegers:
        """Encrypt integers of `bits` bits, by default those of the parameter set.

        `within` states a part of that range in which all integers lie. Sums of such integers can be longer before they leave
        the encoding.
        """
        low, high = _limits(self._native.message_bits if bits is None else bits, signed)
        least, greatest = (low, high) if within is None else _part(within, low, high)
        array = np.asarray(values)
        native = self._native.encrypt(array.reshape(-1), low, high, least, greatest)
        return EncryptedIntegers(native, array.shape)

    def decrypt(self, encrypted: EncryptedIntegers) -> npt.NDArray[np.int64]:
        """The integers, in the shape of the encrypted array."""
        encrypted = instance(encrypted, EncryptedIntegers, "the encrypted array")
        return self._native.decrypt(encrypted._native).reshape(encrypted.shape)

    def encrypt_bits(self, bits: npt.ArrayLike) -> EncryptedBits:
        """Encrypt bits for gates."""
        array = np.asarray(bits)
        return EncryptedBits(self._native.encrypt_bits(array.reshape(-1)), array.shape)

    def decrypt_bits(self, encrypted: EncryptedBits) -> npt.NDArray[np.bool_]:
        """The bits, in the shape of the encrypted array."""
        encrypted = instance(encrypted, EncryptedBits, "the encrypted array")
        return self._native.decrypt_bits(encrypted._native).reshape(encrypted.shape)

    def encrypt_word(self, value: int, *, bits: int = 14) -> EncryptedWord:
        """Encrypt an integer of `bits` bits, 1 to 20, for tables of words. The set must have words, as `WORD_2M64`."""
        return EncryptedWord(self._native.encrypt_word(value, bits))

    def decrypt_word(self, word: EncryptedWord) -> int:
        """The integer of a word."""
        return self._native.decrypt_word(instance(word, EncryptedWord, "the word")._native)

    def __repr__(self) -> str:
        return f"<tfhe.ClientKey of {self.parameters}, key set {self.tag}>"

    def __reduce__(self) -> Any:
        return self._native.__reduce__()


class Server:
    """The server's side: computes with the keys of one client, and sees neither inputs nor results.

    At most `memory` bytes are used for the keys; without it, as many as they need.
    """

    def __init__(self, keys: EvaluationKeys, *, memory: int | None = None) -> None:
        self._native = _native.TfheServer(keys, memory=memory)

    @property
    def parameters(self) -> str:
        """The name of the parameter set."""
        return self._native.parameters

    @property
    def nbytes(self) -> int:
        """Bytes that the loaded keys occupy."""
        return self._native.nbytes

    def apply(
        self,
        function: Callable[[int], int] | npt.ArrayLike,
        values: EncryptedIntegers,
        *,
        bits: int | None = None,
        signed: bool = False,
    ) -> EncryptedIntegers:
        """The values of a function at encrypted integers, by one bootstrap each, in a batch.

        `function` is called with every integer of the range of `values`, or is the array of its values there. Results are
        encoded with `bits` bits, by default as the inputs are.
        """
        stated = instance(values, EncryptedIntegers, "the encrypted array")._native.range
        if stated is None:
            raise ParameterError("the elements do not state their range; use elements that ClientKey.encrypt made")
        places, low, high = stated
        arguments = range(low, high + 1)
        table = np.asarray([function(argument) for argument in arguments] if callable(function) else function)
        if table.shape != (len(arguments),):
            raise ParameterError(f"a table of shape {table.shape} does not fit; use the values at {low} to {high}")
        if bits is None:
            least = low if signed else 0
            greatest = least + places // 2 - 1
        else:
            least, greatest = _limits(bits, signed)
        self._require_within(table, least, greatest)
        native = _native.TfheTable(self.parameters, table, places, low, least, greatest, insecure=self._native.insecure)
        return EncryptedIntegers(self._native.apply(native, values._native), values.shape)

    @staticmethod
    def _require_within(table: npt.NDArray[Any], least: int, greatest: int) -> None:
        if table.dtype.kind not in "iub":
            raise DtypeError(f"the table has the dtype {table.dtype}; use integers")
        if table.min() < least or table.max() > greatest:
            raise RangeError(
                f"the table has values from {table.min()} to {table.max()}; use {least} to {greatest}, or more bits"
            )

    def gate(self, name: str, left: EncryptedBits, right: EncryptedBits) -> EncryptedBits:
        """A gate on bits, by one bootstrap each: "and", "nand", "or", "nor", "xor" or "xnor"."""
        left, right = (instance(each, EncryptedBits, "an operand of a gate") for each in (left, right))
        shape = np.broadcast_shapes(left.shape, right.shape)
        return EncryptedBits(self._native.gate(name, left._broadcast(shape), right._broadcast(shape)), shape)

    def invert(self, bits: EncryptedBits) -> EncryptedBits:
        """The negated bits; it takes no bootstrap."""
        bits = instance(bits, EncryptedBits, "the operand")
        return EncryptedBits(self._native.invert(bits._native), bits.shape)

    def look_up(
        self,
        function: Callable[[int], int] | npt.ArrayLike,
        word: EncryptedWord,
        *,
        bits: int = 14,
        output_bits: int | None = None,
    ) -> EncryptedWord:
        """The value of any function at a word of `bits` bits, 1 to 20."""
        bits = integer(bits, "the number of bits of a word", 1, MAX_BITS)
        word = instance(word, EncryptedWord, "the word")
        values = np.asarray([function(x) for x in range(1 << bits)] if callable(function) else function)
        table = _native.TfheWordTable(values, bits, bits if output_bits is None else output_bits)
        return EncryptedWord(self._native.look_up(word._native, [table])[0])

    def __repr__(self) -> str:
        return f"<tfhe.Server of {self.parameters}>"


def _load_evaluation_keys(parts: list[bytes], insecure: bool) -> EvaluationKeys:
    return EvaluationKeys.from_parts(parts, insecure=insecure)
