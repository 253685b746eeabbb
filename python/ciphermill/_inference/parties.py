"""The two parties: the client owns the input, the server owns the model."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from ciphermill._checks import instance, integer, items, limit, received, require_memory, require_size
from ciphermill._clients import Clients, Registered
from ciphermill._inference import spec
from ciphermill._inference.messages import HEADER, LENGTH, Header, Kind, Message
from ciphermill._inference.network import MAX_SAMPLES, Network, batches
from ciphermill._inference.numbers import Floats, Integers
from ciphermill._inference.plain import IntegerWeights
from ciphermill._inference.report import Report
from ciphermill._inference.result import LayerIntegers, Result
from ciphermill.errors import KeyMismatchError, ParameterError, PeerError, SecretError, WireError

T = TypeVar("T")

#: The default limits of a client: bytes of memory of its keys, and of one query.
MAX_KEY_BYTES, MAX_QUERY_BYTES = 256 << 20, 1 << 30


def _receive(message: Message | bytes, kind: Kind, network: bytes, most: int | None = None) -> Message:
    """A message of a kind about a network, of at most `most` bytes if it was sent."""
    given = received(message, Message, "the message")
    if not isinstance(given, Message):
        if most is not None:
            require_size(given, most, f"the message of kind {kind}")
        given = Message.from_bytes(given)
    message = given
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


@dataclass(frozen=True)
class _Prepared:
    """The weights of each layer for the keys of a client, and the client's number of samples of each layer."""

    weights: list[Any]
    samples: list[int]


