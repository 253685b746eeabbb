"""Arrays of encrypted elements: NumPy's shapes, indices and broadcasting over flat native vectors."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt


class Flat(Protocol):
    """A flat vector that gathers its elements."""

    def __len__(self) -> int: ...
    def gather(self, places: npt.ArrayLike) -> Self: ...


F = TypeVar("F", bound=Flat)


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

    def __init__(self, native: F, shape: tuple[int, ...]) -> None:
        self._native = native
        self._shape = shape

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
        return self._gather(self._places()[index])

    def reshape(self, *shape: Any) -> Self:
        """The same elements in another shape."""
        return type(self)(self._native, self._places().reshape(*shape).shape)

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
