"""The part of a quantised network that both parties know: shapes, scales, steps, forms; no weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ciphermill._inference.forms import Form, Problem
from ciphermill._inference.layers import Shape, Step, apply, walk
from ciphermill._inference.numbers import EXACT_BITS, Floats, Integers, Quantiser, reals
from ciphermill.errors import ParameterError

#: The function from scores to probabilities; a support vector machine has none.
Link = Literal["softmax", "logistic", "none"]
LINKS: tuple[Link, ...] = ("softmax", "logistic", "none")

#: The most characters of a label.
MAX_LABEL = 1024

#: The most samples of one message.
MAX_SAMPLES = 1024


@dataclass(frozen=True, eq=False)
class Stage:
    """A linear layer over integers, after the steps and the quantiser that the client applies before it."""

    steps: tuple[Step, ...]
    quantiser: Quantiser
    form: Form
    #: Whether outputs are vectors, as those of a dense layer, or images (M, H', W').
    dense: bool
    #: The real number that an output of 1 stands for.
    scale: float

    @property
    def problem(self) -> Problem:
        """The layer without its weights."""
        return self.form.problem

    @property
    def output_shape(self) -> Shape:
        """The shape of an output."""
        output = self.problem.geometry.output
        return output[:1] if self.dense else output

    def quantise(self, values: Floats, scale: float) -> tuple[Integers, int]:
        """The integers of shape (k, C, H, W) for k samples, and how many of them were clipped."""
        values, scale = apply(self.steps, values, scale)
        inputs, clipped = self.quantiser(values * scale)
        return inputs.reshape(len(inputs), *self.problem.geometry.image), clipped


def check_exact(problem: Problem) -> None:
    """An error unless all sums of a layer are exact in binary64."""
    terms = problem.geometry.terms + problem.entries
    bits = problem.weight_bits + problem.activation_bits - 2 + math.ceil(math.log2(terms))
    if bits >= EXACT_BITS:
        raise ParameterError(
            f"sums of {terms} products of {problem.weight_bits}-bit weights and {problem.activation_bits}-bit activations may "
            f"have {bits} bits; use at most {EXACT_BITS - 1}"
        )


@dataclass(frozen=True, eq=False)
class Network:
    """A classifier as its client knows it."""

    input_shape: Shape
    stages: tuple[Stage, ...]
    #: The steps after the last linear layer.
    steps: tuple[Step, ...]
    classes: npt.NDArray[Any]
    link: Link

    def __post_init__(self) -> None:
        """Raises `ParameterError` if the shapes do not fit one another."""
        shape = self.input_shape
        for stage in self.stages:
            shape = walk(stage.steps, shape)
            image = stage.problem.geometry.image
            if shape != (image[:1] if stage.dense else image) or (stage.dense and image[1:] != (1, 1)):
                raise ParameterError(f"a linear layer has inputs of shape {shape}; use its image {image}")
            shape = stage.output_shape
        shape = walk(self.steps, shape)
        scores = 1 if len(self.classes) == 2 and self.link != "softmax" else len(self.classes)
        if shape != (scores,) or len(self.classes) < 2 or (self.link == "logistic" and scores != 1):
            raise ParameterError(
                f"the network has outputs of shape {shape} for {len(self.classes)} classes; use one output for two classes, or "
                f"one for each class"
            )

    def scores(self, outputs: Integers) -> Floats:
        """The scores of the outputs of the last linear layer, of shape (k, outputs)."""
        values, scale = apply(self.steps, outputs.astype(np.float64), self.stages[-1].scale)
        return values * scale


def batches(X: npt.ArrayLike, shape: Shape, what: str) -> list[Floats]:
    """Samples of shape (k, *shape), or flattened to (k, n), in batches of the size of a message.

    Raises `ParameterError` for another shape, for none, for NaN and infinity, `DtypeError` unless elements are real numbers.
    """
    array = reals(X, what)
    flat = (math.prod(shape),)
    if array.ndim == 0 or array.shape[1:] not in (shape, flat):
        uses = " or ".join(f"({', '.join(['k', *map(str, axes)])})" for axes in dict.fromkeys([shape, flat]))
        remedy = "; a single sample x is x[np.newaxis]" if array.shape in (shape, flat) else ""
        raise ParameterError(f"{what} has the shape {array.shape}; use {uses}{remedy}")
    if len(array) == 0:
        raise ParameterError(f"{what} has no samples; use 1 or more")
    samples = array.reshape(-1, *shape)
    return [samples[start : start + MAX_SAMPLES] for start in range(0, len(samples), MAX_SAMPLES)]


def labels(classes: npt.ArrayLike) -> npt.NDArray[Any]:
    """The classes as an array that a client spec can hold.

    Raises `ParameterError` unless they are distinct and all integers, all Booleans, all strings or all finite numbers.
    """
    # An array of strings takes the longest label's room for each of them, so lengths are checked first.
    given = classes.flat if isinstance(classes, np.ndarray) else classes
    longest = (
        max((len(label) for label in given if isinstance(label, str)), default=0) if isinstance(given, Iterable) else 0
    )
    if longest > MAX_LABEL:
        raise ParameterError(f"a class has {longest} characters; use at most {MAX_LABEL}")
    try:
        array = np.asarray(classes)
    except ValueError as error:
        raise ParameterError(f"classes are not an array: {error}; use one axis of labels") from error
    if array.dtype == object and all(isinstance(label, str) for label in array.flat):
        array = array.astype(str)
    if array.dtype.kind == "f":
        array = reals(array, "classes")
    if array.dtype.kind not in "biufU" or array.ndim != 1:
        raise ParameterError(
            f"classes of type {array.dtype} and shape {array.shape}; use one axis of integers, Booleans, strings or numbers"
        )
    if len(set(array.tolist())) != len(array):
        raise ParameterError("two classes are equal; use distinct classes")
    return array
