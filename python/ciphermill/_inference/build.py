"""From layers of real numbers and calibration data to an integer network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ciphermill._checks import integer, items
from ciphermill._inference.choice import Candidate, choose
from ciphermill._inference.forms import Problem
from ciphermill._inference.layers import Dense, Geometry, Layer, Linear, Shape, Step, apply, as_shape
from ciphermill._inference.network import MAX_SAMPLES, Link, Network, Stage, check_exact
from ciphermill._inference.numbers import MAX_BITS, MIN_BITS, Floats, Quantiser, limit, scale_for
from ciphermill._inference.plain import IntegerWeights
from ciphermill._inference.spec import MAX_BIAS_ENTRIES, MAX_LAYERS, MAX_STEPS
from ciphermill.errors import ParameterError, RangeError

#: "feature": the first layer has a scale and an offset for each input. "layer": one scale, as all other layers have.
InputRange = Literal["feature", "layer"]

#: Samples of the calibration that are computed at once.
CHUNK = 256


@dataclass(frozen=True)
class Options:
    """The choices of a quantised network. Raises `ParameterError` if one is not supported."""

    weight_bits: int
    activation_bits: int
    #: Samples for which the forms of the layers are chosen.
    batch: int
    input_range: InputRange

    def __post_init__(self) -> None:
        bounds = {
            "weight_bits": (MIN_BITS, MAX_BITS),
            "activation_bits": (MIN_BITS, MAX_BITS),
            "batch": (1, MAX_SAMPLES),
        }
        for name, (least, greatest) in bounds.items():
            object.__setattr__(self, name, integer(getattr(self, name), name, least, greatest))
        if self.input_range not in get_args(InputRange):
            raise ParameterError(f'input_range={self.input_range!r} is not supported; use "feature" or "layer"')


@dataclass(frozen=True, eq=False)
class Block:
    """A linear layer with the steps before it and its sizes."""

    steps: tuple[Step, ...]
    layer: Linear
    geometry: Geometry

    def sums(self, inputs: Floats) -> Floats:
        """The outputs for inputs of shape (k, C, H, W), as real numbers."""
        sums = np.tensordot(self.geometry.windows(inputs), self.layer.kernels, axes=((1, 4, 5), (1, 2, 3)))
        outputs: Floats = np.moveaxis(sums + self.layer.bias, 3, 1)
        return outputs[:, :, 0, 0] if isinstance(self.layer, Dense) else outputs


@dataclass(frozen=True, eq=False)
class Blocks:
    """The layers of a network by linear layers. Raises `ParameterError` if their shapes do not fit one another."""

    input_shape: Shape
    linear: tuple[Block, ...]
    #: The steps after the last linear layer.
    last: tuple[Step, ...]
    output_shape: Shape

    @staticmethod
    def of(layers: Sequence[Layer], input_shape: Sequence[int]) -> Blocks:
        """The blocks of the layers for samples of a shape of 1 to 3 axes."""
        given = shape = as_shape(input_shape)
        found: list[Block] = []
        steps: list[Step] = []
        for index, layer in enumerate(items(layers, "the list of layers", "a list of layers of ciphermill.inference")):
            if not isinstance(layer, Linear | Step):
                raise ParameterError(f"layer {index} is {layer!r}; use layers of ciphermill.inference")
            try:
                if isinstance(layer, Linear):
                    found.append(Block(tuple(steps), layer, layer.geometry(shape)))
                    steps = []
                else:
                    steps.append(layer)
                shape = layer.output_shape(shape)
            except ParameterError as error:
                raise ParameterError(f"layer {index}: {error}") from error
            if len(steps) > MAX_STEPS:
                raise ParameterError(
                    f"layer {index} is step {len(steps)} after a linear layer; use at most {MAX_STEPS}"
                )
        if not 1 <= len(found) <= MAX_LAYERS:
            raise ParameterError(f"the network has {len(found)} linear layers; use 1 to {MAX_LAYERS}")
        return Blocks(given, tuple(found), tuple(steps), shape)


@dataclass
class _Range:
    """The least and the greatest value of each input of a layer."""

    least: Floats
    greatest: Floats

    def include(self, inputs: Floats) -> None:
        np.minimum(self.least, inputs.min(axis=0), out=self.least)
        np.maximum(self.greatest, inputs.max(axis=0), out=self.greatest)

    @property
    def magnitude(self) -> float:
        return float(max(np.abs(self.least).max(), np.abs(self.greatest).max()))


def ranges(found: Sequence[Block], samples: Floats) -> list[_Range]:
    """By layer: the range of its inputs over the samples, computed in real numbers."""
    result = [_Range(np.full(b.geometry.image, np.inf), np.full(b.geometry.image, -np.inf)) for b in found]
    for start in range(0, len(samples), CHUNK):
        values = samples[start : start + CHUNK]
        for block, limits in zip(found, result, strict=True):
            inputs, scale = apply(block.steps, values, 1.0)
            inputs = (inputs * scale).reshape(-1, *block.geometry.image)
            limits.include(inputs)
            # The scale of an infinite range is refused.
            with np.errstate(over="ignore", invalid="ignore"):
                values = block.sums(inputs)
    return result


def _bias_inputs(greatest: float, weight_bits: int, activation_bits: int, what: str) -> tuple[int, int]:
    """The number and the value of the constant inputs that stand for biases up to `greatest` output units.

    The least value that suffices: a bias is rounded to a multiple of it.
    """
    if greatest < 0.5:
        return 0, 1
    constant = min(limit(activation_bits), math.ceil(greatest / limit(weight_bits)))
    entries = math.ceil(greatest / (constant * limit(weight_bits)))
    if entries > MAX_BIAS_ENTRIES:
        raise RangeError(
            f"the bias of {what} is {greatest / (limit(weight_bits) * limit(activation_bits)):.3g} times the greatest product of "
            f"its weights and inputs; use at most {MAX_BIAS_ENTRIES} times, or more bits"
        )
    return entries, constant


def _quantised(
    block: Block, quantiser: Quantiser, options: Options, what: str
) -> tuple[Problem, IntegerWeights, float]:
    """The integer layer: its sizes, its weights, and the real number that an output of 1 stands for."""
    kernels, bias = block.layer.kernels, block.layer.bias
    # The offsets and scales of inputs become part of the weights and the bias.
    shape = (1, -1, 1, 1)
    bias = bias + (kernels * quantiser.offset.reshape(shape)).sum(axis=(1, 2, 3))
    kernels = kernels * quantiser.scale.reshape(shape)
    scale = scale_for(
        float(np.abs(kernels).max()), options.weight_bits, f"the products of weights and inputs of {what}"
    )
    units = bias / scale
    entries, constant = _bias_inputs(float(np.abs(units).max()), options.weight_bits, options.activation_bits, what)
    problem = Problem(block.geometry, options.weight_bits, options.activation_bits, entries, constant)
    check_exact(problem)
    shares = np.rint(units / constant).astype(np.int64)
    # Nearly equal parts, none of which exceeds the greatest weight.
    places = np.arange(entries)
    split = np.sign(shares)[:, np.newaxis] * ((np.abs(shares)[:, np.newaxis] + places) // max(entries, 1))
    return problem, IntegerWeights(np.rint(kernels / scale).astype(np.int64), split), scale


def build(
    blocks: Blocks, calibration: Floats, options: Options, classes: npt.NDArray[Any], link: Link
) -> tuple[Network, list[IntegerWeights], list[list[Candidate]]]:
    """The integer network, its weights, and the candidates for the form of each layer."""
    stages, weights, alternatives = [], [], []
    for index, (block, limits) in enumerate(zip(blocks.linear, ranges(blocks.linear, calibration), strict=True)):
        what, dense = f"linear layer {index}", isinstance(block.layer, Dense)
        inputs = f"the inputs of {what}"
        if index == 0 and dense and options.input_range == "feature":
            least, greatest = limits.least.reshape(-1), limits.greatest.reshape(-1)
            quantiser = Quantiser.by_feature(least, greatest, options.activation_bits, inputs)
        else:
            quantiser = Quantiser.over(limits.magnitude, options.activation_bits, inputs)
        problem, integers, scale = _quantised(block, quantiser, options, what)
        form, candidates = choose(problem, options.batch)
        stages.append(Stage(block.steps, quantiser, form, dense, scale))
        weights.append(integers)
        alternatives.append(candidates)
    return Network(blocks.input_shape, tuple(stages), blocks.last, classes, link), weights, alternatives
