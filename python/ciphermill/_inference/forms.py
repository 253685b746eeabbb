"""Encrypted forms of a linear layer: products of ciphertexts with prepared weights.

Both forms compute the same integers. They differ in the ciphertexts, the time, and the keys that the server needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ciphermill import _native
from ciphermill._inference.layers import Geometry
from ciphermill._inference.numbers import Integers
from ciphermill._memory import WORD_BYTES, key_set_memory, vector_memory
from ciphermill._plans import Explanation
from ciphermill.errors import WireError

#: Bytes of the tag of a key set, and of the server's object that holds it, rounded up.
TAG_BYTES, TAG_MEMORY = 8, 128

#: Bytes of sealed evaluation keys beyond their memory at the server, at most.
SEAL_BYTES = 4096


@dataclass(frozen=True)
class Problem:
    """A linear layer over integers, without its weights.

    A bias is the product of weights with `entries` further inputs, all of which have the value `constant`.
    """

    geometry: Geometry
    weight_bits: int
    activation_bits: int
    entries: int
    constant: int


class Form(ABC):
    """One way to compute a layer on ciphertexts, with its parameters. Neither keys nor weights are part of it."""

    #: The name in a client spec.
    name: str
    #: Samples that share ciphertexts.
    lanes: int

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @property
    @abstractmethod
    def facts(self) -> Explanation:
        """The explanation of the plan."""

    @property
    @abstractmethod
    def client_key_bytes(self) -> int:
        """Bytes of memory of the keys at their client, at most, known before they are generated."""

    @property
    @abstractmethod
    def server_key_bytes(self) -> int:
        """Bytes of memory of a client's keys at the server, known before they are read."""

    @property
    @abstractmethod
    def sent_key_bytes(self) -> int:
        """Bytes of the keys for the server as sent, at most."""

    @abstractmethod
    def query_entries(self, samples: int) -> int:
        """The integers of a query for `samples` samples, with padding."""

    @abstractmethod
    def query_bytes(self, samples: int) -> int:
        """Bytes of the ciphertexts of a query for `samples` samples, as sent."""

    @abstractmethod
    def ciphertext_memory(self, samples: int) -> int:
        """Bytes of memory of the ciphertexts of a query for `samples` samples, at most."""

    def query_memory(self, samples: int) -> int:
        """Bytes of memory that a client needs for a query for `samples` samples, at most.

        Integers exist twice while they are encrypted, and sent bytes exist twice while the message is written.
        """
        integers = WORD_BYTES * self.query_entries(samples)
        return 2 * (integers + self.query_bytes(samples)) + self.ciphertext_memory(samples)

    @abstractmethod
    def keygen(self) -> Keys:
        """New keys of a client."""

    @abstractmethod
    def weights(self, kernels: Integers, bias: Integers) -> Weights:
        """The server's side: weights of shape (M, C, h, w), and those of the bias of shape (M, entries)."""

    @abstractmethod
    def read_query(self, parts: list[bytes], samples: int) -> Any:
        """The encrypted inputs of `samples` samples. Raises `WireError` if the parts are not such."""

    @abstractmethod
    def read_answer(self, parts: list[bytes], samples: int) -> Any:
        """The encrypted outputs of `samples` samples. Raises `WireError` if the parts are not such."""

    @staticmethod
    @abstractmethod
    def write(payload: Any) -> list[bytes]:
        """The parts of a query or an answer."""

    @abstractmethod
    def read_evaluation(self, data: bytes) -> Any:
        """The evaluation keys of a client. Raises `WireError` if the bytes are not such."""

    @staticmethod
    @abstractmethod
    def write_evaluation(evaluation: Any) -> bytes:
        """The bytes of evaluation keys."""


class Keys(ABC):
    """A client's secret key for one form."""

    #: The keys for the server, or the tag of the key set.
    evaluation: Any

    @abstractmethod
    def encrypt(self, inputs: Integers) -> Any:
        """Encrypt the inputs of k samples, of shape (k, C, H, W)."""

    @abstractmethod
    def decrypt(self, answer: Any, samples: int) -> Integers:
        """The outputs of k samples, of shape (k, M, H', W')."""


