"""Bad input to private inference: foreign and damaged messages, samples, layers, models."""

import itertools
import json
import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from inference_setting import Setting, same_integers
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

import ciphermill as cm
from ciphermill._inference.forms import Problem
from ciphermill._inference.layers import Geometry
from ciphermill._inference.messages import HEADER
from ciphermill._inference.network import check_exact
from ciphermill.inference import AvgPool2d, Client, Conv2d, Dense, Flatten, MaxPool2d, Message, PrivateClassifier, ReLU


@pytest.fixture(scope="module")
def parties() -> Setting:
    return Setting(np.random.default_rng(5))


def with_header(data: bytes, **fields: Any) -> bytes:
    """A message with other fields in its header."""
    names = ["magic", "version", "kind", "network", "client", "run", "layer", "samples", "parts"]
    values = dict(zip(names, HEADER.unpack_from(data), strict=True)) | fields
    return HEADER.pack(*values.values()) + data[HEADER.size :]


def test_registration(parties: Setting) -> None:
    server = parties.classifier.server()
    client = Client(server.client_spec())
    query = client.start(parties.X[:1]).query
    with pytest.raises(cm.KeyMismatchError, match="not registered"):
        server.layer(0, query)
    assert server.register(client.keys()) == client.name == server.register(client.keys().to_bytes())
    server.layer(0, query)
    # Another client that takes the name.
    thief = Client(server.client_spec())
    thief._name = client._name
    with pytest.raises(cm.KeyMismatchError, match="registered with other keys"):
        server.register(thief.keys())
    with pytest.raises(cm.KeyMismatchError):
        server.layer(0, thief.start(parties.X[:1]).query)
    server.forget(client.name)
    server.forget(client.name)
    with pytest.raises(cm.KeyMismatchError, match="not registered"):
        server.samples(client.name)
    server.forget("no name")
    with pytest.raises(cm.DtypeError, match="the name of a client is of type bytes; use str"):
        server.forget(b"no name")


def test_foreign_messages(parties: Setting, rng: np.random.Generator) -> None:
    server, X = parties.server, parties.X
    mine, other = parties.client(), parties.client()
    run = mine.start(X[:1])
    answer = server.layer(0, run.query)
    with pytest.raises(cm.KeyMismatchError, match="answer to another client"):
        mine.next(run, server.layer(0, other.start(X[:1]).query))
    with pytest.raises(cm.KeyMismatchError, match="run"):
        mine.next(mine.start(X[:1]), answer)
    with pytest.raises(cm.KeyMismatchError, match="exchange of another client"):
        other.next(run, answer)
    second = mine.next(run, answer)
    with pytest.raises(cm.KeyMismatchError, match="layer"):
        mine.next(second, answer)
    with pytest.raises(cm.KeyMismatchError, match="query of layer 1 for layer 0"):
        server.layer(0, second.query)
    with pytest.raises(cm.ParameterError, match="use 0 to 1"):
        server.layer(2, second.query)
    with pytest.raises(cm.WireError, match="kind answer; use one of kind query"):
        server.layer(0, answer)
    with pytest.raises(cm.WireError, match="kind query; use one of kind answer"):
        mine.next(run, run.query)
    with pytest.raises(cm.WireError, match="kind query; use one of kind keys"):
        server.register(run.query)
    with pytest.raises(cm.ParameterError, match="result"):
        _ = mine.next(second, server.layer(1, second.query)).query
    with pytest.raises(cm.ParameterError, match="layer 0"):
        _ = run.result
    foreign = PrivateClassifier([Dense(np.eye(700))], (700,), X)
    with pytest.raises(cm.KeyMismatchError, match="another network"):
        foreign.server().register(mine.keys())
    with pytest.raises(cm.KeyMismatchError, match="another network"):
        server.layer(0, foreign.client().start(X[:1]).query)


