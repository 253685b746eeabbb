"""Private inference: a server owns a model, a client owns the input, and the server sees nothing of the input.

    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier
    from ciphermill.inference import Client, PrivateClassifier

    X, y = load_digits(return_X_y=True)
    model = MLPClassifier((32,), max_iter=400, random_state=0).fit(X[:1400], y[:1400])

    # The owner of the model quantises it; the training data sets the ranges of the integers.
    classifier = PrivateClassifier.from_sklearn(model, X[:1400])
    server = classifier.server()

    # The owner of the input. The client spec has no weights.
    client = Client(server.client_spec())
    server.register(client.keys().to_bytes())

    # One exchange of bytes for each linear layer.
    exchange = client.start(X[1400:1410])
    while not exchange.done:
        answer = server.layer(exchange.layer, exchange.query.to_bytes())
        exchange = client.next(exchange, answer.to_bytes())
    labels = exchange.result.predict()

    # The same in one process, and the same integers without encryption.
    assert np.array_equal(labels, classifier.predict(X[1400:1410]))
    assert np.array_equal(labels, classifier.predict_plain(X[1400:1410]))
    print(classifier.report_)

A small convolutional network is a list of layers:

    classifier = PrivateClassifier(
        layers=[Conv2d(kernels, bias), ReLU(), MaxPool2d(2), Flatten(), Dense(dense, last)],
        input_shape=(1, 8, 8),
        calibration=images,
    )

**Protocol.** The form is *client-aided*. The server multiplies encrypted inputs by the weights of a linear layer and adds the
bias. The client decrypts the outputs, applies the steps up to the next linear layer in clear (activations, pooling), rounds to
integers, and encrypts again. Seconds by layer, bytes, and the facts that each party learns are in `report_`.

**Who learns what.** The server learns the number of samples and the time of each message, and nothing of the input, the outputs
and the prediction. The client sees the integer outputs (pre-activations) of every linear layer. It may learn the model: each
output is a linear equation in the weights, and with one more independent sample than a dense layer has inputs, the client can
solve for all of its weights. One image can suffice for a convolution. The noise of ciphertexts and their unused slots hold
further functions of the weights. Private inference protects the client only; limit the samples of each client (`max_samples`).
Both parties follow the protocol: a server that deviates can falsify results. The client never judges an answer, and an
application must not report to the server whether a prediction was plausible. Messages are not authenticated: send them over
TLS, and give the authenticated name of the sender to `Server.register` and `Server.layer`. Samples are counted by that name.
The random label of a client's keys (`Client.name`) authenticates no one, and a client can change it.

**Budgets.** Each side limits the memory that the other side can make it use. A client limits the memory of its keys and of a
query (`max_key_bytes`, `max_query_bytes`), whose sizes the client spec sets. A server limits its registered clients
(`max_clients`, `max_bytes`). A need beyond a limit raises `MemoryLimitError` before memory is allocated.

**Integers.** Weights and inputs of a layer are symmetric integers of `weight_bits` and `activation_bits` bits: 8 bits are -127
to 127. A layer has one scale for its weights and one for its inputs, from the greatest magnitudes. A dense first layer has a
scale and an offset for each input (`input_range`), so that features of very different sizes keep their precision. A bias is the
weight of further inputs with a constant value. Calibration data sets the ranges of inputs; at inference, values outside are
clipped and counted (`Result.clipped`, `report_`). `predict_plain` computes the integer network in NumPy without encryption. The
private run gives the same integers at every layer; any layer's output of a group of samples is wrong with a probability of at
most 2^-64. Tanh and Logistic use functions of the client's machine, which may differ from another machine's in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ciphermill._clients import MAX_BYTES, MAX_CLIENTS
from ciphermill._inference import plain, spec
from ciphermill._inference.build import Blocks, InputRange, Options, build
from ciphermill._inference.explain import NetworkExplanation
from ciphermill._inference.layers import (
    AvgPool2d,
    Conv2d,
    Dense,
    Flatten,
    Layer,
    Logistic,
    MaxPool2d,
    ReLU,
    Tanh,
)
from ciphermill._inference.messages import Message
from ciphermill._inference.network import Link, batches, labels
from ciphermill._inference.numbers import Floats
from ciphermill._inference.parties import Client, Exchange, Server, run_both
from ciphermill._inference.report import LayerReport, Report
from ciphermill._inference.result import LayerIntegers, Result
from ciphermill.errors import ParameterError

__all__ = [
    "AvgPool2d",
    "Client",
    "Conv2d",
    "Dense",
    "Exchange",
    "Flatten",
    "LayerIntegers",
    "LayerReport",
    "Logistic",
    "MaxPool2d",
    "Message",
    "NetworkExplanation",
    "PrivateClassifier",
    "ReLU",
    "Report",
    "Result",
    "Server",
    "Tanh",
]


class PrivateClassifier:
    """A quantised classifier whose linear layers are computed on ciphertexts.

    Parameters
    ----------
    layers : sequence of layers
        `Dense` and `Conv2d`, with `ReLU`, `Tanh`, `Logistic`, `MaxPool2d`, `AvgPool2d` and `Flatten` between them, before and
        after. The output of one sample is a vector with a score for each class, or one score for two classes.
    input_shape : tuple of 1 to 3 integers
        The shape of one sample.
    calibration : array of shape (k, *input_shape), or flattened to (k, n)
        Samples that set the ranges of the inputs of all layers.
    classes : array of shape (c,), optional
        The classes: integers, Booleans, strings or numbers. 0 to c - 1 by default.
    weight_bits, activation_bits : int, default 8
        Bits of the integers with sign, 2 to 16.
    batch : int, default 1
        The number of samples of one request for which the layers are laid out, 1 to 1024. A larger batch takes less time for
        each sample and more for a single one. It changes no result.
    input_range : {"feature", "layer"}, default "feature"
        "feature" gives each input of a dense first layer its own scale and offset. "layer" gives them one scale and no offset;
        the client spec then does not have the ranges of single features.

    Attributes
    ----------
    classes_ : array of shape (c,)
    report_ : Report
        The costs of the last private run in this process, and the facts that each party learns.

    Raises `ParameterError` if the layers do not fit one another or the options are not supported, `RangeError` for weights,
    biases or ranges that the integers cannot represent.
    """

    classes_: npt.NDArray[Any]
    report_: Report

    def __init__(
        self,
        layers: Sequence[Layer],
        input_shape: tuple[int, ...],
        calibration: npt.ArrayLike,
        *,
        classes: npt.ArrayLike | None = None,
        weight_bits: int = 8,
        activation_bits: int = 8,
        batch: int = 1,
        input_range: InputRange = "feature",
    ) -> None:
        blocks = Blocks.of(layers, input_shape)
        single = blocks.output_shape == (1,)
        count = 2 if single else math.prod(blocks.output_shape)
        names = labels(np.arange(count) if classes is None else classes)
        options = Options(weight_bits, activation_bits, batch, input_range)
        self._build(blocks, calibration, options, names, "logistic" if single else "softmax")

    def _build(
        self, blocks: Blocks, calibration: npt.ArrayLike, options: Options, classes: npt.NDArray[Any], link: Link
    ) -> None:
        samples = np.concatenate(batches(calibration, blocks.input_shape, "the calibration data"))
        self._network, self._weights, candidates = build(blocks, samples, options, classes, link)
        self._explanation = NetworkExplanation(self._network, candidates, options.batch)
        self._parties: tuple[Client, Server, int] | None = None
        self.classes_ = classes

    @classmethod
    def from_sklearn(
        cls,
        model: Any,
        X_calibration: npt.ArrayLike,
        *,
        weight_bits: int = 8,
        activation_bits: int = 8,
        batch: int = 1,
        input_range: InputRange = "feature",
    ) -> Self:
        """The private form of a fitted scikit-learn model.

        The model is a `LogisticRegression`, a `LinearSVC`, an `MLPClassifier` with any activation, or a pipeline of
        `StandardScaler`, `MinMaxScaler` and `MaxAbsScaler` that ends with one of them. Scalers become part of the first layer.
        `X_calibration` are rows as the model (or the pipeline) accepts them, for example its training data.

        Raises `ParameterError` for other models, which it names, and for a model that is not fitted.
        """
        from ciphermill._inference.estimators import network_of

        first, others, classes, link = network_of(model)
        options = Options(weight_bits, activation_bits, batch, input_range)
        self = cls.__new__(cls)
        blocks = Blocks.of([first, *others], first.weights.shape[1:])
        self._build(blocks, X_calibration, options, labels(classes), link)
        return self

    def explain(self) -> NetworkExplanation:
        """The form of each layer, the other candidates, and their estimated costs."""
        return self._explanation

    def client_spec(self) -> bytes:
        """The bytes from which a client is made: shapes, steps, scales, ranges and classes, but no weights."""
        return spec.to_bytes(self._network)

    def client(self) -> Client:
        """A client with fresh keys. It has no limits: the client spec is this process's own."""
        return Client(self.client_spec(), max_key_bytes=None, max_query_bytes=None)

    def server(
        self,
        *,
        max_samples: int | None = None,
        max_clients: int | None = MAX_CLIENTS,
        max_bytes: int | None = MAX_BYTES,
    ) -> Server:
        """A server.

        `max_samples` limits the samples of each client, for each layer; clients then need a name (`Server.register`). By default
        there is no limit. `max_clients` limits the registered clients, 1024 by default, and `max_bytes` the memory of their keys,
        8 GiB by default. `None` is no limit. While new keys of a name replace its old ones, the server has both.
        """
        return Server(
            self._network, self._weights, max_samples=max_samples, max_clients=max_clients, max_bytes=max_bytes
        )

    def run(self, X: npt.ArrayLike) -> Result:
        """Both parties in this process, for any number of samples. `report_` then has the costs.

        Raises `ParameterError` for another shape, for no samples, NaN and infinity, `DtypeError` unless elements are real
        numbers.
        """
        parts = batches(X, self._network.input_shape, "X")
        if self._parties is None:
            client, server = self.client(), self.server(max_clients=None, max_bytes=None)
            keys = client.keys()
            server.register(keys)
            self._parties = client, server, keys.nbytes
        client, server, key_bytes = self._parties
        report = Report(self._network, key_bytes=key_bytes)
        results = [run_both(client, server, part, report) for part in parts]
        self.report_ = report
        return Result.concatenate(results)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of each sample, by both parties in this process."""
        return self.run(X).predict()

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """The probability of each class, of shape (k, classes). Raises `ParameterError` for a support vector machine."""
        return self.run(X).predict_proba()

    def decision_function(self, X: npt.ArrayLike) -> Floats:
        """The scores, of shape (k, classes), or (k,) for two classes with one score."""
        return self.run(X).decision_function()

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The share of samples whose predicted class is the given one. Raises `ParameterError` unless `y` has shape (k,)."""
        predicted, given = self.predict(X), np.asarray(y)
        if given.shape != predicted.shape:
            raise ParameterError(f"y has the shape {given.shape}; use {predicted.shape}, one class for each sample")
        return float(np.mean(predicted == given))

    def run_plain(self, X: npt.ArrayLike) -> Result:
        """The integer network in NumPy, without encryption: the definition of `run`, with the same integers."""
        parts = batches(X, self._network.input_shape, "X")
        return Result.concatenate([plain.run(self._network, self._weights, part) for part in parts])

    def predict_plain(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of each sample, by `run_plain`."""
        return self.run_plain(X).predict()

    def __getstate__(self) -> dict[str, Any]:
        """The model. Keys and reports are not pickled."""
        return {"spec": self.client_spec(), "weights": self._weights, "explanation": self._explanation}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._network = spec.from_bytes(state["spec"])
        self._weights = state["weights"]
        self._explanation = state["explanation"]
        self._parties = None
        self.classes_ = self._network.classes

    def __repr__(self) -> str:
        return f"<PrivateClassifier of {len(self._weights)} linear layers, {len(self.classes_)} classes>"
