"""The layers of a network: linear layers, which the server computes, and steps, which the client computes in clear."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ciphermill._checks import integer
from ciphermill._inference.numbers import Floats, reals
from ciphermill.errors import ParameterError

Shape = tuple[int, ...]

S = TypeVar("S", np.int64, np.float64)

#: The greatest size of a window, stride, padding or axis.
MAX_SIZE = 16384

#: The most entries of all windows of a pooling step, for a sample.
MAX_WINDOW_ENTRIES = 1 << 24


def as_shape(sizes: Sequence[int]) -> Shape:
    """The shape of one sample. Raises `ParameterError` unless it has 1 to 3 axes of 1 to 16384."""
    try:
        axes = list(sizes)
    except TypeError:
        axes = []
    if not 1 <= len(axes) <= 3:
        raise ParameterError(f"input_shape is {sizes!r}; use 1 to 3 sizes, as in (1, 8, 8)")
    return tuple(integer(size, "a size of input_shape", 1, MAX_SIZE) for size in axes)


def _weights(values: npt.ArrayLike, axes: str, name: str) -> Floats:
    array = reals(values, f"the weights of {name}")
    count = axes.count(",") + 1
    if array.ndim != count or array.size == 0:
        raise ParameterError(f"the weights of {name} have the shape {array.shape}; use {axes}, all of them 1 or more")
    array.setflags(write=False)
    return array


def _bias(values: npt.ArrayLike | None, outputs: int, name: str) -> Floats:
    array = np.zeros(outputs) if values is None else reals(values, f"the bias of {name}")
    if array.shape != (outputs,):
        raise ParameterError(f"the bias of {name} has the shape {array.shape}; use {(outputs,)}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Geometry:
    """The sizes of a linear layer as a convolution. A dense layer is a 1×1 convolution of an image of one pixel."""

    #: The image (C, H, W), without padding.
    image: tuple[int, int, int]
    #: The kernels (M, h, w).
    kernels: tuple[int, int, int]
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        _fits(self.padded, self.kernels[1:], "the kernel of Conv2d")

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns of the padded image."""
        return self.image[1] + 2 * self.padding, self.image[2] + 2 * self.padding

    @property
    def output(self) -> tuple[int, int, int]:
        """The output (M, H', W')."""
        (height, width), (count, *window) = self.padded, self.kernels
        return count, (height - window[0]) // self.stride + 1, (width - window[1]) // self.stride + 1

    @property
    def terms(self) -> int:
        """The products in the sum of one output."""
        return self.image[0] * self.kernels[1] * self.kernels[2]

    def windows(self, images: npt.NDArray[S]) -> npt.NDArray[S]:
        """The window of each output, of shape (k, C, H', W', h, w), for images (k, C, H, W)."""
        padding = (self.padding, self.padding)
        padded = np.pad(images, ((0, 0), (0, 0), padding, padding))
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.kernels[1:], axis=(2, 3))
        return windows[:, :, :: self.stride, :: self.stride]


class Layer(ABC):
    """A layer of a network."""

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """The shape of an output for one sample of a shape. Raises `ParameterError` if the shape does not fit."""


class Linear(Layer):
    """A linear layer: the server owns its weights."""

    weights: Floats
    bias: Floats

    @abstractmethod
    def geometry(self, shape: Shape) -> Geometry:
        """The sizes for inputs of a shape. Raises `ParameterError` if the shape does not fit."""

    @property
    @abstractmethod
    def kernels(self) -> Floats:
        """The weights, of shape (M, C, h, w)."""

    def output_shape(self, shape: Shape) -> Shape:
        return self.geometry(shape).output


@dataclass(frozen=True, eq=False, init=False)
class Dense(Linear):
    """A fully connected layer: `weights @ x + bias`.

    `weights` have the shape (outputs, inputs), `bias` has the shape (outputs,) and is 0 by default.
    """

    weights: Floats
    bias: Floats

    def __init__(self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None) -> None:
        array = _weights(weights, "(outputs, inputs)", "Dense")
        object.__setattr__(self, "weights", array)
        object.__setattr__(self, "bias", _bias(bias, array.shape[0], "Dense"))

    def geometry(self, shape: Shape) -> Geometry:
        outputs, inputs = self.weights.shape
        if len(shape) != 1:
            raise ParameterError(f"Dense has inputs of shape {shape}; put Flatten() before it")
        if shape != (inputs,):
            raise ParameterError(
                f"Dense has weights for {inputs} inputs, and {shape[0]} inputs; use weights of shape "
                f"{(outputs, shape[0])}"
            )
        return Geometry((inputs, 1, 1), (outputs, 1, 1))

    def output_shape(self, shape: Shape) -> Shape:
        return self.geometry(shape).kernels[:1]

    @property
    def kernels(self) -> Floats:
        return self.weights[:, :, np.newaxis, np.newaxis]

    def __repr__(self) -> str:
        return f"Dense({self.weights.shape[1]} → {self.weights.shape[0]})"


