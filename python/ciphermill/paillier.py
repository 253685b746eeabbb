"""Paillier: sums of encrypted numbers and products with plain ones, over NumPy arrays.

    public, secret = paillier.keygen(3072)
    x = public.encrypt(array, step=2**-16)
    y = secret.decrypt(weights @ x + 1.5)

Numbers are multiples of a `step`, a power of two, and have a declared bound. Both are public and travel with the encrypted
array; neither depends on the encrypted numbers. An operation whose result might exceed the key's plaintexts raises
`RangeError` before it computes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._arrays import EncryptedArray, broadcast, checked_shape
from ciphermill._checks import instance, integer, one_of, real, whole
from ciphermill.errors import DtypeError, ParameterError, RangeError

__all__ = ["EncryptedVector", "PackedVector", "Packing", "Plain", "PublicKey", "SecretKey", "keygen", "plain"]

#: Bits before the binary point of a number, unless others are declared.
DEFAULT_BITS = 32

#: The most bits before the binary point: those of the greatest key.
MAX_BITS = 4096

#: The step of floating-point numbers, unless another is declared.
DEFAULT_STEP = 2.0**-32


def keygen(bits: int = 3072, *, insecure: bool = False) -> tuple[PublicKey, SecretKey]:
    """Generate a key pair. `bits` is 2048 to 4096, a multiple of 128; from 512 on if `insecure`, for tests."""
    secret = SecretKey(_native.PaillierSecretKey.generate(bits, insecure=insecure))
    return secret.public, secret


def _fraction_bits(step: float) -> int:
    """The f of a step 2^-f."""
    step = real(step, "the step")
    mantissa, exponent = math.frexp(step)
    if not (math.isfinite(step) and mantissa == 0.5 and exponent <= 1):
        raise ParameterError(f"step {step} is not supported; use a power of two up to 1, for example 2**-16")
    return 1 - exponent


class Plain:
    """Plain numbers of a declared precision, made by `plain`. As a factor it is treated as secret: the time of a product does
    not depend on it."""

    __array_ufunc__ = None

    def __init__(self, native: _native.PaillierPlain, shape: tuple[int, ...]) -> None:
        self._native = instance(native, _native.PaillierPlain, "the flat vector")
        self.shape = checked_shape(shape, len(native))

    @property
    def step(self) -> float:
        """The numbers are multiples of it."""
        return 2.0**-self._native.fraction_bits

    def _broadcast(self, shape: tuple[int, ...]) -> _native.PaillierPlain:
        return broadcast(self._native, self.shape, shape)


def plain(values: npt.ArrayLike, *, step: float | None = None, bits: int = DEFAULT_BITS) -> Plain:
    """Encode numbers as multiples of `step` below 2^`bits` in magnitude.

    Integers have step 1 by default. Floating-point numbers are rounded to the nearest multiple of `step`, 2**-32 by
    default. Integers beyond 64 bits (Python's) and `fractions.Fraction` are accepted too; they must be multiples of `step`.

    Raises `RangeError` for a number that is too large, `ParameterError` for NaN and infinity.
    """
    array = np.asarray(values)
    if array.dtype.kind == "f":
        step = DEFAULT_STEP if step is None else step
        flat = np.ascontiguousarray(array, np.float64).reshape(-1)
        native = _native.PaillierPlain.from_floats(flat, bits, _fraction_bits(step))
    elif array.dtype.kind in "iub":
        native = _native.PaillierPlain.from_integers(array.reshape(-1), bits, _fraction_bits(step or 1.0))
    elif array.dtype.kind == "O":
        native = _of_objects(array, step, bits)
    else:
        raise DtypeError(f"the array has the dtype {array.dtype}; use integers or floating-point numbers")
    return Plain(native, array.shape)


def _encoded(values: npt.ArrayLike | Plain, step: float | None, bits: int) -> Plain:
    return values if isinstance(values, Plain) else plain(values, step=step, bits=bits)


def _of_objects(array: npt.NDArray[Any], step: float | None, bits: int) -> _native.PaillierPlain:
    ratios = []
    for value in array.reshape(-1):
        try:
            ratios.append(Fraction(value).as_integer_ratio())
        except (TypeError, ValueError, OverflowError):
            raise DtypeError(f"the array has an entry of type {type(value).__name__}; use numbers") from None
    return _native.PaillierPlain.from_ratios(ratios, bits, _fraction_bits(step or 1.0))


def _public(values: npt.ArrayLike) -> Plain:
    """An operand that is not secret, exactly: its step and its bound are those of its numbers."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        fraction_bits, integer_bits = _exact_bits(array)
        return plain(array, step=2.0**-fraction_bits, bits=integer_bits)
    if array.dtype.kind in "iubO" and array.size:
        return plain(array, bits=max(int(abs(extreme)) for extreme in (array.min(), array.max())).bit_length())
    return plain(array)


def _exact_bits(array: npt.NDArray[Any]) -> tuple[int, int]:
    """Fraction bits and integer bits that hold every number of an array exactly."""
    if not np.isfinite(array).all():
        raise ParameterError("an operand is NaN or infinite; use finite numbers")
    mantissas, exponents = np.frexp(array[array != 0].astype(np.float64))
    if mantissas.size == 0:
        return 0, 0
    integers = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    # An integer and its negative have the lowest set bit in common.
    lowest = np.log2((integers & -integers).astype(np.float64)).astype(np.int64)
    fraction_bits = int(max(0, (53 - lowest - exponents).max()))
    return fraction_bits, int(max(0, exponents.max()))


class PublicKey:
    """A public key: encrypts. It may be published."""

    def __init__(self, native: _native.PaillierPublicKey) -> None:
        self._native = instance(native, _native.PaillierPublicKey, "the native key")

    @staticmethod
    def from_modulus(n: int, *, insecure: bool = False) -> PublicKey:
        """The key of a modulus n, for example that of `phe`."""
        return PublicKey(_native.PaillierPublicKey.from_modulus(n, insecure=insecure))

    @staticmethod
    def from_bytes(data: bytes, *, insecure: bool = False) -> PublicKey:
        """Read a key. Raises `WireError` if the bytes are not one."""
        return PublicKey(_native.PaillierPublicKey.from_bytes(data, insecure=insecure))

    def to_bytes(self) -> bytes:
        """The key as `ciphermill paillier keygen` writes it."""
        return self._native.to_bytes()

    @property
    def n(self) -> int:
        """The modulus."""
        return self._native.n

    @property
    def bits(self) -> int:
        """Bits of the modulus."""
        return self._native.bits

    @property
    def tag(self) -> str:
        """The name that all objects of this key carry."""
        return self._native.tag

    def encrypt(
        self,
        values: npt.ArrayLike | Plain,
        *,
        step: float | None = None,
        bits: int = DEFAULT_BITS,
        strict: bool = False,
    ) -> EncryptedVector:
        """Encrypt an array of any shape; `step` and `bits` are as in `plain`.

        `strict` blinds by exponents of full length, at ten times the time; the default is the blinding of Damgård, Jurik and
        Nielsen.
        """
        encoded = _encoded(values, step, bits)
        return EncryptedVector(self._native.encrypt(encoded._native, strict=strict), encoded.shape)

    def pack(self, values: npt.ArrayLike, packing: Packing, *, strict: bool = False) -> PackedVector:
        """Encrypt integers, several in each ciphertext."""
        array = np.asarray(values)
        packing = instance(packing, Packing, "the packing")
        return PackedVector(self._native.pack(packing._native, array.reshape(-1), strict=strict), array.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self._native == other._native

    def __hash__(self) -> int:
        return hash(self._native)

    def __repr__(self) -> str:
        return f"<paillier.PublicKey of {self.bits} bits, tag {self.tag}>"


class SecretKey:
    """A secret key: decrypts. It is neither printed nor pickled."""

    def __init__(self, native: _native.PaillierSecretKey) -> None:
        self._native = instance(native, _native.PaillierSecretKey, "the native key")

    @staticmethod
    def from_primes(p: int, q: int, *, insecure: bool = False) -> SecretKey:
        """The key of two primes, for example those of `phe`."""
        return SecretKey(_native.PaillierSecretKey.from_primes(p, q, insecure=insecure))

    @staticmethod
    def from_secret_bytes(data: bytes, *, insecure: bool = False) -> SecretKey:
        """Read a key. Raises `WireError` if the bytes are not one."""
        return SecretKey(_native.PaillierSecretKey.from_secret_bytes(data, insecure=insecure))

    def to_secret_bytes(self) -> bytes:
        """The key in clear, as `ciphermill paillier keygen` writes it."""
        return self._native.to_secret_bytes()

    @property
    def public(self) -> PublicKey:
        """The public key."""
        return PublicKey(self._native.public)

    @property
    def tag(self) -> str:
        """The name that all objects of this key carry."""
        return self._native.tag

    def encrypt(
        self,
        values: npt.ArrayLike | Plain,
        *,
        step: float | None = None,
        bits: int = DEFAULT_BITS,
        strict: bool = False,
    ) -> EncryptedVector:
        """Encrypt as the public key does, in less time."""
        encoded = _encoded(values, step, bits)
        return EncryptedVector(self._native.encrypt(encoded._native, strict=strict), encoded.shape)

    def decrypt(self, encrypted: EncryptedVector | PackedVector, *, exact: bool = False) -> npt.NDArray[Any]:
        """The numbers, in the shape of the encrypted array.

        An array of int64 if the step is 1 and the bound is below 2^63; of Python's integers if the bound is greater; of
        float64, each the nearest one, if the step is smaller than 1. With `exact`, an array of `fractions.Fraction`.
        """
        one_of(encrypted, (EncryptedVector, PackedVector), "the encrypted array")
        if isinstance(encrypted, PackedVector):
            values = self._native.unpack(encrypted._native)
            return np.asarray(values, None if isinstance(values, np.ndarray) else object).reshape(encrypted.shape)
        values = self._native.decrypt(encrypted._native, exact=exact)
        if isinstance(values, np.ndarray):
            return values.reshape(encrypted.shape)
        scale = 2**encrypted._native.fraction_bits
        out = np.empty(len(values), object)
        out[:] = [Fraction(value, scale) for value in values] if exact else values
        return out.reshape(encrypted.shape)

    def __repr__(self) -> str:
        return f"<paillier.SecretKey of {self.public.bits} bits, tag {self.tag}>"

    def __reduce__(self) -> Any:
        return self._native.__reduce__()


Operand = Any


class EncryptedVector(EncryptedArray[_native.PaillierVector]):
    """An array of encrypted numbers, of any shape.

    `+` and `-` take encrypted arrays and plain ones, `*` and `@` plain ones; shapes are broadcast as NumPy does. A plain
    operand that is not a `Plain` is treated as public, and used exactly.
    """

    _kind = _native.PaillierVector

    # Scale and bound.

    @property
    def key(self) -> PublicKey:
        """The public key."""
        return PublicKey(self._native.key)

    @property
    def step(self) -> float:
        """The numbers are multiples of it."""
        return 2.0**-self._native.fraction_bits

    @property
    def bound(self) -> Fraction:
        """The greatest magnitude that a number may have."""
        return Fraction(self._native.bound, 2**self._native.fraction_bits)

    # Arithmetic.

    def __add__(self, other: Operand) -> EncryptedVector:
        if isinstance(other, EncryptedVector):
            return self._combine(other, lambda a, b: a.add(b))
        return self._with_plain(other, lambda vector, operand: vector.add_plain(operand))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> EncryptedVector:
        if isinstance(other, EncryptedVector):
            return self._combine(other, lambda a, b: a.subtract(b))
        return self._with_plain(other, lambda vector, operand: vector.subtract_plain(operand))

    def __rsub__(self, other: Operand) -> EncryptedVector:
        return (-self).__add__(other)

    def __neg__(self) -> EncryptedVector:
        return EncryptedVector(self._native.negate(), self._shape)

    def __pos__(self) -> EncryptedVector:
        return self

    def __mul__(self, other: Operand) -> EncryptedVector:
        if isinstance(other, EncryptedVector):
            raise TypeError("two encrypted arrays cannot be multiplied under Paillier; use a plain factor")
        return self._with_plain(other, lambda vector, operand: vector.multiply(operand))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> EncryptedVector:
        divisor = real(other, "the divisor")
        mantissa, _ = math.frexp(divisor)
        if abs(mantissa) != 0.5:
            raise ParameterError(f"division by {other} is not exact; multiply by the reciprocal, rounded by plain()")
        return self * (1.0 / divisor)

    def __matmul__(self, weights: Operand) -> EncryptedVector:
        matrix = _weights(weights)
        if matrix.ndim == 1:
            return self.T.__rmatmul__(matrix) if self.ndim == 2 else self.__rmatmul__(matrix)
        return self.T.__rmatmul__(matrix.T).T

    def __rmatmul__(self, weights: Operand) -> EncryptedVector:
        matrix = _weights(weights)
        if self.ndim not in (1, 2) or matrix.shape[-1] != self._shape[0]:
            raise ParameterError(
                f"the weights have the shape {matrix.shape}; use {self._shape[0]} columns"
                if self.ndim in (1, 2)
                else f"the encrypted array has the shape {self._shape}; use one or two axes"
            )
        integers, fraction_bits = _scaled(matrix)
        rows = np.atleast_2d(integers)
        if self.ndim == 1:
            product = self._native.matrix_product(rows, fraction_bits)
            return EncryptedVector(product, matrix.shape[:-1])
        columns = [self[:, column]._native.matrix_product(rows, fraction_bits) for column in range(self._shape[1])]
        stacked = EncryptedVector(_native.PaillierVector.concat(columns), (self._shape[1], len(rows))).T
        return stacked.reshape(*matrix.shape[:-1], self._shape[1])

    def sum(self, axis: int | None = None) -> EncryptedVector:
        """The sum of all elements, or along an axis. Raises `ParameterError` for another axis or an empty one."""
        if axis is None:
            return self.ravel().sum(0)
        axis = integer(axis, "the axis", -self.ndim, self.ndim - 1)
        rest = np.moveaxis(self._places(), axis, 0)
        if not len(rest):
            raise ParameterError(f"the axis {axis} is empty; use an axis of 1 or more elements")
        left = self._gather(rest)
        # Halves are added, as long as there are two.
        while (count := len(left)) > 1:
            half = count // 2
            paired = left[:half] + left[half : 2 * half]
            left = _concatenate([paired, left[2 * half :]]) if count % 2 else paired
        return left[0]

    def rerandomise(self, *, strict: bool = False) -> EncryptedVector:
        """The same numbers with new blinding, so that no one can link the result to its operands."""
        return EncryptedVector(self._native.rerandomise(strict=strict), self._shape)

    def _combine(self, other: EncryptedVector, combine: Combination) -> EncryptedVector:
        shape = np.broadcast_shapes(self._shape, other._shape)
        return EncryptedVector(combine(self._broadcast(shape), other._broadcast(shape)), shape)

    def _with_plain(self, operand: Operand, combine: PlainCombination) -> EncryptedVector:
        encoded = operand if isinstance(operand, Plain) else _public(operand)
        shape = np.broadcast_shapes(self._shape, encoded.shape)
        return EncryptedVector(combine(self._broadcast(shape), encoded._broadcast(shape)), shape)

    # Bytes.

    @staticmethod
    def from_ciphertexts(
        key: PublicKey, ciphertexts: npt.ArrayLike, *, step: float = 1.0, bits: int = DEFAULT_BITS
    ) -> EncryptedVector:
        """An array of ciphertexts of another library, integers c in 0 < c < n², of numbers that are multiples of `step` below
        2^`bits` in magnitude."""
        key = instance(key, PublicKey, "the key")
        array = np.asarray(ciphertexts, object)
        fraction_bits, bits = _fraction_bits(step), integer(bits, "bits", 0, MAX_BITS)
        numbers = [whole(value, "an entry of ciphertexts") for value in array.reshape(-1)]
        native = _native.PaillierVector.from_ciphertexts(
            key._native, numbers, fraction_bits, 1 << (bits + fraction_bits)
        )
        return EncryptedVector(native, array.shape)

    def ciphertexts(self) -> npt.NDArray[np.object_]:
        """The ciphertexts, as an array of Python's integers."""
        out = np.empty(self.size, object)
        out[:] = self._native.ciphertexts()
        return out.reshape(self._shape)

    @staticmethod
    def from_bytes(key: PublicKey, data: bytes) -> EncryptedVector:
        """Read a vector. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another key."""
        native = _native.PaillierVector.from_bytes(instance(key, PublicKey, "the key")._native, data)
        return EncryptedVector(native, (len(native),))

    def to_bytes(self) -> bytes:
        """The elements in C order, with their step and bound. The shape is not part of the bytes."""
        return self._native.to_bytes()

    def __repr__(self) -> str:
        return f"<paillier.EncryptedVector of shape {self._shape}, step {self.step}, key {self.key.tag}>"


Combination = Callable[[_native.PaillierVector, _native.PaillierVector], _native.PaillierVector]
PlainCombination = Callable[[_native.PaillierVector, _native.PaillierPlain], _native.PaillierVector]


def _concatenate(parts: list[EncryptedVector]) -> EncryptedVector:
    """Along the first axis."""
    native = _native.PaillierVector.concat([part._native for part in parts])
    return EncryptedVector(native, (sum(len(part) for part in parts), *parts[0].shape[1:]))


def _weights(weights: Operand) -> npt.NDArray[Any]:
    if isinstance(weights, (EncryptedVector, Plain)):
        raise TypeError("the weights of a product are encrypted; use a plain array")
    matrix = np.asarray(weights)
    if matrix.ndim not in (1, 2):
        raise ParameterError(f"weights of {matrix.ndim} axes are not supported; use 1 or 2")
    return matrix


def _scaled(matrix: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    """Weights as integers, exactly, and the fraction bits by which they are scaled."""
    if matrix.dtype.kind != "f":
        return matrix, 0
    fraction_bits, integer_bits = _exact_bits(matrix)
    if fraction_bits + integer_bits > 63:
        raise RangeError(
            f"the weights need {fraction_bits + integer_bits} bits to be exact; use at most 63: round them to "
            "multiples of a power of two, for example np.round(weights * 2**16) / 2**16"
        )
    return np.ldexp(matrix.astype(np.float64), fraction_bits).astype(np.int64), fraction_bits


class Packing:
    """How values share a ciphertext: `slots` values of `value_bits` bits with sign, and `guard_bits` bits between them, which
    sums and products may grow into."""

    def __init__(self, value_bits: int, guard_bits: int, slots: int) -> None:
        self._native = _native.PaillierPacking(value_bits, guard_bits, slots)

    @staticmethod
    def fill(value_bits: int, guard_bits: int, key: PublicKey) -> Packing:
        """As many slots as a ciphertext of a key has room for."""
        native = _native.PaillierPacking.fill(value_bits, guard_bits, instance(key, PublicKey, "the key").bits)
        return Packing(native.value_bits, native.guard_bits, native.slots)

    @property
    def slots(self) -> int:
        """Values in a ciphertext."""
        return self._native.slots

    @property
    def value_bits(self) -> int:
        """Bits of a value, with sign."""
        return self._native.value_bits

    @property
    def guard_bits(self) -> int:
        """Bits between values."""
        return self._native.guard_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packing) and self._native == other._native

    def __hash__(self) -> int:
        return hash(self._native)

    def __repr__(self) -> str:
        return f"Packing({self.value_bits}, {self.guard_bits}, {self.slots})"


class PackedVector:
    """An array of encrypted integers, several in each ciphertext: `+` and `-` with packed or plain arrays of the same shape,
    `*` by one integer."""

    __array_ufunc__ = None

    def __init__(self, native: _native.PaillierPacked, shape: tuple[int, ...]) -> None:
        self._native = instance(native, _native.PaillierPacked, "the packed vector")
        self._shape = checked_shape(shape, len(native))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def key(self) -> PublicKey:
        """The public key."""
        return PublicKey(self._native.key)

    @property
    def bound(self) -> int:
        """The greatest magnitude that a value may have."""
        return self._native.bound

    def __add__(self, other: Operand) -> PackedVector:
        if isinstance(other, PackedVector):
            return PackedVector(self._native.add(other._native), self._shape)
        return PackedVector(self._native.add_plain(self._flat(other)), self._shape)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> PackedVector:
        if isinstance(other, PackedVector):
            return PackedVector(self._native.subtract(other._native), self._shape)
        return PackedVector(self._native.subtract_plain(self._flat(other)), self._shape)

    def __rsub__(self, other: Operand) -> PackedVector:
        return (-self).__add__(other)

    def __neg__(self) -> PackedVector:
        return PackedVector(self._native.negate(), self._shape)

    def __mul__(self, factor: SupportsIndex) -> PackedVector:
        return PackedVector(self._native.multiply(whole(factor, "the factor of an encrypted array")), self._shape)

    __rmul__ = __mul__

    def _flat(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        return np.broadcast_to(np.asarray(values), self._shape).reshape(-1)

    def rerandomise(self, *, strict: bool = False) -> PackedVector:
        """The same values with new blinding."""
        return PackedVector(self._native.rerandomise(strict=strict), self._shape)

    @staticmethod
    def from_bytes(key: PublicKey, data: bytes) -> PackedVector:
        """Read a vector. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another key."""
        native = _native.PaillierPacked.from_bytes(instance(key, PublicKey, "the key")._native, data)
        return PackedVector(native, (len(native),))

    def to_bytes(self) -> bytes:
        """The values in C order, with their layout and bound. The shape is not part of the bytes."""
        return self._native.to_bytes()

    def __repr__(self) -> str:
        return f"<paillier.PackedVector of shape {self._shape}, key {self.key.tag}>"


@functools.lru_cache(maxsize=8)
def _load_public_key(data: bytes, insecure: bool) -> _native.PaillierPublicKey:
    return _native.PaillierPublicKey.from_bytes(data, insecure=insecure)
