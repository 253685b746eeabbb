"""The definition of the integer network: 64-bit integers in NumPy, without ciphertexts.

Every private run gives the same integers at every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ciphermill._inference.layers import Geometry
from ciphermill._inference.network import Network
from ciphermill._inference.numbers import Floats, Integers
from ciphermill._inference.result import LayerIntegers, Result


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """The weights of a linear layer."""

    #: Shape (M, C, h, w).
    kernels: Integers
    #: The weights of the constant inputs, of shape (M, entries).
    bias: Integers


def convolve(geometry: Geometry, kernels: Integers, images: Integers) -> Integers:
    """The convolution of images (k, C, H, W) with kernels (M, C, h, w), of shape (k, M, H', W')."""
    rows = geometry.windows(images).transpose(0, 2, 3, 1, 4, 5).reshape(-1, geometry.terms)
    count, height, width = geometry.output
    sums: Integers = rows @ kernels.reshape(count, -1).T
    return sums.reshape(-1, height, width, count).transpose(0, 3, 1, 2)


def run(network: Network, weights: Sequence[IntegerWeights], samples: Floats) -> Result:
    """The integers and the scores of samples of shape (k, *input_shape)."""
    values, scale = samples, 1.0
    layers, clipped = [], []
    for stage, layer in zip(network.stages, weights, strict=True):
        inputs, outside = stage.quantise(values, scale)
        sums = convolve(stage.problem.geometry, layer.kernels, inputs)
        bias = stage.problem.constant * layer.bias.sum(axis=1)
        outputs = (sums + bias[:, np.newaxis, np.newaxis]).reshape(-1, *stage.output_shape)
        layers.append(LayerIntegers(inputs, outputs))
        clipped.append(outside)
        values, scale = outputs.astype(np.float64), stage.scale
    return Result(network, tuple(layers), tuple(clipped))
