"""The result of a network for some samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ciphermill._checks import instance, items
from ciphermill._inference.layers import logistic
from ciphermill._inference.network import Network
from ciphermill._inference.numbers import Floats, Integers
from ciphermill.errors import ParameterError


@dataclass(frozen=True, eq=False)
class LayerIntegers:
    """The integers of a linear layer: inputs of shape (k, C, H, W), outputs of shape (k, M) or (k, M, H', W')."""

    inputs: Integers
    outputs: Integers


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The integers of all linear layers for k samples, and the predictions."""

    network: Network
    layers: tuple[LayerIntegers, ...]
    #: By layer: the number of inputs that were outside of the range of the calibration and were clipped.
    clipped: tuple[int, ...]

    @cached_property
    def scores(self) -> Floats:
        """The outputs of the network, of shape (k, outputs)."""
        return self.network.scores(self.layers[-1].outputs)

    def decision_function(self) -> Floats:
        """The scores, of shape (k, classes), or (k,) for two classes with one output."""
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    def predict(self) -> npt.NDArray[Any]:
        """The likeliest class of each sample."""
        scores = self.scores
        places = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.network.classes[places])

    def predict_proba(self) -> Floats:
        """The probability of each class, of shape (k, classes). Raises `ParameterError` if the model has none."""
        if self.network.link == "none":
            raise ParameterError("the model has no probabilities; use decision_function")
        scores = self.scores
        if self.network.link == "logistic":
            return np.column_stack([logistic(-scores), logistic(scores)])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def __len__(self) -> int:
        return len(self.layers[0].inputs)

    def __repr__(self) -> str:
        return f"<Result of {len(self)} samples>"

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The results of several batches as one. Raises `ParameterError` for no results."""
        parts = [instance(part, cls, "a result") for part in items(parts, "the list of results", "a list of results")]
        if not parts:
            raise ParameterError("the list of results is empty; use 1 or more")
        layers = zip(*(part.layers for part in parts), strict=True)
        return cls(
            parts[0].network,
            tuple(
                LayerIntegers(np.concatenate([p.inputs for p in layer]), np.concatenate([p.outputs for p in layer]))
                for layer in layers
            ),
            tuple(sum(counts) for counts in zip(*(part.clipped for part in parts), strict=True)),
        )