def test_damaged_messages(parties: Setting) -> None:
    server, client = parties.server, parties.client()
    run = client.start(parties.X[:2])
    query, answer, keys = (m.to_bytes() for m in (run.query, server.layer(0, run.query), client.keys()))
    for data, receive in (
        (query, lambda data: server.layer(0, data)),
        (answer, lambda data: client.next(run, data)),
        (keys, server.register),
    ):
        for cut in (0, 1, HEADER.size - 1, HEADER.size, HEADER.size + 3, len(data) // 2, len(data) - 1):
            with pytest.raises(cm.WireError):
                receive(data[:cut])
        for damaged in (
            data + b"x",
            with_header(data, magic=b"CMPX"),
            with_header(data, version=2),
            with_header(data, kind=3),
            with_header(data, parts=2**32 - 1),
            with_header(data, parts=0),
            with_header(data, samples=2000),
        ):
            with pytest.raises(cm.WireError):
                receive(damaged)
        with pytest.raises(cm.KeyMismatchError, match="another network"):
            receive(with_header(data, network=bytes(16)))
        # A part that is not a ciphertext or a key.
        noise = data[: HEADER.size + 8] + bytes(len(data) - HEADER.size - 8)
        with pytest.raises((cm.WireError, cm.KeyMismatchError)):
            receive(noise)
        with pytest.raises(cm.DtypeError, match="use Message or bytes"):
            receive("text")
        view = memoryview(data)
        view.release()
        with pytest.raises(cm.DtypeError, match="the message is a released memoryview; use Message or bytes"):
            receive(view)
    with pytest.raises(cm.WireError, match="parts"):
        server.layer(0, with_header(query, samples=3))
    # The answer to a query with too few ciphertexts for a convolution.
    second = client.next(run, answer)
    final = server.layer(1, second.query).to_bytes()
    form = parties.classifier._network.stages[1].form
    groups, each = -(-2 // form.lanes), form.facts["output_ciphertexts"]
    with pytest.raises(cm.WireError, match=f"a message has 0 parts; use {groups * each} for its layer and samples"):
        client.next(second, with_header(final, parts=0)[: HEADER.size])
    # The header of a query has more samples than ciphertexts.
    many, each = -(-1024 // form.lanes), form.facts["image_ciphertexts"]
    with pytest.raises(cm.WireError, match=rf"a message has \d parts; use {many * each} for its layer and samples"):
        server.layer(1, with_header(second.query.to_bytes(), samples=1024))
    with pytest.raises(cm.WireError, match="0 for keys"):
        server.register(with_header(keys, samples=1))


def test_damaged_specs(parties: Setting) -> None:
    data = PrivateClassifier(
        [Conv2d(np.ones((2, 1, 2, 2)), [1.0, 2.0]), ReLU(), MaxPool2d(2), Flatten(), Dense(np.eye(2), [1.0, 2.0])],
        (1, 4, 4),
        np.arange(32.0).reshape(2, 16),
    ).client_spec()
    client = Client(data)
    assert client.layers == 2
    assert client.input_shape == (1, 4, 4)
    np.testing.assert_array_equal(client.classes, [0, 1])
    for cut in range(0, len(data), 50):
        with pytest.raises(cm.WireError):
            Client(data[:cut])
    document = json.loads(data)
    hostile: list[Any] = [
        None,
        True,
        -1,
        0,
        1.5,
        10**400,
        "x",
        [],
        {},
        [1],
        [-1, 0, 1],
        [[1]],
        1e308,
        [0.0],
        {"kind": []},
    ]
    ignored = 0

    def damage(container: Any, key: Any) -> int:
        """Every hostile value in one field; the number of values that also make a spec."""
        kept, valid = container[key], 0
        for value in hostile:
            if value != kept or type(value) is not type(kept):
                container[key] = value
                try:
                    Client(json.dumps(document).encode())
                    valid += 1
                except cm.WireError:
                    pass
        if isinstance(container, dict):
            del container[key]
            with pytest.raises(cm.WireError, match="lacks|not a step|is not a JSON"):
                Client(json.dumps(document).encode())
        container[key] = kept
        return valid

    for container in (document, *document["stages"]):
        for key in list(container):
            ignored += damage(container, key)
    for stage in document["stages"]:
        for step in stage["steps"]:
            damage(step, "kind")
    # For example another stride that fits the shapes, or a scale of 1.5.
    assert ignored < 40
    with pytest.raises(cm.WireError, match="finite"):
        Client(data.replace(b'"scale": ', b'"scale": NaN, "x": '))
    with pytest.raises(cm.WireError):
        Client(b"[" * 100_000)
    with pytest.raises(cm.WireError, match="at most"):
        Client(b" " * (17 << 20))
    with pytest.raises(cm.DtypeError, match="type str"):
        Client(data.decode())
    # A received plan is made again from its sizes, so that no spec can choose weak parameters.
    assert b"parameters" not in data
    parties.client()


def test_secrets_are_not_pickled(parties: Setting) -> None:
    client = parties.client()
    run = client.start(parties.X[:1])
    for secret in (client, parties.server, run):
        with pytest.raises(cm.SecretError):
            pickle.dumps(secret)
    assert "700" not in repr(run) + repr(client)
    query = pickle.loads(pickle.dumps(run.query))
    assert isinstance(query, Message)
    assert query.to_bytes() == run.query.to_bytes()
    parties.server.layer(0, query)
    parties.classifier.predict(parties.X[:1])
    copy = pickle.loads(pickle.dumps(parties.classifier))
    assert copy._parties is None
    assert copy.client_spec() == parties.classifier.client_spec()
    same_integers(copy.run(parties.X), parties.classifier.run_plain(parties.X))
    assert str(copy.explain()) == str(parties.classifier.explain())


def test_bad_samples() -> None:
    image = PrivateClassifier([Flatten(), Dense(np.ones((3, 64)))], (1, 8, 8), np.eye(64))
    good = np.zeros((2, 64))
    for method in (
        image.predict,
        image.predict_plain,
        image.predict_proba,
        image.decision_function,
        image.client().start,
    ):
        for value in (np.nan, np.inf, -np.inf):
            with pytest.raises(cm.ParameterError, match="NaN or infinite"):
                method(np.full((1, 64), value))
        with pytest.raises(cm.RangeError, match="1e\\+30"):
            method(np.full((1, 64), 1e200))
        for shape in [(2, 63), (2, 8, 8), (64,), (1, 8, 8), (), (2, 1, 8, 8, 1)]:
            with pytest.raises(cm.ParameterError, match="use \\(k, 1, 8, 8\\) or \\(k, 64\\)"):
                method(np.zeros(shape))
        with pytest.raises(cm.ParameterError, match="no samples"):
            method(good[:0])
        for elements in (good.astype(str), good.astype(complex), good.astype(object)):
            with pytest.raises(cm.DtypeError, match="real numbers"):
                method(elements)
        with pytest.raises(cm.ParameterError, match="one length"):
            method([[0.0] * 64, [0.0]])
    with pytest.raises(cm.ParameterError, match=r"x\[np.newaxis\]"):
        image.predict(good[0])
    for kind in (bool, np.uint8, np.float32, np.int64):
        assert image.predict(good.astype(kind)).shape == (2,)
    assert image.predict(good.tolist()).shape == (2,)
    with pytest.raises(cm.ParameterError, match=r"y has the shape \(3,\); use \(2,\)"):
        image.score(good, [0, 1, 2])


def test_bad_networks() -> None:
    X = np.ones((2, 4))
    dense = Dense(np.ones((3, 4)))
    image = (1, 2, 2)
    cases: list[tuple[Any, Any, str]] = [
        ([], (4,), "0 linear layers"),
        ([ReLU()], (4,), "0 linear layers"),
        (["ReLU"], (4,), "layer 0 is 'ReLU'"),
        ([Dense(np.ones((3, 5)))], (4,), "layer 0: Dense has weights for 5 inputs, and 4 inputs"),
        ([dense], image, "put Flatten"),
        ([dense, Conv2d(np.ones((1, 1, 1, 1)))], (4,), r"layer 1: Conv2d has inputs of shape \(3,\)"),
        ([Conv2d(np.ones((1, 2, 1, 1)))], image, r"use \(2, H, W\)"),
        ([Conv2d(np.ones((1, 1, 3, 3)))], image, "at most 2 × 2"),
        ([Flatten(), MaxPool2d(2), dense], image, r"layer 1: MaxPool2d has inputs of shape \(4,\)"),
        ([AvgPool2d(3), Flatten(), dense], image, "the window of AvgPool2d"),
        ([Conv2d(np.ones((2, 1, 1, 1)))], image, "8 classes"),
        ([*[ReLU()] * 65, dense], (4,), "at most 64"),
    ]
    for layers, shape, message in cases:
        with pytest.raises(cm.ParameterError, match=message):
            PrivateClassifier(layers, shape, X)
    shapes: list[Any] = [(), (1, 1, 2, 2), (0,), (4.0,), 4, (20000,), None]
    for shape in shapes:
        with pytest.raises(cm.ParameterError, match="input_shape"):
            PrivateClassifier([dense], shape, X)
    named: list[tuple[Any, str]] = [
        ([0, 1], "2 classes"),
        ([0, 1, 1], "distinct"),
        ([[0, 1, 2]], "one axis"),
        ([0.0, 1.0, np.nan], "NaN"),
        ([[1], [1, 2]], "not an array"),
        ([None, 1, 2], "object"),
    ]
    for classes, message in named:
        with pytest.raises(cm.ParameterError, match=message):
            PrivateClassifier([dense], (4,), X, classes=classes)
    for option, value in itertools.product(("weight_bits", "activation_bits", "batch"), (0, -1, 17 << 10, 1.5, None)):
        options: dict[str, Any] = {option: value}
        with pytest.raises(cm.ParameterError, match=f"{option} is"):
            PrivateClassifier([dense], (4,), X, **options)
    with pytest.raises(cm.ParameterError, match="input_range"):
        PrivateClassifier([dense], (4,), X, input_range="column")
    with pytest.raises(cm.ParameterError, match="the calibration data has no samples"):
        PrivateClassifier([dense], (4,), X[:0])
    big = Problem(Geometry((512, 128, 128), (1, 128, 128)), 16, 16, 0, 1)
    with pytest.raises(cm.ParameterError, match="may have 53 bits; use at most 52"):
        check_exact(big)
    check_exact(replace(big, weight_bits=15))


def test_bad_layers() -> None:
    cases: list[tuple[Any, type[Exception], str]] = [
        (np.full((2, 2), np.nan), cm.ParameterError, "NaN"),
        (np.full((2, 2), 1e31), cm.RangeError, "1e\\+30"),
        (np.ones(4), cm.ParameterError, r"\(outputs, inputs\)"),
        (np.ones((0, 4)), cm.ParameterError, r"\(outputs, inputs\)"),
        ([["a"]], cm.DtypeError, "real numbers"),
    ]
    for weights, error, message in cases:
        with pytest.raises(error, match=message):
            Dense(weights)
    with pytest.raises(cm.ParameterError, match=r"use \(2,\)"):
        Dense(np.ones((2, 2)), [1.0])
    with pytest.raises(cm.ParameterError, match=r"\(M, C, h, w\)"):
        Conv2d(np.ones((2, 3, 3)))
    for arguments in ({"stride": 0}, {"stride": 1.5}, {"padding": -1}, {"padding": 20000}):
        with pytest.raises(cm.ParameterError, match="of Conv2d is"):
            Conv2d(np.ones((1, 1, 1, 1)), **arguments)
    for size in (0, -1, 1.5, None):
        with pytest.raises(cm.ParameterError, match="the size of MaxPool2d"):
            MaxPool2d(size)
    # Windows of stride 1: 130² of 128² entries are 2^28.1, 4² of 1024² are 2^24.
    assert AvgPool2d(1024, stride=1).output_shape((1, 1027, 1027)) == (1, 4, 4)
    for pool, shape in ((MaxPool2d(128, stride=1), (1, 257, 257)), (AvgPool2d(1024, stride=1), (1, 1027, 1028))):
        with pytest.raises(cm.ParameterError, match="use at most 16777216"):
            pool.output_shape(shape)
    with pytest.raises(AttributeError):
        Dense(np.ones((1, 1))).weights = np.zeros((1, 1))  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        Dense(np.ones((1, 1))).weights[0, 0] = 2
    array = np.ones((1, 1))
    layer = Dense(array)
    array[0, 0] = 5
    assert layer.weights[0, 0] == 1
    # A bias beyond the reach of constant inputs, and activations that overflow.
    with pytest.raises(cm.RangeError, match="the bias of linear layer 0 is 1e\\+03 times"):
        PrivateClassifier([Dense(np.ones((2, 1)), [0.0, 1000.0])], (1,), [[-1.0], [1.0]])
    with pytest.raises(
        cm.RangeError, match="products of weights and inputs of linear layer 0 have magnitudes up to 7.87e"
    ):
        PrivateClassifier([Dense([[1e25]])], (1,), [[-1e30], [1e30]])
    hidden = [Dense(np.full((1, 100), 1e25)), ReLU(), Dense([[1.0]])]
    with pytest.raises(cm.RangeError, match="the inputs of linear layer 1 have magnitudes up to 1e\\+32"):
        PrivateClassifier(hidden, (100,), np.full((2, 100), [[-1e5], [1e5]]))
    # Zeros are fine.
    zero = PrivateClassifier([Dense(np.zeros((2, 3)))], (3,), np.zeros((1, 3)))
    np.testing.assert_array_equal(zero.run([[1.0, 2.0, 3.0]]).scores, [[0.0, 0.0]])


def test_unsupported_models() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2])
    fitted = LogisticRegression().fit(X, y)
    several = MLPClassifier((2,), max_iter=200, tol=1.0).fit(X, np.eye(2, dtype=int)[y % 2])
    for model, message in [
        (RidgeClassifier().fit(X, y), "RidgeClassifier is not supported; use LogisticRegression, LinearSVC, MLPClass"),
        (make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y), "RidgeClassifier is not supported"),
        (make_pipeline(Normalizer(), LogisticRegression()).fit(X, y), "Normalizer is not supported before a model"),
        (make_pipeline(MinMaxScaler(clip=True), LinearSVC()).fit(X, y), "MinMaxScaler with clip=True is not"),
        (several, "several labels"),
        (LogisticRegression(), "not fitted"),
        (make_pipeline(StandardScaler(), LinearSVC()), "not fitted"),
        ("a model", "str is not supported"),
    ]:
        with pytest.raises(cm.ParameterError, match=message):
            PrivateClassifier.from_sklearn(model, X)
    with pytest.raises(cm.ParameterError, match=r"the calibration data has the shape \(6, 1\)"):
        PrivateClassifier.from_sklearn(fitted, X[:, :1])
    # As versions before 1.8 mark a model whose probabilities are not those of the softmax.
    fitted.multi_class = "ovr"
    with pytest.raises(cm.ParameterError, match="multi_class='ovr'"):
        PrivateClassifier.from_sklearn(fitted, X)
    sparse = LinearSVC().fit(X, y).sparsify()
    np.testing.assert_array_equal(PrivateClassifier.from_sklearn(sparse, X).classes_, [0, 1, 2])


