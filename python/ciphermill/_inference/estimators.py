"""Networks of fitted scikit-learn models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._inference.layers import Dense, Layer, Logistic, ReLU, Tanh
from ciphermill._inference.network import Link
from ciphermill._inference.numbers import Floats
from ciphermill.errors import ParameterError

#: The steps of the activations of `MLPClassifier`.
ACTIVATIONS: dict[str, list[Layer]] = {"identity": [], "relu": [ReLU()], "tanh": [Tanh()], "logistic": [Logistic()]}

#: A map v·factor + summand of each feature.
Affine = tuple[Floats, Floats]

#: The first layer, the layers after it, the classes, and the function from scores to probabilities.
Network = tuple[Dense, list[Layer], npt.NDArray[Any], Link]


def network_of(model: Any) -> Network:
    """The network of a fitted model or pipeline.

    Raises `ParameterError` for an unsupported or unfitted model, and names it.
    """
    try:
        from sklearn.exceptions import NotFittedError
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import Pipeline
        from sklearn.svm import LinearSVC
        from sklearn.utils.validation import check_is_fitted
    except ImportError as error:
        raise ImportError(
            'from_sklearn needs scikit-learn; install it with pip install "ciphermill[sklearn]"'
        ) from error

    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *transformers, last = [step for step in steps if step is not None and step != "passthrough"] or [None]
    readers: dict[type, Callable[[Any], Network]] = {
        LogisticRegression: _logistic_regression,
        LinearSVC: _linear_svc,
        MLPClassifier: _perceptron,
    }
    reader = next((readers[kind] for kind in readers if isinstance(last, kind)), None)
    if reader is None:
        names = ", ".join(kind.__name__ for kind in readers)
        raise ParameterError(f"{type(last).__name__} is not supported; use {names}, or a pipeline that ends with one")
    try:
        for step in (*transformers, last):
            check_is_fitted(step)
    except NotFittedError as error:
        raise ParameterError(f"the model is not fitted: {error} Use a fitted model.") from error
    first, others, classes, link = reader(last)
    for transformer in reversed(transformers):
        first = _after(_affine(transformer), first)
    return first, others, classes, link


def _dense(coefficients: Any) -> Floats:
    """A matrix, also of the sparse form that `sparsify` makes."""
    array = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.asarray(array, dtype=np.float64)


def _linear(model: Any) -> Dense:
    coefficients = _dense(model.coef_)
    return Dense(coefficients, np.broadcast_to(np.asarray(model.intercept_, np.float64), len(coefficients)))


def _logistic_regression(model: Any) -> Network:
    # Versions before 1.8 have this parameter; some of its values mean other probabilities.
    mode, several = getattr(model, "multi_class", "auto"), len(model.classes_) > 2
    if mode == ("ovr" if several else "multinomial") or (several and model.solver == "liblinear"):
        raise ParameterError(
            f"LogisticRegression with multi_class={mode!r} and solver={model.solver!r} for {len(model.classes_)} classes is not "
            f"supported; use its defaults"
        )
    return _linear(model), [], model.classes_, "softmax" if several else "logistic"


def _linear_svc(model: Any) -> Network:
    return _linear(model), [], model.classes_, "none"


def _perceptron(model: Any) -> Network:
    if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
        raise ParameterError(
            "MLPClassifier for several labels of one sample is not supported; use one classifier for each label"
        )
    first, *others = (Dense(weights.T, bias) for weights, bias in zip(model.coefs_, model.intercepts_, strict=True))
    # The last layer has its own activation, which predict_proba applies.
    layers: list[Layer] = [layer for dense in others for layer in (*ACTIVATIONS[model.activation], dense)]
    return first, layers, model.classes_, "logistic" if model.n_outputs_ == 1 else "softmax"


def _affine(transformer: Any) -> Affine:
    """A fitted scaler as factors and summands."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    zeros = np.zeros(transformer.n_features_in_)
    if isinstance(transformer, StandardScaler):
        factor = 1.0 / (zeros + 1.0 if transformer.scale_ is None else transformer.scale_)
        mean = zeros if not transformer.with_mean else transformer.mean_
        return factor, -mean * factor
    if isinstance(transformer, MinMaxScaler) and not transformer.clip:
        return transformer.scale_, transformer.min_
    if isinstance(transformer, MaxAbsScaler) and not getattr(transformer, "clip", False):
        return 1.0 / transformer.scale_, zeros
    clips = " with clip=True" if getattr(transformer, "clip", False) else ""
    raise ParameterError(
        f"{type(transformer).__name__}{clips} is not supported before a model; use StandardScaler, MinMaxScaler or MaxAbsScaler"
    )


def _after(affine: Affine, layer: Dense) -> Dense:
    """A layer with a map before it: W·(v·f + s) + b = (W·f)·v + (b + W·s)."""
    factor, summand = affine
    return Dense(layer.weights * factor, layer.bias + layer.weights @ summand)