class Weights(ABC):
    """A server's prepared weights for one form."""

    @abstractmethod
    def register(self, evaluation: Any) -> Any:
        """The weights in the form in which they multiply ciphertexts of a client."""

    @staticmethod
    @abstractmethod
    def multiply(prepared: Any, query: Any) -> Any:
        """The encrypted outputs of encrypted inputs."""


def _require(parts: Sequence[bytes], count: int) -> None:
    if len(parts) != count:
        raise WireError(f"a message has {len(parts)} parts; use {count} for its layer and samples")


class ConvolutionForm(Form):
    """A `Conv2dPlan`. The images of `lanes` samples stand below one another. The server needs no keys, but the tag of the key
    set, so that it answers no query with another tag."""

    name = "convolution"

    def __init__(self, problem: Problem, lanes: int) -> None:
        super().__init__(problem)
        self.lanes = lanes
        geometry = problem.geometry
        height, self._width = geometry.padded
        # A whole number of strides, so that the windows of all samples are windows of the whole.
        self._pitch = -(-height // geometry.stride) * geometry.stride
        self._height = (lanes - 1) * self._pitch + height
        self._channels = geometry.image[0] + problem.entries
        self.plan = _native.Conv2dPlan(
            (self._channels, self._height, self._width),
            geometry.kernels,
            stride=geometry.stride,
            kernel_bits=problem.weight_bits,
            image_bits=problem.activation_bits,
        )

    @property
    def coefficients(self) -> int:
        """Coefficients of the kernels' plaintexts: a measure of the work, known before any of it."""
        return int(np.prod(self.plan.image_shape)) * self.problem.geometry.kernels[0]

    @cached_property
    def facts(self) -> Explanation:
        return self.plan.explain()

    @property
    def client_key_bytes(self) -> int:
        return int(self.facts["key_bytes"])

    @property
    def server_key_bytes(self) -> int:
        return TAG_MEMORY

    @property
    def sent_key_bytes(self) -> int:
        return TAG_BYTES

    def _groups(self, samples: int) -> int:
        """The number of groups of samples that share ciphertexts."""
        return -(-samples // self.lanes)

    def query_entries(self, samples: int) -> int:
        return self._groups(samples) * int(np.prod(self.plan.image_shape))

    def query_bytes(self, samples: int) -> int:
        return self._groups(samples) * int(self.facts["image_bytes"])

    def ciphertext_memory(self, samples: int) -> int:
        return self._groups(samples) * int(self.facts["image_memory"])

    def stack(self, inputs: Integers) -> Integers:
        """Images of k samples as images of their groups, with the constants of the bias as further channels."""
        channels, height, width = self.problem.geometry.image
        padding, groups = self.problem.geometry.padding, self._groups(len(inputs))
        stacked = np.zeros((groups, self._channels, self.lanes, self._pitch, self._width), np.int64)
        lanes = np.zeros((groups * self.lanes, channels, height, width), np.int64)
        lanes[: len(inputs)] = inputs
        images = lanes.reshape(groups, self.lanes, channels, height, width).swapaxes(1, 2)
        stacked[:, :channels, :, padding : padding + height, padding : padding + width] = images
        stacked[:, channels:] = self.problem.constant
        rows = stacked.reshape(groups, self._channels, self.lanes * self._pitch, self._width)
        return rows[:, :, : self._height]

    def unstack(self, outputs: Integers, samples: int) -> Integers:
        """Outputs of groups, of shape (groups, M, rows, W'), as those of samples."""
        kernels, height, width = self.problem.geometry.output
        first = np.arange(self.lanes) * (self._pitch // self.problem.geometry.stride)
        # Windows over two samples are left out.
        rows = outputs[:, :, first[:, np.newaxis] + np.arange(height)]
        return rows.swapaxes(1, 2).reshape(-1, kernels, height, width)[:samples]

    def keygen(self) -> ConvolutionKeys:
        return ConvolutionKeys(self)

    def weights(self, kernels: Integers, bias: Integers) -> ConvolutionWeights:
        return ConvolutionWeights(self, kernels, bias)

    def read_query(self, parts: list[bytes], samples: int) -> list[_native.EncryptedImage]:
        read, each = _native.EncryptedImage.from_bytes, int(self.facts["image_ciphertexts"])
        return [read(self.plan, group) for group in self._split(parts, samples, each)]

    def read_answer(self, parts: list[bytes], samples: int) -> list[_native.EncryptedConvolution]:
        read, each = _native.EncryptedConvolution.from_bytes, int(self.facts["output_ciphertexts"])
        return [read(self.plan, group) for group in self._split(parts, samples, each)]

    def _split(self, parts: list[bytes], samples: int, each: int) -> list[list[bytes]]:
        """The parts by group, `each` for one group."""
        groups = self._groups(samples)
        _require(parts, each * groups)
        return [parts[g * each : (g + 1) * each] for g in range(groups)]

    @staticmethod
    def write(payload: Any) -> list[bytes]:
        return [part for group in payload for part in group.to_bytes()]

    def read_evaluation(self, data: bytes) -> str:
        if len(data) != TAG_BYTES:
            raise WireError(f"a key set of {len(data)} bytes for a convolution; use {TAG_BYTES} bytes")
        return data.hex()

    @staticmethod
    def write_evaluation(evaluation: str) -> bytes:
        return bytes.fromhex(evaluation)


class ConvolutionKeys(Keys):
    """A secret key for convolutions."""

    def __init__(self, form: ConvolutionForm) -> None:
        self._form = form
        self._client = form.plan.keygen()
        self.evaluation = self._client.tag

    def encrypt(self, inputs: Integers) -> list[_native.EncryptedImage]:
        return [self._client.encrypt(image) for image in self._form.stack(inputs)]

    def decrypt(self, answer: list[_native.EncryptedConvolution], samples: int) -> Integers:
        outputs = np.stack([self._client.decrypt(group) for group in answer])
        return self._form.unstack(outputs, samples)


class ConvolutionWeights(Weights):
    """Prepared kernels. All clients share their memory."""

    def __init__(self, form: ConvolutionForm, kernels: Integers, bias: Integers) -> None:
        channels = kernels.shape[1]
        extended = np.zeros(form.plan.kernels_shape, np.int64)
        extended[:, :channels] = kernels
        # One entry of each further channel, which is constant, meets every output once.
        extended[:, channels:, 0, 0] = bias
        self._kernels = form.plan.prepare(extended)

    def register(self, evaluation: str) -> _native.PreparedKernels:
        return self._kernels.for_key_set(evaluation)

    @staticmethod
    def multiply(
        prepared: _native.PreparedKernels, query: list[_native.EncryptedImage]
    ) -> list[_native.EncryptedConvolution]:
        return [prepared.convolve(image) for image in query]


class MatrixForm(Form):
    """A `MatVecPlan`. Each sample has its ciphertexts, and the server needs the evaluation keys of each client."""

    name = "matrix"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.lanes = 1
        rows = int(np.prod(problem.geometry.output))
        self._inputs = int(np.prod(problem.geometry.image))
        self.plan = _native.MatVecPlan(
            rows,
            self._inputs + problem.entries,
            matrix_bits=problem.weight_bits,
            vector_bits=problem.activation_bits,
        )

    @cached_property
    def facts(self) -> Explanation:
        return self.plan.explain()

    @property
    def client_key_bytes(self) -> int:
        return key_set_memory(self.facts)

    @property
    def server_key_bytes(self) -> int:
        return int(self.facts["key_bytes"])

    @property
    def sent_key_bytes(self) -> int:
        return self.server_key_bytes + SEAL_BYTES

    def query_entries(self, samples: int) -> int:
        return samples * (self._inputs + self.problem.entries)

    def query_bytes(self, samples: int) -> int:
        return samples * int(self.facts["vector_bytes"])

    def ciphertext_memory(self, samples: int) -> int:
        return samples * vector_memory(self.facts)

    def vectors(self, inputs: Integers) -> Integers:
        """The inputs of k samples as columns, with the constants of the bias below."""
        constants = np.full((self.problem.entries, len(inputs)), self.problem.constant, np.int64)
        return np.concatenate([inputs.reshape(len(inputs), -1).T, constants])

    def matrix(self, kernels: Integers, bias: Integers) -> Integers:
        """The layer as a matrix of shape (outputs, inputs + entries)."""
        geometry = self.problem.geometry
        channels, height, width = geometry.image
        count, rows, cols = geometry.output
        matrix = np.zeros((count, rows, cols, channels, height, width), np.int64)
        y, x = np.indices((rows, cols))
        for i, j in np.ndindex(geometry.kernels[1:]):
            at_y, at_x = y * geometry.stride + i - geometry.padding, x * geometry.stride + j - geometry.padding
            inside = (0 <= at_y) & (at_y < height) & (0 <= at_x) & (at_x < width)
            # The axes of the pairs of places come first.
            matrix[:, y[inside], x[inside], :, at_y[inside], at_x[inside]] = kernels[:, :, i, j]
        # Each output of a kernel has its bias.
        biases = np.repeat(bias, rows * cols, axis=0)
        return np.concatenate([matrix.reshape(count * rows * cols, -1), biases], axis=1)

    def keygen(self) -> MatrixKeys:
        return MatrixKeys(self)

    def weights(self, kernels: Integers, bias: Integers) -> MatrixWeights:
        return MatrixWeights(self, kernels, bias)

    def read_query(self, parts: list[bytes], samples: int) -> _native.EncryptedVector:
        _require(parts, samples)
        return _native.EncryptedVector.stack([_native.EncryptedVector.from_bytes(self.plan, part) for part in parts])

    def read_answer(self, parts: list[bytes], samples: int) -> _native.EncryptedProduct:
        _require(parts, samples)
        return _native.EncryptedProduct.stack([_native.EncryptedProduct.from_bytes(self.plan, part) for part in parts])

    @staticmethod
    def write(payload: Any) -> list[bytes]:
        return [column.to_bytes() for column in payload.columns()]

    def read_evaluation(self, data: bytes) -> _native.EvaluationKeys:
        return _native.EvaluationKeys.from_bytes(self.plan, data)

    @staticmethod
    def write_evaluation(evaluation: _native.EvaluationKeys) -> bytes:
        return evaluation.to_bytes()


class MatrixKeys(Keys):
    """A key set for matrix-vector products."""

    def __init__(self, form: MatrixForm) -> None:
        self._form = form
        self._client = form.plan.keygen()
        self.evaluation = self._client.evaluation

    def encrypt(self, inputs: Integers) -> _native.EncryptedVector:
        return self._client.encrypt(self._form.vectors(inputs))

    def decrypt(self, answer: _native.EncryptedProduct, samples: int) -> Integers:
        return self._client.decrypt(answer).T.reshape(samples, *self._form.problem.geometry.output)


class MatrixWeights(Weights):
    """The prepared matrix of a layer. All clients share its memory."""

    def __init__(self, form: MatrixForm, kernels: Integers, bias: Integers) -> None:
        self._plan = form.plan
        self._matrix = form.plan.prepare(form.matrix(kernels, bias))

    def register(self, evaluation: _native.EvaluationKeys) -> _native.PreparedMatrix:
        return self._matrix.for_server(self._plan.server(evaluation))

    @staticmethod
    def multiply(prepared: _native.PreparedMatrix, query: _native.EncryptedVector) -> _native.EncryptedProduct:
        return prepared @ query