@dataclass(frozen=True, eq=False, init=False)
class Conv2d(Linear):
    """A convolution as neural networks have it, of an image (C, H, W) with zeros around it.

    `weights` have the shape (M, C, h, w), `bias` has the shape (M,) and is 0 by default. The output has the shape (M, H', W')
    with H' = (H + 2·padding - h) // stride + 1.
    """

    weights: Floats
    bias: Floats
    stride: int
    padding: int

    def __init__(
        self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None, *, stride: int = 1, padding: int = 0
    ) -> None:
        array = _weights(weights, "(M, C, h, w)", "Conv2d")
        object.__setattr__(self, "weights", array)
        object.__setattr__(self, "bias", _bias(bias, array.shape[0], "Conv2d"))
        object.__setattr__(self, "stride", integer(stride, "the stride of Conv2d", 1, MAX_SIZE))
        object.__setattr__(self, "padding", integer(padding, "the padding of Conv2d", 0, MAX_SIZE))

    def geometry(self, shape: Shape) -> Geometry:
        kernels, channels, *window = self.weights.shape
        if len(shape) != 3 or shape[0] != channels:
            raise ParameterError(f"Conv2d has inputs of shape {shape}; use ({channels}, H, W)")
        return Geometry((shape[0], shape[1], shape[2]), (kernels, window[0], window[1]), self.stride, self.padding)

    @property
    def kernels(self) -> Floats:
        return self.weights

    def __repr__(self) -> str:
        return f"Conv2d({self.weights.shape}, stride={self.stride}, padding={self.padding})"


def _fits(image: tuple[int, int], window: tuple[int, int], what: str) -> None:
    if window[0] > image[0] or window[1] > image[1]:
        raise ParameterError(f"{what} has {window[0]} × {window[1]} entries; use at most {image[0]} × {image[1]}")


@dataclass(frozen=True)
class Step(Layer):
    """A layer without weights: the client computes it in clear.

    A step maps values of shape (k, …), of k samples, and their scale: the real numbers are `values * scale`. Steps that commute
    with a positive factor leave integers integers.
    """

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    @abstractmethod
    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        """The output and its scale."""

    def to_fields(self) -> dict[str, Any]:
        """The step, for a client spec."""
        return {"kind": type(self).__name__} | {field.name: getattr(self, field.name) for field in fields(self)}


class ReLU(Step):
    """max(v, 0)."""

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return np.maximum(values, 0.0), scale


class Tanh(Step):
    """The hyperbolic tangent."""

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return np.tanh(values * scale), 1.0


class Logistic(Step):
    """1/(1 + exp(-v))."""

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return logistic(values * scale), 1.0


def logistic(values: Floats) -> Floats:
    """1/(1 + exp(-v)), without overflow."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1.0, small) / (1.0 + small)


class Flatten(Step):
    """All values of a sample along one axis, the last index fastest."""

    def output_shape(self, shape: Shape) -> Shape:
        return (int(np.prod(shape)),)

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return values.reshape(len(values), -1), scale


@dataclass(frozen=True)
class _Pool(Step):
    size: int
    #: The step between windows; `size` by default.
    stride: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "size", integer(self.size, f"the size of {name}", 1, MAX_SIZE))
        stride = self.size if self.stride is None else self.stride
        object.__setattr__(self, "stride", integer(stride, f"the stride of {name}", 1, MAX_SIZE))

    @property
    def _step(self) -> int:
        return self.size if self.stride is None else self.stride

    def output_shape(self, shape: Shape) -> Shape:
        name = type(self).__name__
        if len(shape) != 3:
            raise ParameterError(f"{name} has inputs of shape {shape}; use (C, H, W)")
        _fits((shape[1], shape[2]), (self.size, self.size), f"the window of {name}")
        output = shape[0], *((axis - self.size) // self._step + 1 for axis in shape[1:])
        # A server may choose the steps of its clients, so their work has a bound.
        entries = math.prod(output) * self.size**2
        if entries > MAX_WINDOW_ENTRIES:
            raise ParameterError(
                f"the windows of {name} have {entries} entries for a sample; use at most {MAX_WINDOW_ENTRIES}, with a smaller "
                f"size or a greater stride"
            )
        return output

    def _windows(self, values: Floats) -> Floats:
        windows = np.lib.stride_tricks.sliding_window_view(values, (self.size, self.size), axis=(2, 3))
        return windows[:, :, :: self._step, :: self._step]


class MaxPool2d(_Pool):
    """The greatest value of each window of `size` × `size`. Rows and columns that fill no window are dropped."""

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return self._windows(values).max(axis=(4, 5)), scale


class AvgPool2d(_Pool):
    """The mean of each window of `size` × `size`. Rows and columns that fill no window are dropped."""

    def apply(self, values: Floats, scale: float) -> tuple[Floats, float]:
        return self._windows(values).sum(axis=(4, 5)), scale / self.size**2


def walk(steps: tuple[Step, ...], shape: Shape) -> Shape:
    """The shape after some steps."""
    for step in steps:
        shape = step.output_shape(shape)
    return shape


def apply(steps: tuple[Step, ...], values: Floats, scale: float) -> tuple[Floats, float]:
    """The values and their scale after some steps."""
    for step in steps:
        values, scale = step.apply(values, scale)
    return values, scale


#: Steps by their names in a client spec.
STEPS: dict[str, type[Step]] = {step.__name__: step for step in (ReLU, Tanh, Logistic, MaxPool2d, AvgPool2d, Flatten)}


def step_from(description: dict[str, Any]) -> Step:
    """The step of a description by `to_fields`. Raises `ParameterError` if there is none."""
    arguments = dict(description)
    try:
        return STEPS[arguments.pop("kind", "")](**arguments)
    except (KeyError, TypeError):
        raise ParameterError(f"{str(description)[:100]!r} is not a step; use {', '.join(STEPS)}") from None
