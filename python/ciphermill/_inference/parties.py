"""The two parties: the client owns the input, the server owns the model."""

from __future__ import annotations

import hashlib
import operator
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from ciphermill._inference import spec
from ciphermill._inference.messages import Header, Kind, Message
from ciphermill._inference.network import MAX_SAMPLES, Network, batches
from ciphermill._inference.numbers import Floats, Integers
from ciphermill._inference.plain import IntegerWeights
from ciphermill._inference.report import Report
from ciphermill._inference.result import LayerIntegers, Result
from ciphermill.errors import DtypeError, KeyMismatchError, ParameterError, PeerError, SecretError, WireError

T = TypeVar("T")


def _receive(message: Message | bytes, kind: Kind, network: bytes) -> Message:
    """A message of a kind about a network."""
    if not isinstance(message, Message):
        if not isinstance(message, bytes | bytearray | memoryview):
            raise DtypeError(f"a message of type {type(message).__name__}; use a Message or bytes")
        message = Message.from_bytes(bytes(message))
    if message.kind != kind:
        raise WireError(f"a message of kind {message.kind}; use one of kind {kind}")
    if message.header.network != network:
        raise KeyMismatchError("a message about another network; read the client spec of this server")
    return message


def _read(read: Callable[[], T], what: str) -> T:
    """An object of received bytes. Plans judge numbers of ciphertexts by `ParameterError`, which is not the receiver's."""
    try:
        return read()
    except ParameterError as error:
        raise WireError(f"{what} does not fit its layer: {error}") from error


