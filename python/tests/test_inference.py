"""Private inference against its definition in NumPy, scikit-learn, and a network trained here."""

import itertools
import json
import runpy
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference_setting import Setting, same_integers, through_bytes
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import ciphermill as cm
from ciphermill import inference
from ciphermill._inference import plain
from ciphermill._inference.build import Blocks
from ciphermill._inference.choice import choose
from ciphermill._inference.forms import ConvolutionForm, Form, MatrixForm, Problem
from ciphermill._inference.layers import Geometry, Layer
from ciphermill.inference import (
    AvgPool2d,
    Client,
    Conv2d,
    Dense,
    Flatten,
    Logistic,
    MaxPool2d,
    PrivateClassifier,
    ReLU,
    Tanh,
)

#: Samples of the digits for training; the others are the test data.
TRAINED = 1300


@pytest.fixture(scope="module", autouse=True)
def _one_thread_of_blas() -> Iterator[None]:
    """Training is small. On a busy machine, threads that wait for one another take seconds."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order] / 16, y[order]


class Cnn:
    """A convolution 3×3 with 8 kernels, ReLU, pooling of 2×2, and a dense layer, trained by gradient descent with momentum."""

    def __init__(self, X: np.ndarray, y: np.ndarray, epochs: int = 20) -> None:
        rng = np.random.default_rng(1)
        self.weights = [rng.normal(0, 1 / 3, (8, 9)), np.zeros(8), rng.normal(0, 1 / 8, (10, 72)), np.zeros(10)]
        speeds = [np.zeros_like(weights) for weights in self.weights]
        for _ in range(epochs):
            for batch in np.array_split(rng.permutation(len(X)), len(X) // 64):
                for weights, speed, gradient in zip(
                    self.weights, speeds, self._gradients(X[batch], y[batch]), strict=True
                ):
                    speed *= 0.9
                    speed -= 0.1 * gradient
                    weights += speed

    @staticmethod
    def _windows(X: np.ndarray) -> np.ndarray:
        images = X.reshape(-1, 8, 8)
        return np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2)).reshape(len(X), 36, 9)

    def _pools(self, X: np.ndarray) -> np.ndarray:
        """The outputs of the convolution, of shape (k, 9 windows, 4 places, 8 kernels)."""
        outputs = self._windows(X) @ self.weights[0].T + self.weights[1]
        return outputs.reshape(-1, 3, 2, 3, 2, 8).swapaxes(2, 3).reshape(-1, 9, 4, 8)

    def _features(self, pools: np.ndarray) -> np.ndarray:
        return np.maximum(pools.max(axis=2), 0).swapaxes(1, 2).reshape(-1, 72)

    def scores(self, X: np.ndarray) -> np.ndarray:
        return self._features(self._pools(X)) @ self.weights[2].T + self.weights[3]

    def _gradients(self, X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        pools = self._pools(X)
        features = self._features(pools)
        scores = features @ self.weights[2].T + self.weights[3]
        errors = np.exp(scores - scores.max(axis=1, keepdims=True))
        errors /= errors.sum(axis=1, keepdims=True)
        errors[np.arange(len(X)), y] -= 1
        errors /= len(X)
        back = ((errors @ self.weights[2]) * (features > 0)).reshape(-1, 8, 9).swapaxes(1, 2)
        at_pools = np.zeros_like(pools)
        np.put_along_axis(at_pools, pools.argmax(axis=2)[:, :, np.newaxis], back[:, :, np.newaxis], axis=2)
        at_outputs = at_pools.reshape(-1, 3, 3, 2, 2, 8).swapaxes(2, 3).reshape(-1, 36, 8)
        kernels = np.einsum("bpm,bpn->mn", at_outputs, self._windows(X))
        return [kernels, at_outputs.sum(axis=(0, 1)), errors.T @ features, errors.sum(axis=0)]

    def layers(self) -> list[Layer]:
        kernels, bias, dense, last = self.weights
        return [Conv2d(kernels.reshape(8, 1, 3, 3), bias), ReLU(), MaxPool2d(2), Flatten(), Dense(dense, last)]


@pytest.fixture(scope="module")
def cnn(digits: tuple[np.ndarray, np.ndarray]) -> Cnn:
    X, y = digits
    return Cnn(X[:TRAINED], y[:TRAINED])


@pytest.mark.parametrize("batch", [1, 16])
def test_cnn_on_digits(digits: tuple[np.ndarray, np.ndarray], cnn: Cnn, batch: int) -> None:
    X, y = digits
    test, labels = X[TRAINED:], y[TRAINED:]
    classifier = PrivateClassifier(cnn.layers(), (1, 8, 8), X[:TRAINED], batch=batch)
    result = classifier.run(test)
    same_integers(result, classifier.run_plain(test))
    exact = np.mean(cnn.scores(test).argmax(axis=1) == labels)
    assert exact > 0.95
    assert abs(np.mean(result.predict() == labels) - exact) <= 0.01
    assert classifier.score(test, labels) == np.mean(result.predict() == labels)
    # Single samples and images with their axes give the same integers.
    same_integers(classifier.run(test[:1].reshape(1, 1, 8, 8)), classifier.run_plain(test[:1]))
    classifier.predict(test)
    report = classifier.report_
    assert report.samples == len(test)
    assert [set(layer.seconds) for layer in report.layers] == [{"quantise", "encrypt", "multiply", "decrypt"}] * 2
    assert report.key_bytes < 100, "no layer of this size needs keys at the server"


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.array(["malignant", "benign"])[y]


MODELS: dict[str, tuple[Any, str]] = {
    "logistic regression, two classes": (LogisticRegression(solver="newton-cholesky"), "cancer"),
    "scaled logistic regression": (make_pipeline(StandardScaler(), LogisticRegression()), "cancer"),
    "two scalers": (make_pipeline(MaxAbsScaler(), "passthrough", MinMaxScaler(), LogisticRegression()), "cancer"),
    "scaled support vectors": (make_pipeline(StandardScaler(with_mean=False), LinearSVC(random_state=0)), "cancer"),
    "perceptron, two classes": (
        make_pipeline(StandardScaler(), MLPClassifier((8,), activation="tanh", random_state=0, max_iter=400)),
        "cancer",
    ),
    "logistic regression": (LogisticRegression(), "digits"),
    "support vectors": (LinearSVC(random_state=0), "digits"),
    "perceptron": (MLPClassifier((32,), max_iter=60, random_state=0), "digits"),
    "perceptron of two layers": (
        MLPClassifier((24, 16), activation="logistic", max_iter=100, learning_rate_init=0.01, random_state=0),
        "digits",
    ),
    "linear perceptron": (MLPClassifier((16,), activation="identity", max_iter=60, random_state=0), "digits"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_models(name: str, digits: tuple[np.ndarray, np.ndarray]) -> None:
    model, data = MODELS[name]
    X, y = digits if data == "digits" else breast_cancer()
    train, test = slice(0, 1300 if data == "digits" else 400), slice(1300 if data == "digits" else 400, None)
    model.fit(X[train], y[train])
    classifier = PrivateClassifier.from_sklearn(model, X[train], batch=16)
    result = classifier.run(X[test])
    same_integers(result, classifier.run_plain(X[test]))
    np.testing.assert_array_equal(classifier.classes_, model.classes_)
    assert model.score(X[test], y[test]) > 0.9
    # Integers of 8 bits move a few samples across a border; how many depends on the model that scikit-learn's version fits.
    assert np.mean(result.predict() != model.predict(X[test])) <= 0.02
    if hasattr(model, "predict_proba"):
        probabilities = result.predict_proba()
        assert np.abs(probabilities - model.predict_proba(X[test])).max() < 0.15
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    else:
        with pytest.raises(cm.ParameterError, match="decision_function"):
            result.predict_proba()
    if hasattr(model, "decision_function"):
        expected = model.decision_function(X[test])
        assert result.decision_function().shape == expected.shape
        # More bits come nearer to the model.
        fine = PrivateClassifier.from_sklearn(model, X, weight_bits=16, activation_bits=16)
        error = np.abs(fine.run_plain(X[test]).decision_function() - expected).max()
        assert error < 2e-3 * np.abs(expected).max()
        same_integers(fine.run(X[400:410]), fine.run_plain(X[400:410]))


def test_classes_keep_their_type() -> None:
    X = np.arange(8.0).reshape(4, 2)
    for classes in ([False, True], [3, 7], ["a", "b"], [1.0, 2.0]):
        model = LogisticRegression().fit(X, np.repeat(classes, 2))
        predicted = PrivateClassifier.from_sklearn(model, X).predict(X)
        assert predicted.dtype.kind == np.asarray(classes).dtype.kind
        np.testing.assert_array_equal(predicted, model.predict(X))


def slow_convolution(geometry: Geometry, kernels: np.ndarray, images: np.ndarray) -> np.ndarray:
    """The definition, in loops."""
    (channels, height, width), (_, rows, cols) = geometry.image, geometry.kernels
    outputs = np.zeros((len(images), *geometry.output), np.int64)
    for index in np.ndindex(outputs.shape):
        image, kernel, y, x = index
        for c, i, j in itertools.product(range(channels), range(rows), range(cols)):
            at = y * geometry.stride + i - geometry.padding, x * geometry.stride + j - geometry.padding
            if 0 <= at[0] < height and 0 <= at[1] < width:
                outputs[index] += kernels[kernel, c, i, j] * images[(image, c, *at)]
    return outputs


GEOMETRIES = [
    Geometry((5, 1, 1), (3, 1, 1)),
    Geometry((1, 8, 8), (8, 3, 3)),
    Geometry((2, 5, 4), (3, 2, 3), stride=2, padding=1),
    Geometry((1, 7, 3), (1, 3, 1), stride=3),
    Geometry((3, 2, 2), (2, 4, 4), padding=2),
    Geometry((1, 4, 6), (2, 1, 1), stride=3),
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("entries", [0, 2])
def test_every_form_computes_the_definition(geometry: Geometry, entries: int, rng: np.random.Generator) -> None:
    problem = Problem(geometry, 6, 5, entries, 7)
    channels = geometry.image[0]
    kernels = rng.integers(-31, 32, (geometry.kernels[0], channels, *geometry.kernels[1:]))
    bias = rng.integers(-31, 32, (geometry.kernels[0], entries))
    images = rng.integers(-15, 16, (5, *geometry.image))
    sums = slow_convolution(geometry, kernels, images)
    np.testing.assert_array_equal(plain.convolve(geometry, kernels, images), sums)
    expected = sums + 7 * bias.sum(axis=1)[:, np.newaxis, np.newaxis]
    forms: list[Form] = [MatrixForm(problem), *(ConvolutionForm(problem, lanes) for lanes in (1, 2, 3, 8))]
    for form in forms:
        keys, weights = form.keygen(), form.weights(kernels, bias)
        for samples in (1, 5):
            parts = form.write(keys.encrypt(images[:samples]))
            prepared = weights.register(form.read_evaluation(form.write_evaluation(keys.evaluation)))
            answer = form.write(weights.multiply(prepared, form.read_query(parts, samples)))
            outputs = keys.decrypt(form.read_answer(answer, samples), samples)
            np.testing.assert_array_equal(outputs, expected[:samples])


@st.composite
def networks(draw: st.DrawFn) -> tuple[PrivateClassifier, np.ndarray]:
    """A random network of up to two convolutions and two dense layers, and samples, some of which are out of range."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape: tuple[int, ...] = (draw(st.integers(1, 2)), draw(st.integers(3, 7)), draw(st.integers(3, 7)))
    input_shape = shape
    layers: list[Layer] = []

    def bias(size: int) -> np.ndarray | None:
        return rng.normal(0, 10.0 ** draw(st.integers(-2, 0)), size) if draw(st.booleans()) else None

    for _ in range(draw(st.integers(0, 2))):
        window = draw(st.integers(1, min(3, *shape[1:])))
        kernels = rng.normal(0, 1, (draw(st.integers(1, 3)), shape[0], window, window))
        stride, padding = draw(st.integers(1, 2)), draw(st.integers(0, 1))
        layers += [Conv2d(kernels, bias(len(kernels)), stride=stride, padding=padding)]
        layers += draw(st.sampled_from([[], [ReLU()], [Tanh()], [Logistic()]]))
        shape = Blocks.of(layers, input_shape).output_shape
        if min(shape[1:]) >= 2 and draw(st.booleans()):
            layers.append(draw(st.sampled_from([MaxPool2d(2), AvgPool2d(2), MaxPool2d(2, stride=1)])))
            shape = Blocks.of(layers, input_shape).output_shape
    layers.append(Flatten())
    size = int(np.prod(shape))
    for outputs in [*draw(st.sampled_from([[], [3]])), draw(st.integers(1, 4))]:
        layers += [Dense(rng.normal(0, 1, (outputs, size)), bias(outputs)), ReLU()]
        size = outputs
    layers.pop()
    options: dict[str, Any] = {
        "weight_bits": draw(st.integers(2, 12)),
        "activation_bits": draw(st.integers(2, 12)),
        "batch": draw(st.sampled_from([1, 3, 20])),
        "input_range": draw(st.sampled_from(["feature", "layer"])),
    }
    calibration = rng.normal(0, 1, (20, *input_shape))
    classifier = PrivateClassifier(layers, input_shape, calibration, **options)
    return classifier, rng.normal(0, 1.5, (draw(st.integers(1, 9)), *input_shape))


