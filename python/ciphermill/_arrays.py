"""Arrays of encrypted elements: NumPy's shapes, indices and broadcasting over flat native vectors."""

from __future__ import annotations

import math
from types import EllipsisType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ciphermill._checks import instance, integer
from ciphermill.errors import DtypeError, ParameterError


class Flat(Protocol):
    """A flat vector that gathers its elements."""

    def __len__(self) -> int: ...
    def gather(self, places: npt.ArrayLike) -> Self: ...


F = TypeVar("F", bound=Flat)

#: The classes of NumPy's indices.
INDICES = (int, np.integer, np.bool_, slice, EllipsisType, list, range, np.ndarray, type(None))


def checked_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape for `size` elements. Raises `DtypeError` unless it is a tuple, `ParameterError` for another number of elements."""
    if math.prod(instance(shape, tuple, "the shape")) != size:
        raise ParameterError(f"the shape is {shape}; use a shape of {size} elements")
    return shape


def broadcast(flat: F, shape: tuple[int, ...], to: tuple[int, ...]) -> F:
    """The elements of an array of `shape`, repeated as NumPy does for the shape `to`."""
    if shape == to:
        return flat
    places = np.arange(len(flat)).reshape(shape)
    return flat.gather(np.broadcast_to(places, to).reshape(-1))


class EncryptedArray(Generic[F]):
    """An array of encrypted elements, of any shape. Elements are selected by NumPy's indices."""

    #: NumPy leaves operators to this class.
    __array_ufunc__ = None

    #: The class of the flat vector.
    _kind: ClassVar[type]

    def __init__(self, native: F, shape: tuple[int, ...]) -> None:
        self._native: F = instance(native, self._kind, "the flat vector")
        self._shape = checked_shape(shape, len(native))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self._native)

    @property
    def T(self) -> Self:
        """The transposed array."""
        return self._gather(self._places().T)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an encrypted scalar")
        return self._shape[0]

    def __getitem__(self, index: Any) -> Self:
        try:
            return self._gather(self._places()[index])
        except IndexError:
            for part in index if isinstance(index, tuple) else (index,):
                if not isinstance(part, INDICES):
                    raise DtypeError(
                        f"an index is of type {type(part).__name__}; use integers, slices or arrays"
                    ) from None
            # Python ends an iteration by the error for an integer beyond the array.
            raise

    def reshape(self, *shape: Any) -> Self:
        """The same elements in another shape, given as in `numpy.reshape`.

        Raises `ParameterError` for a shape of another number of elements.
        """
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        axes = [integer(size, "a size of the shape", -1, max(self.size, 1)) for size in sizes]
        try:
            return type(self)(self._native, self._places().reshape(axes).shape)
        except ValueError:
            raise ParameterError(f"the shape is {tuple(axes)}; use a shape of {self.size} elements") from None

    def ravel(self) -> Self:
        """The elements along one axis."""
        return self.reshape(-1)

    def _places(self) -> npt.NDArray[np.int64]:
        return np.arange(self.size).reshape(self._shape)

    def _gather(self, places: Any) -> Self:
        places = np.asarray(places)
        return type(self)(self._native.gather(places.reshape(-1)), places.shape)

    def _broadcast(self, shape: tuple[int, ...]) -> F:
        return broadcast(self._native, self._shape, shape)