class Server:
    """The owner of a model: multiplies encrypted inputs by its weights. It sees no inputs, outputs or predictions.

    A client must be registered, so that the operator decides who may ask. Use `PrivateClassifier.server` to make one.

    **Names.** Each key set carries a label, 16 bytes that its client draws at random. The label tells key sets apart. It
    authenticates no one: a client can draw a new one at any time, and other senders can copy it. The operator
    authenticates clients, for example by their TLS certificates, and gives the authenticated name to `register` and `layer`.
    Samples are counted by that name, whatever keys the client uses. Without a name, the label stands for it.
    """

    def __init__(
        self,
        network: Network,
        weights: Sequence[IntegerWeights],
        *,
        max_samples: int | None,
        max_clients: int | None,
        max_bytes: int | None,
    ) -> None:
        self._max_samples = limit(max_samples, "max_samples")
        forms = [stage.form for stage in network.stages]
        self._clients: Clients[_Prepared] = Clients(
            sum(form.server_key_bytes for form in forms), max_clients, max_bytes
        )
        self._most_key_bytes = HEADER.size + sum(LENGTH.size + form.sent_key_bytes for form in forms)
        #: The samples of each layer by the name that the operator gave, which outlive a client's keys.
        self._samples: dict[str, list[int]] = {}
        self._lock = Lock()
        self._network = network
        self._digest = spec.digest(network)
        self._weights = [
            stage.form.weights(layer.kernels, layer.bias) for stage, layer in zip(network.stages, weights, strict=True)
        ]

    def client_spec(self) -> bytes:
        """The bytes from which a client is made: shapes, scales and classes, but no weights."""
        return spec.to_bytes(self._network)

    @property
    def layers(self) -> int:
        """The number of linear layers, which is the number of exchanges."""
        return len(self._weights)

    @property
    def clients(self) -> list[str]:
        """The names of the registered clients."""
        return self._clients.names

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the registered clients need: their keys, and 4096 bytes each."""
        return self._clients.nbytes

    def register(self, keys: Message | bytes, *, name: str | None = None) -> str:
        """Accept a client, prepare its keys, and return its name. All clients share the prepared weights.

        `name` is the client's name as the operator has authenticated it; by default, it is the label of the keys. A server with
        `max_samples` needs it, because a client can change its label. A name has one key set: new keys replace the old ones,
        and the count of samples stays. The old keys stay until the new ones are prepared, so an error changes nothing. During
        a replacement the server has both key sets of one client, which may exceed `max_bytes` by one client. Registering the
        same keys again changes nothing.

        Raises `WireError` for bytes that are not keys, or more bytes than keys of this network have; `KeyMismatchError` for keys
        of another network, if the label belongs to another client, or if no name is given and the label has other keys, which
        `forget` removes; `ParameterError` if `name` is missing; `MemoryLimitError` beyond `max_clients` or `max_bytes`, before
        keys are read.
        """
        if name is None and self._max_samples is not None:
            raise ParameterError(
                f"no name is given, and max_samples={self._max_samples} counts by name; use register(keys, name=…) with the "
                f"authenticated name of the client"
            )
        message = _receive(keys, "keys", self._digest, self._most_key_bytes)
        digest = hashlib.sha256(message.to_bytes()).digest()

        def prepare() -> _Prepared:
            evaluations = message.open(self._read_keys)
            weights = [weights.register(each) for weights, each in zip(self._weights, evaluations, strict=True)]
            return _Prepared(weights, self._samples_of(message.client, name))

        return self._clients.register(message.client, digest, name, prepare).name

    def _samples_of(self, label: str, name: str | None) -> list[int]:
        """The count of samples for keys that are about to be registered."""
        with self._lock:
            found = self._find_counts(label if name is None else name)
            counts = [0] * self.layers if found is None else found
            if name is not None:
                self._samples[name] = counts
            return counts

    def _read_keys(self, parts: list[bytes]) -> list[Any]:
        if len(parts) != self.layers:
            raise WireError(f"keys for {len(parts)} layers; use keys for {self.layers}")
        return [
            _read(partial(stage.form.read_evaluation, part), "a key")
            for stage, part in zip(self._network.stages, parts, strict=True)
        ]

    def forget(self, name: str) -> None:
        """Free the memory of a client; an unknown name changes nothing. The count of samples of a name that the operator gave
        stays: only `reset` removes it."""
        entry = self._clients.forget(name)
        if entry is not None:
            with self._lock:
                if entry.named:
                    self._samples.setdefault(name, entry.prepared.samples)
                else:
                    self._samples.pop(name, None)

    def reset(self, name: str, samples: Sequence[int] | None = None) -> None:
        """Set the count of samples of a client: to 0, for example once a day, or by layer to that of an earlier server.

        Counts end with the server. An operator that restarts it stores `samples` before and gives them to the new server.

        Raises `KeyMismatchError` for an unknown name if no samples are given, `ParameterError` unless `samples` has one integer
        of 0 or more for each layer.
        """
        instance(name, str, "the name of a client")
        counts = [0] * self.layers if samples is None else self._checked(samples)
        with self._lock:
            if samples is not None and self._clients.named(name) is None:
                self._samples.setdefault(name, counts)
            self._counts(name)[:] = counts
            if samples is None and self._clients.named(name) is None:
                self._samples.pop(name, None)

    def _checked(self, samples: Sequence[int]) -> list[int]:
        """Numbers of samples, one for each layer."""
        counts = [integer(count, "a number of samples", 0, 1 << 62) for count in items(samples, "samples", "a list")]
        if len(counts) != self.layers:
            raise ParameterError(f"samples has {len(counts)} numbers; use {self.layers}, one for each layer")
        return counts

    def samples(self, name: str) -> list[int]:
        """By layer: the number of samples that a client can have asked for, the unused slots of its ciphertexts included.

        Raises `KeyMismatchError` for an unknown name.
        """
        with self._lock:
            return list(self._counts(instance(name, str, "the name of a client")))

    def _counts(self, name: str) -> list[int]:
        counts = self._find_counts(name)
        if counts is None:
            raise KeyMismatchError(f"client {name} is not registered; send its keys first")
        return counts

    def _find_counts(self, name: str) -> list[int] | None:
        client = self._clients.named(name)
        return self._samples.get(name) if client is None else client.prepared.samples

    def layer(self, index: int, query: Message | bytes, *, name: str | None = None) -> Message:
        """The encrypted outputs of a linear layer, from 0 on, for encrypted inputs.

        `name` is the authenticated name of the sender. With it, a query under the keys of another client is refused; without it,
        any sender who knows the label of a key set can use up its samples.

        Raises `WireError` for bytes that are not a query, `KeyMismatchError` for a query of another network, layer or key set or
        of an unknown client, `PeerError` if the client has asked for its `max_samples`.
        """
        index = integer(index, "the layer", 0, self.layers - 1)
        message = _receive(query, "query", self._digest)
        if message.layer != index:
            raise KeyMismatchError(
                f"a query of layer {message.layer} for layer {index}; answer it by layer {message.layer}"
            )
        client = self._clients.find(message.client, name)
        form = self._network.stages[index].form
        payload = message.open(lambda parts: _read(lambda: form.read_query(parts, message.samples), "a query"))
        self._count(client, index, -(-message.samples // form.lanes) * form.lanes)
        answer = self._weights[index].multiply(client.prepared.weights[index], payload)
        return Message(replace(message.header, kind="answer"), answer, form.write)

    def _count(self, client: Registered[_Prepared], layer: int, places: int) -> None:
        """Count the places for samples in the ciphertexts, before they are answered: a client can use all of them."""
        with self._lock:
            count = client.prepared.samples[layer] + places
            if self._max_samples is not None and count > self._max_samples:
                raise PeerError(
                    f"client {client.name} asks for sample {count} of layer {layer}; the limit is "
                    f"max_samples={self._max_samples}; wait until the server resets the count"
                )
            client.prepared.samples[layer] = count

    def __reduce__(self) -> NoReturn:
        raise SecretError("a server holds weights and is not pickled; pickle the PrivateClassifier")

    def __repr__(self) -> str:
        return f"<Server of network {self._digest.hex()[:8]}, {self.layers} layers>"


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

    `client_spec` are the bytes of `PrivateClassifier.client_spec` or `Server.client_spec`. The server chooses the sizes in them,
    so the client limits its memory: `max_key_bytes` bounds that of all keys, 256 MiB by default, and `max_query_bytes` that of
    one query, 1 GiB by default. `None` is no limit. Neither is exceeded before the error. The memory of a query is that of its
    ciphertexts, and twice that of its integers and of its bytes as sent, which are copied while the query is made and written.

    Raises `WireError` if the bytes are not a client spec, `MemoryLimitError` if its keys need more than `max_key_bytes`.
    """

    def __init__(
        self,
        client_spec: bytes,
        *,
        max_key_bytes: int | None = MAX_KEY_BYTES,
        max_query_bytes: int | None = MAX_QUERY_BYTES,
    ) -> None:
        most, self._max_query_bytes = limit(max_key_bytes, "max_key_bytes"), limit(max_query_bytes, "max_query_bytes")
        self._network = spec.from_bytes(client_spec)
        needed = sum(stage.form.client_key_bytes for stage in self._network.stages)
        require_memory(
            needed, f"the key set of {len(self._network.stages)} layers", most, "max_key_bytes", "a smaller model"
        )
        self._digest = spec.digest(self._network)
        self._name = secrets.token_bytes(16)
        self._keys = [stage.form.keygen() for stage in self._network.stages]
        #: The client's part of all runs. The server's time is not in it.
        self.report = Report(self._network)

    @property
    def name(self) -> str:
        """The label of the client's keys, drawn at random. It tells key sets apart and authenticates no one."""
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
        no or too many samples, NaN and infinity, `DtypeError` unless elements are real numbers, `MemoryLimitError` if the query
        needs more than `max_query_bytes`.
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
        self._require_room(index, len(values))
        with costs.step("quantise"):
            inputs, clipped = stage.quantise(values, scale)
        with costs.step("encrypt"):
            payload = self._keys[index].encrypt(inputs)
        costs.clipped += clipped
        header = Header("query", self._digest, self._name, run, index, len(inputs))
        so_far = replace(so_far, clipped=(*so_far.clipped, clipped))
        return Exchange(self, Message(header, payload, stage.form.write), inputs, so_far)

    def _require_room(self, index: int, samples: int) -> None:
        """An error for a query beyond the client's limit, before it is made."""
        form, most = self._network.stages[index].form, self._max_query_bytes
        what = f"a query of layer {index} for {samples} samples"
        require_memory(form.query_memory(samples), what, most, "max_query_bytes", "fewer samples")

    def next(self, exchange: Exchange, answer: Message | bytes) -> Exchange:
        """The exchange of the next layer, from the server's answer to an exchange.

        Raises `WireError` for bytes that are not an answer, `KeyMismatchError` for an answer to another client, run, layer or
        network, `MemoryLimitError` if the next query needs more than `max_query_bytes`. The client does not judge the outputs: a
        server must not learn whether they were plausible.
        """
        return self._next(exchange, answer, self.report)

    def _next(self, exchange: Exchange, answer: Message | bytes, report: Report) -> Exchange:
        if instance(exchange, Exchange, "the exchange")._client is not self:
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
