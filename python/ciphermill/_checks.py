"""Checks of arguments: their classes, integers within bounds, received bytes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ciphermill.errors import DtypeError, MemoryLimitError, ParameterError, WireError

T = TypeVar("T")


def instance(value: object, kind: type[T], what: str) -> T:
    """The value, an object of a class. Raises `DtypeError` for an object of another class."""
    if not isinstance(value, kind):
        raise DtypeError(f"{what} is of type {type(value).__name__}; use {kind.__name__}")
    return value


def one_of(value: object, kinds: tuple[type, ...], what: str) -> Any:
    """The value, an object of one of some classes. Raises `DtypeError` for an object of another class."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise DtypeError(f"{what} is of type {type(value).__name__}; use {names}")
    return value


def items(values: Any, what: str, use: str) -> list[Any]:
    """The items of an iterable object other than a text or bytes. Raises `DtypeError` for another object."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise DtypeError(f"{what} is of type {type(values).__name__}; use {use}")
    return list(values)


def mapping(value: Any, what: str) -> Mapping[Any, Any]:
    """A mapping. Raises `DtypeError` for another object."""
    if not isinstance(value, Mapping):
        raise DtypeError(f"{what} is of type {type(value).__name__}; use a mapping")
    return value


def octets(value: object, what: str, use: str = "bytes") -> bytes:
    """A copy of the bytes of an object of type `bytes`, `bytearray` or `memoryview`; not for secrets.

    Raises `DtypeError` for another object, and for a `memoryview` that is released.
    """
    if not isinstance(value, bytes | bytearray | memoryview):
        raise DtypeError(f"{what} is of type {type(value).__name__}; use {use}")
    try:
        return bytes(value)
    except ValueError:
        raise DtypeError(f"{what} is a released memoryview; use {use}") from None


def received(value: object, kind: type[T], what: str) -> T | bytes:
    """An object of a class, or the bytes of one. Raises `DtypeError` for another object."""
    return value if isinstance(value, kind) else octets(value, what, f"{kind.__name__} or bytes")


def require_size(data: bytes, most: int, what: str) -> None:
    """Raises `WireError` for more than `most` bytes, before they are read."""
    if len(data) > most:
        raise WireError(f"{what} has {len(data)} bytes; use at most {most}")


def whole(value: Any, what: str) -> int:
    """An integer of any integer type. Raises `DtypeError` for another object."""
    try:
        return operator.index(value)
    except TypeError:
        raise DtypeError(f"{what} is of type {type(value).__name__}; use an integer") from None


def integer(value: Any, what: str, least: int, greatest: int) -> int:
    """An integer within bounds, of any integer type. Raises `ParameterError` for another value."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError(f"{what} is {value!r}; use {least} to {greatest}") from None
    if not least <= number <= greatest:
        raise ParameterError(f"{what} is {number}; use {least} to {greatest}")
    return number


def optional(value: Any, what: str, least: int, greatest: int) -> int | None:
    """As `integer`, or `None`."""
    return None if value is None else integer(value, what, least, greatest)


def limit(value: Any, what: str) -> int | None:
    """A limit: an integer of 1 or more, or `None` for no limit. Raises `ParameterError` for another value."""
    return optional(value, what, 1, 1 << 62)


def require_memory(needed: int, what: str, most: int | None, name: str, remedy: str) -> None:
    """Raises `MemoryLimitError` for a need above a limit, which its caller calls `name`."""
    if most is not None and needed > most:
        raise MemoryLimitError(
            f"{what} takes {needed} bytes, the limit is {name}={most}; use {remedy}, or raise the limit"
        )


def real(value: Any, what: str) -> float:
    """A real number. Raises `ParameterError` for an object that is not a number, a text included."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{what} is {value!r}; use a real number") from None