def test_scikit_learn_is_needed_for_its_models_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    X = np.ones((2, 4))
    assert PrivateClassifier([Dense(np.eye(4))], (4,), X).predict(X).shape == (2,)
    with pytest.raises(ImportError, match=r"ciphermill\[sklearn\]"):
        PrivateClassifier.from_sklearn(LogisticRegression(), X)


def test_unused_places_of_ciphertexts_count(rng: np.random.Generator) -> None:
    """A client can fill all places and declare one sample."""
    images = rng.normal(size=(20, 1, 8, 8))
    layers = [Conv2d(rng.normal(size=(2, 1, 3, 3))), ReLU(), Flatten(), Dense(rng.normal(size=(3, 72)))]
    classifier = PrivateClassifier(layers, (1, 8, 8), images, batch=16)
    server = classifier.server(max_samples=1)
    client = Client(server.client_spec())
    server.register(client.keys(), name="client")
    query = client.start(images[:16]).query.to_bytes()
    with pytest.raises(cm.PeerError, match="the limit is max_samples=1"):
        server.layer(0, with_header(query, samples=1))


def test_long_labels_are_refused_before_they_take_memory(parties: Setting) -> None:
    spec = json.loads(parties.classifier.client_spec())
    spec["classes"][0] = "a" * 1025
    with pytest.raises(cm.CiphermillError, match="1025 characters; use at most 1024"):
        Client(json.dumps(spec).encode())