class Server:
    """The owner of a model: multiplies encrypted inputs by its weights. It sees no inputs, outputs or predictions.

    A client must be registered, so that the operator decides who may ask. Use `PrivateClassifier.server` to make one.
    """

    def __init__(self, network: Network, weights: Sequence[IntegerWeights], max_samples: int | None) -> None:
        self._network = network
        self._digest = spec.digest(network)
        self._weights = [
            stage.form.weights(layer.kernels, layer.bias) for stage, layer in zip(network.stages, weights, strict=True)
        ]
        self._max_samples = max_samples
        self._clients: dict[bytes, _Registered] = {}
        self._lock = Lock()

    def client_spec(self) -> bytes:
        """The bytes from which a client is made: shapes, scales and classes, but no weights."""
        return spec.to_bytes(self._network)

    @property
    def layers(self) -> int:
        """The number of linear layers, which is the number of exchanges."""
        return len(self._weights)

    def register(self, keys: Message | bytes) -> str:
        """Accept a client, prepare the weights for its keys, and return its name.

        Raises `WireError` for bytes that are not keys, `KeyMismatchError` for keys of another network or if a client of this
        name has other keys.
        """
        message = _receive(keys, "keys", self._digest)
        name = message.header.client
        given = hashlib.sha256(message.to_bytes()).digest()
        with self._lock:
            known = self._clients.get(name)
        if known is None:
            evaluations = message.open(self._read_keys)
            prepared = [weights.register(e) for weights, e in zip(self._weights, evaluations, strict=True)]
            with self._lock:
                known = self._clients.setdefault(name, _Registered(given, prepared))
        if known.keys != given:
            raise KeyMismatchError(f"client {name.hex()} is registered with other keys; call forget before")
        return name.hex()

    def _read_keys(self, parts: list[bytes]) -> list[Any]:
        if len(parts) != self.layers:
            raise WireError(f"keys for {len(parts)} layers; use keys for {self.layers}")
        return [
            _read(partial(stage.form.read_evaluation, part), "a key")
            for stage, part in zip(self._network.stages, parts, strict=True)
        ]

    def forget(self, client: str) -> None:
        """Free the memory of a client. Its count of samples is lost."""
        with self._lock:
            self._clients.pop(_name(client), None)

    def samples(self, client: str) -> list[int]:
        """By layer: the number of samples that a client can have asked for, the unused places of its ciphertexts included. Raises `KeyMismatchError` for an unknown client."""
        with self._lock:
            return list(self._registered(_name(client)).samples)

    def layer(self, index: int, query: Message | bytes) -> Message:
        """The encrypted outputs of a linear layer, from 0 on, for encrypted inputs.

        Raises `WireError` for bytes that are not a query, `KeyMismatchError` for a query of another network, layer or key set or
        of an unknown client, `PeerError` if the client has asked for its `max_samples`.
        """
        index = operator.index(index)
        if not 0 <= index < self.layers:
            raise ParameterError(f"layer {index} of {self.layers}; use 0 to {self.layers - 1}")
        message = _receive(query, "query", self._digest)
        if message.layer != index:
            raise KeyMismatchError(
                f"a query of layer {message.layer} for layer {index}; answer it by layer {message.layer}"
            )
        with self._lock:
            client = self._registered(message.header.client)
        form = self._network.stages[index].form
        payload = message.open(lambda parts: _read(lambda: form.read_query(parts, message.samples), "a query"))
        self._count(client, message, -(-message.samples // form.lanes) * form.lanes)
        answer = self._weights[index].multiply(client.prepared[index], payload)
        return Message(replace(message.header, kind="answer"), answer, form.write)

    def _registered(self, name: bytes) -> _Registered:
        if name not in self._clients:
            raise KeyMismatchError(f"client {name.hex()} is not registered; send its keys first")
        return self._clients[name]

    def _count(self, client: _Registered, message: Message, places: int) -> None:
        """Count the places for samples in the ciphertexts, before they are answered: a client can use all of them."""
        with self._lock:
            count = client.samples[message.layer] + places
            if self._max_samples is not None and count > self._max_samples:
                raise PeerError(
                    f"client {message.client} asks for sample {count} of layer {message.layer}; the limit is {self._max_samples}"
                )
            client.samples[message.layer] = count

    def __reduce__(self) -> NoReturn:
        raise SecretError("a server holds weights and is not pickled; pickle the PrivateClassifier")

    def __repr__(self) -> str:
        return f"<Server of network {self._digest.hex()[:8]}, {self.layers} layers>"


def _name(client: str) -> bytes:
    try:
        return bytes.fromhex(client)
    except ValueError as error:
        raise ParameterError(f"{client!r} is not the name of a client: {error}") from error


class _Registered:
    """A client of a server: the digest of its keys, its prepared weights, its samples by layer."""

    def __init__(self, keys: bytes, prepared: list[Any]) -> None:
        self.keys = keys
        self.prepared = prepared
        self.samples = [0] * len(prepared)


class Exchange:
    """One linear layer of a run, at the client: the query for the server. After the last layer it holds the result."""

    def __init__(self, client: Client, query: Message | None, inputs: Integers, so_far: Result) -> None:
        self._client = client
        self._query = query
        #: The integers in the query, none after the last layer.
        self._inputs = inputs
        self._so_far = so_far

    @property
    def done(self) -> bool:
        """Whether all layers are computed."""
        return self._query is None

    @property
    def layer(self) -> int:
        """The linear layer, from 0 on. After the last answer, the number of layers."""
        return len(self._so_far.layers)

    @property
    def query(self) -> Message:
        """The message for the server. Raises `ParameterError` after the last answer."""
        if self._query is None:
            raise ParameterError("the run is done; use its result")
        return self._query

    @property
    def result(self) -> Result:
        """The result. Raises `ParameterError` before the last answer."""
        if self._query is not None:
            raise ParameterError(f"the run is at layer {self.layer}; give its answer to Client.next")
        return self._so_far

    def __reduce__(self) -> NoReturn:
        raise SecretError("an exchange holds inputs in clear and is not pickled")

    def __repr__(self) -> str:
        return f"<Exchange: {'done' if self.done else f'layer {self.layer}'}>"


class Client:
    """The owner of inputs, with fresh secret keys: encrypts, decrypts, and computes all steps between linear layers.

    `client_spec` are the bytes of `PrivateClassifier.client_spec` or `Server.client_spec`. Raises `WireError` if they are not a
    client spec.
    """

    def __init__(self, client_spec: bytes) -> None:
        self._network = spec.from_bytes(client_spec)
        self._digest = spec.digest(self._network)
        self._name = secrets.token_bytes(16)
        self._keys = [stage.form.keygen() for stage in self._network.stages]
        #: The client's part of all runs. The server's time is not in it.
        self.report = Report(self._network)

    @property
    def name(self) -> str:
        """The name of the client at the server, drawn at random."""
        return self._name.hex()

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self._network.input_shape

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes."""
        return self._network.classes

    @property
    def layers(self) -> int:
        """The number of linear layers, which is the number of exchanges."""
        return len(self._keys)

    def keys(self) -> Message:
        """The public keys for the server, to be sent once."""
        forms = [stage.form for stage in self._network.stages]

        def write(evaluations: list[Any]) -> list[bytes]:
            return [form.write_evaluation(each) for form, each in zip(forms, evaluations, strict=True)]

        header = Header("keys", self._digest, self._name, bytes(8), 0, 0)
        return Message(header, [keys.evaluation for keys in self._keys], write)

    def start(self, X: npt.ArrayLike) -> Exchange:
        """Start a run for 1 to 1024 samples of shape (k, *input_shape), or flattened to (k, n).

        Inputs outside of the range of the calibration are clipped and counted. Raises `ParameterError` for another shape, for
        no or too many samples, NaN and infinity, `DtypeError` unless elements are real numbers.
        """
        first, *others = batches(X, self._network.input_shape, "X")
        if others:
            count = len(first) + sum(map(len, others))
            raise ParameterError(f"X has {count} samples; use at most {MAX_SAMPLES} for one run")
        return self._start(first, self.report)

    def _start(self, samples: Floats, report: Report) -> Exchange:
        report.samples += len(samples)
        empty = Result(self._network, (), ())
        return self._exchange(secrets.token_bytes(8), empty, samples, 1.0, report)

    def _exchange(self, run: bytes, so_far: Result, values: Floats, scale: float, report: Report) -> Exchange:
        """The exchange of the next layer, whose inputs are the values before its steps."""
        index = len(so_far.layers)
        stage, costs = self._network.stages[index], report.layers[index]
        with costs.step("quantise"):
            inputs, clipped = stage.quantise(values, scale)
        with costs.step("encrypt"):
            payload = self._keys[index].encrypt(inputs)
        costs.clipped += clipped
        header = Header("query", self._digest, self._name, run, index, len(inputs))
        so_far = replace(so_far, clipped=(*so_far.clipped, clipped))
        return Exchange(self, Message(header, payload, stage.form.write), inputs, so_far)

    def next(self, exchange: Exchange, answer: Message | bytes) -> Exchange:
        """The exchange of the next layer, from the server's answer to an exchange.

        Raises `WireError` for bytes that are not an answer, `KeyMismatchError` for an answer to another client, run, layer or
        network. The client does not judge the outputs: a server must not learn whether they were plausible.
        """
        return self._next(exchange, answer, self.report)

    def _next(self, exchange: Exchange, answer: Message | bytes, report: Report) -> Exchange:
        if exchange._client is not self:
            raise KeyMismatchError("an exchange of another client; each client continues its own")
        index, query = exchange.layer, exchange.query.header
        message = _receive(answer, "answer", self._digest)
        if replace(message.header, kind="query") != query:
            raise KeyMismatchError(
                f"an answer to another client, run, layer or number of samples; use the answer to this query of layer {index}"
            )
        stage = self._network.stages[index]
        with report.layers[index].step("decrypt"):
            payload = message.open(
                lambda parts: _read(lambda: stage.form.read_answer(parts, query.samples), "an answer")
            )
            outputs = self._keys[index].decrypt(payload, query.samples).reshape(-1, *stage.output_shape)
        layers = (*exchange._so_far.layers, LayerIntegers(exchange._inputs, outputs))
        so_far = replace(exchange._so_far, layers=layers)
        if len(layers) == self.layers:
            return Exchange(self, None, np.empty(0, np.int64), so_far)
        return self._exchange(query.run, so_far, outputs.astype(np.float64), stage.scale, report)

    def __reduce__(self) -> NoReturn:
        raise SecretError("a client holds a secret key and is not pickled; make a new one from the client spec")

    def __repr__(self) -> str:
        return f"<Client {self.name[:8]} of network {self._digest.hex()[:8]}>"


def run_both(client: Client, server: Server, samples: Floats, report: Report) -> Result:
    """A run of one batch within this process, with all times and bytes in a report."""
    exchange = client._start(samples, report)
    while not exchange.done:
        query, costs = exchange.query, report.layers[exchange.layer]
        with costs.step("multiply"):
            answer = server.layer(exchange.layer, query)
        costs.sent += query.nbytes
        costs.returned += answer.nbytes
        exchange = client._next(exchange, answer, report)
    return exchange.result