@settings(max_examples=40, deadline=None)
@given(networks())
def test_random_networks(case: tuple[PrivateClassifier, np.ndarray]) -> None:
    classifier, X = case
    same_integers(classifier.run(X), classifier.run_plain(X))


def float_scores(layers: Sequence[Layer], X: np.ndarray) -> np.ndarray:
    """The network in real numbers, layer by layer, in loops over the samples."""
    values = X
    for layer in layers:
        if isinstance(layer, Dense):
            values = values @ layer.weights.T + layer.bias
        elif isinstance(layer, Conv2d):
            padding = layer.padding
            padded = np.pad(values, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, layer.weights.shape[2:], axis=(2, 3))
            windows = windows[:, :, :: layer.stride, :: layer.stride]
            values = np.einsum("kcyxij,mcij->kmyx", windows, layer.weights) + layer.bias[:, None, None]
        elif isinstance(layer, MaxPool2d | AvgPool2d):
            k, c, h, w = values.shape
            blocks = values[:, :, : h // 2 * 2, : w // 2 * 2].reshape(k, c, h // 2, 2, w // 2, 2)
            values = blocks.max(axis=(3, 5)) if isinstance(layer, MaxPool2d) else blocks.mean(axis=(3, 5))
        else:
            functions: dict[type, Any] = {
                ReLU: lambda v: v * (v > 0),
                Tanh: np.tanh,
                Logistic: lambda v: 1 / (1 + np.exp(-v)),
                Flatten: lambda v: v.reshape(len(v), -1),
            }
            values = functions[type(layer)](values)
    return values


@pytest.mark.parametrize("activation", [ReLU(), Tanh(), Logistic()], ids=repr)
@pytest.mark.parametrize("pool", [MaxPool2d(2), AvgPool2d(2)], ids=repr)
def test_many_bits_come_near_to_real_numbers(activation: Any, pool: Any, rng: np.random.Generator) -> None:
    layers: list[Layer] = [
        AvgPool2d(2),
        Conv2d(rng.normal(0, 1, (4, 2, 3, 3)), rng.normal(0, 3, 4), stride=2, padding=2),
        activation,
        pool,
        Conv2d(rng.normal(0, 1, (3, 4, 1, 1))),
        Flatten(),
        Dense(rng.normal(0, 1, (5, 12)), rng.normal(0, 9, 5)),
    ]
    X = rng.normal(0, 1, (30, 2, 14, 15))
    classifier = PrivateClassifier(layers, (2, 14, 15), X, weight_bits=16, activation_bits=16)
    expected = float_scores(layers, X)
    np.testing.assert_allclose(classifier.run_plain(X).scores, expected, atol=2e-3 * np.abs(expected).max())
    same_integers(classifier.run(X[:3]), classifier.run_plain(X[:3]))
    # Ranges are those of the real network, so that rounding can move the greatest inputs of later layers beyond them.
    first, *later = classifier.run_plain(X).clipped
    assert first == 0
    assert max(later) <= 0.01 * 30 * 12


def test_form_follows_the_estimate() -> None:
    """Small layers need no keys; of a large dense layer, one ciphertext holds all outputs."""
    small, candidates = choose(Problem(Geometry((1, 8, 8), (8, 3, 3)), 8, 8, 1, 100), 1)
    assert small.name == "convolution"
    assert {candidate.form.name for candidate in candidates} == {"convolution", "matrix"}
    times = [candidate.microseconds for candidate in candidates]
    assert times == sorted(times)
    assert choose(Problem(Geometry((784, 1, 1), (512, 1, 1)), 8, 8, 1, 100), 1)[0].name == "matrix"
    assert choose(Problem(Geometry((64, 7, 7), (256, 7, 7)), 8, 8, 1, 100), 1)[0].name == "matrix"
    # More samples share ciphertexts if a batch is declared.
    problem = Problem(Geometry((72, 1, 1), (10, 1, 1)), 8, 8, 1, 100)
    assert choose(problem, 64)[0].lanes > choose(problem, 1)[0].lanes >= 1
    X = np.eye(3, 4)
    explanation = PrivateClassifier([Dense(np.ones((3, 4)))], (4,), X).explain()
    assert explanation.as_dict()["layers"][0]["form"] == "convolution"
    assert "matrix, lanes 1" in str(explanation)


@pytest.fixture(scope="module")
def parties() -> Setting:
    return Setting(np.random.default_rng(5))


def test_two_parties_through_bytes(parties: Setting) -> None:
    layers = parties.classifier.explain().as_dict()["layers"]
    assert [layer["form"] for layer in layers] == ["matrix", "convolution"]
    clients = [parties.client(), parties.client()]
    for client in clients:
        result = through_bytes(client, parties.server, parties.X[:3])
        same_integers(result, parties.classifier.run_plain(parties.X[:3]))
        assert client.report.samples == 3
        assert parties.server.samples(client.name) == [3, 3]
    # Runs of one client may overlap.
    first, second = (clients[0].start(parties.X[i : i + 1]) for i in range(2))
    for layer in range(2):
        answers = [parties.server.layer(layer, run.query) for run in (second, first)]
        second, first = clients[0].next(second, answers[0]), clients[0].next(first, answers[1])
    same_integers(first.result, parties.classifier.run_plain(parties.X[:1]))
    same_integers(second.result, parties.classifier.run_plain(parties.X[1:2]))
    # An unanswered query may be answered again.
    again = clients[1].start(parties.X[:1])
    for _ in range(2):
        following = clients[1].next(again, parties.server.layer(0, again.query))
    same_integers(
        clients[1].next(following, parties.server.layer(1, following.query)).result,
        parties.classifier.run_plain(parties.X[:1]),
    )


def test_bytes_are_those_of_the_report(parties: Setting) -> None:
    parties.classifier.run(parties.X[:2])
    report = parties.classifier.report_
    client = parties.client()
    exchange = client.start(parties.X[:2])
    for layer in report.layers:
        answer = parties.server.layer(exchange.layer, exchange.query)
        assert (layer.sent, layer.returned) == (len(exchange.query.to_bytes()), len(answer.to_bytes()))
        exchange = client.next(exchange, answer)
    assert report.key_bytes == len(client.keys().to_bytes()) > 10_000
    assert report.equations == [(2, 701), (2, 513)]
    assert "nothing of the samples" in report.learns["server"][0]
    assert json.loads(json.dumps(report.as_dict()))["samples"] == 2
    assert "2 equations in the 701 weights" in str(report)


def test_the_client_spec_has_no_weights(rng: np.random.Generator) -> None:
    """Networks of unlike weights with the same greatest one have the same spec."""
    weights = rng.normal(0, 1, (3, 5))
    X = rng.normal(0, 1, (9, 5))
    mixed = rng.permutation(weights.reshape(-1)).reshape(3, 5)
    first, second = (PrivateClassifier([Dense(w)], (5,), X, input_range="layer") for w in (weights, mixed))
    assert first.client_spec() == second.client_spec()
    assert not np.array_equal(first.run_plain(X).scores, second.run_plain(X).scores)
    # It is a JSON document of these fields alone.
    document = json.loads(first.client_spec())
    assert set(document) == {"ciphermill", "version", "input_shape", "stages", "steps", "classes", "link"}
    assert not any(isinstance(value, list) and len(value) > 3 for value in document["stages"][0].values())


def test_a_client_may_learn_the_weights(rng: np.random.Generator) -> None:
    """The documented leak: as many independent samples as inputs give a layer's integers."""
    X = rng.normal(0, 1, (40, 5))
    classifier = PrivateClassifier([Dense(rng.normal(0, 1, (3, 5)), [0.5, -1.0, 2.0])], (5,), X)
    layer = classifier.run(X).layers[0]
    equations = np.column_stack([layer.inputs.reshape(40, 5), np.ones(40)])
    solved = np.linalg.lstsq(equations, layer.outputs, rcond=None)[0]
    owned = classifier._weights[0]
    np.testing.assert_allclose(solved[:5].T, owned.kernels.reshape(3, 5), atol=1e-6)
    assert "enough to solve for them" in " ".join(classifier.report_.learns["client"])
    assert classifier.report_.equations == [(40, 6)]


def test_clipped_inputs_are_counted() -> None:
    classifier = PrivateClassifier([Dense(np.eye(2))], (2,), [[-1.0, 0.0], [1.0, 10.0]])
    inside, outside = np.array([[0.5, 3.0]]), np.array([[-9.0, 10.0], [1.5, 11.0], [0.0, 5.0]])
    assert classifier.run(inside).clipped == (0,)
    result = classifier.run(outside)
    assert result.clipped == (3,)
    assert classifier.report_.layers[0].clipped == 3
    same_integers(result, classifier.run_plain(outside))
    # Clipping is the nearest value of the range.
    nearest = classifier.run_plain([[-1.0, 10.0], [1.0, 10.0], [0.0, 5.0]])
    np.testing.assert_array_equal(result.layers[0].outputs, nearest.layers[0].outputs)


def test_features_of_unlike_sizes(rng: np.random.Generator) -> None:
    """A scale for each feature keeps small features next to large ones; one scale for all loses them."""
    X = rng.normal(0, 1, (300, 3)) * [1e-4, 1.0, 1e4] + [0.0, 50.0, 1e5]
    weights = np.array([[3e4, 1.0, -2e-4]])
    expected = X @ weights[0] - X.mean(axis=0) @ weights[0]
    layers = [Dense(weights, [-X.mean(axis=0) @ weights[0]])]
    names: list[Literal["feature", "layer"]] = ["feature", "layer"]
    errors = {
        name: np.abs(
            PrivateClassifier(layers, (3,), X, input_range=name).run_plain(X).decision_function() - expected
        ).max()
        for name in names
    }
    assert errors["feature"] < 0.05 * np.abs(expected).max() < 0.5 * errors["layer"]


def test_several_batches_and_many_samples(rng: np.random.Generator) -> None:
    classifier = PrivateClassifier([Dense(rng.normal(0, 1, (3, 4)))], (4,), rng.normal(0, 1, (9, 4)), batch=256)
    X = rng.normal(0, 1, (2500, 4))
    same_integers(classifier.run(X), classifier.run_plain(X))
    assert classifier.report_.samples == 2500
    with pytest.raises(cm.ParameterError, match="at most 1024"):
        classifier.client().start(X)


def test_a_server_limits_samples(parties: Setting) -> None:
    server = parties.classifier.server(max_samples=4)
    client = Client(server.client_spec())
    with pytest.raises(cm.ParameterError, match="max_samples=4 counts by name; use register"):
        server.register(client.keys())
    assert server.register(client.keys(), name="ann") == "ann"
    through_bytes(client, server, parties.X[:3])
    with pytest.raises(cm.PeerError, match="sample 5 of layer 0; the limit is max_samples=4; wait"):
        server.layer(0, client.start(parties.X[:2]).query)
    # A refused query does not count.
    through_bytes(client, server, parties.X[:1])
    assert server.samples("ann") == [4, 4]
    other = Client(server.client_spec())
    server.register(other.keys(), name="bob")
    through_bytes(other, server, parties.X[:4])
    for limit in (0, -1, 1.5, "all"):
        for name in ("max_samples", "max_clients", "max_bytes"):
            with pytest.raises(cm.ParameterError, match=f"{name} is {limit!r}; use 1 to"):
                parties.classifier.server(**{name: limit})  # type: ignore[arg-type]


def test_a_large_bias_is_split(rng: np.random.Generator) -> None:
    """Several constant inputs stand for a bias that is many times the greatest product."""
    layers = [Dense(np.ones((3, 2)), [40.0, -37.5, 0.25])]
    X = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    classifier = PrivateClassifier(layers, (2,), X)
    assert classifier._network.stages[0].problem.entries == 40
    result = classifier.run(X)
    same_integers(result, classifier.run_plain(X))
    np.testing.assert_allclose(result.scores, float_scores(layers, X), atol=1.0)
    fine = PrivateClassifier(layers, (2,), X, weight_bits=14, activation_bits=14)
    np.testing.assert_allclose(fine.run(X).scores, float_scores(layers, X), atol=0.01)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_examples_of_the_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    text = inference.__doc__ or ""
    first = text[text.index("    import numpy") : text.index("A small convolutional")]
    second = text[text.index("    classifier = PrivateClassifier(\n") : text.index("**Protocol.**")]
    file = tmp_path / "example.py"
    file.write_text(textwrap.dedent(first))
    runpy.run_path(str(file))
    assert "nothing of the samples" in capsys.readouterr().out
    names = {name: getattr(inference, name) for name in inference.__all__}
    shapes: dict[str, Any] = {
        "kernels": (8, 1, 3, 3),
        "bias": 8,
        "dense": (10, 72),
        "last": 10,
        "images": (20, 1, 8, 8),
    }
    names |= {name: rng.normal(0, 1, shape) for name, shape in shapes.items()}
    file.write_text(textwrap.dedent(second))
    made = runpy.run_path(str(file), names)
    same_integers(made["classifier"].run(made["images"]), made["classifier"].run_plain(made["images"]))
