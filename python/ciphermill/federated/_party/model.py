"""A party's part of the model, as the file model.json. It holds no key; its weights depend on the labels, so it has mode 0600."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ciphermill._hetero.numbers import Floats
from ciphermill.errors import ParameterError, StateError
from ciphermill.federated._party.data import Label, Scaling
from ciphermill.federated._session import GUEST, of_type
from ciphermill.federated._state import write_private
from ciphermill.federated._training import own_scores

#: The version of the file.
FORMAT = "ciphermill party model 1"

#: The name of the file in the directory `output`, and its most bytes.
FILE, MAX_FILE = "model.json", 1 << 28


@dataclass(frozen=True)
class Model:
    """The weights of one party, with the facts that a prediction needs."""

    party: str
    role: str
    #: The training, as the guest has named it. All parties have the same.
    training: str
    features: tuple[str, ...]
    #: Of the standardised columns if there is a scaling.
    weights: Floats
    #: 0 at a host.
    intercept: float
    scaling: Scaling | None
    #: At the guest: the labels of the other class and of the predicted one.
    classes: tuple[Label, Label] | None
    #: At the guest: a and b of the probability σ(az + b) of the score z.
    calibration: tuple[float, float]
    configuration: dict[str, Any]

    def part(self, values: Floats) -> Floats:
        """This party's part of the scores of rows."""
        return own_scores(self.scaling.apply(values) if self.scaling else values, self.weights, self.intercept)

    def save(self, directory: Path) -> None:
        """Write the file. Raises `StateError` if there is no room."""
        scaling = self.scaling
        facts = {
            "format": FORMAT,
            "party": self.party,
            "role": self.role,
            "training": self.training,
            "features": self.features,
            "weights": self.weights.tolist(),
            "intercept": self.intercept,
            "standardise": scaling and {"mean": scaling.mean.tolist(), "scale": scaling.scale.tolist()},
            "classes": self.classes,
            "calibration": self.calibration,
            "configuration": self.configuration,
        }
        write_output(directory / FILE, json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_output(path: Path, text: str) -> None:
    """Write a file that only its owner can read. Raises `StateError` if it cannot be written."""
    try:
        write_private(path, text.encode())
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}; make room, and start the party again") from error


def load(directory: Path) -> Model:
    """The model in a directory. Raises `ParameterError` if there is none, or if the file is damaged."""
    path = directory / FILE
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}; train a model first") from error
    if len(data) > MAX_FILE:
        raise ParameterError(f"{path} has more than {MAX_FILE} bytes; use the file of a training")
    try:
        return _parse(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParameterError(f"{path} is not a model ({type(error).__name__}: {error}); train a new one") from error


def _parse(facts: dict[str, Any]) -> Model:
    if facts["format"] != FORMAT:
        raise ValueError(f"the format is {facts['format']!r}")
    features = [of_type(name, str) for name in of_type(facts["features"], list)]
    scaling = facts["standardise"]
    classes = facts["classes"]
    slope, offset = _reals(facts["calibration"], 2).tolist()
    return Model(
        party=of_type(facts["party"], str),
        role=of_type(facts["role"], str),
        training=of_type(facts["training"], str),
        features=tuple(features),
        weights=_reals(facts["weights"], len(features)),
        intercept=float(_reals([facts["intercept"]], 1)[0]),
        scaling=scaling and Scaling(*(_reals(scaling[key], len(features)) for key in ("mean", "scale"))),
        classes=_classes(classes) if facts["role"] == GUEST else None,
        calibration=(slope, offset),
        configuration=of_type(facts["configuration"], dict),
    )


def _reals(values: Any, count: int) -> Floats:
    """Finite numbers."""
    if len(of_type(values, list)) != count or not all(
        type(value) in (int, float) and math.isfinite(value) for value in values
    ):
        raise ValueError(f"a list is not one of {count} finite numbers")
    return np.array(values, np.float64)


def _classes(values: Any) -> tuple[Label, Label]:
    first, second = values
    for value in (first, second):
        if type(value) not in (str, int, float, bool):
            raise ValueError("a class is not a text or a number")
    return first, second
